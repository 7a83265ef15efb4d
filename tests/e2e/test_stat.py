# SPDX-License-Identifier: MIT
"""cprof stat: counts, reasons, exit statuses, and that the program notices nothing."""

import json
import os
import signal
import subprocess
import time

import pytest

from counting import events_of, stat

HARDWARE = ["cycles", "instructions", "branch-misses", "cache-misses"]
FULL = ["cycles", "instructions", "branches", "branch-misses", "cache-references", "cache-misses",
        "stalled-cycles-frontend", "stalled-cycles-backend", "L1-dcache-loads", "L1-dcache-load-misses",
        "LLC-loads", "LLC-load-misses", "dTLB-loads", "dTLB-load-misses"]
SOFTWARE = ["task-clock", "page-faults", "minor-faults", "major-faults", "context-switches",
            "cpu-migrations", "user-time", "system-time", "max-rss"]
STATUSES = {"counted", "scaled", "not-counted", "not-supported", "not-permitted"}


# --- what is counted ---------------------------------------------------------------------------

def test_json_has_the_form_of_the_contract(runner):
    command = stat(runner, "--", "true", "a b")
    assert set(command) == {"command", "runs", "runs_asked", "wall_s", "events", "ipc"}
    assert command["command"] == ["true", "a b"]
    assert (command["runs"], command["runs_asked"]) == (1, 1)
    assert set(command["wall_s"]) == {"mean", "stddev", "min", "max"}
    assert command["wall_s"]["mean"] > 0 and command["wall_s"]["stddev"] is None
    assert [event["name"] for event in command["events"]] == HARDWARE + SOFTWARE
    for event in command["events"]:
        assert set(event) == {"name", "unit", "status", "reason", "mean", "stddev", "min", "max", "coverage"}
        assert event["status"] in STATUSES
        if event["status"] in ("counted", "scaled"):
            assert event["mean"] >= 0
        else:
            assert event["mean"] is None and event["reason"]


def test_pmu_adds_the_other_generic_events(runner):
    assert [event["name"] for event in stat(runner, "--pmu", "true")["events"]] == FULL + SOFTWARE


def test_page_faults_are_those_of_the_program(runner, programs):
    few = events_of(stat(runner, programs / "pages", "0"))
    many = events_of(stat(runner, programs / "pages", "5000"))
    for name in ("page-faults", "minor-faults"):
        # the loader's own faults vary with the page cache
        assert 4950 <= many[name]["mean"] - few[name]["mean"] <= 5050
    assert many["max-rss"]["mean"] - few["max-rss"]["mean"] > 4900 * os.sysconf("SC_PAGE_SIZE") * 0.9


def test_children_count(runner, programs):
    script = f"'{programs}/pages' 3000 & '{programs}/pages' 3000; wait"
    assert events_of(stat(runner, "sh", "-c", script))["page-faults"]["mean"] > 6000


def test_task_clock_is_the_cpu_time(runner):
    events = events_of(stat(runner, "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"))
    cpu_s = events["user-time"]["mean"] + events["system-time"]["mean"]
    assert events["task-clock"]["unit"] == "ns"
    assert events["task-clock"]["mean"] / 1e9 == pytest.approx(cpu_s, rel=0.1)


def test_a_sleeping_program_uses_no_cpu_and_switches(runner):
    command = stat(runner, "sleep", "0.3")
    events = events_of(command)
    assert command["wall_s"]["mean"] >= 0.3
    assert events["task-clock"]["mean"] < 0.1e9
    assert events["context-switches"]["mean"] >= 1


def test_repeated_runs_have_a_spread(runner, programs):
    log = runner.folder / "log"
    command = stat(runner, "-r", "4", "--", "sh", "-c", f"echo run >>{log}; '{programs}/pages' 100")
    assert log.read_text() == "run\n" * 4
    assert command["runs"] == 4
    wall = command["wall_s"]
    assert wall["min"] <= wall["mean"] <= wall["max"] and wall["stddev"] > 0
    faults = events_of(command)["page-faults"]
    assert faults["min"] <= faults["mean"] <= faults["max"] and faults["stddev"] is not None


