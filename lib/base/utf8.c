/* SPDX-License-Identifier: MIT */
#include "base/utf8.h"

static bool is_continuation(unsigned char byte)
{
	return (byte & 0xc0) == 0x80;
}

/* The second byte's range is what excludes overlong forms, surrogates and the end of Unicode
 * (table 3-7 of the standard). */
static bool fits_second(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		return second >= 0xa0 && second <= 0xbf;
	case 0xed:
		return second >= 0x80 && second <= 0x9f;
	case 0xf0:
		return second >= 0x90 && second <= 0xbf;
	case 0xf4:
		return second >= 0x80 && second <= 0x8f;
	default:
		return is_continuation(second);
	}
}

static size_t length_by_first(unsigned char first)
{
	if (first < 0x80)
		return first ? 1 : 0;
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

size_t utf8_length(const char *text)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t length = length_by_first(bytes[0]);

	if (length > 1 && !fits_second(bytes[0], bytes[1]))
		return 0;
	for (size_t i = 2; i < length; i++)
		if (!is_continuation(bytes[i]))
			return 0;
	return length;
}

bool utf8_is_valid(const char *text)
{
	while (*text) {
		size_t length = utf8_length(text);

		if (!length)
			return false;
		text += length;
	}
	return true;
}
