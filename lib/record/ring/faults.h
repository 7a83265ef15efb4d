/* SPDX-License-Identifier: MIT */
/*
 * faults - every page fault of a program: when, and at which address.
 *
 *	faults_open(&faults, pid, inherit, &err);	// they count from its exec on
 *	while ((nr = faults_take(faults, some, ARRAY_SIZE(some))))
 *		use(some, nr);			// in no particular order
 *	lost = faults_lost(faults);
 *	faults_close(faults);
 *
 * An event of the kernel's own, so it needs no PMU.  An ordinary user is told only of faults that
 * the program's own code causes, not of those of system calls on its memory (user_only).
 */
#ifndef RECORD_RING_FAULTS_H
#define RECORD_RING_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

struct fault {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t address;
	int32_t pid;
};

struct faults;

int faults_open(struct faults **faults, pid_t pid, bool inherit, struct error *err);
void faults_close(struct faults *faults);

/* 0: there are no more now. */
size_t faults_take(struct faults *faults, struct fault *to, size_t room);
/* Those for which there was no room in the kernel's rings. */
uint64_t faults_lost(const struct faults *faults);
bool faults_user_only(const struct faults *faults);

#endif
