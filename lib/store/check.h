/* SPDX-License-Identifier: MIT */
/*
 * check - what must hold between the tables of a profile.
 *
 * That ids exist is checked as the tables are loaded; here what goes beyond: that parents come
 * before children or at least end, that addresses are in modules, that frames have no gaps.
 */
#ifndef STORE_CHECK_H
#define STORE_CHECK_H

#include "base/error.h"
#include "store/reader.h"

/* ERR_FORMAT says what is wrong.  Fills first_frame, which the caller frees. */
int check_profile(struct profile *profile, struct error *err);

#endif
