#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: patch-pmu-map.py IMAGE OUT

Changes in an arm64 kernel (a raw Image) which events of the PMU the generic ones are, so that those
that the emulated PMU lacks open, count and overflow: branches and branch-misses become instructions
retired (0x08), caches and the bus cycles (0x11).
"""

import os
import struct
import sys

# armv8_pmuv3_perf_map of the kernel, in the order of PERF_COUNT_HW_*
GENERIC = ["cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
           "stalled-cycles-frontend", "stalled-cycles-backend"]
IN_KERNEL = [0x11, 0x08, 0x04, 0x03, 0x0c, 0x10, 0x1d, 0x23, 0x24]
WANTED = {"cache-references": 0x11, "cache-misses": 0x11, "branches": 0x08, "branch-misses": 0x08, "bus-cycles": 0x11}
BY_CODE = 0xffff  # since Linux 6.2 branches are chosen outside the table


def find_table(image):
    """Its offset, and whether branches are in it."""
    found = []
    for branches in (IN_KERNEL[4], BY_CODE):
        numbers = [branches if name == "branches" else number for name, number in zip(GENERIC, IN_KERNEL)]
        pattern = struct.pack(f"<{len(numbers)}I", *numbers)
        at = image.find(pattern)
        while at >= 0:
            found.append((at, branches != BY_CODE))
            at = image.find(pattern, at + 1)
    if len(found) != 1:
        sys.exit(f"patch-pmu-map: the table of events is there {len(found)} times, not once")
    return found[0]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as file:
        image = bytearray(file.read())
    if image[56:60] != b"ARM\x64":
        sys.exit("patch-pmu-map: not a raw arm64 Image")
    table, has_branches = find_table(image)
    for name, number in WANTED.items():
        if name != "branches" or has_branches:
            struct.pack_into("<I", image, table + 4 * GENERIC.index(name), number)
    with open(sys.argv[2] + ".new", "wb") as file:
        file.write(image)
    os.replace(sys.argv[2] + ".new", sys.argv[2])


main()
