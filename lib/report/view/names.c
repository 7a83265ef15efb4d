/* SPDX-License-Identifier: MIT */
#include "report/view/names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/text.h"

/* --- one name --- */

/* "operator()" has brackets of its own. */
static bool follows_operator(const char *name, const char *at)
{
	static const char word[] = "operator";
	size_t length = sizeof(word) - 1;

	return (size_t)(at - name) >= length && !strncmp(at - length, word, length);
}

/* "<" opens arguments after a name only; not in "operator<" or "<T as Trait>". */
static bool opens_arguments(const char *name, const char *at)
{
	if (at == name || !(isalnum((unsigned char)at[-1]) || at[-1] == '_'))
		return false;
	return !follows_operator(name, at);
}

/* Past the bracket that closes the one at `at`; NULL: none does. */
static const char *past_close(const char *at, char open, char close)
{
	size_t depth = 0;

	for (; *at; at++) {
		if (*at == open)
			depth++;
		else if (*at == close && !(close == '>' && at[-1] == '-') && --depth == 0)
			return at + 1;
	}
	return NULL;
}

/* Template arguments become "<…>". */
static char *without_template_arguments(const char *name)
{
	struct strbuf out = { 0 };
	const char *at = name;

	while (*at) {
		const char *end =
			*at == '<' && opens_arguments(name, at) ? past_close(at, '<', '>') : NULL;

		if (end && end - at > 5) {
			strbuf_add(&out, "<" ELLIPSIS ">");
			at = end;
		} else {
			strbuf_add_bytes(&out, at++, 1);
		}
	}
	return strbuf_take(&out);
}

static bool may_follow_arguments(const char *rest)
{
	static const char *const starts[] = {
		" const", " volatile", " &", " [", " noexcept", NULL
	};

	for (const char *const *start = starts; *start; start++)
		if (!strncmp(rest, *start, strlen(*start)))
			return true;
	return !*rest;
}

/* The argument list at the end, if there is one: "(Key const&) const". */
static const char *argument_list(const char *name)
{
	for (const char *at = strchr(name, '('); at; at = strchr(at, '(')) {
		const char *end = past_close(at, '(', ')');

		if (!end)
			return NULL;
		if (at > name && may_follow_arguments(end) && !follows_operator(name, at))
			return at;
		at = end;
	}
	return NULL;
}

static char *without_arguments(const char *name, const char *instead)
{
	const char *list = argument_list(name);

	if (!list)
		return xstrdup(name);
	return xasprintf("%.*s%s", (int)(list - name), name, instead);
}

/* The type before the name, which templates have: past the last space outside of brackets. */
static char *without_type(const char *name)
{
	const char *list = argument_list(name), *start = name;
	int depth = 0;

	for (const char *at = name; list && at < list; at++) {
		if (strchr("<([{", *at))
			depth++;
		else if (strchr(">)]}", *at) && (at == name || at[-1] != '-'))
			depth--;
		else if (!strncmp(at, "operator", strlen("operator")))
			break;
		else if (*at == ' ' && !depth)
			start = at + 1;
	}
	return xstrdup(start);
}

static char *swap(char *former, char *shorter)
{
	free(former);
	return shorter;
}

char *name_fit(const char *name, size_t width)
{
	char *fitting = text_clean(name);

	if (text_width(fitting) > width)
		fitting = swap(fitting, without_template_arguments(fitting));
	if (text_width(fitting) > width)
		fitting = swap(fitting, without_type(fitting));
	if (text_width(fitting) > width)
		fitting = swap(fitting, without_arguments(fitting, "(" ELLIPSIS ")"));
	if (text_width(fitting) > width)
		fitting = swap(fitting, without_arguments(fitting, ""));
	return swap(fitting, text_clip(fitting, width));
}

char *name_brief(const char *name)
{
	char *brief = text_clean(name);

	brief = swap(brief, without_template_arguments(brief));
	brief = swap(brief, without_type(brief));
	return swap(brief, without_arguments(brief, ""));
}

/* --- stacks --- */

/* The names of inner innermost frames and of outer outermost ones. */
static char *join(char *const *names, size_t nr, size_t inner, size_t outer)
{
	struct strbuf out = { 0 };

	for (size_t i = 0; i < nr; i++) {
		if (i >= inner && i < nr - outer) {
			if (strcmp(names[i - 1], ELLIPSIS) != 0)
				strbuf_add(&out, " < " ELLIPSIS);
			i = nr - outer - 1;
			continue;
		}
		strbuf_add(&out, i ? " < " : "");
		strbuf_add(&out, names[i]);
	}
	return strbuf_take(&out);
}

/* How many innermost frames fit with outer outermost ones: 0: not even one with those. */
static size_t most_that_fit(char *const *names, size_t nr, size_t outer, size_t width)
{
	size_t most = width / 4 + 1; /* a letter and " < " each */
	size_t inner = nr - outer < most ? nr - outer : most;

	for (; inner; inner--) {
		char *joined = join(names, nr, inner, outer);
		bool fits = text_width(joined) <= width;

		free(joined);
		if (fits)
			break;
	}
	return inner;
}

