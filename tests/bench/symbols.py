# SPDX-License-Identifier: MIT
"""symbols - what it costs to look up names, lines and inlined calls: the same 20,000 addresses of one library.

The loop of libdw (tests/programs/bench_dies.c) reads what nobody can do without: the lines and entries of the units.
perf without inlined calls names functions only, and so does cprof without a budget.
"""

import os
import random
import re
import shutil
import sqlite3
import subprocess

from measure import TIME_LIMIT_S, Command
from perf_data import write_perf_data
from profilers import cprof_path
from results import Column, Group
from rounds import fresh_folder, in_turn, try_run

LIBRARIES = (("/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so", "openjdk-17-dbg"),
             ("/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg"))
NR, NR_QUICK = 20000, 300
LOOP = "a loop of libdw"

COLUMNS = (Column("wall_s", "wall", "s", ratio=True), Column("cpu_s", "CPU", "s", ratio=True),
           Column("total_rss", "memory", "B"))


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def debug_file(library):
    build_id = re.search(r"Build ID: (\w+)", output("readelf", "-n", library))[1]
    return f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"


def code_segment(library):
    """(offset, address, size) of what is mapped executable."""
    for line in output("readelf", "-lW", library).splitlines():
        words = line.split()
        if words[:1] == ["LOAD"] and "E" in words[6:-1]:
            return int(words[1], 16), int(words[2], 16), int(words[4], 16)
    raise ValueError(f"{library} has no code")


def pick_addresses(debug, nr):
    """Anywhere in functions, in no order; the same in each run."""
    functions = []
    for line in output("readelf", "-sW", debug).splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND" and int(words[2], 0):
            functions.append((int(words[1], 16), int(words[2], 0)))
    chance = random.Random(7)
    return [start + chance.randrange(size) for start, size in chance.choices(sorted(functions), k=nr)]


def write_profile(path, library, addresses):
    """Of a recording of /bin/true, with these addresses in place of its own."""
    subprocess.run([cprof_path(), "record", "-q", "--heap=off", "--no-symbols", "-o", path, "/bin/true"], check=True)
    connection = sqlite3.connect(path)
    for table in ("first_sample", "later_sample", "sample_sum", "heap", "heap_site", "stack", "address", "module",
                  "quality"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT INTO module(id, kind, path, name, open_path, debug) VALUES(0, 'file', ?, ?, ?, "
                       "'not-tried')", (library, os.path.basename(library), library))
    numbered = list(enumerate(sorted(set(addresses))))
    connection.executemany("INSERT INTO address(id, kind, module, value) VALUES(?, 0, 0, ?)", numbered)
    connection.executemany("INSERT INTO stack(id, parent, address) VALUES(?, NULL, ?)", ((i, i) for i, _ in numbered))
    connection.commit()
    connection.close()


def prepare(library, debug, nr, folder):
    addresses = pick_addresses(debug, nr)
    offset, address, size = code_segment(library)
    with open(f"{folder}/addresses", "w") as file:
        file.writelines(f"{one:#x}\n" for one in addresses)
    write_perf_data(f"{folder}/perf.data", library, offset, size, [one - address + offset for one in addresses])
    write_profile(f"{folder}/raw.data", library, addresses)


def lookups(debug, folder):
    perf = f"perf report -q --stdio -i {folder}/perf.data"
    dies = os.path.join(os.environ.get("PROGRAMS", "build/release/programs"), "bench_dies")
    return {
        LOOP: f"{os.path.abspath(dies)} {debug} <addresses",
        "cprof symbolize": f"{cprof_path()} symbolize -q cprof.data",
        "cprof symbolize, names only": f"{cprof_path()} symbolize -q --symbol-budget=0 cprof.data",
        "llvm-symbolizer": f"llvm-symbolizer --obj={debug} --inlines <addresses",
        "eu-addr2line": f"eu-addr2line -ifC -e {debug} <addresses",
        "addr2line": f"addr2line -ifC -e {debug} <addresses",
        "perf report": perf,
        "perf report, no inlines": f"{perf} --no-inline",
    }


def measure_one(bench, library, debug, nr):
    group = Group(os.path.basename(library), f"{nr} addresses", base=LOOP)
    folder = fresh_folder(bench.folder, "symbols")
    prepare(library, debug, nr, folder)
    commands = lookups(debug, folder)
    for name, command in commands.items():
        if not shutil.which(command.split()[0]):
            group.refuse(name, f"not installed: {command.split()[0]}")

    def run_one(name):
        shutil.copy(f"{folder}/raw.data", f"{folder}/cprof.data")
        command = ["sh", "-c", f"exec {commands[name]}"]
        run = try_run(bench.meter, group, name, Command(command, "/bin/sh", folder, {"PERF_BUILDID_DIR": folder, "DEBUGINFOD_URLS": ""}))
        if run:
            group.add(name, vars(run))
        elif "status -9" in group.notes[name]:
            group.refuse(name, f"took longer than {TIME_LIMIT_S} s")

    in_turn(group, bench.runs, commands, run_one)
    return group


def measure(bench):
    """Of the first library that has its debug package; a quick run takes the smallest."""
    for library, package in reversed(LIBRARIES) if bench.quick else LIBRARIES:
        if os.path.exists(library) and os.path.exists(debug_file(library)):
            library = os.path.realpath(library)
            return [measure_one(bench, library, debug_file(library), NR_QUICK if bench.quick else NR)]
    group = Group("symbols", "20000 addresses")
    group.refuse("all", "not installed: " + " or ".join(package for _, package in LIBRARIES))
    return [group]
