/* SPDX-License-Identifier: MIT */
#include "record/heap/heritage.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/vec.h"

struct heritage {
	VEC(struct blocks) tables; /* of the parent, its parent, ... */
	uint64_t bytes;
};

static void add_table(struct heritage *heritage, struct blocks *blocks)
{
	blocks_share(vec_add(&heritage->tables), blocks);
}

struct heritage *heritage_new(struct blocks *blocks, uint64_t bytes, struct heritage *parents)
{
	struct heritage *heritage = xcalloc(1, sizeof(*heritage));

	add_table(heritage, blocks);
	if (parents)
		vec_each(&parents->tables, table) add_table(heritage, table);
	heritage->bytes = bytes + (parents ? parents->bytes : 0);
	return heritage;
}

void heritage_free(struct heritage *heritage)
{
	if (!heritage)
		return;
	vec_each(&heritage->tables, table) blocks_release(table);
	vec_free(&heritage->tables);
	free(heritage);
}

uint64_t heritage_bytes(const struct heritage *heritage)
{
	return heritage->bytes;
}

void heritage_lose(struct heritage *heritage, uint64_t bytes)
{
	heritage->bytes -= bytes;
}

bool heritage_take(struct heritage *heritage, uint64_t address, struct block *block)
{
	uint64_t hash = blocks_hash(address);

	vec_each(&heritage->tables, table)
	{
		if (!blocks_take(table, hash, address, block))
			continue;
		return true;
	}
	return false;
}
