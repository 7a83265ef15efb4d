# SPDX-License-Identifier: MIT
"""unwind - what it costs to walk a call stack: the shim's walks beside libunwind's and glibc's, the recorder's
beside libdwfl's.  All in one process, in turn (tests/bench/unwind/main.c); a figure is the least of many batches.
"""

import subprocess

from results import Column, Group
from workloads import built

PROGRAM = built("bench_unwind")
ROUNDS, ROUNDS_QUICK = 100, 2
GROUPS = {"15": ("own stack", "15 frames"), "60": ("own stack", "60 frames"),
          "sample": ("a sample", "30 frames, the recorder's caches warm"),
          "first": ("the first of a process", "an own stack of 15 frames, a sample of 30")}

COLUMNS = (Column("first_ns", "first", "ns"), Column("same_ns", "same stack", "ns"),
           Column("changed_ns", "4 frames changed", "ns"), Column("new_ns", "new stack", "ns"),
           Column("frame_ns", "each new frame", "ns"))


def run_once(quick):
    """{(group, variant): {figure: ns}}"""
    lines = subprocess.run([PROGRAM, str(ROUNDS_QUICK if quick else ROUNDS)], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    figures = {}
    for group, variant, figure, ns in (line.split("\t") for line in lines):
        figures.setdefault((group, variant), {})[figure] = float(ns)
    return figures


def measure(bench):
    groups = {key: Group(*words) for key, words in GROUPS.items()}
    for _ in range(bench.runs):
        for (group, variant), figures in run_once(bench.quick).items():
            groups[group].add(variant, figures)
    return list(groups.values())
