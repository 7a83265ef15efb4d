/* SPDX-License-Identifier: MIT */
// PFLAGS: -static
/* The same, out of the shim's sight. */
#include "guest_sandbox.c"
