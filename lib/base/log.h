/* SPDX-License-Identifier: MIT */
/*
 * log - diagnostics for people who look into cprof itself (--debug=DOMAIN, -v).
 *
 *	log_debug(LOG_UNWIND, "%s: no .eh_frame_hdr, scanning", path);
 *
 * What the user has to know goes through struct error or the quality ledger, not through here.
 * Messages go to a sink that cmd/ sets; without one they are dropped.  Any thread may log.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

/* One domain a folder. */
enum log_domain {
	LOG_TARGET,
	LOG_EVENTS,
	LOG_RING,
	LOG_HEAP,
	LOG_STACKS,
	LOG_UNWIND,
	LOG_OBJECT,
	LOG_SYMBOLIZE,
	LOG_STORE,
	LOG_REPORT,
	LOG_STAT,
	LOG_NR_DOMAINS
};

typedef void (*log_sink)(enum log_domain domain, const char *line);

void log_set_sink(log_sink sink);

/* Enables the domains of a comma-separated list ("unwind,ring", "all").  -1 if a name is unknown.
 */
int log_enable(const char *domains);
const char *log_domain_name(enum log_domain domain);

extern bool log_enabled[LOG_NR_DOMAINS];

void log_write(enum log_domain domain, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define log_debug(domain, ...)                          \
	do {                                            \
		if (log_enabled[domain])                \
			log_write(domain, __VA_ARGS__); \
	} while (0)

#endif
