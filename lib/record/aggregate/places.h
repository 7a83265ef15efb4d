/* SPDX-License-Identifier: MIT */
/*
 * places - modules, addresses and stacks: each distinct one numbered once.
 *
 * The part of the aggregate that answers "which id is this?" for every frame of every sample.
 * Not locked.  Addresses and stacks never change, so only those not passed on yet are kept, in
 * fresh; modules are rows.
 */
#ifndef RECORD_AGGREGATE_PLACES_H
#define RECORD_AGGREGATE_PLACES_H

#include "base/intern.h"
#include "base/vec.h"
#include "record/aggregate/maps.h"
#include "record/aggregate/rows.h"
#include "store/profile.h"

struct fresh_places {
	VEC(struct profile_address) addresses;
	VEC(struct profile_stack) stacks;
};

/* A stack as a whole: two hashes of 64 bits over its frames, which together do not collide. */
struct fingerprint {
	uint64_t key, check;
};

struct known_stack {
	uint64_t check;
	uint32_t stack;
};

struct places {
	struct fresh_places fresh; /* the caller may take it over and zero it */
	struct rows modules;
	struct intern module_keys; /* numbered like modules */
	struct intern texts;	   /* what modules point to, until release */

	uint32_t nr_addresses, nr_stacks;
	struct maps code;		      /* by module: value -> address */
	struct map other[PROFILE_ADDRESS_NR]; /* by kind: value -> address */
	struct map stacks;		      /* parent, address -> stack */
	struct map known_of;		      /* fingerprint's key -> known */
	VEC(struct known_stack) known;
};

void places_init(struct places *places);
void places_release(struct places *places);
void fresh_places_release(struct fresh_places *fresh);

uint32_t places_module(struct places *places, const struct profile_module *module);
uint32_t places_address(struct places *places, enum profile_address_kind kind, uint32_t module,
			uint64_t value);
uint32_t places_stack(struct places *places, uint32_t parent, uint32_t address);

/* The stack of these frames, outermost first.  print is theirs. */
uint32_t places_stack_of(struct places *places, const struct profile_address *frames, size_t nr,
			 struct fingerprint print);
struct fingerprint fingerprint_of(const struct profile_address *frames, size_t nr);

#endif
