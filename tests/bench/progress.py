# SPDX-License-Identifier: MIT
"""progress - a line on a terminal that says what is running now."""

import sys


def progress(text=""):
    """Replaces the line; without text it is gone."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
