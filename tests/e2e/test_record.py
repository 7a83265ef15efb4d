# SPDX-License-Identifier: MIT
"""cprof record, the CPU side: what is sampled, and that the program notices nothing."""

import json
import os
import pty
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import is_running, wait_for

CPU_ONLY = ["--heap=off"]


def functions_of(report):
    return {function["name"]: function for function in report["cpu"]["functions"]}


def sql(runner, query, path="cprof.data"):
    connection = sqlite3.connect(f"file:{runner.folder / path}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def assert_seventy(report):
    """Of the two, within four standard errors; there are also the shell and the kernel."""
    functions = functions_of(report)
    both = functions["seventy"]["self"] + functions["thirty"]["self"]
    error = (0.7 * 0.3 / (both * report["cpu"]["samples"])) ** 0.5
    assert both > 0.5 and abs(functions["seventy"]["self"] / both - 0.7) < 0.03 + 4 * error


# --- what is sampled -----------------------------------------------------------------------------

def test_two_functions_get_the_time_they_took(record, programs):
    profile = record(programs / "burn", 1500, options=CPU_ONLY, status=3)
    report = profile.report()
    functions = functions_of(report)
    assert_seventy(report)
    assert functions["seventy"]["self"] + functions["thirty"]["self"] > 0.85
    assert functions["main"]["total"] > 0.95
    assert functions["seventy"]["file"].endswith("burn.c")
    assert report["cpu"]["samples"] > 500 > report["cpu"]["lost"]
    assert report["exit_status"] == 3 and report["complete"] is True


def test_a_hundred_frames_are_complete_to_main(record, programs):
    profile = record(programs / "deep", 100, 400, options=CPU_ONLY)
    stacks = profile.sql("""
        WITH RECURSIVE up(leaf, stack, frames) AS (
            SELECT stack, stack, 1 FROM v_total WHERE event = 0
            UNION ALL SELECT leaf, parent, frames + 1 FROM up JOIN stack ON stack.id = up.stack
            WHERE parent IS NOT NULL)
        SELECT max(frames), samples FROM up JOIN v_total ON v_total.stack = leaf GROUP BY leaf""")
    # _start, libc's two, main, the hundred, bottom()
    deep = sum(samples for frames, samples in stacks if frames >= 105)
    assert deep > 0.9 * sum(samples for _, samples in stacks)
    report = profile.report()
    assert functions_of(report)["down"]["total"] > 0.9
    assert report["cpu"]["truncated_stacks"] <= 0.01 * report["cpu"]["samples"]


def weights_by_function(profile, event):
    return dict(profile.sql(f"""
        SELECT function.name, sum(weight) FROM v_total
        JOIN stack ON stack.id = v_total.stack
        JOIN frame ON frame.address = stack.address AND frame.depth = 0
        JOIN function ON function.id = frame.function
        WHERE v_total.event = {event} GROUP BY 1"""))


def test_an_event_is_charged_to_the_function_that_had_it(record, programs):
    """With a period that is given: while the kernel looks for one, one of seven samples has a fifth of the weight."""
    profile = record(programs / "alternate", options=CPU_ONLY + ["-e", "page-faults", "-c", "10"])
    (total,) = profile.sql("SELECT sum(weight) FROM v_total")[0]
    assert weights_by_function(profile, 0)["touches_a_page"] >= 0.95 * total
    # The weights of the samples are the events that there were.
    (counted,) = profile.sql("SELECT value FROM event WHERE name = 'page-faults'")[0]
    assert 12000 <= counted <= 13000
    assert total == pytest.approx(counted, rel=0.05)


def test_each_event_of_several_is_charged_to_the_function_that_had_it(record, programs):
    profile = record(programs / "alternate", options=CPU_ONLY + ["-e", "cpu-clock,page-faults"])
    faults = weights_by_function(profile, 1)
    assert max(faults, key=faults.get) == "touches_a_page" and "computes" not in faults
    # ... although that has about as much of the time.
    assert functions_of(profile.report())["computes"]["total"] > 0.25


def test_a_fixed_period_counts_every_event(record, programs):
    profile = record(programs / "pages", 3000, options=CPU_ONLY + ["-e", "page-faults", "-c", 1, "-g", "none"])
    samples, weight = profile.sql("SELECT count(*), sum(weight) FROM v_sample")[0]
    assert 3000 <= samples <= 3300 and weight == samples


def test_threads_have_their_names_shares_and_starts(record, programs):
    profile = record(programs / "threads", 300, options=CPU_ONLY)
    weight = dict(profile.sql("""SELECT name, sum(weight) FROM v_total
                                 JOIN thread ON thread.id = v_total.thread GROUP BY name"""))
    assert 0.4 <= weight["one"] / weight["two"] <= 0.6
    starts = {row["comm"]: row["start_function"] for row in profile.report("threads")["threads"]}
    assert (starts["one"], starts["two"]) == ("one", "two")


@pytest.mark.parametrize("thread_us, missing", [(100, True), (20000, False)])
def test_threads_that_end_before_their_first_sample_are_told_of(record, programs, thread_us, missing):
    """The kernel takes none of a thread before a whole period, here 1 ms."""
    profile = record(programs / "relay", 1, 1000, thread_us, options=[*CPU_ONLY, "-e", "cpu-clock"])
    report = profile.report()
    rows = [row for row in report["quality"] if row["kind"] == "unsampled" and "came late" not in row["detail"]]
    assert bool(rows) == missing
    if missing:
        period_s = 1 / report["cpu"]["frequency_hz"]
        (counted_s,) = profile.sql("SELECT value / 1e9 FROM event WHERE id = 0")[0]
        assert rows[0]["count"] == pytest.approx(counted_s / period_s - report["cpu"]["samples"], abs=1)
        assert "a higher frequency (-F) sees more" in rows[0]["detail"]
        assert "samples missing" in profile.text("summary")


MANY_THREADS = """
import sys, threading
print("ready", flush=True)
sys.stdin.readline()
for i in range(400):
    thread = threading.Thread(target=int)
    thread.start()
    thread.join()
print("done", flush=True)
sys.stdin.readline()
"""


def test_four_hundred_threads_come_and_go_while_cprof_waits(runner, program, need):
    """On busy CPUs it gets none for as long: what the kernel says of them has room until then."""
    need.perf()
    process = program(runner.cprof, "record", *CPU_ONLY, sys.executable, "-c", MANY_THREADS)
    os.kill(process.pid, signal.SIGSTOP)
    process.stdin.write("go\n")
    process.stdin.flush()
    assert process.stdout.readline() == "done\n"
    os.kill(process.pid, signal.SIGCONT)
    process.stdin.close()
    assert process.wait() == 0
    assert sql(runner, "SELECT detail FROM quality WHERE kind = 'lost'") == []
    assert sql(runner, "SELECT count(*) FROM thread") == [(401,)]


def test_processes_are_followed_through_fork_and_exec(record, programs):
    script = f"'{programs}/burn' 200; '{programs}/deep' 10 100; exec '{programs}/threads' 50"
    profile = record("sh", "-c", script, options=CPU_ONLY)
    report = profile.report()
    commands = [process["command"] for process in report["processes"]]
    for program in ("burn", "deep", "threads"):
        assert any(command[0] == f"{programs}/{program}" for command in commands), commands
    first, last = report["processes"][0], report["processes"][-1]
    assert first["command"] == ["sh", "-c", script]
    assert last["pid"] == first["pid"] and last["image"] == 1 and last["exit_status"] == 0
    functions = functions_of(report)
    assert {"seventy", "bottom", "spin"} <= set(functions)


def test_short_lived_processes_are_all_there(record):
    script = "i=0; while [ $i -lt 50 ]; do /bin/true $i; i=$((i+1)); done"
    profile = record("sh", "-c", script, options=CPU_ONLY)
    images = profile.sql("SELECT count(*) FROM process WHERE executable LIKE '%/true'")[0][0]
    assert images == 50
    (forks,) = profile.sql("SELECT count(*) FROM process WHERE image = 0")[0]
    assert forks == 51
    assert not profile.sql("SELECT * FROM process WHERE end_us IS NULL")


def test_frame_pointers_and_no_stacks_can_be_asked_for(record, programs):
    flat = record(programs / "burn", 200, options=CPU_ONLY + ["-g", "none"], status=3)
    assert flat.sql("SELECT count(*) FROM stack WHERE parent IS NOT NULL")[0][0] == 0
    assert functions_of(flat.report())["seventy"]["self"] > 0.5
    kernel = record(programs / "burn", 200, options=CPU_ONLY + ["-g", "fp"], status=3)
    assert functions_of(kernel.report())["seventy"]["self"] > 0.5


def test_stacks_go_through_signal_handlers(record, programs):
    report = record(programs / "handler", 500, options=CPU_ONLY).report()
    functions = functions_of(report)
    assert functions["on_alarm"]["total"] > 0.05
    assert functions["main"]["total"] > 0.9
    assert report["cpu"]["truncated_stacks"] <= 0.02 * report["cpu"]["samples"]


LAYOUTS = [["-no-pie"], ["-static"], ["-static-pie"], ["-fuse-ld=lld"], ["-fuse-ld=gold"], ["-fuse-ld=mold"],
           # as BOLT does it: functions in another order than their CFI, in segments apart
           ["-ffunction-sections", "-fuse-ld=lld", "-Wl,--symbol-ordering-file=order", "-Wl,-z,separate-loadable-segments"],
           ["-Wl,-z,noseparate-code"], ["-Wl,--no-eh-frame-hdr"],
           ["-Wl,-z,max-page-size=0x10000"]]  # leaves holes between the segments


@pytest.mark.parametrize("layout", LAYOUTS, ids=" ".join)
def test_stacks_are_complete_however_the_program_is_laid_out(record, runner, layout):
    source = Path(__file__).parent.parent / "programs/deep.c"
    (runner.folder / "order").write_text("main\nbottom\n_start\ndown\n")
    built = runner.run("gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "deep", source, *layout)
    if built.returncode:
        pytest.skip(f"gcc cannot link so here: {built.stderr.splitlines()[-1]}")
    profile = record("./deep", 60, 200, options=CPU_ONLY)
    report = profile.report()
    assert functions_of(report)["main"]["total"] > 0.9
    assert report["cpu"]["truncated_stacks"] <= 0.03 * report["cpu"]["samples"]


def test_cfi_that_is_in_debug_frame_only_is_used(record, programs, need):
    sections = subprocess.run([need.tool("readelf"), "-SW", programs / "deep_debug_frame"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    assert any(".debug_frame" in line and " C " in line for line in sections.splitlines())
    profile = record(programs / "deep_debug_frame", 100, 400, options=CPU_ONLY)
    report = profile.report()
    assert report["cpu"]["truncated_stacks"] <= 0.02 * report["cpu"]["samples"]
    assert functions_of(report)["main"]["total"] > 0.9
    # What the compiler's start files add has no CFI at all, and may get a sample.
    without = [count for detail, count in quality_of(report, "stitched").items() if "deep_debug_frame" in detail]
    assert sum(without) <= 0.01 * report["cpu"]["samples"]


def quality_of(report, kind):
    return {row["detail"]: row["count"] for row in report["quality"] if row["kind"] == kind}


def test_a_stack_deeper_than_the_copy_is_followed_in_the_programs_memory(record, programs):
    # Long enough that a recorder which waits for a CPU misses only the end of it, when the memory is gone.
    profile = record(programs / "deep", 900, 2000, options=CPU_ONLY + ["--stack-size", "4K"])
    report = profile.report()
    samples = report["cpu"]["samples"]
    assert report["cpu"]["truncated_stacks"] <= 0.05 * samples
    functions = functions_of(report)
    assert functions["main"]["total"] > 0.9 and functions["down"]["total"] > 0.9
    assert sum(quality_of(report, "stitched").values()) > 0.8 * samples


WITHOUT_CFI = """
#include <stdlib.h>
int main(void)
{
	for (int i = 0; i < 400000; i++)
		free(malloc(100));
	return 0;
}
"""


def test_stacks_of_samples_in_cprof_itself_are_not_among_those_that_ended_early(record, runner, need):
    """Such samples are in no other figure, so the ledger may hold no more stacks than the report has samples."""
    need.tool("gcc")
    (runner.folder / "bare.c").write_text(WITHOUT_CFI)
    runner.run("gcc", "-O2", "-fno-builtin", "-fno-asynchronous-unwind-tables", "-o", "bare", "bare.c")
    profile = record(runner.folder / "bare")
    report = profile.report()
    own = [row["count"] for row in report["quality"] if "in cprof itself" in row["detail"]]
    ended = [row["count"] for row in report["quality"]
             if row["kind"] == "truncated" and not row["detail"].endswith("(heap)")]
    assert sum(own) > 0 and sum(ended) <= report["cpu"]["samples"]


def test_a_recursion_deeper_than_any_copy_keeps_its_root_and_its_leaf(record, programs):
    # As long for the same reason.
    profile = record(programs / "deep", 5000, 2000, options=CPU_ONLY)
    report = profile.report()
    assert report["cpu"]["truncated_stacks"] <= 0.05 * report["cpu"]["samples"]
    functions = functions_of(report)
    assert functions["main"]["total"] > 0.9
    assert functions["bottom"]["self"] > 0.85
    elided = profile.sql("SELECT value FROM address WHERE kind = 2")
    # 5000 frames of down() and the six around them, less the 1024 that are kept
    assert any(abs(value - (5006 - 1024)) <= 4 for (value,) in elided), elided


def test_a_stack_deeper_than_the_copy_says_so_where_memory_cannot_be_read(nobody, programs):
    program = nobody.folder / "deep"
    shutil.copy(programs / "deep", program)
    profile = nobody.record(program, 900, 300, "secret", options=CPU_ONLY + ["--stack-size", "4K"])
    report = profile.report()
    assert report["cpu"]["truncated_stacks"] > 0.8 * report["cpu"]["samples"]
    details = quality_of(report, "truncated")
    assert any("deep: " in detail and "--stack-size" in detail for detail in details), details


def test_kernel_time_counts_for_root(record, need):
    need.root()
    profile = record("dd", "if=/dev/zero", "of=/dev/null", "bs=1M", "count=4000", options=CPU_ONLY)
    weight = dict(profile.sql("""
        SELECT module.kind, sum(weight) FROM v_total JOIN stack ON stack.id = v_total.stack
        JOIN address ON address.id = stack.address JOIN module ON module.id = address.module
        WHERE event = 0 GROUP BY 1"""))
    assert weight["kernel"] > 0.5 * sum(weight.values())
    assert profile.report()["cpu"]["user_only"] is False


# --- what the machine does not allow --------------------------------------------------------------

def test_without_a_pmu_the_clock_is_sampled_under_its_own_name(record, programs):
    if any(d.startswith(("cpu", "armv8")) for d in os.listdir("/sys/bus/event_source/devices")):
        pytest.skip("this machine has a hardware PMU")
    cpu = record(programs / "burn", 100, options=CPU_ONLY, status=3).report()["cpu"]
    assert (cpu["event"], cpu["unit"], cpu["substituted_for"]) == ("cpu-clock", "ns", "cycles")
    assert "no hardware PMU" in cpu["reason"] and "IPC not available" in cpu["reason"]
    assert cpu["ipc"] is None
    for name in ("cycles", "instructions", "branch-misses", "cache-misses"):
        assert cpu["counters"][name]["status"] == "not-supported"


def test_capabilities_of_the_file_do_not_cost_the_heap_side(nobody, need):
    setcap = subprocess.run([need.tool("setcap"), "cap_perfmon+ep", nobody.cprof],
                            capture_output=True, text=True)
    if setcap.returncode:
        pytest.skip(f"no file capabilities here: {setcap.stderr.strip()}")
    heap = nobody.record("ls", "/").report()["heap"]
    assert heap["tracked"] is True and heap["allocations"] > 0


def test_an_ordinary_user_samples_user_code(nobody, programs):
    if int(open("/proc/sys/kernel/perf_event_paranoid").read()) != 2:
        pytest.skip("perf_event_paranoid is not 2")
    program = nobody.folder / "burn"
    program.write_bytes((programs / "burn").read_bytes())
    program.chmod(0o755)
    profile = nobody.record("./burn", 500, options=CPU_ONLY, status=3)
    report = profile.report()
    assert report["cpu"]["user_only"] is True
    assert_seventy(report)
    assert stat.S_IMODE(os.stat(profile.path).st_mode) == 0o600
    assert not profile.sql("SELECT * FROM module WHERE kind = 'kernel'")


@pytest.mark.parametrize("error", [1, 38])
def test_with_perf_and_ptrace_refused_the_heap_half_works(runner, cprof, programs, error):
    result = runner.run(programs / "noperf", "-p", error, cprof, "record", programs / "burn", 100)
    assert result.returncode == 3 and result.stdout == "done\n"
    assert "no CPU samples" in result.stderr and "seccomp" in result.stderr
    report = runner.cprof_run("report", "--json")
    cpu, heap = (json.loads(report.stdout)[half] for half in ("cpu", "heap"))
    assert cpu["event"] is None and "seccomp" in cpu["reason"]
    assert heap["tracked"] is True and heap["allocations"] > 0


@pytest.mark.parametrize("error", [1, 38])
def test_an_explicitly_asked_cpu_side_must_be_there(runner, cprof, programs, error):
    result = runner.run(programs / "noperf", "-p", error, cprof, "record", "--cpu=on", "touch", "ran")
    assert result.returncode == 125
    assert "seccomp" in result.stderr
    assert not (runner.folder / "ran").exists()


def test_with_nothing_to_record_the_program_does_not_run(runner, cprof, programs):
    result = runner.run(programs / "noperf", "-p", 1, cprof, "record", "--heap=off", "touch", "ran")
    assert result.returncode == 125
    assert not (runner.folder / "ran").exists()


def test_without_a_shim_the_cpu_half_works(runner, cprof, programs):
    alone = runner.folder / "bin"
    alone.mkdir()
    copy = alone / "cprof"
    copy.write_bytes(cprof.read_bytes())
    copy.chmod(0o755)
    result = runner.run(copy, "record", programs / "burn", 100)
    if "libcprof-heap.so was not found" not in result.stderr:
        pytest.skip("a shim is installed in the library folder")
    assert result.returncode == 3
    refused = runner.run(copy, "record", "--heap=exact", "touch", "ran")
    assert refused.returncode == 125 and "libcprof-heap.so was not found" in refused.stderr
    assert not (runner.folder / "ran").exists()


# --- that the program notices nothing -------------------------------------------------------------

@pytest.mark.parametrize("script, status", [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", 137), ("kill -15 $$", 143)])
def test_the_exit_status_is_the_programs(run, script, status):
    assert run("record", "sh", "-c", script).returncode == status


def test_input_and_output_pass_through(run):
    result = run("record", "-q", "sh", "-c", "cat; echo error >&2", input="some text\n")
    assert result.stdout == "some text\n"
    assert result.stderr == "error\n"


def test_options_of_the_program_are_the_programs(run):
    assert run("record", "-q", "echo", "-n", "--help", "-o").stdout == "--help -o"
    assert run("record", "-q", "--", "echo", "--", "x").stdout == "-- x\n"


STATE = r"""
import os, resource
print(sorted(int(f) for f in os.listdir("/proc/self/fd"))[:-1])
print([line for line in open("/proc/self/status") if line.startswith(("SigBlk", "SigIgn", "SigCgt"))])
print(resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_STACK))
print(os.umask(0), os.getcwd(), os.nice(0))
print({k: v for k, v in sorted(os.environ.items()) if k not in ("LD_PRELOAD", "CPROF_HEAP")})
"""


def test_the_program_starts_in_the_state_of_a_plain_run(runner, cprof):
    def output(*prefix):
        def prepare():
            os.setpgid(0, 0)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
        process = runner.start(*prefix, "/usr/bin/python3", "-S", "-c", STATE, stdout=subprocess.PIPE,
                               preexec_fn=prepare, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return process.communicate(timeout=60)[0]

    assert output(cprof, "record", "--heap=off", "--no-symbols", "-q") == output()


def test_no_descriptor_of_ours_gets_into_the_program(run):
    result = run("record", "-q", "ls", "/proc/self/fd")
    assert result.stdout.split() == ["0", "1", "2", "3"]


def test_a_script_without_an_interpreter_line_is_run_by_the_shell(run, runner):
    script = runner.folder / "script"
    script.write_text("echo from the shell; exit 4\n")
    script.chmod(0o755)
    result = run("record", "-q", "./script")
    assert (result.stdout, result.returncode) == ("from the shell\n", 4)


# --- signals -----------------------------------------------------------------------------------------

TRAPS = "trap 'echo got {0}; exit 9' {0}; echo ready; while :; do sleep 0.05; done"


@pytest.mark.parametrize("name", ["TERM", "HUP", "QUIT", "INT"])
def test_signals_sent_to_cprof_reach_the_program(runner, cprof, name):
    with runner.start(cprof, "record", "-q", "sh", "-c", TRAPS.format(name), stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(getattr(signal, f"SIG{name}"))
        out, err = process.communicate(timeout=60)
    assert (out, process.returncode) == (f"got {name}\n", 9), err


def test_the_terminals_interrupt_is_left_to_the_program(runner, cprof):
    """A pseudo-terminal sends ^C to its foreground group: both of us."""
    script = "trap 'echo got it' INT; echo ready; sleep 0.3; echo going on; sleep 0.3; exit 5"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(runner.folder)
        os.execv(cprof, [str(cprof), "record", "-q", "sh", "-c", script])
    text = b""
    while b"ready" not in text:
        text += os.read(terminal, 1000)
    os.write(terminal, b"\x03")
    try:
        while more := os.read(terminal, 1000):
            text += more
    except OSError:
        pass
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 5, text
    assert text.count(b"got it") == 1 and b"going on" in text


def test_a_second_signal_finishes_and_leaves_the_program(runner, cprof):
    script = "trap '' TERM; echo $$; while :; do sleep 0.1; done"
    with runner.start(cprof, "record", "-q", "sh", "-c", script, stdout=subprocess.PIPE,
                      stderr=subprocess.PIPE, text=True) as process:
        program = int(process.stdout.readline())
        try:
            process.send_signal(signal.SIGTERM)
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
            err = os.read(process.stderr.fileno(), 10000).decode()
            assert process.returncode == 125
            assert f"its pid is {program}" in err
            assert is_running(program)
        finally:
            os.kill(program, signal.SIGKILL)
    assert sql(runner, "SELECT value FROM meta WHERE key = 'complete'") == [(1,)]


def test_both_signals_of_timeout_are_one(runner, cprof):
    result = runner.run("timeout", "1", cprof, "record", "-q", "sh", "-c",
                        "trap 'exit 6' TERM; while :; do sleep 0.05; done")
    assert "still runs" not in result.stderr
    assert result.returncode == 124
    assert sql(runner, "SELECT value FROM meta WHERE key = 'exit_status'") == [(6,)]


def samples_so_far(runner):
    try:
        return sql(runner, "SELECT count(*) FROM v_sample")[0][0]
    except sqlite3.Error:
        return 0


def committed_us(runner):
    """How long the recording had lasted at the last commit."""
    try:
        rows = sql(runner, "SELECT value FROM meta WHERE key = 'wall_us'")
        return rows[0][0] if rows else 0
    except sqlite3.Error:
        return 0


def test_usr1_commits_at_once(runner, cprof, programs):
    with runner.start(cprof, "record", "-q", "sleep", "5") as process:
        assert wait_for(lambda: committed_us(runner) > 0)
        gaps = []
        for _ in range(8):
            before = committed_us(runner)
            process.send_signal(signal.SIGUSR1)
            gaps.append(wait_for(lambda: committed_us(runner) - before))
        process.kill()
    # By itself it commits once a second.
    assert sum(gap < 900000 for gap in gaps) >= 5, gaps


GROWS = '''
import time
blocks = []
for i in range(2000):
    blocks.append(bytearray(1 << 20))
    with open("count", "w") as file:
        file.write(f"{i + 1}")
    time.sleep(0.01)
'''


def test_a_commit_has_all_of_the_heap_up_to_then(runner, cprof):
    (runner.folder / "grows.py").write_text(GROWS)

    def count():
        return int((runner.folder / "count").read_text() or 0) if (runner.folder / "count").exists() else 0

    with runner.start(cprof, "record", "-q", "--no-symbols", "/usr/bin/python3", "grows.py") as process:
        for least in (5, 15, 120):
            wait_for(lambda: count() > least)
            before, allocated = committed_us(runner), count()
            process.send_signal(signal.SIGUSR1)
            wait_for(lambda: committed_us(runner) > before)
            heap = json.loads(runner.run(cprof, "report", "--json").stdout)["heap"]
            assert heap["live_bytes"] >= allocated << 20
        process.kill()


def test_a_killed_program_leaves_all_that_was_recorded(record, programs):
    script = f"'{programs}/burn' 60000 & sleep 1; kill -9 $!; wait $!"
    profile = record("sh", "-c", script, options=CPU_ONLY, status=137)
    report = profile.report()
    assert report["complete"] is True
    assert_seventy(report)


def killed_when_it_knew_the_program(runner, cprof, script):
    """How much of the recording was in the file by then, in seconds."""
    def rows():
        try:
            return sql(runner, "SELECT value FROM meta, process WHERE key = 'wall_us'")
        except sqlite3.Error:
            return []

    with runner.start(cprof, "record", "-q", "sh", "-c", script, stdin=subprocess.PIPE) as process:
        wait_for(rows)
        process.kill()
        process.wait()
        return rows()[0][0] / 1e6


def test_a_recording_that_is_killed_at_once_says_what_it_was(runner, cprof):
    """Not only with the commit of each second; one of five times a busy machine lets us in soon enough."""
    script = "read line; exit 0"
    assert any(killed_when_it_knew_the_program(runner, cprof, script) < 0.5 for _ in range(5))
    report = json.loads(runner.cprof_run("report", "--json").stdout)
    assert report["command"] == report["processes"][0]["command"] == ["sh", "-c", script]
    assert report["complete"] is False and report["cpu"]["event"] is not None
    assert "0 threads" not in runner.cprof_run("report").stdout


def test_a_killed_cprof_leaves_the_program_alone(runner, cprof, programs):
    with runner.start(cprof, "record", "-q", "--heap=off", programs / "burn", 2500, stdout=subprocess.PIPE,
                      text=True) as process:
        assert wait_for(lambda: samples_so_far(runner) > 300)
        children = open(f"/proc/{process.pid}/task/{process.pid}/children").read().split()
        process.kill()
        # The program finishes normally: it says so.
        assert process.stdout.read() == "done\n"
    # Its end of the pipe is closed a moment before it is gone.
    assert len(children) == 1 and wait_for(lambda: not is_running(children[0]))
    report = json.loads(runner.cprof_run("report", "--json").stdout)
    assert report["complete"] is False
    assert report["cpu"]["samples"] > 300


# --- bad input ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("program, status, words", [
    ("no-such-program-anywhere", 127, "no-such-program-anywhere: command not found"),
    ("./nothing", 127, "./nothing"),
    ("./plain", 126, "./plain"),
    ("./folder", 126, "./folder is a directory"),
])
def test_a_program_that_cannot_be_run(run, runner, program, status, words):
    (runner.folder / "plain").write_text("not executable\n")
    (runner.folder / "folder").mkdir()
    (runner.folder / "cprof.data").write_bytes(b"")
    result = run("record", program)
    assert result.returncode == status
    assert words in result.stderr
    # The profile that was there has not been touched.
    assert sorted(os.listdir(runner.folder)) == ["cprof.data", "folder", "plain"]


@pytest.mark.parametrize("output, words", [
    ("nowhere/cprof.data", "nowhere/cprof.data"),
    ("/proc/cprof.data", "/proc/cprof.data"),
    ("folder", "folder"),
    ("text", "text"),
])
def test_an_output_that_cannot_be_written(run, runner, output, words):
    (runner.folder / "folder").mkdir()
    (runner.folder / "text").write_text("important\n")
    result = run("record", "-o", output, "touch", "ran")
    assert result.returncode == 125
    assert words in result.stderr
    assert not (runner.folder / "ran").exists()
    assert (runner.folder / "text").read_text() == "important\n"


@pytest.mark.slow
def test_a_profile_that_breaks_off_keeps_what_was_written(runner, cprof, programs):
    """A limit of the file's size stands for a full disk, between the first and the last of five commits."""
    limit = 'ulimit -f "$1"; shift; exec "$@"'
    command = [cprof, "record", "--heap=off", "--no-symbols", "-F", 4999, programs / "burn", 4500]

    def kib_of_a_run_of(milliseconds):
        assert runner.run(*command[:-1], milliseconds).returncode == 3
        return (runner.folder / "cprof.data").stat().st_size // 1024

    least, most = kib_of_a_run_of(10), kib_of_a_run_of(4500)
    result = runner.run("bash", "-c", limit, "sh", least + (most - least) * 6 // 10, *command)
    assert result.returncode == 3 and result.stdout == "done\n", result.stderr
    assert "the program goes on" in result.stderr
    assert result.stderr.count("cprof.data: File too large") == 1
    report = json.loads(runner.cprof_run("report", "--json").stdout)
    assert report["complete"] is False and report["cpu"]["samples"] > 0


def test_with_no_room_at_all_the_program_does_not_run(runner, cprof):
    result = runner.run("bash", "-c", 'ulimit -f 8; exec "$@"', "sh", cprof, "record", "touch", "ran")
    assert result.returncode == 125 and "cprof.data: File too large" in result.stderr
    assert os.listdir(runner.folder) == []


@pytest.mark.parametrize("arguments, words", [
    ([], "which program"),
    (["--frequency", "0", "true"], "--frequency"),
    (["-F", "x", "true"], "x"),
    (["-e", "cylces", "true"], "did you mean 'cycles'"),
    (["-e", "", "true"], "empty"),
    (["-o", "-", "true"], "not a stream"),
    (["-g", "dwarv", "true"], "dwarf"),
    (["--stack-size", "1G", "true"], "--stack-size"),
    (["--heap=sometimes", "true"], "--heap"),
    (["--cpu=off", "--heap=off", "true"], "both off"),
    (["-F", "10", "-c", "10", "true"], "--count"),
    (["--no-such-option", "true"], "--no-such-option"),
])
def test_bad_usage_is_125_and_names_the_mistake(run, runner, arguments, words):
    result = run("record", *arguments)
    assert result.returncode == 125
    assert words in result.stderr and result.stdout == ""
    assert not (runner.folder / "cprof.data").exists()


def test_the_former_profile_is_kept(record, runner):
    record("true", options=CPU_ONLY)
    first = (runner.folder / "cprof.data").read_bytes()
    record("true", options=CPU_ONLY)
    assert (runner.folder / "cprof.data.old").read_bytes() == first


def test_two_recordings_in_a_folder_do_not_mix(runner, cprof, programs):
    with runner.start(cprof, "record", "-q", "--heap=off", "sleep", "30") as first:
        try:
            assert wait_for(lambda: committed_us(runner) > 0)
            second = runner.cprof_run("record", "--heap=off", programs / "burn", 100)
        finally:
            first.terminate()
            first.wait(timeout=60)
    assert second.returncode == 3
    (other,) = [name for name in os.listdir(runner.folder) if name.startswith("cprof.data.")]
    assert f"this profile is {other}" in second.stderr
    assert sql(runner, "SELECT executable FROM process", other)[0][0].endswith("/burn")
    assert sql(runner, "SELECT executable FROM process")[0][0].endswith("/sleep")


def test_a_frequency_above_the_limit_is_lowered_and_said(record):
    most = int(open("/proc/sys/kernel/perf_event_max_sample_rate").read())
    if most > 500000:
        pytest.skip(f"kernel.perf_event_max_sample_rate is {most}")
    # An event without a timer: at such a rate the machine would do nothing else.
    profile = record("true", options=CPU_ONLY + ["-e", "page-faults", "-F", most + 1000])
    assert profile.sql("SELECT frequency_hz FROM event WHERE id = 0") == [(most,)]
    assert any("perf_event_max_sample_rate" in detail
               for (detail,) in profile.sql("SELECT detail FROM quality WHERE kind = 'substituted'"))


def is_looking_up_names(process):
    """By a child of its own; the program is over."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return any(Path(f"/proc/{child}/comm").read_text() == "cprof\n" for child in children)


@pytest.mark.parametrize("number, most", [(signal.SIGUSR1, 1000), (signal.SIGQUIT, 1)])
def test_signals_while_names_are_looked_up_leave_the_programs_status(runner, cprof, programs, number, most):
    """pkill -USR1 -x cprof meets whoever is called so, at any time."""
    with runner.start(cprof, "record", "sh", "-c", f"{programs}/demo; exit 7", stdout=subprocess.DEVNULL,
                      stderr=subprocess.PIPE, text=True) as process:
        assert wait_for(lambda: runner.is_recording("cprof.data"))
        assert wait_for(lambda: process.poll() is not None or is_looking_up_names(process))
        assert process.poll() is None
        for _ in range(most):
            process.send_signal(number)
            time.sleep(0.003)
        assert process.wait(60) == 7, process.stderr.read()
