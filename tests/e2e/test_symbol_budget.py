# SPDX-License-Identifier: MIT
"""What reading debug information may cost, and what is left out then."""

import re

import pytest

from elf import debug_file, pick_addresses


@pytest.mark.slow
def test_after_the_budget_names_have_no_lines_and_that_is_said(resolve, need):
    libc = need.file("/lib/x86_64-linux-gnu/libc.so.6", "another architecture").resolve()
    debug = need.file(debug_file(libc), "libc6-dbg is not installed")
    addresses = pick_addresses(libc, 1000, listed=debug)
    all_of_it, some_of_it = resolve(libc, addresses), resolve(libc, addresses, "--symbol-budget=1m,20M")
    lines = [sum(chain[0][3] > 0 for chain in frames.at.values()) for frames in (all_of_it, some_of_it)]
    assert 0 < lines[1] < lines[0]
    unnamed = [sum(not chain[-1][1] for chain in frames.at.values()) for frames in (all_of_it, some_of_it)]
    assert unnamed[0] == unnamed[1]
    left_out = int(re.match(r"(\d+) addresses without lines and inlined calls: 20.0 MiB of memory are spent "
                            r"\(--symbol-budget\)", some_of_it.reason).group(1))
    assert lines[1] <= len(some_of_it.at) - left_out
    assert ("bounded", f"{libc.name}: {some_of_it.reason}", left_out) in some_of_it.quality


@pytest.mark.parametrize("value", ["x", "1s,", "1s,x", "-1s"])
def test_a_budget_that_is_none_is_bad_usage(value, run):
    result = run("symbolize", f"--symbol-budget={value}")
    assert result.returncode == 64 and "--symbol-budget" in result.stderr
