/* SPDX-License-Identifier: MIT */
#include "stat/view.h"

const struct stat_view stat_views[STAT_NR_VIEWS] = {
	[STAT_TEXT] = { "text", text_print_interval, text_print },
	[STAT_JSON] = { "json", NULL, json_print },
	[STAT_CSV] = { "csv", csv_print_interval, csv_print },
};
