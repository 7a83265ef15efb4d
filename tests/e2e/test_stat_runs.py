# SPDX-License-Identifier: MIT
"""cprof stat over several runs, several commands, over time, and as CSV."""

import csv
import json
import re
import signal
import statistics
import subprocess

import pytest

from counting import events_of, stat, stat_document

COLUMNS = ["command", "arguments", "run", "time_s", "event", "unit", "status", "runs", "mean", "stddev", "min",
           "max", "coverage", "difference", "error", "p", "reason"]


# --- several runs ------------------------------------------------------------------------------------

def test_the_spread_is_that_of_the_runs(runner, programs):
    """Runs of 100, 200, ... 500 pages."""
    script = f"echo x >>n; exec '{programs}/pages' $(($(wc -l <n) * 100))"
    faults = events_of(stat(runner, "-r", "5", "sh", "-c", script))["page-faults"]
    assert faults["stddev"] == pytest.approx(statistics.stdev([100, 200, 300, 400, 500]), abs=15)
    assert faults["max"] - faults["min"] == pytest.approx(400, abs=30)
    assert faults["mean"] - faults["min"] == pytest.approx(200, abs=30)


def test_the_table_of_several_runs_has_minimum_and_maximum(run):
    assert re.search(r"mean +std dev +min +max", run("stat", "-r", "2", "true").stderr)


def test_the_table_has_small_counts_to_the_last_digit(runner, programs):
    table = runner.cprof_run("stat", "-r", "2", "-e", "page-faults:u", programs / "pages", 5000).stderr
    row = re.search(r"^ +([\d,]+) +\S+ % +([\d,]+) +([\d,]+)  page-faults:u", table, re.M)
    mean, least, most = (int(figure.replace(",", "")) for figure in row.groups())
    assert 5000 < least <= mean <= most < 5200


def test_warm_up_runs_do_not_count(runner):
    script = "echo run >>log; [ $(wc -l <log) -gt 2 ]"  # the first two fail
    command = stat(runner, "--warmup", "2", "-r", "3", "sh", "-c", script)
    assert (runner.folder / "log").read_text() == "run\n" * 5
    assert command["runs"] == 3


# --- broken off ----------------------------------------------------------------------------------------

LAST_OF_THREE = "echo run >>log; [ $(wc -l <log) -lt 3 ] || { echo ready; exec sleep 60; }"


def break_off(runner, cprof, *arguments):
    """A SIGTERM once the program says that it is ready."""
    with runner.start(cprof, "stat", *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)
    return process.returncode, err


def test_whoever_breaks_off_gets_the_runs_before(runner, cprof):
    status, err = break_off(runner, cprof, "-r", "5", "sh", "-c", LAST_OF_THREE)
    assert status == 128 + signal.SIGTERM
    assert (runner.folder / "log").read_text() == "run\n" * 3
    assert "2 of 5 runs, stopped by SIGTERM" in err


def test_of_commands_that_take_turns_each_has_the_runs_before(runner, cprof):
    script = "echo run >>log; [ $(wc -l <log) -lt 4 ] || { echo ready; exec sleep 60; }"
    status, _ = break_off(runner, cprof, "--json", "-o", "stat.json", "--", "sh", "-c", script, "---", "sh", "-c", script)
    document = json.loads((runner.folder / "stat.json").read_text())
    assert [(c["runs"], c["runs_asked"]) for c in document["commands"]] == [(2, 10), (1, 10)]
    assert status == 128 + signal.SIGTERM


@pytest.mark.parametrize("options", [["-r", "3"], ["--warmup", "1"]])
def test_with_no_run_over_nothing_is_known_and_the_reason_said(runner, cprof, options):
    break_off(runner, cprof, *options, "--json", "-o", "stat.json", "sh", "-c", "echo ready; exec sleep 60")
    command, = json.loads((runner.folder / "stat.json").read_text())["commands"]
    assert command["runs"] == 0 and command["wall_s"]["mean"] is None
    for event in command["events"]:
        assert event["mean"] is None and event["status"] == "not-counted" and "SIGTERM" in event["reason"]


