# SPDX-License-Identifier: MIT
"""How large blocks are, how long they live, how they grow: against a program that counts for itself.

tests/programs/heap_shapes knows all but the lifetimes, of which it knows what they are at least.
"""

import json
import re
import subprocess

import pytest


@pytest.fixture
def shapes(record, programs):
    """shapes(seed, steps): a profile of heap_shapes, and what it says of itself."""
    def run(seed, steps=3000):
        profile = record(programs / "heap_shapes", steps, seed, options=["--cpu=off"])
        return profile, json.loads(profile.stdout)
    return run


def sites_of(heap, name):
    return [site for site in heap["sites"] if site["stack"][-2] == name]


def histogram(rows, bound):
    return {row[bound]: row["blocks"] for row in rows}


def add_up(histograms):
    total = {}
    for each in histograms:
        for bound, blocks in each.items():
            total[bound] = total.get(bound, 0) + blocks
    return total


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_sizes_and_moves_of_each_site_are_as_the_program_counted(shapes, seed):
    profile, truth = shapes(seed)
    heap = profile.report("heap")["heap"]

    for name, expected in truth["sites"].items():
        sites = sites_of(heap, name)
        sizes = add_up(histogram(site["sizes"], "most_bytes") for site in sites)
        assert sizes == {int(most): blocks for most, blocks in expected["sizes"].items()}, name
        assert sum(site["moved"] for site in sites) == expected["moved"]
        assert sum(site["copied_bytes"] for site in sites) == expected["copied"]
    assert truth["sites"]["by_realloc"]["moved"] > 100


def test_sizes_of_the_heap_are_the_sums_of_its_sites(shapes):
    profile, _ = shapes(4)
    heap = profile.report("heap")["heap"]

    assert histogram(heap["sizes"], "most_bytes") == add_up(
        histogram(site["sizes"], "most_bytes") for site in heap["sites"])
    assert histogram(heap["lifetimes"], "below_s") == add_up(
        histogram(site["lifetimes"], "below_s") for site in heap["sites"])
    assert sum(row["blocks"] for row in heap["sizes"]) == heap["allocations"] + heap["reallocations"]
    assert sum(row["bytes"] for row in heap["sizes"]) == heap["allocated_bytes"]
    assert sum(row["slack_bytes"] for row in heap["sizes"]) == heap["slack_bytes"]
    assert sum(row["blocks"] for row in heap["lifetimes"]) == heap["frees"]
    assert heap["moved"] == sum(site["moved"] for site in heap["sites"])
    assert heap["at_peak_slack_bytes"] == sum(site["at_peak_slack_bytes"] for site in heap["sites"])
    for row in heap["sizes"]:
        assert row["bytes"] <= row["most_bytes"] * row["blocks"]
        assert row["most_bytes"] == 16 or 2 * row["bytes"] > row["most_bytes"] * row["blocks"]


def test_the_view_has_the_histograms_that_the_file_leaves_out(shapes):
    """Those of sites with all blocks in one class, which the sums of the site say."""
    profile, _ = shapes(6)
    rows = profile.sql("SELECT stored.sizes, stored.lifetimes, shown.sizes, shown.lifetimes,"
                       " shown.allocations + shown.reallocations, shown.allocated_bytes,"
                       " shown.lifetime_blocks, shown.lifetime_us"
                       " FROM heap_site AS stored JOIN v_heap_site AS shown USING (process, stack, allocator)")

    for i in 0, 1:
        assert {row[i] is None for row in rows} == {True, False}
    for stored_sizes, stored_lifetimes, sizes, lifetimes, blocks, size, freed, lifetime_us in rows:
        sizes, lifetimes = json.loads(sizes), json.loads(lifetimes)
        assert sum(nr for _, nr in sizes) == blocks
        assert sum(nr for _, nr in lifetimes) == freed
        if stored_sizes is None:
            (most, _), = sizes
            assert most == 16 or most / 2 < size / blocks <= most
        if stored_lifetimes is None and freed:
            (below, _), = lifetimes
            assert below == 1 or (below or 1e9) / 10 <= lifetime_us / freed < (below or 1e99)
    by_report = profile.report("heap")["heap"]
    assert add_up(dict(json.loads(row[2])) for row in rows) == histogram(by_report["sizes"], "most_bytes")


def test_slack_is_what_malloc_usable_size_says_but_for_what_was_left_over(shapes):
    """A free block that is 16 bytes too large is given as a whole; and of a heap's large blocks, those
    where a mapped one would begin are taken for such, in whole pages: the program counts them."""
    profile, truth = shapes(5)
    heap = profile.report("heap")["heap"]
    real = sum(site["slack"] for site in truth["sites"].values())
    blocks = sum(sum(site["sizes"].values()) for site in truth["sites"].values())
    # What else there is: the blocks of the loader and of libc, a handful.
    others = heap["allocations"] + heap["reallocations"] - blocks
    beyond = sum(row["slack_bytes"] for row in heap["sizes"]) - real

    assert 0 <= others < 40
    assert heap["allocator"].startswith("libc")
    pages = 4096 * sum(site["lookalikes"] for site in truth["sites"].values())
    assert -16 * blocks <= beyond <= 4096 * others + pages
    assert abs(heap["slack_bytes"] - real) <= 0.2 * real + pages


