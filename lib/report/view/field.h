/* SPDX-License-Identifier: MIT */
/*
 * field - the row model: what can be shown of a result, said once for all formats.
 *
 *	const struct field *self = fields_find(&function_fields, "self");
 *	struct value value = field_value(&function_fields, self, row);	// VALUE_REAL, 0.31
 *
 * A field is a member of a struct of report/analyze, with its key (in JSON, for --sort) and its
 * title and unit (in text).  Renderers get values and units; they compute nothing.
 */
#ifndef REPORT_VIEW_FIELD_H
#define REPORT_VIEW_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/analyze/analysis.h"

enum field_type {
	FIELD_TEXT,   /* const char * */
	FIELD_TEXTS,  /* struct texts */
	FIELD_BOOL,   /* bool */
	FIELD_INT,    /* int */
	FIELD_LINE,   /* uint32_t; 0 is absent */
	FIELD_U64,    /* uint64_t */
	FIELD_DOUBLE, /* double */
	FIELD_FIGURE, /* struct figure */
	FIELD_OBJECT, /* a struct with fields of its own */
	FIELD_ROWS,   /* struct rows */
	FIELD_MAP,    /* struct rows, each under the text of its first field */
};

/* Plain numbers, counts and bytes are integers. */
enum field_unit {
	UNIT_PLAIN,
	UNIT_COUNT,
	UNIT_BYTES,
	UNIT_SECONDS,
	UNIT_SHARE, /* 0..1 */
	UNIT_ERROR, /* of a share */
	UNIT_RATIO,
};

struct field {
	const char *key;
	const char *title; /* NULL: the key */
	enum field_type type;
	enum field_unit unit;
	size_t offset;
	const struct fields *of; /* OBJECT, ROWS, MAP */
	bool always;		 /* known even where the others of the struct are not */
	bool detail;		 /* unknown where the struct says that its details are */
	bool text_only;		 /* for people; not in JSON */
	bool sparse;		 /* in JSON only where it is known */
};

struct fields {
	const struct field *at;
	size_t nr;
	/* The struct has a bool at offset `known`: if false, only `always` fields are known. */
	bool may_be_unknown;
	size_t known;
	/* The same of a bool at offset `detailed` and `detail` fields. */
	bool may_lack_details;
	size_t detailed;
};

enum value_kind {
	VALUE_ABSENT,
	VALUE_BOOL,
	VALUE_INTEGER,
	VALUE_REAL,
	VALUE_TEXT,
	VALUE_TEXTS,
	VALUE_OBJECT,
	VALUE_ROWS,
};

struct value {
	enum value_kind kind;
	union {
		bool yes;
		int64_t integer;
		double real;
		const char *text;
		const struct texts *texts;
		const void *object;
		const struct rows *rows;
	};
};

/* NULL if there is none with this key. */
const struct field *fields_find(const struct fields *fields, const char *key);
struct value field_value(const struct fields *fields, const struct field *field, const void *row);

/* What there is. */
extern const struct fields function_fields; /* of struct cpu_function */
extern const struct fields place_fields;    /* of struct heap_place */
extern const struct fields site_fields;	    /* of struct heap_site */
extern const struct fields size_fields;	    /* of struct heap_size */
extern const struct fields handoff_fields;  /* of struct heap_handoff */
extern const struct fields heap_fields;	    /* of struct heap */
extern const struct fields process_fields;  /* of struct process_row */
extern const struct fields thread_fields;   /* of struct thread_row */
extern const struct fields module_fields;   /* of struct module_row */
extern const struct fields caller_fields;   /* of struct caller_row */
extern const struct fields slice_fields;    /* of struct time_slice */
extern const struct fields quality_fields;  /* of struct quality_row */
extern const struct fields analysis_fields; /* of struct analysis: everything */

/* Of struct analysis, one key each: what the single views show. */
extern const struct fields functions_view_fields;
extern const struct fields callers_view_fields;
extern const struct fields heap_view_fields;
extern const struct fields leaks_view_fields;
extern const struct fields threads_view_fields;
extern const struct fields modules_view_fields;
extern const struct fields timeline_view_fields;
extern const struct fields quality_view_fields;

#endif
