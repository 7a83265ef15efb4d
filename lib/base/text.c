/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd"

static uint32_t code_point(const unsigned char *at, size_t length)
{
	static const unsigned char mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t point = at[0] & mask[length];

	for (size_t i = 1; i < length; i++)
		point = point << 6 | (at[i] & 0x3f);
	return point;
}

char *text_utf8(const char *text)
{
	struct strbuf out = { 0 };
	size_t length;

	for (const unsigned char *at = (const unsigned char *)text; *at;
	     at += length ? length : 1) {
		length = utf8_length((const char *)at);
		if (length)
			strbuf_add_bytes(&out, (const char *)at, length);
		else
			strbuf_add(&out, REPLACEMENT);
	}
	return strbuf_take(&out);
}

/* C1 controls, line separators, what reorders text, what is invisible. */
static bool misleads(uint32_t point)
{
	return (point >= 0x80 && point < 0xa0) || point == 0xad || point == 0x61c ||
	       (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2060 && point <= 0x206f) || point == 0xfeff;
}

static void append_control(struct strbuf *out, unsigned char byte)
{
	char spelled[8];

	if (byte == '\n')
		strbuf_add(out, "\\n");
	else if (byte == '\t')
		strbuf_add(out, "\\t");
	else if (snprintf(spelled, sizeof(spelled), "\\x%02x", byte) > 0)
		strbuf_add(out, spelled);
}

char *text_clean(const char *text)
{
	struct strbuf out = { 0 };
	size_t length;

	for (const unsigned char *at = (const unsigned char *)text; *at;
	     at += length ? length : 1) {
		length = utf8_length((const char *)at);
		if (!length || misleads(code_point(at, length)))
			strbuf_add(&out, REPLACEMENT);
		else if (*at < 0x20 || *at == 0x7f)
			append_control(&out, *at);
		else
			strbuf_add_bytes(&out, (const char *)at, length);
	}
	return strbuf_take(&out);
}

/* Combining marks take no column, East Asian wide characters and emoji two. */
static size_t point_width(uint32_t point)
{
	static const struct {
		uint32_t from, to;
		size_t width;
	} ranges[] = {
		{ 0x0300, 0x036f, 0 },	 { 0x0483, 0x0489, 0 },	  { 0x0591, 0x05bd, 0 },
		{ 0x064b, 0x065f, 0 },	 { 0x1100, 0x115f, 2 },	  { 0x1ab0, 0x1aff, 0 },
		{ 0x1dc0, 0x1dff, 0 },	 { 0x20d0, 0x20ff, 0 },	  { 0x2e80, 0x303e, 2 },
		{ 0x3041, 0xa4cf, 2 },	 { 0xac00, 0xd7a3, 2 },	  { 0xf900, 0xfaff, 2 },
		{ 0xfe00, 0xfe0f, 0 },	 { 0xfe20, 0xfe2f, 0 },	  { 0xfe30, 0xfe6f, 2 },
		{ 0xff00, 0xff60, 2 },	 { 0xffe0, 0xffe6, 2 },	  { 0x1f300, 0x1f64f, 2 },
		{ 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 },
	};

	for (size_t i = 0; point >= ranges[0].from && i < ARRAY_SIZE(ranges); i++)
		if (point >= ranges[i].from && point <= ranges[i].to)
			return ranges[i].width;
	return 1;
}

static size_t width_at(const unsigned char *at, size_t *length)
{
	*length = utf8_length((const char *)at);
	if (*length)
		return point_width(code_point(at, *length));
	*length = 1;
	return 1;
}

size_t text_width(const char *text)
{
	size_t width = 0, length;

	for (const unsigned char *at = (const unsigned char *)text; *at; at += length)
		width += width_at(at, &length);
	return width;
}

/* What stands for a sign of ours, and is as wide; NULL: it is none. */
static const char *ascii_sign(const char *at, size_t *length)
{
	static const char *const signs[][2] = {
		{ "\xc2\xb7", "|" },	 /* between phrases */
		{ "\xc2\xb1 ", "+-" },	 /* plus or minus, with the space behind it */
		{ ELLIPSIS, "*" },	 /* as a shell has it for anything */
		{ "\xe2\x96\x81", "." }, /* bars, from one eighth to eight */
		{ "\xe2\x96\x82", ":" }, { "\xe2\x96\x83", "-" }, { "\xe2\x96\x84", "=" },
		{ "\xe2\x96\x85", "+" }, { "\xe2\x96\x86", "*" }, { "\xe2\x96\x87", "#" },
		{ "\xe2\x96\x88", "@" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		*length = strlen(signs[i][0]);
		if (!strncmp(at, signs[i][0], *length))
			return signs[i][1];
	}
	return NULL;
}

char *text_ascii(const char *text)
{
	struct strbuf out = { 0 };
	size_t length;

	for (const char *at = text; *at; at += length) {
		const char *sign = ascii_sign(at, &length);

		if (sign) {
			strbuf_add(&out, sign);
			continue;
		}
		for (size_t nr = width_at((const unsigned char *)at, &length); nr; nr--)
			strbuf_add_bytes(&out, (unsigned char)*at < 0x80 ? at : "?", 1);
	}
	return strbuf_take(&out);
}

/* Up to where text has at most `most` columns, and where it has at least `least`. */
static const char *before(const char *text, size_t most)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length, used = 0;

	for (; *at; at += length) {
		used += width_at(at, &length);
		if (used > most)
			break;
	}
	return (const char *)at;
}

static const char *after(const char *text, size_t least)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length, used = 0;

	for (; *at && used < least; at += length)
		used += width_at(at, &length);
	return (const char *)at;
}

char *text_clip(const char *text, size_t width)
{
	size_t whole = text_width(text);
	struct strbuf out = { 0 };
	size_t tail;

	if (whole <= width)
		return xstrdup(text);
	if (!width)
		return xstrdup("");

	tail = (width - 1) / 2;
	strbuf_add_bytes(&out, text, (size_t)(before(text, width - 1 - tail) - text));
	strbuf_add(&out, ELLIPSIS);
	strbuf_add(&out, after(text, whole - tail));
	return strbuf_take(&out);
}

size_t text_line(const char *text, size_t width)
{
	const char *most = before(text, width), *end = text, *at = text;

	for (;;) {
		at += strspn(at, " ");
		if (!*at)
			break;
		at += strcspn(at, " ");
		if (at > most && end > text)
			break;
		end = at;
	}
	return (size_t)(end - text);
}
