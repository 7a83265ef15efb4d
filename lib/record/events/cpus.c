/* SPDX-License-Identifier: MIT */
#include "record/events/cpus.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

enum {
	CPUS_MAX = 65536, /* more is no list of CPUs */
};

static int parse_number(const char **text, long *number)
{
	char *end;

	if (**text < '0' || **text > '9')
		return -1;
	*number = strtol(*text, &end, 10);
	*text = end;
	return *number < CPUS_MAX ? 0 : -1;
}

static int parse_range(const char **text, struct cpus *cpus)
{
	long first, last;

	if (parse_number(text, &first) < 0)
		return -1;
	last = first;
	if (**text == '-') {
		++*text;
		if (parse_number(text, &last) < 0)
			return -1;
	}
	for (long cpu = first; cpu <= last; cpu++)
		vec_push(cpus, (int)cpu);
	return 0;
}

int cpus_parse(struct cpus *cpus, const char *list)
{
	do {
		if (parse_range(&list, cpus) < 0)
			return -1;
	} while (*list++ == ',');
	list--;
	return *list && *list != '\n' ? -1 : 0;
}

void cpus_online(struct cpus *cpus)
{
	FILE *file = fopen("/sys/devices/system/cpu/online", "re");
	char list[4096];
	bool read = file && fgets(list, sizeof(list), file);

	if (file)
		fclose(file);
	*cpus = (struct cpus){ 0 };
	if (read && !cpus_parse(cpus, list) && cpus->nr)
		return;

	cpus->nr = 0;
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		vec_push(cpus, (int)cpu);
}

void cpus_release(struct cpus *cpus)
{
	vec_free(cpus);
}
