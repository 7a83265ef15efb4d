# SPDX-License-Identifier: MIT
"""profilers - cprof and its peers: how each is started, and how one gets names out of what it wrote.

A profiler is a row of PROFILERS.  wrap(program, folder) gives what to put before the program's command line and
what to put into its environment; report(program, folder) the commands that print named functions or stacks.
"""

import glob
import os
import shutil
from dataclasses import dataclass

ALONE = "alone"
RATE_HZ = 997
LIB = "/usr/lib/x86_64-linux-gnu"
INTERPRET = "/usr/lib/heaptrack/libexec/heaptrack_interpret"

CPU, HEAP, BOTH = "cpu", "heap", "both"
FULL, TENTH, TINY = "full", "tenth", "tiny"    # runs of a program


@dataclass
class Profiler:
    name: str
    side: str
    needs: tuple                 # programs and files; without them the row says so
    wrap: object
    reports: tuple = ()          # (name, function) pairs; several if there are ways that differ much
    size: str = FULL             # of the run: less where a program becomes ten or a hundred times slower
    quick: bool = False          # part of --quick
    no_report: str = None
    image: str = None            # what the program runs in, if not in its own file

    def missing(self):
        absent = [need for need in self.needs if not (shutil.which(need) or glob.glob(need))]
        return f"not installed: {', '.join(absent)}" if absent else None


def cprof_path():
    return os.path.abspath(os.environ.get("CPROF", "build/release/cprof"))


def cprof(*options):
    return lambda program, folder: ([cprof_path(), "record", "-F", str(RATE_HZ), *options, "--"], {})


def perf(*options):
    # Without --no-bpf-event it ends up to a second late: that is `bench fixed`'s to show.
    return lambda program, folder: (["perf", "record", "-q", "-F", str(RATE_HZ), "--no-bpf-event", *options, "--"], {})


def valgrind(tool):
    return lambda program, folder: (["valgrind", "-q", f"--tool={tool}", f"--{tool}-out-file={folder}/{tool}.out"], {})


def valgrind_image(tool):
    return next(iter(glob.glob(f"/usr/libexec/valgrind/{tool}-*64-linux")), None)


def environment(**variables):
    """Profilers that are a library, told what to do by variables."""
    return lambda program, folder: ([], {key: value.format(folder=folder) for key, value in variables.items()})


class NoData(Exception):
    """A profiler that succeeded has left no file."""


def first(folder, pattern):
    found = sorted(glob.glob(os.path.join(folder, pattern)))
    if not found:
        raise NoData(f"it left no {pattern}")
    return found[0]


def shell(text):
    return ["sh", "-c", text]


def cprof_report(program, folder):
    return [cprof_path(), "report"]


def perf_report(*options):
    return lambda program, folder: ["perf", "report", "--stdio", *options]


def heaptrack_report(program, folder):
    return ["heaptrack_print", first(folder, "heaptrack*.zst")]


def heaptrack_raw_report(program, folder):
    raw = first(folder, "heaptrack*.raw.zst")
    return shell(f"zstd -dc {raw} | {INTERPRET} | zstd -q -o interpreted.zst && heaptrack_print interpreted.zst")


def pprof_report(command, pattern):
    return lambda program, folder: [command, "--text", program, first(folder, pattern)]


ALONE_PROFILER = Profiler(ALONE, None, (), lambda program, folder: ([], {}), quick=True)

PROFILERS = (
    Profiler("cprof --heap=off", CPU, (), cprof("--heap=off"), (("report", cprof_report),)),
    Profiler("perf record fp", CPU, ("perf",), perf("--call-graph", "fp"),
             (("report", perf_report()), ("report --no-inline", perf_report("--no-inline")))),
    Profiler("perf record dwarf", CPU, ("perf",), perf("--call-graph", "dwarf"),
             (("report", perf_report()), ("report --no-inline", perf_report("--no-inline"))), quick=True),
    Profiler("gperftools CPU", CPU, (f"{LIB}/libprofiler.so.0", "google-pprof"),
             environment(LD_PRELOAD=f"{LIB}/libprofiler.so.0", CPUPROFILE="{folder}/cpu.prof",
                         CPUPROFILE_FREQUENCY=str(RATE_HZ)),
             (("google-pprof", pprof_report("google-pprof", "cpu.prof*")),)),
    Profiler("cprof --cpu=off", HEAP, (), cprof("--cpu=off"), (("report", cprof_report),)),
    Profiler("heaptrack --raw", HEAP, ("heaptrack", "zstd"),
             lambda program, folder: (["heaptrack", "--raw", "-o", f"{folder}/heaptrack"], {}),
             (("interpret, print", heaptrack_raw_report),)),
    Profiler("heaptrack", HEAP, ("heaptrack",),
             lambda program, folder: (["heaptrack", "-o", f"{folder}/heaptrack"], {}),
             (("print", heaptrack_report),), quick=True),
    Profiler("jemalloc 1 in 512 KiB", HEAP, (f"{LIB}/libjemalloc.so.2", "jeprof"),
             environment(LD_PRELOAD=f"{LIB}/libjemalloc.so.2",
                         MALLOC_CONF="prof:true,prof_final:true,lg_prof_sample:19,prof_prefix:{folder}/jeprof"),
             (("jeprof", pprof_report("jeprof", "jeprof*.heap")),)),
    Profiler("cprof", BOTH, (), cprof(), (("report", cprof_report),), quick=True),
    Profiler("jemalloc, all", HEAP, (f"{LIB}/libjemalloc.so.2", "jeprof"),
             environment(LD_PRELOAD=f"{LIB}/libjemalloc.so.2",
                         MALLOC_CONF="prof:true,prof_final:true,lg_prof_sample:0,prof_prefix:{folder}/jeprof"),
             (("jeprof", pprof_report("jeprof", "jeprof*.heap")),), size=TENTH),
    Profiler("gperftools heap", HEAP, (f"{LIB}/libtcmalloc.so.4", "google-pprof"),
             environment(LD_PRELOAD=f"{LIB}/libtcmalloc.so.4", HEAPPROFILE="{folder}/heap"),
             (("google-pprof", pprof_report("google-pprof", "heap.*.heap")),), size=TINY),
    Profiler("valgrind dhat", HEAP, ("valgrind",), valgrind("dhat"), size=TENTH, image=valgrind_image("dhat"),
             no_report="its viewer is a page for a browser"),
    Profiler("valgrind massif", HEAP, ("valgrind",), valgrind("massif"),
             (("ms_print", lambda program, folder: ["ms_print", f"{folder}/massif.out"]),), size=TENTH,
             image=valgrind_image("massif")),
)