def test_counters_with_a_pmu(runner, need):
    need.pmu()
    command = stat(runner, "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")
    events = events_of(command)
    assert events["cycles"]["mean"] > 1e6 and events["instructions"]["mean"] > 1e6
    assert command["ipc"] == pytest.approx(events["instructions"]["mean"] / events["cycles"]["mean"], rel=0.01)


# --- why something is not counted ----------------------------------------------------------------

def test_without_a_pmu_the_reason_is_that(runner):
    if any(d.startswith(("cpu", "armv8")) for d in os.listdir("/sys/bus/event_source/devices")):
        pytest.skip("this machine has a hardware PMU")
    command = stat(runner, "--pmu", "true")
    events = events_of(command)
    assert command["ipc"] is None
    for name in FULL:
        assert events[name]["status"] == "not-supported"
        assert "no hardware PMU" in events[name]["reason"]
    assert events["task-clock"]["status"] == "counted"


def test_an_ordinary_user_gets_faults_and_switches_by_getrusage(nobody, programs):
    if int(open("/proc/sys/kernel/perf_event_paranoid").read()) != 2:
        pytest.skip("perf_event_paranoid is not 2")
    events = events_of(stat(nobody, "sh", "-c", "head -c 20000000 /dev/zero | tail -c 1 >/dev/null"))
    assert events["task-clock"]["status"] == "counted" and events["task-clock"]["reason"] is None
    assert events["page-faults"]["status"] == "counted" and events["page-faults"]["mean"] > 50
    assert events["context-switches"]["mean"] > 0
    for name in ("page-faults", "minor-faults", "context-switches"):
        assert "by getrusage" in events[name]["reason"]
    assert events["cpu-migrations"]["status"] == "not-permitted"
    assert "perf_event_paranoid is 2" in events["cpu-migrations"]["reason"]
    assert "sysctl kernel.perf_event_paranoid=1" in events["cpu-migrations"]["reason"]


@pytest.mark.parametrize("error, why", [(1, "seccomp"), (38, "seccomp")])
def test_perf_refused_by_a_filter_is_told_from_no_pmu(runner, cprof, programs, error, why):
    result = runner.run(programs / "noperf", error, cprof, "stat", "--json", "-o", "-", programs / "pages", 500)
    assert result.returncode == 0
    command = json.loads(result.stdout)["commands"][0]
    events = events_of(command)
    for name in HARDWARE + ["cpu-migrations"]:
        assert events[name]["status"] == "not-permitted"
        assert why in events[name]["reason"]
    cpu_s = events["user-time"]["mean"] + events["system-time"]["mean"]
    assert events["task-clock"]["mean"] == pytest.approx(cpu_s * 1e9)
    assert "by getrusage" in events["task-clock"]["reason"]
    assert events["page-faults"]["status"] == "counted" and events["page-faults"]["mean"] > 500
    assert events["user-time"]["status"] == "counted"


def test_text_names_what_is_missing_with_the_reason(run, runner, cprof, programs):
    result = runner.run(programs / "noperf", 1, cprof, "stat", "true")
    text = " ".join(result.stderr.split())
    assert result.stdout == ""
    assert "not counted: cycles, instructions, branch-misses, cache-misses" in text
    assert "--cap-add=PERFMON" in text
    assert max(len(line) for line in result.stderr.splitlines()) <= 80


@pytest.mark.parametrize("columns", [55, 60, 80, 100, 200])
@pytest.mark.parametrize("arguments", [("--pmu", "sleep", "0"), ("-r", "3", "sleep", "0.001"),
                                       ("-r", "2", "--", "sleep", "0", "---", "true")])
def test_text_is_as_wide_as_columns_says(run, columns, arguments):
    lines = run("stat", *arguments, env={"COLUMNS": str(columns)}).stderr.splitlines()
    assert max(map(len, lines)) <= columns
    assert any(" CPUs in use" in line for line in lines)


def test_a_wide_terminal_gets_long_lines(run):
    wide, usual = (run("stat", "--pmu", "true", env={"COLUMNS": columns}).stderr for columns in ("300", "80"))
    if "not counted" not in usual:
        pytest.skip("all events are counted here: no line is long")
    assert max(map(len, wide.splitlines())) > 80 and len(wide.splitlines()) < len(usual.splitlines())


