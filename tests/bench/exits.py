# SPDX-License-Identifier: MIT
"""exits - what each process used, as the kernel tells it when the process ends.

    with ExitWatch() as watch:
        ...                          # select() on watch.fileno()
        for exit in watch.read():    # of every process of the machine

That is the one way to tell the CPU time and the memory of a profiler from those of the program that it
starts: getrusage(2) has only their sum.  The kernel's interface is taskstats (netlink); it takes root and
CONFIG_TASKSTATS, which Debian has.  Where it is refused, Unavailable says why.
"""

import errno
import os
import socket
import struct
import time
from dataclasses import dataclass

NETLINK_GENERIC = 16
GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID = 1
CTRL_ATTR_FAMILY_NAME = 2
TASKSTATS_CMD_GET = 1
TASKSTATS_CMD_ATTR_REGISTER_CPUMASK = 3
TASKSTATS_TYPE_STATS = 3
TASKSTATS_TYPE_AGGR_PID = 4
NLMSG_ERROR = 2
SO_RCVBUFFORCE = 33

# Offsets in struct taskstats (linux/taskstats.h), fixed since version 12 of it.
FIELDS = {"run_ns": (72, "Q"), "ppid": (132, "I"), "utime_us": (152, "Q"), "stime_us": (160, "Q"),
          "rss_kib": (200, "Q"), "tgid": (368, "I"), "exe_inode": (392, "Q")}
MIN_SIZE = 400


class Unavailable(Exception):
    """Why processes cannot be told apart here."""


@dataclass
class Exit:
    """A thread that ended; all threads of a process have its tgid."""

    tgid: int
    ppid: int
    exe_inode: int
    cpu_s: float
    rss_bytes: int     # the most that the process had resident
    time_s: float      # when we heard of it, on time.monotonic()


def attribute(kind, payload):
    size = 4 + len(payload)
    return struct.pack("HH", size, kind) + payload + b"\0" * (-size % 4)


def attributes(data):
    while len(data) >= 4:
        size, kind = struct.unpack_from("HH", data)
        if size < 4:
            return
        yield kind & 0x3fff, data[4:size]
        data = data[(size + 3) & ~3:]


def decode(stats, now):
    if len(stats) < MIN_SIZE:
        raise Unavailable("this kernel's taskstats lack the process id (Linux 5.19 has it)")
    value = {name: struct.unpack_from(form, stats, offset)[0] for name, (offset, form) in FIELDS.items()}
    ticks_s = (value["utime_us"] + value["stime_us"]) / 1e6
    return Exit(tgid=value["tgid"], ppid=value["ppid"], exe_inode=value["exe_inode"],
                cpu_s=value["run_ns"] / 1e9 or ticks_s, rss_bytes=value["rss_kib"] * 1024, time_s=now)


class ExitWatch:
    def __init__(self):
        try:
            self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC)
            self.socket.bind((0, 0))
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 4 << 20)
            self._register()
            self._check()
        except OSError as error:
            raise Unavailable(f"taskstats: {error.strerror}") from error

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.socket.close()

    def fileno(self):
        return self.socket.fileno()

    def read(self):
        """What has come, without waiting.  What came faster than it was read is lost."""
        exits = []
        while True:
            try:
                message = self.socket.recv(1 << 16, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return exits
            except OSError as error:
                if error.errno == errno.ENOBUFS:
                    continue
                raise
            exits += self._parse(message)

    def _send(self, family, command, payload):
        body = struct.pack("BBH", command, 1, 0) + payload
        self.socket.send(struct.pack("IHHII", 16 + len(body), family, 1, 1, 0) + body)

    def _register(self):
        self._send(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0"))
        reply = self.socket.recv(1 << 16)
        if struct.unpack_from("H", reply, 4)[0] == NLMSG_ERROR:
            raise Unavailable("this kernel is built without CONFIG_TASKSTATS")
        family = struct.unpack("H", dict(attributes(reply[20:]))[CTRL_ATTR_FAMILY_ID])[0]
        cpus = f"0-{os.cpu_count() - 1}\0".encode()
        self._send(family, TASKSTATS_CMD_GET, attribute(TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, cpus))

    def _check(self):
        """The layout of this kernel is the one above: a process of ours is found."""
        pid = os.posix_spawn("/bin/true", ["true"], {})
        inode = os.stat("/bin/true").st_ino
        os.waitpid(pid, 0)
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            for exit in self.read():
                if (exit.tgid, exit.ppid, exit.exe_inode) == (pid, os.getpid(), inode):
                    return
            time.sleep(0.01)
        raise Unavailable("taskstats do not report a process of ours (refused, or of another layout)")

    @staticmethod
    def _parse(message):
        now = time.monotonic()
        size, kind = struct.unpack_from("IH", message)
        if kind == NLMSG_ERROR:
            code = -struct.unpack_from("i", message, 16)[0]
            if code:
                raise OSError(code, os.strerror(code))
            return
        for kind, payload in attributes(message[20:size]):
            if kind == TASKSTATS_TYPE_AGGR_PID:
                yield decode(dict(attributes(payload))[TASKSTATS_TYPE_STATS], now)
