# SPDX-License-Identifier: MIT
"""scripts/bench: that it measures what it says.  How long something takes is not tested."""

import csv
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))

from exits import Exit    # noqa: E402
from measure import Command, Meter, descendants    # noqa: E402
from results import Group             # noqa: E402


@pytest.fixture
def bench(runner, cprof, programs):
    def run(*arguments):
        return runner.run(sys.executable, "-B", BENCH, *arguments, env={"CPROF": cprof, "PROGRAMS": programs})
    return run


@pytest.mark.slow
def test_every_part_has_figures_of_cprof_and_figures_or_a_reason_of_each_peer(bench, runner):
    result = bench("--quick", "--csv", "out.csv")
    assert result.returncode == 0, result.stderr
    with open(runner.folder / "out.csv") as file:
        rows = list(csv.DictReader(file))
    assert {row["part"] for row in rows} == {line.split()[0] for line in bench("--list").stdout.splitlines()}
    for part in {row["part"] for row in rows}:
        ours = [row for row in rows if row["part"] == part and row["variant"].startswith("cprof")]
        assert any(row["median"] for row in ours), part
    for variant in {(row["part"], row["group"], row["variant"]) for row in rows}:
        of_it = [row for row in rows if (row["part"], row["group"], row["variant"]) == variant]
        alone_on_disk = variant[0] == "disk" and variant[2] == "alone"
        assert any(row["median"] or row["note"] for row in of_it) or alone_on_disk, variant


def test_a_part_is_picked_by_name(bench):
    result = bench("--quick", "fixed")
    assert result.returncode == 0, result.stderr
    assert "\nfixed: " in result.stdout and "\noverhead: " not in result.stdout


def test_an_unknown_part_is_refused_with_the_list(bench):
    result = bench("overheat")
    assert result.returncode != 0 and "overheat" in result.stderr and "overhead" in result.stderr


def test_cpu_time_of_a_program_and_of_what_starts_it_are_told_apart(runner, programs):
    burn = programs / "burn"
    command = Command(["sh", "-c", f"{burn} 200; {programs / 'deep'} 5 100"], str(burn), str(runner.folder))
    with Meter() as meter:
        if meter.blind:
            pytest.skip(meter.blind)
        run = meter.run(command)
    assert 0.19 < run.program_cpu_s < 0.3
    assert 0.09 < run.profiler_cpu_s < 0.2
    assert 0.08 < run.after_exit_s


def test_what_a_program_starts_is_the_programs():
    parents = {2: 1, 3: 2, 4: 3, 5: 1, 6: 99}
    exits = [Exit(tgid, ppid, 0, 0.0, 0, 0.0) for tgid, ppid in parents.items()]
    assert [exit.tgid for exit in descendants(exits, 2)] == [2, 3, 4]


def test_a_program_that_does_not_bear_its_load_is_ended(runner):
    command = Command(["sleep", "100"], "/bin/sleep", str(runner.folder), drive=lambda process: None)
    with Meter() as meter:
        assert meter.run(command).status == -9


def test_ratios_compare_runs_of_one_round():
    group = Group("g", "", base="alone")
    for alone, slow in ((1.0, 2.0), (10.0, 30.0), (1.0, 2.5)):
        group.add("alone", {"wall_s": alone})
        group.add("slow", {"wall_s": slow})
    assert group.ratios("slow", "wall_s") == [2.0, 3.0, 2.5]
    assert group.figures("slow", "wall_s") == [2.0, 30.0, 2.5]


def test_a_profiler_that_fails_has_its_last_words_instead_of_figures():
    group = Group("g", "", base="alone")
    group.add("alone", {"wall_s": 1.0})
    group.add("broken", {"wall_s": 1.0})
    group.refuse("broken", "status 1: no permission")
    assert group.figures("broken", "wall_s") == [] and group.notes["broken"] == "status 1: no permission"