def test_a_program_that_ends_well_on_a_signal_is_broken_off_all_the_same(runner, cprof):
    script = "trap 'exit 0' TERM; echo ready; while :; do sleep 0.05; done"
    status, err = break_off(runner, cprof, "-r", "3", "sh", "-c", script)
    assert status == 128 + signal.SIGTERM and "0 of 3 runs" in err


# --- several commands --------------------------------------------------------------------------------

def test_commands_take_turns(runner):
    document = stat_document(runner, "-r", "3", "--", "sh", "-c", "echo a >>log", "---", "sh", "-c", "echo b >>log")
    assert (runner.folder / "log").read_text() == "a\nb\n" * 3
    assert [command["command"][2] for command in document["commands"]] == ["echo a >>log", "echo b >>log"]
    assert [command["runs"] for command in document["commands"]] == [3, 3]


def test_a_difference_is_measured_and_significant(runner, programs):
    document = stat_document(runner, "--", programs / "pages", "1000", "---", programs / "pages", "1500",
                             "---", programs / "pages", "1000")
    assert [command["runs"] for command in document["commands"]] == [10, 10, 10]
    differences = {(d["command"], d["event"]): d for d in document["comparison"]}
    more = differences[1, "page-faults"]
    assert set(more) == {"command", "against", "event", "unit", "difference", "relative", "error", "p", "significant"}
    assert more["against"] == 0 and more["significant"] is True and more["p"] < 0.001
    assert more["difference"] == pytest.approx(500, abs=10)
    first = events_of(document["commands"][0])["page-faults"]["mean"]
    assert more["relative"] == pytest.approx(more["difference"] / first)
    assert abs(differences[2, "page-faults"]["difference"]) <= 10
    assert {d["event"] for d in document["comparison"]} >= {"wall-time", "task-clock", "max-rss"}


def test_a_single_run_of_each_says_nothing_about_chance(runner, programs):
    document = stat_document(runner, "-r", "1", "--", programs / "pages", "10", "---", programs / "pages", "900")
    faults = next(d for d in document["comparison"] if d["event"] == "page-faults")
    assert faults["difference"] == pytest.approx(890, abs=20)
    assert (faults["error"], faults["p"], faults["significant"]) == (None, None, None)


def test_the_table_marks_what_may_be_chance(run, programs):
    text = run("stat", "-r", "3", "--", programs / "pages", "10", "---", programs / "pages", "900").stderr
    rows = {line.split()[0]: line for line in text[text.index("B against A"):].splitlines() if line.strip()}
    assert "±" in rows["page-faults"] and "~" not in rows["page-faults"]
    assert "~" in rows["major-faults"]


def test_the_separator_is_an_argument_without_an_explicit_start(run):
    result = run("stat", "echo", "a", "---", "b")
    assert result.stdout == "a --- b\n"
    assert "--- is an argument of echo" in result.stderr
    assert run("stat", "-q", "echo", "a", "---", "b").stderr == ""
    assert "--- is an argument" not in run("stat", "-r", "1", "--", "true", "---", "true").stderr


def test_the_status_is_that_of_the_last_that_failed(run):
    assert run("stat", "-r", "2", "--", "sh", "-c", "exit 3", "---", "true").returncode == 3


def test_a_command_that_is_not_there_is_127(run):
    result = run("stat", "--", "true", "---", "no-such-program")
    assert result.returncode == 127 and "no-such-program" in result.stderr


@pytest.mark.parametrize("arguments", [
    ["--", "true", "---"], ["--", "---", "true"], ["-I", "10", "--", "true", "---", "true"],
    ["--json", "--csv", "true"], ["--pmu", "-e", "cs", "true"], ["-I", "0", "true"],
])
def test_what_does_not_go_together_is_bad_usage(run, arguments):
    result = run("stat", *arguments)
    assert result.returncode == 125 and result.stderr


# --- over time ---------------------------------------------------------------------------------------

