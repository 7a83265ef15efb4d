# SPDX-License-Identifier: MIT
"""perf_data - a perf.data file as if one process had been sampled once at each of some addresses of a library.

    write_perf_data("perf.data", "/usr/lib/.../libjvm.so", offset=0x252000, size=0xd57819, offsets=[0x252010, ...])

Offsets are in the file.  Each sample has registers and an empty stack, as with --call-graph dwarf: this perf looks for
inlined calls in nothing else.
"""

import struct

PID = 4242
START = 0x7F0000000000       # where the segment is mapped
IP, TID, TIME, CALLCHAIN, REGS_USER, STACK_USER = 1, 2, 4, 1 << 5, 1 << 12, 1 << 13
SAMPLE_TYPE = IP | TID | TIME | CALLCHAIN | REGS_USER | STACK_USER
REGS_MASK = 0xff0fff         # what perf asks for on x86-64
NR_REGS, SP, PC = 20, 7, 8
STACK, STACK_BYTES = 0x7FFF00000000, 64
CONTEXT_USER = 2 ** 64 - 512
RECORD_COMM, RECORD_SAMPLE, RECORD_MMAP2 = 3, 9, 10
USER = 2                     # misc: user mode
TYPE_SOFTWARE, CPU_CLOCK = 1, 0
ATTR_SIZE, HEADER_SIZE = 128, 104
SAMPLE_ID_ALL = 1 << 18


def record(kind, misc, payload):
    return struct.pack("<IHH", kind, misc, 8 + len(payload)) + payload


def padded(text):
    data = text.encode() + b"\0"
    return data + bytes(-len(data) % 8)


def identity(time):
    return struct.pack("<IIQ", PID, PID, time)


def attributes():
    attr = struct.pack("<IIQQQQQ", TYPE_SOFTWARE, ATTR_SIZE, CPU_CLOCK, 1, SAMPLE_TYPE, 0, SAMPLE_ID_ALL)
    attr += bytes(80 - len(attr)) + struct.pack("<QI", REGS_MASK, STACK_BYTES)
    return attr + bytes(ATTR_SIZE - len(attr)) + struct.pack("<QQ", 0, 0)     # and no ids


def machine(ip):
    """Registers (an ABI of 2: 64 bits) and stack."""
    regs = [0] * NR_REGS
    regs[SP], regs[PC] = STACK, ip
    return struct.pack(f"<Q{NR_REGS}QQ", 2, *regs, STACK_BYTES) + bytes(STACK_BYTES) + struct.pack("<Q", STACK_BYTES)


def records(library, offset, size, offsets):
    yield record(RECORD_COMM, 0, struct.pack("<II", PID, PID) + padded("app") + identity(1))
    mapping = struct.pack("<IIQQQIIQQII", PID, PID, START, size, offset, 0, 0, 0, 0, 5, 2)
    yield record(RECORD_MMAP2, USER, mapping + padded(library) + identity(2))
    for time, at in enumerate(offsets, 3):
        ip = START + at - offset
        yield record(RECORD_SAMPLE, USER, struct.pack("<QIIQQQ", ip, PID, PID, time, 1, CONTEXT_USER) + machine(ip))


def write_perf_data(path, library, offset, size, offsets):
    data = b"".join(records(library, offset, size, offsets))
    attrs = attributes()
    header = b"PERFILE2" + struct.pack("<QQQQQQQQ", HEADER_SIZE, len(attrs), HEADER_SIZE, len(attrs),
                                       HEADER_SIZE + len(attrs), len(data), 0, 0)
    with open(path, "wb") as file:
        file.write(header + bytes(HEADER_SIZE - len(header)) + attrs + data)
