/* SPDX-License-Identifier: MIT */
#include "record/events/pmu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "record/events/catalogue.h"

enum { LINE_MAX_BYTES = 4096 };

/* The first line of a file below the PMU's folder, without its end; NULL. */
static char *read_line(const char *root, const char *pmu, const char *folder, const char *name)
{
	char *path = xasprintf("%s/%s/%s/%s", root, pmu, folder, name);
	FILE *file = strchr(name, '/') ? NULL : fopen(path, "re");
	char line[LINE_MAX_BYTES];
	char *read = file ? fgets(line, sizeof(line), file) : NULL;

	if (file)
		fclose(file);
	free(path);
	if (!read)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return xstrdup(line);
}

static bool parse_value(const char *text, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && !*end;
}

/* Puts the lowest bits of value into bits first..last; what is left of it. */
static uint64_t put_bits(uint64_t *word, uint64_t value, unsigned int first, unsigned int last)
{
	unsigned int nr = last - first + 1;
	uint64_t mask = nr == 64 ? UINT64_MAX : (UINT64_C(1) << nr) - 1;

	*word = (*word & ~(mask << first)) | (value & mask) << first;
	return nr == 64 ? 0 : value >> nr;
}

/* The word that "config1" names; NULL. */
static uint64_t *word_of(struct event_type *type, const char *name, size_t length)
{
	uint64_t *const words[] = { &type->config, &type->config1, &type->config2 };
	static const char *const names[] = { "config", "config1", "config2" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strlen(names[i]) == length && !strncmp(names[i], name, length))
			return words[i];
	}
	return NULL;
}

/* format is "config:0-7,32-35": negative if not, or if the value does not fit. */
static int put_value(struct event_type *type, const char *format, uint64_t value)
{
	uint64_t *word = word_of(type, format, strcspn(format, ":"));
	const char *at = format + strcspn(format, ":");

	if (!word || !*at)
		return -1;
	while (*at) {
		char *end;
		unsigned long first = strtoul(at + 1, &end, 10);
		unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		if (first > last || last > 63 || (*end && *end != ','))
			return -1;
		value = put_bits(word, value, (unsigned int)first, (unsigned int)last);
		at = end;
	}
	return value ? -1 : 0;
}

struct encoding {
	struct event_type *type;
	const char *root, *pmu;
};

static int encode_all(const struct encoding *encoding, const char *terms, bool may_be_event,
		      struct error *err);

static void read_unit(const struct encoding *encoding, const char *event)
{
	char *unit_name = xasprintf("%s.unit", event), *scale_name = xasprintf("%s.scale", event);
	char *scale = read_line(encoding->root, encoding->pmu, "events", scale_name);
	struct event_type *type = encoding->type;

	free((char *)type->unit);
	type->unit = read_line(encoding->root, encoding->pmu, "events", unit_name);
	type->scale = scale ? strtod(scale, NULL) : 0;
	free(scale);
	free(scale_name);
	free(unit_name);
}

static int encode_event(const struct encoding *encoding, const char *name, struct error *err)
{
	char *terms = read_line(encoding->root, encoding->pmu, "events", name);
	int ret;

	if (!terms) {
		error_set(err, ERR_USAGE, "the PMU '%s' has no event or term '%s'", encoding->pmu,
			  name);
		return error_hint(err, "`cprof list %s/` shows its events", encoding->pmu);
	}
	read_unit(encoding, name);
	ret = encode_all(encoding, terms, false, err);
	free(terms);
	return ret;
}

static int encode_term(const struct encoding *encoding, char *term, bool may_be_event,
		       struct error *err)
{
	char *value_text = strchr(term, '=');
	uint64_t value = 1, *word;
	char *format;
	int ret = 0;

	if (value_text)
		*value_text++ = '\0';
	if (value_text && !parse_value(value_text, &value))
		return error_set(err, ERR_USAGE, "'%s' is no value for the term '%s' of '%s'",
				 value_text, term, encoding->pmu);
	word = word_of(encoding->type, term, strlen(term));
	if (word) {
		*word = value;
		return 0;
	}
	format = read_line(encoding->root, encoding->pmu, "format", term);
	if (!format && may_be_event && !value_text)
		return encode_event(encoding, term, err);
	if (!format)
		ret = error_set(err, ERR_USAGE, "the PMU '%s' has no event or term '%s'",
				encoding->pmu, term);
	else if (put_value(encoding->type, format, value) < 0)
		ret = error_set(err, ERR_USAGE, "%#llx is too large for the term '%s' of '%s' (%s)",
				(unsigned long long)value, term, encoding->pmu, format);
	free(format);
	return ret;
}

static int encode_all(const struct encoding *encoding, const char *terms, bool may_be_event,
		      struct error *err)
{
	char *copy = xstrdup(terms), *rest = copy, *term;
	int ret = 0;

	while (!ret && (term = strsep(&rest, ",")))
		ret = encode_term(encoding, term, may_be_event, err);
	free(copy);
	return ret;
}

static bool read_number(const char *root, const char *pmu, uint32_t *number)
{
	char *line = read_line(root, pmu, ".", "type");
	uint64_t value = 0;
	bool read = line && parse_value(line, &value);

	*number = (uint32_t)value;
	free(line);
	return read;
}

/* One that counts for CPUs it names, and not for a program. */
static bool is_system_wide(const char *root, const char *pmu)
{
	char *mask = read_line(root, pmu, ".", "cpumask");
	bool is = mask && *mask;

	free(mask);
	return is;
}

int pmu_encode(struct event_type *type, const char *root, const char *pmu, const char *terms,
	       struct error *err)
{
	struct encoding encoding = { type, root, pmu };
	int ret;

	*type = (struct event_type){ .rate_divisor = 4 };
	if (strchr(pmu, '/') || *pmu == '.' || !read_number(root, pmu, &type->type)) {
		error_set(err, ERR_USAGE, "there is no PMU '%s'", pmu);
		return error_hint(err, "%s lists those of this machine", root);
	}
	type->system_wide = is_system_wide(root, pmu);
	ret = encode_all(&encoding, terms, true, err);
	if (ret < 0) {
		free((char *)type->unit);
		type->unit = NULL;
	}
	return ret;
}

/* "tsc", not "tsc.unit". */
static int is_event(const struct dirent *entry)
{
	return !strchr(entry->d_name, '.');
}

char **pmu_events(const char *root, size_t *nr)
{
	return catalogue_read(&(struct catalogue){ root, "events", is_event, "/", "/" }, nr);
}

char *pmu_event_terms(const char *root, const char *name)
{
	size_t pmu_length = strcspn(name, "/");
	char *pmu = xstrndup(name, pmu_length);
	char *event = xstrndup(name + pmu_length + 1, strcspn(name + pmu_length + 1, "/"));
	char *terms = read_line(root, pmu, "events", event);

	free(event);
	free(pmu);
	return terms;
}
