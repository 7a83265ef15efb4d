# SPDX-License-Identifier: MIT
"""Process trees: forks, execs and ends, and the heap of all processes together."""

import json
import signal

import pytest

ALL_COUNTED = ("allocations", "frees", "reallocations", "allocated_bytes", "freed_bytes", "live_bytes",
               "live_blocks", "peak_bytes", "inherited_bytes", "inherited_frees")
SUMS = [key for key in ALL_COUNTED if key != "peak_bytes"]


def spoiled(report):
    """What the quality ledger says against the heap's figures."""
    return [row for row in report["quality"] if row["kind"] in ("lost", "bounded", "untracked")]


def by_command(report, word):
    """The images whose first argument is that program."""
    return [p for p in report["processes"] if p["command"][0].rsplit("/")[-1] == word]


# --- brute force ------------------------------------------------------------------------------


def check_family(runner, programs, seed, options):
    """Every figure of every image of a random family, and the peak of the sum."""
    profile = runner.record(programs / "heap_family", 3000, seed, options=options)
    truth, report = json.loads(profile.stdout), profile.report()
    images = {(p["pid"], p["image"]): p["heap"] for p in report["processes"]}
    expected = {(i["pid"], i["image"]): i for i in truth["images"]}
    total = {key: sum(image[key] for image in truth["images"]) for key in SUMS}

    assert {who: {key: heap[key] for key in ALL_COUNTED} for who, heap in images.items()} == \
           {who: {key: image[key] for key in ALL_COUNTED} for who, image in expected.items()}
    assert {key: report["heap"][key] for key in SUMS} == total
    assert report["heap"]["peak_bytes"] == truth["peak_bytes"]
    assert report["heap"]["peak_blocks"] == truth["peak_blocks"]
    assert report["heap"]["peak_exact"] and not spoiled(report)
    assert sum(site["at_peak_bytes"] for site in report["heap"]["sites"]) == truth["peak_bytes"]
    assert sum(image["inherited_frees"] for image in truth["images"]) > 50, "or it shows nothing"


@pytest.mark.parametrize("seed", [1, 2])
def test_a_tree_is_as_brute_force_counts_it(runner, programs, seed):
    check_family(runner, programs, seed, [])


def test_a_tree_is_the_same_without_perf(runner, programs):
    check_family(runner, programs, 3, ["--cpu=off"])


def test_a_tree_is_the_same_for_an_ordinary_user(nobody, programs):
    check_family(nobody, programs, 4, [])


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5, 25))
def test_many_trees_are_as_brute_force_counts_them(runner, programs, seed):
    check_family(runner, programs, seed, ["--cpu=off"] if seed % 2 else [])


# --- how processes end ------------------------------------------------------------------------


def test_each_image_says_how_it_ended(record):
    script = "ls /nonexistent; sh -c 'kill -9 $$'; true | false; sh -c 'exit 7'; exec sh -c 'exit 3'"
    report = record("sh", "-c", script, status=3).report()
    ends = {}
    for process in report["processes"]:
        ends[process["pid"]] = (process["command"][-1], process["exit_status"], process["signal"])
    assert ("/nonexistent", 2, None) in ends.values()
    assert ("kill -9 $$", None, signal.SIGKILL) in ends.values()
    assert ("exit 7", 7, None) in ends.values()
    assert (script, 0, None) in ends.values() and (script, 1, None) in ends.values(), "true and false"
    assert report["processes"][0]["exit_status"] is None, "that one ended by an exec"
    assert report["processes"][-1]["exit_status"] == 3
