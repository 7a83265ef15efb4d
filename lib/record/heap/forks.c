/* SPDX-License-Identifier: MIT */
#include "record/heap/forks.h"

#include <stddef.h>

void forks_add(struct forks *forks, uint64_t sequence, struct heritage *heritage, uint64_t time_ns)
{
	vec_push(&forks->all,
		 (struct fork){ .sequence = sequence, .time_ns = time_ns, .heritage = heritage });
}

struct heritage *forks_take(struct forks *forks, uint64_t sequence)
{
	for (size_t i = forks->all.nr; i--;) {
		struct heritage *heritage = forks->all.at[i].heritage;

		if (forks->all.at[i].sequence != sequence)
			continue;
		vec_remove(&forks->all, i, 1);
		return heritage;
	}
	return NULL;
}

void forks_forget(struct forks *forks, uint64_t now_ns)
{
	size_t nr = 0;

	while (nr < forks->all.nr && now_ns - forks->all.at[nr].time_ns > FORKS_KEPT_NS)
		heritage_free(forks->all.at[nr++].heritage);
	if (nr)
		vec_remove(&forks->all, 0, nr);
}

void forks_release(struct forks *forks)
{
	forks_forget(forks, UINT64_MAX);
	vec_free(&forks->all);
}
