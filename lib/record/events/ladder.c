/* SPDX-License-Identifier: MIT */
#include "record/events/ladder.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/vec.h"

enum {
	PRECISE_MOST = 2,
	MEMBERS_MAX = 64,
};

struct climb {
	const struct sampling *sampling;
	const struct access *access;
	const struct ladder_probe *probe;
	struct sampling_limits limits;
};

static int try_open(const struct climb *climb, const struct event_type *type, int group_fd)
{
	struct perf_event_attr attr;
	int fd;

	/* Of the kernel alone, without the kernel, nothing is left. */
	if (climb->limits.user_only && type->exclude_user)
		return -EACCES;
	sampling_attr(&attr, type, group_fd < 0, climb->sampling, &climb->limits);
	fd = climb->probe->open(climb->probe->context, &attr, group_fd);
	log_debug(LOG_EVENTS, "try %s, precise %d%s: %s", type->name, (int)attr.precise_ip,
		  attr.exclude_kernel ? ", user only" : "", fd < 0 ? strerror(-fd) : "ok");
	return fd;
}

/* Down the rungs that concern the leader alone; leaves in climb->limits what worked. */
static int open_leader(struct climb *climb, const struct event_type *type)
{
	struct sampling_limits *limits = &climb->limits;

	limits->precise = event_type_is_software(type) ? 0 : PRECISE_MOST;
	for (;;) {
		int fd = try_open(climb, type, -1);

		if (fd == -EACCES && !limits->user_only)
			limits->user_only = true;
		else if (fd < 0 && access_is_about_event(-fd) && limits->precise)
			limits->precise--;
		else
			return fd;
	}
}

struct group {
	int leader;
	int members[MEMBERS_MAX]; /* descriptor or -errno */
	size_t nr_opened;
};

static void close_group(const struct climb *climb, struct group *group, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (group->members[i] >= 0)
			climb->probe->close(climb->probe->context, group->members[i]);
	if (group->leader >= 0)
		climb->probe->close(climb->probe->context, group->leader);
}

static void open_members(const struct climb *climb, struct group *group,
			 const struct ladder_event *members, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		group->members[i] = try_open(climb, members[i].type, group->leader);
		group->nr_opened += group->members[i] >= 0;
	}
}

/*
 * A precise leader may be an event of another PMU (IBS), which none of the members can share a
 * group with.  What gets the most members in wins, and then precision.
 */
static void choose_members(struct climb *climb, struct ladder_event *leader, size_t nr)
{
	const struct ladder_event *members = leader + 1;
	struct group best = { .leader = -1 };
	int best_precise = 0;
	bool found = false;

	for (int precise = climb->limits.precise; precise >= 0; precise--) {
		struct group group = { 0 };

		climb->limits.precise = precise;
		group.leader = try_open(climb, leader->type, -1);
		if (group.leader < 0)
			continue;
		open_members(climb, &group, members, nr);
		close_group(climb, &group, nr);
		if (!found || group.nr_opened > best.nr_opened) {
			best = group;
			best_precise = precise;
		}
		found = true;
		if (group.nr_opened == nr)
			break;
	}
	climb->limits.precise = best_precise;

	for (size_t i = 0; i < nr; i++) {
		struct ladder_event *member = &leader[1 + i];
		struct error err = ERROR_INIT;

		if (found && best.members[i] >= 0)
			continue;
		access_explain(climb->access, found ? -best.members[i] : EBUSY, member->type, &err);
		member->state =
			err.code == ERR_REFUSED ? LADDER_NOT_PERMITTED : LADDER_NOT_SUPPORTED;
		member->reason = xstrdup(err.message);
	}
}

static struct ladder_event *add(struct ladder *ladder, const struct event_type *type)
{
	struct ladder_event *event = &ladder->events[ladder->nr++];

	*event = (struct ladder_event){ .type = type };
	return event;
}

static void add_members(struct ladder *ladder, const struct event_types *wanted)
{
	for (size_t i = 1; i < wanted->nr; i++)
		if (strcmp(wanted->at[i].name, ladder->events[0].type->name))
			add(ladder, &wanted->at[i]);
}

/* Those sampled to the front, otherwise in the order asked for. */
static void sort_by_state(struct ladder *ladder)
{
	struct ladder_event *sorted = xcalloc(ladder->nr, sizeof(*sorted));
	size_t nr = 0;

	for (size_t i = 0; i < ladder->nr; i++)
		if (ladder->events[i].state == LADDER_SAMPLED)
			sorted[nr++] = ladder->events[i];
	ladder->nr_sampled = nr;
	for (size_t i = 0; i < ladder->nr; i++)
		if (ladder->events[i].state != LADDER_SAMPLED)
			sorted[nr++] = ladder->events[i];
	free(ladder->events);
	ladder->events = sorted;
}

/* Puts what else can be sampled into the leader's place; *missing is what was asked for. */
static int substitute(struct climb *climb, struct ladder *ladder, const struct event_type *asked,
		      int refusal, struct ladder_event *missing, struct error *err)
{
	const struct event_type *clock = event_type_find("cpu-clock");
	struct error why = ERROR_INIT;
	struct ladder_event *leader;
	int fd = open_leader(climb, clock);

	if (fd < 0)
		return access_explain(climb->access, -fd, clock, err);

	access_explain(climb->access, -refusal, asked, &why);
	leader = add(ladder, clock);
	leader->substituted_for = asked->name;
	leader->reason = xasprintf("%s: sampled cpu-clock; %s not available", why.message,
				   strcmp(asked->name, "cycles") ? asked->name : "IPC");
	*missing = (struct ladder_event){ .type = asked,
					  .state = LADDER_NOT_SUPPORTED,
					  .reason = xstrdup(why.message) };
	return fd;
}

int ladder_climb(struct ladder *ladder, const struct event_types *wanted,
		 const struct sampling *sampling, const struct access *access,
		 const struct ladder_probe *probe, struct error *err)
{
	struct climb climb = { .sampling = sampling, .access = access, .probe = probe };
	const struct event_type *asked = &wanted->at[0];
	struct ladder_event missing = { 0 };
	int fd;

	*ladder = (struct ladder){ .events = xcalloc(wanted->nr + 1, sizeof(*ladder->events)) };
	if (wanted->nr > MEMBERS_MAX)
		return error_set(err, ERR_USAGE, "more than %d events", MEMBERS_MAX);

	fd = open_leader(&climb, asked);
	if (fd >= 0)
		add(ladder, asked);
	else if (access_is_about_event(-fd) && !event_type_is_clock(asked))
		fd = substitute(&climb, ladder, asked, fd, &missing, err);
	else
		fd = access_explain(access, -fd, asked, err);
	if (fd < 0)
		return fd;
	probe->close(probe->context, fd);

	add_members(ladder, wanted);
	choose_members(&climb, ladder->events, ladder->nr - 1);
	ladder->limits = climb.limits;
	if (missing.type)
		ladder->events[ladder->nr++] = missing;
	sort_by_state(ladder);
	return 0;
}

void ladder_release(struct ladder *ladder)
{
	for (size_t i = 0; i < ladder->nr; i++)
		free(ladder->events[i].reason);
	free(ladder->events);
	*ladder = (struct ladder){ 0 };
}
