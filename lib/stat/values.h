/* SPDX-License-Identifier: MIT */
/*
 * values - counts as text, in the unit of their event.
 *
 *	values_text(18204113, "").text		// "18,204,113"
 *	values_text(2.4, "").text		// "2.40"
 *	values_text(4.21e6, "ns").text		// "4.21 ms"
 *	values_short(18204113, "").text		// "18.2 M"
 */
#ifndef STAT_VALUES_H
#define STAT_VALUES_H

#include "base/units.h"

/* Plain counts to the last digit, fractions of small ones and all else to three or four. */
struct units_text values_text(double value, const char *unit);
/* Plain counts to three digits as well. */
struct units_text values_short(double value, const char *unit);

#endif
