# SPDX-License-Identifier: MIT
"""sampling - what samples with call stacks cost, and how good they are, at two rates.

The program has no frame pointers, two threads that compute, and stacks about 60 frames deep.  Each round takes a
short and a long recording: what grows from one to the other belongs to the samples, the rest is the file's own.
New stacks become fewer with time, so one pair of cprof's recordings takes about ten seconds and a minute.
A stack is complete when its outermost frame is where programs and threads start.  CPU is that of the program and of
the profiler together.  Limits are those of who runs this: an ordinary user's rings may be smaller.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass

from measure import Command
from profilers import ALONE, cprof_path
from results import Column, Group
from rounds import data_bytes, fresh_folder, in_turn, try_run
from workloads import built

RATES_HZ = (997, 3989)
SHORT, LONG = ["300", "2"], ["1500", "2"]
TEN_SECONDS, MINUTE = ["10000", "2"], ["60000", "2"]
QUICK = ["20", "2"], ["60", "2"]
STARTS = {"_start", "clone3", "__clone3", "__clone"}

COLUMNS = (Column("cpu_s", "CPU", "s", ratio=True), Column("program_cpu_s", "program's", "s", ratio=True),
           Column("profiler_cpu_s", "profiler's", "s"), Column("samples", "samples", ""), Column("lost", "lost", ""), Column("complete", "complete", "%"),
           Column("sample_bytes", "a sample on disk", "B"))


@dataclass
class Taken:
    """What a recording has."""

    samples: int
    lost: int
    complete: int
    size_bytes: int


def cprof_command(rate_hz):
    return [cprof_path(), "record", "-q", "--heap=off", "-F", str(rate_hz), "--"]


def perf_command(stack_bytes):
    return lambda rate_hz: ["perf", "record", "-q", "--no-bpf-event", "-F", str(rate_hz),
                            "--call-graph", f"dwarf,{stack_bytes}", "--"]


def output_of(command, folder):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace").stdout


def cprof_taken(folder):
    cpu = json.loads(output_of([cprof_path(), "report", "--json", "--limit", "1"], folder))["cpu"]
    return Taken(cpu["samples"], cpu["lost"], cpu["samples"] - cpu["truncated_stacks"], data_bytes(folder))


def perf_taken(folder):
    text = output_of(["perf", "script", "--no-inline", "--show-lost-events", "-F", "ip,sym"], folder)
    lost = sum(int(number) for number in re.findall(r"PERF_RECORD_LOST\S* lost (\d+)", text))
    stacks = [block.split() for block in re.split(r"\n\s*\n", text) if re.match(r"\s+[0-9a-f]+ ", block)]
    return Taken(len(stacks), lost, sum(stack[-1] in STARTS for stack in stacks), data_bytes(folder))


@dataclass
class Variant:
    name: str
    command: object               # at a rate
    taken: object = None          # reads what it left
    max_rate_hz: int = RATES_HZ[-1]
    quick: bool = True


CPROF = Variant("cprof", cprof_command, cprof_taken)
VARIANTS = (
    Variant(ALONE, lambda rate_hz: []),
    CPROF,
    Variant("perf dwarf,8192", perf_command(8192), perf_taken),
    Variant("perf dwarf,65528", perf_command(65528), perf_taken, RATES_HZ[0], quick=False),   # gigabytes beyond
)


def measure(bench):
    if bench.quick:
        return [measure_rate(bench, RATES_HZ[0])]
    return [measure_rate(bench, rate_hz) for rate_hz in RATES_HZ] + [measure_growth(bench)]


def measure_growth(bench):
    group = Group(f"{RATES_HZ[0]} Hz, a minute", "on disk: what is more than after ten seconds")
    run_both(bench, group, CPROF, RATES_HZ[0], (TEN_SECONDS, MINUTE))
    return group


def measure_rate(bench, rate_hz):
    group = Group(f"{rate_hz} Hz", "two busy threads without frame pointers", base=ALONE)
    variants = {v.name: v for v in VARIANTS if rate_hz <= v.max_rate_hz and (v.quick or not bench.quick)}
    for variant in variants.values():
        command = variant.command(rate_hz)
        if command and not shutil.which(command[0]):
            group.refuse(variant.name, f"not installed: {command[0]}")
    sizes = QUICK if bench.quick else (SHORT, LONG)
    in_turn(group, bench.runs, variants, lambda name: run_both(bench, group, variants[name], rate_hz, sizes))
    return group


def run_both(bench, group, variant, rate_hz, sizes):
    program = built("bench_cpu")
    runs, found = [], []
    for arguments in sizes:
        folder = fresh_folder(bench.folder, "sampling")
        run = try_run(bench.meter, group, variant.name,
                      Command([*variant.command(rate_hz), program, *arguments], program, folder))
        if not run:
            return
        runs.append(run)
        found += [variant.taken(folder)] if variant.taken else []
    group.add(variant.name, {**vars(runs[1]), **(figures_of(*found) if found else {})})


def figures_of(short, long):
    more = long.samples - short.samples
    return {"samples": long.samples, "lost": long.lost, "complete": 100 * long.complete / max(1, long.samples),
            "sample_bytes": (long.size_bytes - short.size_bytes) / more if more > 0 else None}
