/* SPDX-License-Identifier: MIT */
#include "record/mappings.h"

#include "object/proc_maps.h"

void mappings_read(struct space *space, pid_t thread, struct modules *modules)
{
	struct proc_mapping mapping;
	struct proc_maps maps;

	proc_maps_open(&maps, thread);
	while (proc_maps_next(&maps, &mapping)) {
		if (!mapping.executable)
			continue;
		space_map(space, mapping.start, mapping.end, mapping.pgoff,
			  module_get(modules, &(struct module_request){
						      .path = mapping.path,
						      .pid = thread,
						      .start = mapping.start,
						      .end = mapping.end,
						      .device_major = mapping.device_major,
						      .device_minor = mapping.device_minor,
						      .inode = mapping.inode,
					      }));
	}
	proc_maps_close(&maps);
}
