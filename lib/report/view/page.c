/* SPDX-License-Identifier: MIT */
#include "report/view/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

static const char *const tints[] = {
	[TINT_NONE] = "",	 [TINT_BOLD] = "\033[1m",  [TINT_DIM] = "\033[2m",
	[TINT_HOT] = "\033[31m", [TINT_WARM] = "\033[33m",
};

/* An indent is written with what it is for: a line may turn out to have nothing on it. */
static void put_indent(struct page *page)
{
	fprintf(page->out, "%*s", (int)page->pending, "");
	page->pending = 0;
}

void page_tinted(struct page *page, enum tint tint, const char *text)
{
	put_indent(page);
	if (page->style.color && tint != TINT_NONE)
		fprintf(page->out, "%s%s\033[0m", tints[tint], text);
	else
		fputs(text, page->out);
	page->column += text_width(text);
}

static void pad_to(struct page *page, size_t column)
{
	for (; page->column < column; page->column++)
		putc(' ', page->out);
}

void page_blank(struct page *page)
{
	putc('\n', page->out);
}

void page_begin(struct page *page)
{
	page->column = 0;
	page->nr_phrases = 0;
	page->indent = 0;
	page->reserved = 0;
	page->pending = 0;
}

void page_label(struct page *page, const char *label)
{
	page_begin(page);
	page->indent = PAGE_INDENT;
	if (!label) {
		page->column = page->pending = PAGE_INDENT;
		return;
	}
	page_tinted(page, TINT_BOLD, label);
	pad_to(page, PAGE_INDENT);
}

void page_end(struct page *page)
{
	if (page->column > page->indent || page->nr_phrases)
		putc('\n', page->out);
	page_begin(page);
}

static void next_line(struct page *page)
{
	putc('\n', page->out);
	page->column = 0;
	page->nr_phrases = 0;
	pad_to(page, page->indent);
}

/* Separates from the phrase before, on this line or by beginning the next. */
static void separate(struct page *page, size_t width)
{
	if (!page->nr_phrases)
		return;
	if (page->column + 3 + width + page->reserved > page->style.width)
		next_line(page);
	else
		page_tinted(page, TINT_DIM, " " DOT " ");
}

static size_t room(const struct page *page)
{
	return page->column < page->style.width ? page->style.width - page->column : 0;
}

/* Text that is longer than a line goes on in the next, at the end of a word. */
static void put_words(struct page *page, const char *text)
{
	while (*text) {
		size_t length = text_line(text, room(page));
		char *line = xstrndup(text, length), *fitting = text_clip(line, room(page));

		page_tinted(page, TINT_NONE, fitting);
		free(line);
		free(fitting);
		text += length;
		text += strspn(text, " ");
		if (*text)
			next_line(page);
	}
	page->nr_phrases++;
}

void page_words(struct page *page, const char *text)
{
	char *clean = text_clean(text);

	separate(page, strcspn(clean, " "));
	put_words(page, clean);
	free(clean);
}

void page_phrase(struct page *page, const char *format, ...)
{
	va_list args;
	char *phrase;

	va_start(args, format);
	if (vasprintf(&phrase, format, args) < 0)
		phrase = xstrdup("");
	va_end(args);

	separate(page, text_width(phrase));
	put_words(page, phrase);
	free(phrase);
}

size_t page_limit(const struct page *page, size_t nr, size_t few)
{
	size_t limit = page->style.limit ?: few;

	return nr < limit ? nr : limit;
}
