/* SPDX-License-Identifier: MIT */
/*
 * units - sizes, times and counts: from text, and as text.
 *
 *	if (units_parse_size("64K", &bytes) < 0)
 *		complain();
 *	fprintf(out, "peak %s at %s\n", units_size(bytes).text, units_time(ns).text);
 *
 * Text comes back by value and lives until the end of the full expression, so several can be used
 * in one call.
 */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include <stdint.h>

struct units_text {
	char text[32];
};

/*
 * A size in bytes: "4096", "64K", "1.5 MiB", "2g".  K, M, G, T are powers of 1024, a following B
 * or iB is allowed.  0, or -1 for anything else (no number, negative, too large, other letters).
 */
int units_parse_size(const char *text, uint64_t *bytes);

/* A duration in ns: "10" (seconds), "1.5s", "200ms", "50us", "2m", "1h".  0 or -1. */
int units_parse_duration(const char *text, int64_t *duration_ns);

/* "0 B", "17 B", "64.0 KiB", "412.3 MiB": never more than four digits before the point. */
struct units_text units_size(uint64_t bytes);

/* "17 ns", "312 us", "4.21 ms", "3.02 s", "2 m 05 s": three digits that count. */
struct units_text units_time(int64_t duration_ns);
/* The same of seconds; of more than fits into nanoseconds, the most that does. */
struct units_text units_seconds(double duration_s);

/* With thousands separated: "18,204,113". */
struct units_text units_count(uint64_t count);

/* Short: "812", "48.1 k", "13.2 M", "18.9 G". */
struct units_text units_short(double count);

/* Of a share of 1: "31.2 %", "100 %", "<0.1 %". */
struct units_text units_percent(double share);

/* Three digits that count: "2.81", "13.4", "118", "<0.01". */
struct units_text units_ratio(double ratio);

#endif
