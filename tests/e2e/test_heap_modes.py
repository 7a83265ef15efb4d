# SPDX-License-Identifier: MIT
"""--heap=sample and --heap=counts: what is estimated is not far off, what is counted is exact."""

import json

import re

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


# --- a sample ---------------------------------------------------------------------------------


def check(sites, truth):
    """Six standard errors: chance must not fail a test.  That four are kept is for the unit tests."""
    for name, counted in truth.items():
        of_name = [site for site in sites if site["stack"][-2] == name]
        for key in ("allocations", "allocated_bytes"):
            estimate = sum(site[key] for site in of_name)
            error = sum(site[key + "_error"] ** 2 for site in of_name) ** 0.5
            assert abs(estimate - counted[key]) <= 6 * error, (name, key)
            assert (error > 0) == (counted[key] > 0), (name, key)


def test_sites_of_a_sample_are_as_the_program_counted(heap_in, programs, tmp_path):
    """Of eight functions with blocks of many sizes, in four threads, with reallocations."""
    truth_file = tmp_path / "truth.json"
    heap = heap_in("sample=2K", programs / "heap_sites", truth_file, 40000).report()["heap"]
    truth = json.loads(truth_file.read_text())
    total = truth.pop("total")

    assert heap["sample_bytes"] == 2048 and heap["peak_exact"] is False
    for key in SUMS:
        others = heap[key] - sum(site[key] for site in truth.values())
        assert 0 <= others <= (100000 if key.endswith("bytes") else 100), key
    check(heap["sites"], truth)
    # The largest of many estimates is a little above that of the largest.
    assert abs(heap["peak_bytes"] - total["at_peak_bytes"]) < 10 * heap["peak_bytes_error"] + 100000


@pytest.mark.parametrize("mean", [1024, 8192])
def test_what_a_sample_says_is_live_is_what_the_program_has(heap_in, programs, tmp_path, mean):
    """Within 6.3 standard errors, of which the truth says what they are at most: a block of s bytes adds
    s * mean to the variance or less.  And 14 points more, as there are few (Bernstein: chance fails this
    once in 10^8 times)."""
    truth_file = tmp_path / "truth.json"
    heap = heap_in(f"sample={mean}", programs / "heap_sites", truth_file, 40000).report()["heap"]
    truth = json.loads(truth_file.read_text())

    def close(estimate, real):
        return abs(estimate - real) <= 6.3 * (real * mean) ** 0.5 + 14 * mean

    for name, counted in truth.items():
        if name == "total":
            continue
        of_name = [site for site in heap["sites"] if site["stack"][-2] == name]
        live = sum(site["live_bytes"] for site in of_name)
        error = sum(site["live_bytes_error"] ** 2 for site in of_name) ** 0.5
        assert close(live, counted["live_bytes"]), name
        assert abs(live - counted["live_bytes"]) <= 6.3 * error + 14 * mean, name
        assert error ** 2 <= 1.01 * (live + mean) * mean, name
    total = truth["total"]
    sites = heap["sites"]
    assert abs(heap["live_bytes"] - sum(site["live_bytes"] for site in sites)) <= len(sites), "each is rounded"
    assert total["live_bytes"] > 1000000 and close(heap["live_bytes"], total["live_bytes"])


def test_every_image_of_a_tree_has_a_sample_of_its_own(heap_in, programs, tmp_path):
    """A child that executes it, and its parent that executes it when the child has ended."""
    program = programs / "heap_sites"
    report = heap_in("sample=1K", "sh", "-c", f"{program} first 20000; exec {program} second 20000").report()
    images = [p["heap"] for p in report["processes"] if p["command"][0] == str(program)]
    truths = [json.loads((tmp_path / name).read_text()) for name in ("first", "second")]
    assert len(images) == 2
    for heap, truth in zip(images, truths):
        truth.pop("total")
        check(heap["sites"], truth)


@pytest.mark.parametrize("command", [["keep=1000", "exec", "pass=300", "keep=7"],
                                     ["keep=1000", "spawn=500", "spawn=200", "keep=100"]])
def test_operations_are_counted_beside_a_sample(heap_in, programs, command):
    exact, sample = (heap_in(mode, programs / "heap_chain", *command).report() for mode in ("exact", "sample"))
    images = [[sums(p["heap"]) for p in report["processes"] if p["tracked"]] for report in (exact, sample)]
    assert images[0] == images[1]


def test_estimates_are_said_to_be_estimates(heap_in, programs):
    profile = heap_in("sample=1K", programs / "heap_sites", "truth", 4000)
    text = profile.text("heap")
    assert "peak about " in text and "±" in text and "estimated from a sample" in text
    assert "estimated from a sample" in profile.stderr


def test_a_sample_without_a_block_says_nothing_of_the_heap(heap_in, programs):
    """Four blocks of a few bytes each are in no sample of one block each GiB, and none of them is freed."""
    text = heap_in("sample=1G", programs / "heap_chain", "keep=10", "keep=20", "keep=30", "keep=40").text("heap")
    assert "no block was in the sample" in text and "4 allocations, 100 B" in text
    assert "freed" not in text and "0 B ±" not in text


def test_a_sample_of_which_nothing_is_left_says_so(heap_in, programs):
    text = heap_in("sample=64K", programs / "heap_chain", "pass=2000000", "keep=1").text("heap")
    assert "all of the sample freed" in text and "peak about 1.9 MiB" in text


def test_a_sample_of_huge_blocks_is_exact(heap_in, programs):
    """Each is hit for certain."""
    heap = heap_in("sample=1K", programs / "heap_chain", "keep=1000000", "pass=2000000").report()["heap"]
    assert heap["live_bytes"] == 1000000 and heap["peak_bytes"] == 3000000
    assert heap["temporary"] == 1 and heap["peak_bytes_error"] == 0


@pytest.mark.parametrize("value", ["100", "2G", "x", ""])
def test_a_sample_has_a_sensible_distance(run, value):
    result = run("record", f"--heap=sample={value}", "true")
    assert result.returncode == 125 and "sample" in result.stderr


PASSING = """
#include <stdlib.h>
__attribute__((noinline)) static void *get(size_t n) { return malloc(n); }
__attribute__((noinline)) static void pass(unsigned seed)
{
	for (int i = 0; i < 200000; i++)
		free(realloc(get(rand_r(&seed) % 500 + 1), 600));
	for (int i = 0; i < 200000; i++)
		free(get(rand_r(&seed) % 500 + 1));
}
int main(void) { pass(1); return 0; }
"""


@pytest.mark.parametrize("mode", ["exact", "sample=4K"])
@pytest.mark.parametrize("flags", [["-O0"], ["-O2", "-fno-omit-frame-pointer", "-fno-builtin"], ["-O2", "-fno-builtin"]],
                         ids=" ".join)
def test_stacks_are_whole_whether_or_not_code_keeps_frame_pointers(heap_in, runner, need, mode, flags):
    need.tool("gcc")
    (runner.folder / "passing.c").write_text(PASSING)
    assert runner.run("gcc", *flags, "-g", "-o", "passing", "passing.c").returncode == 0
    profile = heap_in(mode, runner.folder / "passing")
    report = profile.report()
    sites = [site["stack"] for site in report["heap"]["sites"] if site["allocations"] > 9]
    assert sites and all("main" in stack and "pass" in stack for stack in sites)
    assert not [row for row in report["quality"] if row["kind"] == "truncated"]
    share = float(re.search(r"temporary ([0-9.]+) %", profile.text("heap"))[1])
    assert share <= 100 and share == pytest.approx(50, abs=5)
