/* SPDX-License-Identifier: MIT */
/*
 * signal_text - the name of a signal.
 *
 *	signal_text(SIGSEGV).text		// "SIGSEGV"
 *	signal_text(SIGRTMIN + 2).text		// "SIGRTMIN+2"
 */
#ifndef BASE_SIGNAL_TEXT_H
#define BASE_SIGNAL_TEXT_H

struct signal_text {
	char text[24];
};

struct signal_text signal_text(int number);

#endif
