/* SPDX-License-Identifier: MIT */
/*
 * partner - which event an event is a part of, or goes by.
 *
 *	partner_of("branch-misses:u")	"branches:u"
 *	partner_of("LLC-load-misses")	"LLC-loads"
 *	partner_of("instructions")	"cycles"
 *	partner_of("page-faults")	NULL
 *
 * Events and their partners are counted together, so that the ratio is exact.
 */
#ifndef STAT_PARTNER_H
#define STAT_PARTNER_H

/* NULL if there is none.  Free it. */
char *partner_of(const char *name);

/* "instructions" with the modifiers of name.  Free it. */
char *partner_instructions(const char *name);

#endif