def test_the_command_is_written_as_a_shell_wants_it(run):
    result = run("stat", "sh", "-c", "exit 0 # it's")
    assert "sh -c 'exit 0 # it'\\''s'\n" in result.stderr


# --- where it is written --------------------------------------------------------------------------

def test_the_table_goes_to_standard_error(run):
    result = run("stat", "echo", "hello")
    assert result.stdout == "hello\n"
    assert "task-clock" in result.stderr


def test_json_goes_to_standard_error_too(run):
    result = run("stat", "--json", "echo", "hello")
    assert result.stdout == "hello\n"
    assert json.loads(result.stderr)["commands"]


def test_dash_is_standard_output(run):
    result = run("stat", "--json", "-o", "-", "true")
    assert json.loads(result.stdout)["commands"] and result.stderr == ""


def test_quiet_prints_nothing(run):
    result = run("stat", "-q", "echo", "hello")
    assert (result.stdout, result.stderr) == ("hello\n", "")


def test_a_file_that_cannot_be_written_is_noticed_before_the_program_runs(run, runner):
    result = run("stat", "-o", "nowhere/stat.json", "touch", "ran")
    assert result.returncode == 125
    assert "nowhere/stat.json" in result.stderr
    assert not (runner.folder / "ran").exists()


@pytest.mark.parametrize("command, status", [
    (["nonexistent-program"], 127), (["./not_executable"], 126), (["-e", "no-such-event", "true"], 125),
    (["-I", "50", "nonexistent-program"], 127), (["--", "true", "---", "nonexistent-program"], 127)])
def test_a_file_stays_as_it_was_when_the_program_cannot_be_run(run, runner, command, status):
    (runner.folder / "not_executable").write_text("")
    (runner.folder / "old").write_text("what was there, and is much longer than a few words\n" * 100)
    content = (runner.folder / "old").read_bytes()
    for name in ("old", "new"):
        assert run("stat", "-o", name, *command).returncode == status
    assert (runner.folder / "old").read_bytes() == content
    assert not (runner.folder / "new").exists()


@pytest.mark.parametrize("options", [["--json"], ["--json", "-I", "20"]])
def test_what_was_in_the_file_is_replaced(run, runner, options):
    (runner.folder / "old").write_text("what was there\n" * 1000)
    assert run("stat", "-o", "old", *options, "sleep", "0.1").returncode == 0
    assert "what was there" not in (runner.folder / "old").read_text()
    json.loads((runner.folder / "old").read_text())


def test_figures_do_not_replace_a_profile(run, runner, record):
    """Neither its own format's version nor its end matters."""
    path = record("true").path
    content = bytearray(path.read_bytes())
    content[60:64] = (1000).to_bytes(4, "big")
    for name, data in (("a.data", path.read_bytes()), ("later.data", content), ("cut.data", content[:5000])):
        (runner.folder / name).write_bytes(data)
        for command in (["stat", "-o", name, "touch", "ran"], ["report", "-o", name]):
            result = run(*command)
            assert result.returncode == (125 if command[0] == "stat" else 64)
            assert f"not overwritten: {name} is a profile" in result.stderr
        assert (runner.folder / name).read_bytes() == bytes(data)
    assert not (runner.folder / "ran").exists()


def test_a_full_disk_is_an_error(run):
    result = run("stat", "-o", "/dev/full", "true")
    assert result.returncode == 125
    assert "/dev/full" in result.stderr and "No space left" in result.stderr


# --- exit statuses -----------------------------------------------------------------------------------

