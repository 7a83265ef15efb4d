/* SPDX-License-Identifier: MIT */
/*
 * search - binary search in whatever is sorted.
 *
 *	nr = search_count(tab->nr, i, tab->at[i].start <= address);
 *	last = nr ? &tab->at[nr - 1] : NULL;	// that starts at or below the address
 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

/*
 * For how many of nr indices the condition holds, which is about the index i: it has to hold up to
 * some index, and from there on no more.
 */
#define search_count(nr, i, condition)                                             \
	({                                                                         \
		size_t search_low_ = 0, search_high_ = (nr);                       \
		while (search_low_ < search_high_) {                               \
			size_t i = search_low_ + (search_high_ - search_low_) / 2; \
			if (condition)                                             \
				search_low_ = i + 1;                               \
			else                                                       \
				search_high_ = i;                                  \
		}                                                                  \
		search_low_;                                                       \
	})

#endif
