# SPDX-License-Identifier: MIT
"""record --page-faults: whose blocks are touched, against a program and the kernel's own count."""

import json
import shutil

import pytest


def figures(profile):
    """What the program says, and page faults by function."""
    report = profile.report("heap")["heap"]
    if report["page_faults"] is None:
        pytest.skip(f"page faults are refused here: {profile.stderr}")
    sites = {}
    for site in report["sites"]:
        name = site["stack"][-2] if len(site["stack"]) > 1 else ""
        sites[name] = sites.get(name, 0) + site["page_faults"]
    return json.loads(profile.stdout), report, sites


def lost(profile):
    return sum(count for count, in profile.sql("SELECT count FROM quality WHERE detail LIKE 'page faults dropped%'"))


@pytest.mark.parametrize("command", ["{}", "sh -c {}", "sh -c '{}; true'"])
def test_page_faults_are_charged_to_the_blocks_they_are_in(record, runner, programs, command):
    """The first page of a large block is touched by malloc itself.  The kernel counts those of our rings, too."""
    program = programs / "heap_touch"
    words = {"{}": [program], "sh -c {}": ["sh", "-c", str(program)]}.get(command, ["sh", "-c", f"{program}; true"])
    alone = json.loads(runner.run(program).stdout)
    profile = record(*words, options=["--cpu=off", "--page-faults"])
    truth, heap, sites = figures(profile)
    missing = lost(profile)

    for name in ("by_some", "by_thread", "by_none"):
        assert truth[name] - missing <= sites.get(name, 0) <= truth[name] + 3, name
    assert 0.9 * alone["by_small"] - missing <= sites["by_small"] <= truth["by_small"] + 20
    assert heap["page_faults_in_blocks"] == sum(sites.values())
    assert heap["page_faults"] >= sum(sites.values()) + truth["own"] - missing
    rows = profile.sql("SELECT sum(page_faults) FROM v_heap_site WHERE function = 'by_some'")
    assert rows == [(sites["by_some"],)]


def test_an_ordinary_user_has_those_of_the_programs_own_code(nobody, programs):
    program = shutil.copy(programs / "heap_touch", nobody.folder)
    profile = nobody.record(program, options=["--cpu=off", "--page-faults"])
    truth, _, sites = figures(profile)
    for name in ("by_some", "by_thread"):
        assert truth[name] - lost(profile) <= sites[name] <= truth[name] + 3, name


def test_page_faults_are_in_the_text(record, programs):
    profile = record(programs / "heap_touch", options=["--cpu=off", "--page-faults"])
    _, heap, sites = figures(profile)
    text = " ".join(profile.text("heap").split())
    assert f"{heap['page_faults']:,} page faults" in text and "of them in blocks" in text
    assert f"{sites['by_some']:,} page faults" in text


def test_without_the_option_they_are_not_known_rather_than_0(record, programs):
    profile = record(programs / "heap_touch", options=["--cpu=off"])
    heap = profile.report("heap")["heap"]
    assert heap["page_faults"] is None and heap["page_faults_in_blocks"] is None
    assert all(site["page_faults"] is None for site in heap["sites"])
    assert profile.sql("SELECT count(page_faults) FROM v_heap_site") == [(0,)]
    assert "page fault" not in profile.text("heap")


@pytest.mark.parametrize("how", [["--heap=off", "true"], ["-p", "1"]])
def test_page_faults_without_the_heap_are_refused(run, how):
    result = run("record", "--page-faults", *how)
    assert result.returncode == 125 and "--page-faults" in result.stderr
