/* SPDX-License-Identifier: MIT */
/*
 * columns - which field of which struct of profile.h is in which column.
 *
 * One description for both directions, so that what the writer puts in is what the reader gets
 * out:
 *
 *	column_bind(statement, index, column, row, &files);		// writing
 *	why = column_read(statement, index, column, row, &texts);	// reading; NULL: fine
 *
 * In the file what is not there is NULL (an id that is none, a time that is not known, a line of
 * 0), enums are words, and text that is not UTF-8 is a BLOB.  Names of source files, of which
 * there are few in many rows, are in a table of their own.
 */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include <sqlite3.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/intern.h"

enum column_type {
	COLUMN_U32,
	COLUMN_U32_OR_NULL, /* 0: NULL */
	COLUMN_I32,
	COLUMN_EXIT_STATUS, /* int; -1: NULL */
	COLUMN_SIGNAL,	    /* int; 0: NULL */
	COLUMN_I64,	    /* a time or duration, which is never NULL */
	COLUMN_U64,	    /* above 2^63 - 1: the negative number with the same bits */
	COLUMN_U64_OR_NULL, /* PROFILE_UNKNOWN: NULL */
	COLUMN_TIME,	    /* int64_t; PROFILE_NO_TIME: NULL */
	COLUMN_DOUBLE,
	COLUMN_BOOL,
	COLUMN_TEXT,
	COLUMN_TEXT_OR_NULL,
	COLUMN_FILE,	  /* text or NULL; the id of a row of table_file */
	COLUMN_WORD,	  /* an enum, as its word */
	COLUMN_KIND,	  /* an enum, as its number: where there are very many rows */
	COLUMN_HISTOGRAM, /* HISTOGRAM_IMPLIED: NULL */
	/* uint32_t: */
	COLUMN_ID,	    /* the row's own */
	COLUMN_REF,	    /* the id of another row */
	COLUMN_REF_OR_NULL, /* PROFILE_NONE: NULL */
	COLUMN_REF_OR_ALL,  /* PROFILE_NONE: -1, for keys */
};

struct words {
	const char *(*word)(unsigned int value);
	unsigned int nr;
};

struct table;

struct column {
	const char *name;
	enum column_type type;
	size_t offset;
	const struct table *refers; /* of COLUMN_REF */
	struct words words;	    /* of COLUMN_WORD; of COLUMN_KIND only nr */
};

struct table {
	const char *name;
	size_t row_size;
	const struct column *columns;
	size_t nr_columns;
};

struct file {
	uint32_t id;
	const char *path;
};

/* Where text is when it is read. */
struct texts {
	struct arena *arena;
	const struct file *files;
	size_t nr_files;
};

/* Each has its struct's name; meta is profile_run, a row for each field. */
extern const struct table table_meta, table_file, table_event, table_process, table_thread,
	table_module, table_address, table_stack, table_first_sample, table_later_sample,
	table_sample_sum, table_heap, table_heap_site, table_heap_size, table_heap_thread,
	table_heap_handoff, table_slice, table_memory, table_function, table_frame, table_quality;

/*
 * An SQLite code.  Text is not copied: it must stay until the statement is reset.  A file that is
 * new in files needs a row in table_file; files may be NULL where there is no COLUMN_FILE.
 */
int column_bind(sqlite3_stmt *statement, int index, const struct column *column, const void *row,
		struct intern *files);

/* Fills the field.  NULL, or what is wrong with the value; ids are not checked against each other.
 */
const char *column_read(sqlite3_stmt *statement, int index, const struct column *column, void *row,
			const struct texts *texts);

/* Text or, if it is not UTF-8, a BLOB; NULL is NULL. */
int text_bind(sqlite3_stmt *statement, int index, const char *text);
/* NULL for anything that is neither. */
const char *text_read(sqlite3_stmt *statement, int index, struct arena *arena);

#endif
