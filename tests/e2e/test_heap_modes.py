# SPDX-License-Identifier: MIT
"""--heap=sample and --heap=counts: what is estimated is not far off, what is counted is exact."""

import json

import pytest

SUMS = ["allocations", "frees", "reallocations", "allocated_bytes"]


def sums(heap):
    return [heap[key] for key in SUMS]


@pytest.fixture
def heap_in(record):
    """heap_in(mode, program, *arguments): the report of a recording without the CPU side."""
    def run(mode, *command, **options):
        return record(*command, options=[f"--heap={mode}", "--cpu=off"], **options)
    return run


# --- counts -----------------------------------------------------------------------------------


def test_counts_are_those_of_the_program(heap_in, programs):
    profile = heap_in("counts", programs / "heap_every")
    allocations, reallocations, frees, size = map(int, profile.stdout.split())
    assert sums(profile.report()["heap"]) == [allocations, frees, reallocations, size]


def test_counts_are_those_of_the_exact_mode_where_threads_allocate(heap_in, programs):
    exact, counts = (heap_in(mode, programs / "heap_sites", "truth", 2000).report()["heap"]
                     for mode in ("exact", "counts"))
    assert sums(counts) == sums(exact)


@pytest.mark.parametrize("command", [["keep=1000", "exec", "pass=300", "keep=7"],
                                     ["keep=1000", "spawn=500", "spawn=200", "keep=100"]])
def test_counts_of_each_image_of_a_tree(heap_in, programs, command):
    exact, counts = (heap_in(mode, programs / "heap_chain", *command).report() for mode in ("exact", "counts"))
    images = [[sums(p["heap"]) for p in report["processes"] if p["tracked"]] for report in (exact, counts)]
    assert images[0] == images[1]
    assert sums(counts["heap"]) == sums(exact["heap"])


def test_what_was_not_measured_is_not_zero(heap_in, programs):
    profile = heap_in("counts", programs / "heap_chain", "keep=1000", "pass=500")
    heap = profile.report()["heap"]
    assert heap["mode"] == "counts" and heap["tracked"] and "--heap=counts" in heap["reason"]
    for key in ("peak_bytes", "peak_blocks", "peak_exact", "live_bytes", "freed_bytes", "temporary", "churn", "sites"):
        assert heap[key] is None, key
    assert profile.sql("SELECT peak_bytes, live_bytes FROM heap") == [(None, None)] * 2
    text = profile.text("heap")
    assert "2 allocations, 1.5 KiB" in text and "1 free" in text and "peak 0" not in text
    assert not [row for row in profile.report()["quality"] if row["kind"] in ("lost", "bounded", "untracked")]
