/* SPDX-License-Identifier: MIT */
/*
 * catalogue - the names of events that sysfs or tracefs has as two levels of folders.
 *
 *	struct catalogue catalogue = { root, "events", is_event, "/", "/" };
 *	char **names = catalogue_read(&catalogue, &nr);	// root/cpu/events/cycles: "cpu/cycles/"
 *
 * In the order of the alphabet; none where there is no such folder.
 */
#ifndef RECORD_EVENTS_CATALOGUE_H
#define RECORD_EVENTS_CATALOGUE_H

#include <dirent.h>
#include <stddef.h>

struct catalogue {
	const char *root;
	const char *below;			      /* each upper folder: it has the lower ones */
	int (*is_wanted)(const struct dirent *entry); /* of both levels */
	const char *between, *after;		      /* what a name has there */
};

/* nr strings, for free(), in an array for free(). */
char **catalogue_read(const struct catalogue *catalogue, size_t *nr);

#endif
