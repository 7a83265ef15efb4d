/* SPDX-License-Identifier: MIT */
#include "record/process_image.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/path.h"

struct process_image *process_image_new(struct intern *texts, int32_t pid, uint32_t number,
					uint32_t parent, int64_t start_us)
{
	struct process_image *image = xcalloc(1, sizeof(*image));

	image->texts = texts;
	image->row = (struct profile_process){ .id = PROFILE_NONE,
					       .parent = parent,
					       .pid = pid,
					       .image = number,
					       .start_us = start_us,
					       .end_us = PROFILE_NO_TIME,
					       .exit_status = -1 };
	return image;
}

static void free_arguments(char **arguments, size_t nr)
{
	for (size_t i = 0; arguments && i < nr; i++)
		free(arguments[i]);
	free(arguments);
}

void process_image_free(struct process_image *image)
{
	if (!image)
		return;
	free_arguments((char **)image->row.arguments, image->row.nr_arguments);
	free(image);
}

static const char *shared(const struct process_image *image, const char *text)
{
	return text ? intern_text(image->texts, intern_add(image->texts, text)) : NULL;
}

void process_image_set_executable(struct process_image *image, const char *path)
{
	image->row.executable = shared(image, path);
}

void process_image_set_untracked_reason(struct process_image *image, const char *reason)
{
	image->row.untracked_reason = shared(image, reason);
}

void process_image_set_arguments(struct process_image *image, const char *const *arguments,
				 size_t nr)
{
	char **copy = arguments ? xcalloc(nr + 1, sizeof(*copy)) : NULL;

	for (size_t i = 0; i < nr; i++)
		copy[i] = xstrdup(arguments[i]);
	free_arguments((char **)image->row.arguments, image->row.nr_arguments);
	image->row.arguments = (const char *const *)copy;
	image->row.nr_arguments = nr;
}

void process_image_set_wait_status(struct process_image *image, int wait_status)
{
	image->row.exit_status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
	image->row.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
}

bool process_image_is_called(const struct process_image *image, const char *executable)
{
	const char *own = image->row.executable;

	return !own || !executable || !strcmp(path_name(own), path_name(executable));
}

const char *process_image_name(const struct process_image *image)
{
	if (image->row.executable)
		return image->row.executable;
	if (image->row.arguments && image->row.nr_arguments)
		return image->row.arguments[0];
	return *image->comm ? image->comm : "?";
}

bool process_image_need_arguments(struct process_image *image)
{
	const char *name = process_image_name(image);
	bool need = !image->row.nr_arguments && image->row.executed;

	if (need)
		process_image_set_arguments(image, &name, 1);
	return need;
}

void process_image_drop_arguments(struct process_image *image)
{
	/* Without an executable they are its name. */
	if (!image->row.executable || !image->row.nr_arguments)
		return;
	free_arguments((char **)image->row.arguments, image->row.nr_arguments);
	image->row.arguments = NULL;
}

bool process_image_has_arguments(const struct process_image *image)
{
	return image->row.arguments || image->row.nr_arguments;
}