def test_lifetimes_are_at_least_what_the_program_waited(shapes):
    profile, truth = shapes(6)
    heap = profile.report("heap")["heap"]
    lifetimes = add_up(histogram(site["lifetimes"], "below_s") for site in sites_of(heap, "by_keep"))

    assert sum(lifetimes.values()) == sum(truth["sites"]["by_keep"]["sizes"].values())
    assert min(below or 1e9 for below in lifetimes) >= 0.1, "30 ms are not less than 10 ms"


@pytest.mark.parametrize("seed", [8, 9])
def test_who_frees_whose_blocks_is_as_the_program_counted(shapes, seed):
    profile, truth = shapes(seed)
    heap = profile.report("heap")["heap"]
    pairs = sorted([row["from_tid"], row["to_tid"], row["frees"], row["freed_bytes"]] for row in heap["handoffs"])

    assert pairs == sorted(truth["handoffs"]) and len(pairs) > 4
    assert heap["cross_thread_frees"] == sum(pair[2] for pair in pairs)
    assert heap["cross_thread_bytes"] == sum(pair[3] for pair in pairs)
    assert heap["cross_thread_frees"] == sum(site["cross_thread_frees"] for site in heap["sites"])
    assert all(site["cross_thread_frees"] == 0 for site in sites_of(heap, "by_keep"))
    assert profile.sql("SELECT from_tid, to_tid, frees, freed_bytes FROM v_heap_handoff "
                       "ORDER BY from_tid, to_tid") == [tuple(pair) for pair in pairs]


def test_a_site_shows_its_sizes_and_lifetimes_and_who_frees_its_blocks(shapes):
    profile, _ = shapes(10)
    heap = profile.report("heap")["heap"]
    site = max(sites_of(heap, "by_malloc"), key=lambda site: site["allocations"])
    text = profile.text("heap")
    part = " ".join(text[:text.index("    by_malloc")].split("at peak in")[-1].split())

    assert "sizes up to 16 B" in part and "33-64 B 4" in part, "40 of a hundred are of 48 bytes"
    assert re.search(r" lived under 1 us | lived [0-9.]+-[0-9.]+ [um]?s ", part), part
    share = 100 * site["cross_thread_frees"] / site["frees"]
    assert f"{share:.1f} % freed by other threads" in part.replace("\u00a0", " ")
    assert "frees % bytes allocated by freed by" in " ".join(text.split())
    assert f"of {heap['frees']:,} frees" in text


def test_the_views_of_the_file_show_the_same(shapes):
    profile, _ = shapes(7)
    heap = profile.report("heap")["heap"]

    assert profile.sql("SELECT most_bytes, blocks, bytes, slack_bytes FROM v_heap_size") == [
        (row["most_bytes"], row["blocks"], row["bytes"], row["slack_bytes"]) for row in heap["sizes"]]
    assert profile.sql("SELECT below_s, frees FROM v_heap_lifetime") == [
        (row["below_s"], row["blocks"]) for row in heap["lifetimes"]]


def test_slack_of_another_allocator_is_not_known_and_that_is_said(record, programs, runner):
    """A malloc in a library of its own that is glibc's in truth: nobody can know that."""
    source = runner.folder / "other.c"
    source.write_text("""
        #include <stddef.h>
        void *__libc_malloc(size_t); void *__libc_calloc(size_t, size_t);
        void *__libc_realloc(void *, size_t); void __libc_free(void *);
        void *malloc(size_t n) { return __libc_malloc(n); }
        void *calloc(size_t n, size_t m) { return __libc_calloc(n, m); }
        void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
        void free(void *p) { __libc_free(p); }
    """)
    library = runner.folder / "libother-malloc.so.3"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-fno-builtin", "-o", library, source], check=True)
    profile = record(programs / "heap_shapes", 100, 1, options=["--cpu=off"], env={"LD_PRELOAD": str(library)})
    heap = profile.report("heap")["heap"]

    assert heap["allocator"] == "libother-malloc.so.3"
    assert heap["slack_bytes"] is None and heap["at_peak_slack_bytes"] is None
    assert all(row["slack_bytes"] is None for row in heap["sizes"])
    assert "slack not known: how large libother-malloc.so.3 makes blocks is not known" in " ".join(
        profile.text("heap").split())
    assert profile.sql("SELECT count(*), count(slack_bytes) FROM v_heap_size")[0][1] == 0
