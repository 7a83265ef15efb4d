# SPDX-License-Identifier: MIT
"""Stacks reach the root: of real programs nearly all, and where they do not no caller is made up."""

import platform
import re
import subprocess
import threading

import pytest

from test_real_programs import SQL

CPU_ONLY = ["-q", "--heap=off"]

PYTHON = """
import json, re, time
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
end = time.time() + 3
while time.time() < end:
    sorted([fib(12)] * 9, key=lambda n: fib(3))
    json.loads(json.dumps([{'a': list(range(200))}] * 50))
    re.sub('(a+b)*', 'c', 'aab' * 300)
"""

NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
const end = Date.now() + 3000
while (Date.now() < end) {
    fib(20)
    JSON.parse(JSON.stringify(Array.from({ length: 300 }, (_, i) => ({ a: i, b: 'x' + i }))))
    'aab'.repeat(100).replace(/(a+b)*/g, 'c')
}
"""


def c_source(functions):
    """What keeps the optimizer busy for some seconds, without any header."""
    return "\n".join(f"int f{i}(int *v, int n) {{ int s = {i}; for (int k = 0; k < n; k++) {{ v[k] = v[k] * {i + 3} ^ s; "
                     f"s += v[k] % {i + 7}; switch (s & 3) {{ case 1: s++; break; case 2: s *= 3; }} }} return s; }}"
                     for i in range(functions))


def expect_complete(profile, share):
    """Prints the figure, and why the others ended."""
    report = profile.report()
    samples, cut = report["cpu"]["samples"], report["cpu"]["truncated_stacks"]
    reasons = [f"{row['count']} {row['detail']}" for row in report["quality"] if row["kind"] == "truncated"]
    print(f"{100 - 100 * cut / samples:.2f} % of {samples} complete; {', '.join(reasons)}")
    assert cut <= (1 - share) * samples, reasons
    return report


@pytest.fixture
def files(runner):
    (runner.folder / "n.js").write_text(NODE)
    (runner.folder / "c.c").write_text(c_source(800))
    (runner.folder / "s.sql").write_text(SQL)


CC1 = "/usr/lib/gcc/x86_64-linux-gnu/12/cc1"
REPOSITORY = str(__file__).rsplit("/tests/", 1)[0]
# Under load what was not copied may not be there any more when it is read.
COMPLETE = [
    (0.99, "/usr/bin/python3", "-c", PYTHON),
    (0.99, "node", "n.js"),
    (0.985, CC1, "-quiet", "-O2", "c.c", "-o", "c.s"),
    (0.99, "sqlite3", "s.db", ".read s.sql"),
    (0.99, "git", "-C", REPOSITORY, "log", "-p", "--stat"),
    (0.98, "deep", "5000", "2000"),
    (0.98, "rust_frames", "3000"),
]


@pytest.mark.long
@pytest.mark.parametrize("share, program, arguments", [(one[0], one[1], one[2:]) for one in COMPLETE],
                         ids=[one[1].rsplit("/", 1)[-1] for one in COMPLETE])
def test_nearly_all_stacks_are_complete(record, programs, need, files, share, program, arguments):
    built = programs / program
    profile = record(built if built.exists() else need.tool(program), *arguments, options=CPU_ONLY, text=False)
    expect_complete(profile, share)


@pytest.mark.long
def test_nearly_all_stacks_of_a_compiler_are_complete(record, runner, need):
    """Of a real program; the generated one above has more that is deeper than can be copied."""
    need.tool(CC1)
    source = need.sqlite_source(runner.folder)
    subprocess.run(["gcc", "-E", source, "-o", source.with_suffix(".i")], check=True)
    profile = record(CC1, "-fpreprocessed", "-quiet", "-O2", "sqlite3.i", "-o", "s.s", options=CPU_ONLY, text=False)
    expect_complete(profile, 0.995)


@pytest.mark.long
def test_nearly_all_stacks_of_a_server_are_complete(record, runner, need):
    server, benchmark = need.tool("redis-server"), need.tool("redis-benchmark")
    socket = runner.folder / "redis.sock"

    def load():
        subprocess.run([benchmark, "-s", socket, "-n", "60000", "-q", "-t", "set,lpush,lrange_100"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], stderr=subprocess.DEVNULL)

    def wait_and_load():
        while not socket.exists():
            if over.wait(0.05):
                return
        load()

    over = threading.Event()
    thread = threading.Thread(target=wait_and_load)
    thread.start()
    try:
        profile = record(server, "--port", "0", "--unixsocket", socket, "--save", "", options=CPU_ONLY, status=0)
    finally:
        over.set()
        thread.join()
    expect_complete(profile, 0.99)


# --- what names say -------------------------------------------------------------------------------


@pytest.mark.long
def test_compiled_javascript_has_the_names_that_node_gives_it(record, need, files):
    profile = record(need.tool("node"), "--perf-basic-prof", "n.js", options=CPU_ONLY)
    report = expect_complete(profile, 0.99)
    functions = {f["name"]: f for f in report["cpu"]["functions"]}
    fib = [f for name, f in functions.items() if re.search(r"(JS:|^).*\bfib\b", name)]
    assert sum(f["self"] for f in fib) > 0.05, sorted(functions)[:50]


def named_stacks(profile):
    """(names from the root on, samples) of each stack; None: frames are missing there."""
    names = dict(profile.sql("SELECT frame.address, function.name FROM frame JOIN function ON function.id = function "
                             "WHERE depth = 0"))
    nodes = {id: (parent, address) for id, parent, address in profile.sql("SELECT id, parent, address FROM stack")}
    kinds = dict(profile.sql("SELECT id, kind FROM address"))
    for stack, samples in profile.sql("SELECT stack, sum(samples) FROM v_total GROUP BY stack"):
        path = []
        while stack is not None:
            stack, address = nodes[stack]
            path.append(None if kinds[address] else names.get(address))
        yield path[::-1], samples


def test_a_large_frame_is_left_while_it_is_probed(record, programs):
    if platform.machine() != "x86_64":
        pytest.skip("only there is a CFA followed that is relative to other registers than sp and fp")
    profile = record(programs / "probed_frame", "400", options=CPU_ONLY)
    report = expect_complete(profile, 0.9)
    large = [f for f in report["cpu"]["functions"] if f["name"] == "large"]
    assert large and large[0]["self"] > 0.5


HUGE = """
#include <time.h>
static volatile char sink;
__attribute__((noinline)) static void huge(void)
{
    volatile char frame[3 << 20];
    for (int i = 0; i < 1000000; i++)
        frame[i % 4096] = sink;
    sink = frame[0];
}
int main(void)
{
    while (clock() < CLOCKS_PER_SEC / 4)
        huge();
}
"""


def test_a_frame_that_is_too_large_is_named(record, runner):
    if platform.machine() != "x86_64":
        pytest.skip("elsewhere the frame pointer has the CFA")
    (runner.folder / "huge.c").write_text(HUGE)
    built = runner.run("gcc", "-O1", "-fomit-frame-pointer", "-o", "huge", "huge.c")
    assert built.returncode == 0, built.stderr
    profile = record("./huge", options=CPU_ONLY, text=False)
    reasons = [row["detail"] for row in profile.report()["quality"] if row["kind"] == "truncated"]
    assert "huge: a frame of more than 2 MiB, or not of whole words" in reasons, reasons


OWN = {"main", "turns", "resume", "entry", "yield", "step", "burn", "raises", "on_signal", "down", "bottom"}


def expect_paths(profile, allowed, cut, busy):
    """The program's own functions follow each other as in the patterns, and most time is in `busy`."""
    total = right = 0
    for path, samples in named_stacks(profile):
        own = " ".join(name for name in path if name in OWN)
        assert re.fullmatch(cut if path[0] is None else allowed, own), path
        total += samples
        right += samples if own.endswith(busy) else 0
    assert right > 0.5 * total