@pytest.mark.parametrize("script, status", [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_status_is_the_programs(run, script, status):
    assert run("stat", "sh", "-c", script).returncode == status


def test_of_several_runs_it_is_that_of_the_last_that_failed(run, runner):
    script = 'echo x >>n; case $(wc -l <n) in 1) exit 3;; 2) exit 4;; *) exit 0;; esac'
    assert run("stat", "-r", "3", "sh", "-c", script).returncode == 4


def test_a_program_that_is_not_there_is_127(run):
    result = run("stat", "no-such-program")
    assert result.returncode == 127
    assert "no-such-program" in result.stderr


def test_what_cannot_be_executed_is_126(run, runner):
    (runner.folder / "plain").write_text("text")
    for program in ("./plain", "/"):
        result = run("stat", program)
        assert result.returncode == 126
        assert program in result.stderr


def test_a_script_without_a_shebang_is_run_by_sh(run, runner):
    script = runner.folder / "script"
    script.write_text("echo from the script; exit 5\n")
    script.chmod(0o755)
    result = run("stat", "./script")
    assert (result.returncode, result.stdout) == (5, "from the script\n")


@pytest.mark.parametrize("arguments", [[], ["-r", "0", "true"], ["-r", "x", "true"], ["--pum", "true"]])
def test_bad_usage_is_125_and_starts_nothing(run, arguments):
    result = run("stat", *arguments)
    assert result.returncode == 125
    assert "cprof stat --help" in result.stderr


def test_options_behind_the_program_are_the_programs(run):
    assert run("stat", "echo", "--json", "-r").stdout == "--json -r\n"
    assert run("stat", "--", "echo", "--", "-r").stdout == "-- -r\n"


# --- the program notices nothing ------------------------------------------------------------------------

WHAT_A_PROGRAM_SEES = """
import os, signal, resource, sys
print(sorted(os.listdir("/proc/self/fd")))
print([signal.getsignal(s) for s in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM)])
print([line for line in open("/proc/self/status") if line.startswith(("SigBlk", "SigIgn"))])
print(resource.getrlimit(resource.RLIMIT_NOFILE), os.getcwd(), sorted(os.environ))
print(os.getpgrp() == os.getpgid(os.getppid()), sys.stdin.read())
"""


def test_the_program_sees_what_it_would_without_us(run, runner):
    plain = runner.run("/usr/bin/python3", "-c", WHAT_A_PROGRAM_SEES, input="some input")
    counted = run("stat", "-q", "/usr/bin/python3", "-c", WHAT_A_PROGRAM_SEES, input="some input")
    assert plain.returncode == 0
    assert counted.stdout == plain.stdout
    assert counted.returncode == 0


def test_a_signal_sent_to_us_reaches_the_program(runner, cprof):
    script = "trap 'echo got it; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    process = runner.start(cprof, "stat", "sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == ("got it\n", 3)
    assert "task-clock" in err


def test_a_second_signal_leaves_the_program_running(runner, cprof):
    script = "trap 'echo again' TERM; echo $$; while :; do sleep 0.05; done"
    process = runner.start(cprof, "stat", "sh", "-c", script, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pid = int(process.stdout.readline())
    try:
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "again\n"
        while process.poll() is None:  # signals in quick succession are one request
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
        assert process.returncode == 125
        # not read(): the program still has the other end
        assert any(f"still running, pid {pid}" in line for line in iter(process.stderr.readline, ""))
        os.kill(pid, 0)
    finally:
        os.kill(pid, signal.SIGKILL)
        process.stdout.close()
        process.stderr.close()


def test_what_is_left_running_has_no_usage(runner, cprof):
    """Least of all that of the run before it."""
    script = "trap '' TERM; echo $$; [ -e warm ] && exec sleep 60; touch warm"
    process = runner.start(cprof, "stat", "--json", "-o", "stat.json", "--warmup", "1", "sh", "-c", script,
                           stdout=subprocess.PIPE, text=True)
    pid = [int(process.stdout.readline()) for _ in range(2)][1]
    try:
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
    finally:
        os.kill(pid, signal.SIGKILL)
        process.stdout.close()
    command, = json.loads((runner.folder / "stat.json").read_text())["commands"]
    events = {event["name"]: event for event in command["events"]}
    assert events["task-clock"]["mean"] is not None
    for name in ("user-time", "system-time", "max-rss"):
        assert events[name]["mean"] is None and "ended" in events[name]["reason"]


def test_a_reader_that_went_away_does_not_change_the_status(runner, cprof):
    reader, writer = os.pipe()
    os.close(reader)
    result = runner.run(cprof, "stat", "sh", "-c", "exit 7", stderr=writer)
    os.close(writer)
    assert result.returncode == 7
