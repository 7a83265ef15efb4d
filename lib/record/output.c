/* SPDX-License-Identifier: MIT */
#include "record/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "base/alloc.h"

static int expand_one(FILE *out, char letter, pid_t pid, const char *pattern, struct error *err)
{
	struct utsname host;

	switch (letter) {
	case 'p':
		fprintf(out, "%d", (int)pid);
		return 0;
	case 'h':
		uname(&host);
		fputs(host.nodename, out);
		return 0;
	case '%':
		fputc('%', out);
		return 0;
	default:
		error_set(err, ERR_USAGE, "the name '%s' has a '%%' with an unknown letter behind",
			  pattern);
		return error_hint(err, "%%p is the pid, %%h the host, %%%% a percent sign");
	}
}

int output_expand(char **path, const char *pattern, pid_t pid, struct error *err)
{
	size_t size;
	FILE *out = open_memstream(path, &size);
	int ret = 0;

	for (const char *at = pattern; !ret && *at; at++) {
		if (*at != '%')
			fputc(*at, out);
		else
			ret = expand_one(out, *++at, pid, pattern, err);
	}
	fclose(out);
	if (ret < 0) {
		free(*path);
		*path = NULL;
	}
	return ret;
}
