# SPDX-License-Identifier: MIT
"""workloads - the programs that are recorded, in three sizes: full; a tenth and tiny for slow profilers and --quick."""

import glob
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field

from profilers import FULL, TENTH, TINY

STARTUP_S = 60
HERE = os.path.dirname(os.path.abspath(__file__))
SQL = """
create table item (id integer primary key, name text, price real, kind text);
create index item_name on item (name);
with recursive n (i) as (select 1 union all select i + 1 from n where i < ROWS)
  insert into item select i, printf('%08x', i * 2654435761 & 4294967295), i * 1.5, 'kind ' || i % 20 from n;
select count(*), sum(price) from item where name like '0%';
select kind, count(*), avg(price), group_concat(name) from item group by kind order by 2;
select a.id, b.price from item a join item b on a.name = b.name where a.id % 10 = 0 order by b.price limit 100;
"""


@dataclass
class Workload:
    name: str
    description: str
    program: str                              # the file that is executed
    arguments: dict                           # size -> list
    environment: dict = field(default_factory=dict)
    drive: dict = field(default_factory=dict) # size -> load to put on it, see measure.Command
    needs: tuple = ()

    def missing(self):
        absent = [need for need in (self.program, *self.needs) if not shutil.which(need)]
        return f"not there: {', '.join(absent)}" if absent else None


def workloads(folder, quick):
    """folder: for input files that some need, for as long as they are used."""
    if quick:
        return [allocating(), redis(folder)]
    return [allocating(), computing(), python(), compiler(folder), redis(folder)]


def sizes(full, tenth, tiny):
    return {FULL: full, TENTH: tenth, TINY: tiny}


def built(name):
    return os.path.join(os.path.abspath(os.environ.get("PROGRAMS", "build/release/programs")), name)


def allocating():
    return Workload("alloc", "malloc and free from 64 stacks 15 deep, 100,000 blocks live", built("bench_alloc"),
                    sizes(["1000000"], ["100000"], ["10000"]))


def computing():
    return Workload("cpu", "calls, floating point, a sort; no frame pointers", built("bench_cpu"),
                    sizes(["1500"], ["150"], ["15"]))


def python():
    interpreter = os.path.realpath("/usr/bin/python3")
    script = os.path.join(HERE, "json_work.py")
    return Workload("python3", "json.dumps and json.loads, PYTHONMALLOC=malloc", interpreter,
                    sizes([script, "40"], [script, "4"], [script, "1"]), {"PYTHONMALLOC": "malloc"})


def compiler(folder):
    """The compiler proper on the demo program, preprocessed."""
    found = sorted(glob.glob("/usr/lib/gcc/*/*/cc1plus"))
    program = found[-1] if found else "cc1plus"
    texts = {size: os.path.join(folder, f"{size}.ii") for size in (FULL, TENTH, TINY)}
    if found:
        preprocess(os.path.join(HERE, "..", "programs", "demo.cc"), texts[FULL])
        preprocess(os.path.join(HERE, "..", "programs", "bench_cpu.c"), texts[TENTH])
        preprocess(os.devnull, texts[TINY])
    options = ["-quiet", "-O2", "-fpermissive", "-w", "-o", os.devnull]
    return Workload("cc1plus", "g++ -O2 of a program with the standard library's headers", program,
                    {size: [*options, text] for size, text in texts.items()}, needs=("g++",))


def preprocess(source, text):
    subprocess.run(["g++", "-E", "-x", "c++", source, "-o", text], check=True)


def sqlite():
    """Rows inserted, indexed, searched, grouped and joined."""
    def arguments(nr):
        return [":memory:", ".output /dev/null", SQL.replace("ROWS", str(nr))]
    return Workload("sqlite3", "a table in memory: insert, index, search, group, join", "/usr/bin/sqlite3",
                    sizes(arguments(200_000), arguments(20_000), arguments(2_000)))


def redis(folder):
    socket = os.path.join(folder, "redis.sock")
    arguments = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--daemonize", "no"]
    return Workload("redis-server", "redis-benchmark: set, get, lpush, lpop; wall: the benchmark's",
                    shutil.which("redis-server") or "redis-server", sizes(arguments, arguments, arguments),
                    drive={size: lambda process, n=n: redis_load(process, socket, n)
                           for size, n in sizes(20000, 2000, 1000).items()},
                    needs=("redis-benchmark", "redis-cli"))


def redis_load(process, socket, requests):
    """The time that the requests took, or None if the server did not come up or left in the middle."""
    deadline = time.monotonic() + STARTUP_S
    cli = ["redis-cli", "-s", socket]
    while subprocess.run([*cli, "ping"], capture_output=True).stdout != b"PONG\n":
        if has_ended(process) or time.monotonic() > deadline:
            return None
        time.sleep(0.02)
    start = time.monotonic()
    done = subprocess.run(["redis-benchmark", "-s", socket, "-q", "-n", str(requests),
                           "-t", "set,get,lpush,lpop"], capture_output=True)
    load_s = time.monotonic() - start
    subprocess.run([*cli, "shutdown", "nosave"], capture_output=True)
    return None if done.returncode else load_s


def has_ended(process):
    """Without waiting for it: its resource usage is for the meter."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