def test_intervals_add_up_to_the_whole(runner, programs, need):
    need.kernel()
    script = f"for i in 1 2 3 4; do '{programs}/pages' 500; sleep 0.2; done"
    command = stat(runner, "-I", "20", "sh", "-c", script)
    intervals = command["intervals"]
    times = [interval["time_s"] for interval in intervals]
    assert len(times) >= 4 and times == sorted(times)
    assert all(interval["run"] == 1 for interval in intervals)
    series = {e["name"]: [i["events"][k]["value"] for i in intervals] for k, e in enumerate(command["events"])}
    assert sum(series["page-faults"]) == events_of(command)["page-faults"]["mean"]
    assert sum(value > 0 for value in series["page-faults"]) >= 2  # seen while it happened
    assert set(series["max-rss"]) == {None}


def test_nothing_done_is_zero_and_not_unknown(runner):
    command = stat(runner, "-I", "50", "-e", "cpu-clock", "sleep", "0.4")
    values = [interval["events"][0]["value"] for interval in command["intervals"]]
    assert None not in values and 0 in values


def test_intervals_are_printed_as_they_pass(runner, cprof, need):
    need.kernel()
    process = runner.start(cprof, "stat", "-I", "30", "-e", "cs", "sh", "-c", "read line", stdin=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    line = process.stderr.readline()  # while the program waits for us
    assert re.match(r" +\d+\.\d{3} s +\d+  context-switches$", line)
    assert process.poll() is None
    process.communicate("go\n", timeout=60)
    assert process.returncode == 0


# --- as CSV ------------------------------------------------------------------------------------------

def rows_of(result):
    lines = list(csv.reader(result.stdout.splitlines()))
    assert lines[0] == COLUMNS
    assert all(len(line) == len(COLUMNS) for line in lines)
    return [dict(zip(COLUMNS, line)) for line in lines[1:]]


def test_csv_has_a_row_for_every_event_and_says_why_not(run):
    rows = rows_of(run("stat", "--csv", "-o", "-", "-e", "cs,cycles:u", "sleep", "0.01"))
    assert [row["event"] for row in rows][:3] == ["wall-time", "context-switches", "cycles:u"]
    wall = rows[0]
    assert wall["unit"] == "s" and float(wall["mean"]) >= 0.01 and wall["arguments"] == "sleep 0.01"
    for row in rows:
        assert (row["mean"] != "") == (row["status"] in ("counted", "scaled"))
        assert row["mean"] or row["reason"]


def test_csv_quotes_what_needs_it(run):
    rows = rows_of(run("stat", "--csv", "-o", "-", "sh", "-c", 'exit 0; echo "a,b"'))
    assert rows[0]["arguments"] == 'sh -c exit 0; echo "a,b"'


def test_csv_of_intervals_and_then_the_whole(run):
    rows = rows_of(run("stat", "--csv", "-o", "-", "-I", "20", "sleep", "0.1"))
    intervals = [row for row in rows if row["time_s"]]
    assert rows[:len(intervals)] == intervals and rows[len(intervals)]["event"] == "wall-time"
    switches = [float(row["mean"]) for row in intervals if row["event"] == "task-clock"]
    whole = next(row for row in rows if row["event"] == "task-clock" and not row["time_s"])
    assert len(switches) >= 2 and sum(switches) == float(whole["mean"])


def test_csv_of_a_comparison_has_the_test_on_the_rows_of_the_second(run, programs):
    rows = rows_of(run("stat", "--csv", "-o", "-", "-r", "3", "--", programs / "pages", "10",
                       "---", programs / "pages", "510"))
    faults = {row["command"]: row for row in rows if row["event"] == "page-faults"}
    assert faults["1"]["difference"] == faults["1"]["p"] == ""
    assert float(faults["2"]["difference"]) == pytest.approx(500, abs=10)
    assert float(faults["2"]["p"]) < 0.05
    assert abs(float(faults["2"]["difference"])) > float(faults["2"]["error"])
