/* SPDX-License-Identifier: MIT */
#include "base/suggest.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define LONGEST_WORD 63

static unsigned int smaller(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static bool swapped(const char *a, const char *b, size_t i, size_t j)
{
	return i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
}

/* Optimal string alignment: row i holds the distances of a's first i characters to b's first j. */
unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int row[3][LONGEST_WORD + 1];
	unsigned int *before = row[0], *last = row[1], *now = row[2];
	size_t length_a = strnlen(a, LONGEST_WORD), length_b = strnlen(b, LONGEST_WORD);

	for (size_t j = 0; j <= length_b; j++)
		now[j] = (unsigned int)j;

	for (size_t i = 1; i <= length_a; i++) {
		unsigned int *spare = before;

		before = last;
		last = now;
		now = spare;
		now[0] = (unsigned int)i;
		for (size_t j = 1; j <= length_b; j++) {
			now[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			now[j] = smaller(now[j], smaller(last[j], now[j - 1]) + 1);
			if (swapped(a, b, i, j))
				now[j] = smaller(now[j], before[j - 2] + 1);
		}
	}
	return now[length_b];
}

static bool begins(const char *candidate, const char *word)
{
	return *word && !strncmp(candidate, word, strlen(word));
}

static unsigned int distance_or_far(const char *word, const char *candidate)
{
	size_t length = strnlen(word, LONGEST_WORD), other = strnlen(candidate, LONGEST_WORD);
	size_t longer = length > other ? length : other;
	unsigned int distance;

	if (begins(candidate, word))
		return 0;
	distance = edit_distance(word, candidate);
	return distance <= (longer + 2) / 3 && distance < longer ? distance : UINT_MAX;
}

const char *suggest(const char *word, const char *const *candidates)
{
	unsigned int closest = UINT_MAX;
	const char *found = NULL;

	for (; *candidates; candidates++) {
		unsigned int distance = distance_or_far(word, *candidates);

		if (distance < closest) {
			closest = distance;
			found = *candidates;
		}
	}
	return found;
}
