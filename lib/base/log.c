/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Set once at start, before any thread: the one place where a global is simpler than a parameter
 * through every function. */
bool log_enabled[LOG_NR_DOMAINS];
static log_sink current_sink;

static const char *const domain_names[LOG_NR_DOMAINS] = {
	[LOG_TARGET] = "target", [LOG_EVENTS] = "events",	[LOG_RING] = "ring",
	[LOG_HEAP] = "heap",	 [LOG_STACKS] = "stacks",	[LOG_UNWIND] = "unwind",
	[LOG_OBJECT] = "object", [LOG_SYMBOLIZE] = "symbolize", [LOG_STORE] = "store",
	[LOG_REPORT] = "report", [LOG_STAT] = "stat",
};

void log_set_sink(log_sink sink)
{
	current_sink = sink;
}

const char *log_domain_name(enum log_domain domain)
{
	return domain_names[domain];
}

static int enable_one(const char *name, size_t length)
{
	bool all = length == 3 && !memcmp(name, "all", 3);
	bool found = all;

	for (int i = 0; i < LOG_NR_DOMAINS; i++) {
		if (!all && (strlen(domain_names[i]) != length ||
			     memcmp(domain_names[i], name, length) != 0))
			continue;
		log_enabled[i] = true;
		found = true;
	}
	return found ? 0 : -1;
}

int log_enable(const char *domains)
{
	while (*domains) {
		size_t length = strcspn(domains, ",");

		if (enable_one(domains, length))
			return -1;
		domains += length;
		domains += *domains == ',';
	}
	return 0;
}

void log_write(enum log_domain domain, const char *format, ...)
{
	char line[1024];
	va_list args;

	if (!current_sink)
		return;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	current_sink(domain, line);
}
