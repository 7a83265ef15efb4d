# SPDX-License-Identifier: MIT
"""measure - one run of a command: time, CPU and memory, of the program and of its profiler apart.

    with Meter() as meter:
        run = meter.run(Command(["perf", "record", "./app"], program="./app", folder=folder))

CPU time in all is what wait4(2) says of the command and everything that it waited for.  What of it is the
program's comes from the kernel's exit records (exits.py): the processes that execute `program`, and their
descendants.  Where those are refused, what needs them is None and meter.blind says why.
"""

import os
import select
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field

from exits import ExitWatch, Unavailable

TIME_LIMIT_S = 120
EXIT_RECORDS_S = 0.2    # how long the last ones may take
JIFFIES_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass
class Run:
    status: int
    stderr: str
    wall_s: float                 # until the command ended, from the start of it or of the load put on it
    cpu_s: float                  # user and system, program and profiler
    total_rss: int                # of the largest process of all
    foreign_cores: float          # what the rest of the machine used meanwhile
    program_wall_s: float = None  # until the program or the load ended
    program_cpu_s: float = None   # until it exits: that its memory is freed then falls to the profiler's
    profiler_cpu_s: float = None
    program_rss: int = None
    profiler_rss: int = None      # of its largest process
    after_exit_s: float = None    # from the end of the program to that of the command


@dataclass
class Command:
    """What to run: the program is the file executed, drive() puts load on it while it runs."""

    arguments: list
    program: str
    folder: str
    environment: dict = field(default_factory=dict)
    drive: object = None


class Meter:
    def __init__(self):
        self.blind = None
        self.watch = None
        try:
            self.watch = ExitWatch()
        except Unavailable as why:
            self.blind = str(why)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        if self.watch:
            self.watch.__exit__()

    def run(self, command):
        if self.watch:
            self.watch.read()
        foreign, start = foreign_s(), time.monotonic()
        with open(os.path.join(command.folder, "stderr"), "w+", errors="replace") as stderr:
            process = start_process(command, stderr)
            try:
                load_s = put_load(command, process)
                usage, end, exits = self._wait(process)
            except BaseException:
                kill(process)
                raise
            stderr.seek(0)
            said = stderr.read()
        run = Run(process.returncode, said, wall_s=end - start, cpu_s=usage.ru_utime + usage.ru_stime,
                  total_rss=usage.ru_maxrss * 1024,
                  foreign_cores=max(0, (foreign_s() - foreign) / (time.monotonic() - start)))
        if self.watch:
            tell_apart(run, command.program, descendants(exits, process.pid), end)
        set_walls(run, load_s)
        return run

    def _wait(self, process):
        """Until the command ends, however that comes; exit records are taken as they come."""
        exits = []
        fd = os.pidfd_open(process.pid)
        deadline = time.monotonic() + TIME_LIMIT_S
        sources = [fd] + ([self.watch] if self.watch else [])
        while True:
            ready = select.select(sources, [], [], max(0, deadline - time.monotonic()))[0]
            if self.watch in ready:
                exits += self.watch.read()
            if fd in ready:
                break
            if not ready:
                kill(process)
                deadline = time.monotonic() + TIME_LIMIT_S
        end = time.monotonic()
        os.close(fd)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if self.watch:
            exits += self._last_records(process.pid)
        return usage, end, exits

    def _last_records(self, pid):
        exits = []
        deadline = time.monotonic() + EXIT_RECORDS_S
        while not any(exit.tgid == pid for exit in exits) and time.monotonic() < deadline:
            select.select([self.watch], [], [], deadline - time.monotonic())
            exits += self.watch.read()
        return exits


def start_process(command, stderr):
    return subprocess.Popen(command.arguments, cwd=command.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                            stderr=stderr, start_new_session=True,
                            env={**os.environ, "LC_ALL": "C.UTF-8", **command.environment})


def kill(process):
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def put_load(command, process):
    """The time that the load took; a program that could not bear it is killed."""
    load_s = command.drive(process) if command.drive else None
    if command.drive and load_s is None:
        kill(process)
    return load_s


def tell_apart(run, program, exits, end):
    inode = os.stat(program).st_ino
    roots = {exit.tgid for exit in exits if exit.exe_inode == inode}
    tgids = {exit.tgid for root in roots for exit in descendants(exits, root)}
    of_program = [exit for exit in exits if exit.tgid in tgids]
    of_profiler = [exit for exit in exits if exit.tgid not in tgids]
    if of_program:
        run.program_cpu_s = sum(exit.cpu_s for exit in of_program)
        run.program_rss = max(exit.rss_bytes for exit in of_program)
        run.after_exit_s = max(0.0, end - max(exit.time_s for exit in of_program))
    if of_program and of_profiler:
        run.profiler_cpu_s = max(0.0, run.cpu_s - run.program_cpu_s)
        run.profiler_rss = max(exit.rss_bytes for exit in of_profiler)


def set_walls(run, load_s):
    after_exit_s = run.after_exit_s or 0
    if load_s is not None:
        run.program_wall_s = load_s
        run.wall_s = load_s + after_exit_s
    elif run.program_cpu_s is not None:
        run.program_wall_s = run.wall_s - after_exit_s


def descendants(exits, ancestor):
    """The records of this process and of those below it, in any number of generations."""
    parents = {exit.tgid: exit.ppid for exit in exits}

    def is_below(tgid):
        seen = set()
        while tgid != ancestor and tgid in parents and tgid not in seen:
            seen.add(tgid)
            tgid = parents[tgid]
        return tgid == ancestor
    return [exit for exit in exits if is_below(exit.tgid)]


def foreign_s():
    """CPU seconds that the machine has spent on anything but us and what we waited for."""
    with open("/proc/stat") as stat:
        user, nice, system, _, _, irq, softirq, *_ = map(int, stat.readline().split()[1:])
    used = os.times()
    return (user + nice + system + irq + softirq) / JIFFIES_PER_S - sum(used[:4])
