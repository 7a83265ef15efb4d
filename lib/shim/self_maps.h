/* SPDX-License-Identifier: MIT */
/*
 * self_maps - which ELF image an address is in, as the kernel has it.
 *
 *	struct self_maps maps;
 *	if (self_maps_find(&maps, pc))
 *		use(maps.start, maps.path);
 *	self_maps_release(&maps);
 *
 * For libcs without _dl_find_object() (glibc before 2.35, musl), and where that knows less: it asks
 * no loader and takes none of its locks, but reads all of /proc/self/maps, so what it finds is to
 * be remembered.
 */
#ifndef SHIM_SELF_MAPS_H
#define SHIM_SELF_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct self_maps {
	uintptr_t start, end; /* of the image, first to last mapping of its file */
	uintptr_t bias;
	const void *eh_frame_hdr; /* or NULL */
	const char *path;	  /* valid until the release */

	char *text;
	size_t text_bytes;
};

/* False: in no image, or it cannot be told.  To be released in any case. */
bool self_maps_find(struct self_maps *maps, uintptr_t pc);
void self_maps_release(struct self_maps *maps);

#endif
