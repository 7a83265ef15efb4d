/* SPDX-License-Identifier: MIT */
#include "store/histogram_text.h"

#include <string.h>

#include "base/alloc.h"
#include "base/vec.h"

#define NUMBER_MAX 20		       /* digits */
#define CLASS_MAX (2 * NUMBER_MAX + 4) /* "[n,n]," */

/* --- writing ----------------------------------------------------------------------------------*/

static char *put_number(char *to, uint64_t number)
{
	char digits[NUMBER_MAX];
	size_t nr = 0;

	do
		digits[nr++] = (char)('0' + number % 10);
	while (number /= 10);
	while (nr)
		*to++ = digits[--nr];
	return to;
}

static char *put_class(char *to, const struct profile_class *class)
{
	*to++ = '[';
	to = class->bound == UINT64_MAX ? stpcpy(to, "null") : put_number(to, class->bound);
	*to++ = ',';
	to = put_number(to, class->blocks);
	*to++ = ']';
	return to;
}

char *histogram_text(const struct profile_histogram *histogram)
{
	char *text = xmalloc(histogram->nr * CLASS_MAX + sizeof("[]")), *to = text;

	*to++ = '[';
	for (size_t i = 0; i < histogram->nr; i++) {
		if (i)
			*to++ = ',';
		to = put_class(to, &histogram->at[i]);
	}
	strcpy(to, "]");
	return text;
}

/* --- reading ----------------------------------------------------------------------------------*/

static bool skip(const char **at, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(*at, word, length) != 0)
		return false;
	*at += length;
	return true;
}

static bool read_number(const char **at, uint64_t *number)
{
	const char *from = *at;

	for (*number = 0; **at >= '0' && **at <= '9'; ++*at)
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(**at - '0'), number))
			return false;
	return *at > from;
}

static bool read_bound(const char **at, uint64_t *bound)
{
	*bound = UINT64_MAX;
	return skip(at, "null") || read_number(at, bound);
}

static bool read_class(const char **at, struct profile_class *class)
{
	return skip(at, "[") && read_bound(at, &class->bound) && skip(at, ",") &&
	       read_number(at, &class->blocks) && skip(at, "]");
}

const char *histogram_read(struct profile_histogram *histogram, const char *text,
			   struct arena *arena)
{
	VEC(struct profile_class) classes = { 0 };
	bool is_good = skip(&text, "["), is_first = true;
	struct profile_class class;

	while (is_good && !skip(&text, "]")) {
		is_good = (is_first || skip(&text, ",")) && read_class(&text, &class) &&
			  (is_first || vec_last(&classes)->bound < class.bound);
		is_first = false;
		vec_push(&classes, class);
	}
	is_good = is_good && !*text;
	if (is_good && classes.nr)
		histogram->at = memcpy(arena_alloc(arena, classes.nr * sizeof(class)), classes.at,
				       classes.nr * sizeof(class));
	histogram->nr = is_good ? classes.nr : 0;
	vec_free(&classes);
	return is_good ? NULL : "is no histogram";
}
