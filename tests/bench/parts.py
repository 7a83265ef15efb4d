# SPDX-License-Identifier: MIT
"""parts - what `bench NAME` can measure: a row of PARTS each.

A part has columns and a function that measures: it gets the Bench (see __main__.py) and returns groups.  A part
that is a matter of its own gets a file of its own, and a row here.
"""

from dataclasses import dataclass

import collector
import counting
import fixed
import heap
import processes
import sampling
import symbols
import unwind
from results import Column


@dataclass
class Part:
    name: str
    summary: str
    columns: tuple
    measure: object


PARTS = (
    Part("overhead",
         "what recording costs the program, and the profiler (jemalloc and gperftools bring their own malloc)",
         (Column("program_wall_s", "program's wall", "s", ratio=True), Column("wall_s", "to prompt", "s", ratio=True),
          Column("cpu_s", "CPU", "s", ratio=True), Column("program_cpu_s", "program's", "s", ratio=True),
          Column("profiler_cpu_s", "profiler's", "s")),
         lambda bench: bench.campaign.groups),
    Part("memory", "resident memory of the program, and of the profiler's largest process",
         (Column("program_rss", "program", "B", ratio=True), Column("profiler_rss", "profiler", "B")),
         lambda bench: bench.campaign.groups),
    Part("disk", "bytes that one run leaves on disk",
         (Column("disk_bytes", "on disk", "B"),),
         lambda bench: bench.campaign.groups),
    Part("report", "from the end of the program to the prompt, and to a report with names",
         (Column("after_exit_s", "exit to prompt", "s"), Column("report_s", "report", "s"),
          Column("named_s", "exit to names", "s"), Column("report_rss", "report's memory", "B")),
         lambda bench: bench.campaign.reports()),
    Part("record", "what CPU samples with call stacks cost, and how good they are", sampling.COLUMNS, sampling.measure),
    Part("heap", "what one malloc or free more costs, by depth, live blocks, threads and program", heap.COLUMNS, heap.measure),
    Part("collector", "how fast the recorder takes heap events, by how many blocks are live", collector.COLUMNS,
         collector.measure),
    Part("fixed", "what it costs to record /bin/true", fixed.COLUMNS, fixed.measure),
    Part("processes", "what each process costs, of a script that runs 2,000 short programs", processes.COLUMNS,
         processes.measure),
    Part("counting", "what it costs to count over many runs, beside perf stat and hyperfine", counting.COLUMNS,
         counting.measure),
    Part("symbols", "what it costs to look up names, lines and inlined calls of the same addresses", symbols.COLUMNS,
         symbols.measure),
    Part("unwind", "what it costs to walk a call stack, in the program and of a sample", unwind.COLUMNS, unwind.measure),
)