/*
 * As many innermost frames as fit, *shown, with the outermost one, too; rather without it than with
 * only one beside it: many stacks begin alike.
 */
static char *join_fit(char *const *names, size_t nr, size_t width, size_t *shown)
{
	size_t alone = most_that_fit(names, nr, 0, width);
	size_t inner = nr > 1 ? most_that_fit(names, nr, 1, width) : 0;
	bool with_outermost = inner > 1 || (inner && alone <= inner);

	*shown = with_outermost ? inner : alone;
	return *shown ? join(names, nr, *shown, with_outermost) : text_clip(names[0], width);
}

/* xmalloc, PyObject_Malloc, g_malloc0: an allocation function by its name. */
static bool is_allocator(const char *name)
{
	size_t length = strlen(name);

	while (length && isdigit((unsigned char)name[length - 1]))
		length--;
	return length >= 5 && !strncasecmp(name + length - 5, "alloc", 5);
}

/* What only hands an allocation on. */
static bool is_plumbing(const char *name)
{
	static const char *const starts[] = { "operator new", "std::",	  "__gnu_cxx::",
					      "alloc::",      "<alloc::", "__rust_alloc",
					      "__rdl_alloc",  NULL };

	for (const char *const *start = starts; *start; start++)
		if (!strncmp(name, *start, strlen(*start)))
			return true;
	return is_allocator(name);
}

/* The names of the frames that say where the memory was wanted, innermost first. */
struct brief_stack {
	char **names;
	size_t nr, from, to;
};

static bool is_unnamed(const char *name)
{
	return strstr(name, "+0x");
}

/* How many names from i on are the same. */
static size_t count_same(const struct brief_stack *brief, size_t i)
{
	size_t nr = 1;

	while (i + nr < brief->to && !strcmp(brief->names[i], brief->names[i + nr]))
		nr++;
	return nr;
}

/* "f < f < f < main" becomes "f < … < main". */
static void fold_recursion(struct brief_stack *brief)
{
	size_t kept = brief->from;

	for (size_t i = brief->from, same; i < brief->to; i += same) {
		same = count_same(brief, i);
		bool folds = same > 2 && i + same < brief->to;

		for (size_t j = 0; j < (folds ? 2 : same); j++) {
			char *name = brief->names[kept];

			brief->names[kept++] = brief->names[i + j];
			brief->names[i + j] = name;
		}
		if (folds)
			brief->names[kept - 1] = swap(brief->names[kept - 1], xstrdup(ELLIPSIS));
	}
	brief->to = kept;
}

static struct brief_stack brief_stack(const struct texts *stack)
{
	struct brief_stack brief = { .nr = stack->nr > 1 ? stack->nr - 1 : stack->nr };

	brief.names = xcalloc(brief.nr + 1, sizeof(brief.names[0]));
	for (size_t i = 0; i < brief.nr; i++)
		brief.names[i] = name_brief(stack->at[brief.nr - 1 - i]);

	brief.to = brief.nr;
	while (brief.from < brief.nr && is_plumbing(brief.names[brief.from]))
		brief.from++;
	if (brief.from == brief.nr) {
		brief.from = 0;
		return brief;
	}
	while (brief.to > brief.from + 1 &&
	       (is_plumbing(brief.names[brief.to - 1]) || is_unnamed(brief.names[brief.to - 1])))
		brief.to--;
	fold_recursion(&brief);
	return brief;
}

static void brief_stack_release(struct brief_stack *brief)
{
	for (size_t i = 0; i < brief->nr; i++)
		free(brief->names[i]);
	free(brief->names);
}

/* Of the names no more than `longest` columns each. */
static char *join_clipped(const struct brief_stack *brief, size_t longest, size_t width,
			  size_t *shown)
{
	size_t nr = brief->to - brief->from;
	char **names = xcalloc(nr + 1, sizeof(names[0]));
	char *line;

	for (size_t i = 0; i < nr; i++)
		names[i] = text_clip(brief->names[brief->from + i], longest);
	line = join_fit(names, nr, width, shown);
	for (size_t i = 0; i < nr; i++)
		free(names[i]);
	free(names);
	return line;
}

/* Rather shorter names than only one. */
char *stack_fit(const struct texts *stack, size_t width)
{
	static const size_t longest[] = { 40, 24, 14 };
	struct brief_stack brief = brief_stack(stack);
	size_t nr = brief.to - brief.from, enough = nr < 2 ? nr : 2, most = 0;
	char *best = NULL;

	for (size_t i = 0; nr && i < ARRAY_SIZE(longest) && most < enough; i++) {
		size_t shown, cap = longest[i] < width ? longest[i] : width;
		char *line = join_clipped(&brief, cap, width, &shown);

		if (!best || shown > most) {
			most = shown;
			best = swap(best, line);
		} else {
			free(line);
		}
	}
	brief_stack_release(&brief);
	return best ? best : xstrdup("");
}
