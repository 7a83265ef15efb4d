# SPDX-License-Identifier: MIT
"""collector - how fast the recorder takes heap events, by how many blocks are live: the model alone, and the whole way
from a ring to it (tests/bench/collector/main.c).  Blocks of 16 to 511 bytes, and of 16 to 56.
"""

import subprocess

from results import Column, Group
from workloads import built

PROGRAM = built("bench_collector")
LIVE, LIVE_QUICK = (100_000, 1_000_000, 10_000_000), (10_000,)
EVENTS, EVENTS_QUICK = 4_000_000, 100_000
SPREADS = {"cprof: 16 to 511 bytes": 495, "cprof: 16 to 56 bytes": 40}

COLUMNS = (Column("model_ns", "the model, an event", "ns"), Column("rings_ns", "from the ring, an event", "ns"),
           Column("model_bytes", "a live block", "B"))


def run_once(live, events, spread):
    lines = subprocess.run([PROGRAM, str(live), str(events), str(spread)], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return {f"{stage}_{figure}": float(value) for stage, figure, value in (line.split("\t") for line in lines)}


def measure(bench):
    groups = {live: Group(f"{live:,} live", "random frees and allocations at 200 sites")
              for live in (LIVE_QUICK if bench.quick else LIVE)}
    for _ in range(bench.runs):
        for live, group in groups.items():
            for name, spread in SPREADS.items():
                group.add(name, run_once(live, EVENTS_QUICK if bench.quick else EVENTS, spread))
    return list(groups.values())
