/* SPDX-License-Identifier: MIT */
/*
 * vdso - the code that the kernel maps into every process, as a file.
 *
 * It has no path, but ours is the same as that of any other 64-bit process of this kernel.
 */
#ifndef OBJECT_VDSO_H
#define OBJECT_VDSO_H

#include "base/error.h"

/* A descriptor of a memory file with a copy of it; ERR_UNSUPPORTED if there is none. */
int vdso_copy(struct error *err);

#endif
