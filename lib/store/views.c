/* SPDX-License-Identifier: MIT */
#include "store/schema.h"

#include <stddef.h>

const struct schema_object schema_views[] = {
	{ NULL, NULL },
};
