// SPDX-License-Identifier: MIT
// PFLAGS: -fno-asynchronous-unwind-tables -fno-unwind-tables -fomit-frame-pointer -gz
/* deep, with its CFI in .debug_frame only, which is compressed. */
#include "deep.c"