@pytest.mark.parametrize("flags", [["-O2", "-fomit-frame-pointer"], ["-O2", "-fno-omit-frame-pointer"], ["-O0"]], ids=" ".join)
def test_a_coroutine_has_no_callers_of_another_stack(flags, record, runner, need):
    """Nor by a frame pointer that is of whoever switched to it."""
    need.tool("gcc")
    runner.run("gcc", "-g", "-fno-optimize-sibling-calls", *flags, "-o", "apart", f"{REPOSITORY}/tests/programs/stacks_apart.c")
    profile = record("./apart", "coroutine", "400", options=CPU_ONLY)
    entry = r"entry( step( burn)?| yield)?"
    expect_paths(profile, rf"main( turns( resume)?)?|{entry}|", rf"{entry}|step( burn)?|burn|(turns )?resume|yield|",
                 "entry step burn")


def test_a_handler_on_a_stack_of_its_own_has_the_callers_that_it_interrupted(record, programs):
    profile = record(programs / "stacks_apart", "handler", "400", options=CPU_ONLY)
    expect_paths(profile, r"main( raises( on_signal( step( burn)?)?)?)?|",
                 r"(main )?(raises )?(on_signal )?(step )?(burn)?|(raises )?on_signal|on_signal step|step|",
                 "on_signal step burn")


def test_a_split_stack_has_no_wrong_callers(record, runner):
    source = f"{REPOSITORY}/tests/programs/deep.c"
    built = runner.run("gcc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-fsplit-stack", "-o", "deep", source)
    if built.returncode:
        pytest.skip(f"no split stacks here: {built.stderr.splitlines()[-1]}")
    profile = record("./deep", 300, 400, options=CPU_ONLY)
    expect_paths(profile, r"main( (down )*(bottom|down))?|", r"(down )*(bottom|down)|", "down bottom")
