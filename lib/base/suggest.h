/* SPDX-License-Identifier: MIT */
/*
 * suggest - "did you mean ...?"
 *
 *	const char *const names[] = { "record", "report", NULL };
 *	const char *meant = suggest("rceord", names);	// "record"; NULL: nothing comes close
 *
 * Close is an edit distance (insert, delete, change, swap two neighbours) of at most a third of
 * the longer word, or the word being the beginning of a candidate.
 */
#ifndef BASE_SUGGEST_H
#define BASE_SUGGEST_H

/* The candidate (of a list that NULL ends) closest to word; of equally close ones the first. */
const char *suggest(const char *word, const char *const *candidates);

/* Single-character edits that make b of a.  Words longer than 63 characters are cut there. */
unsigned int edit_distance(const char *a, const char *b);

#endif
