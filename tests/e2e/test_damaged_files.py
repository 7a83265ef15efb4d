# SPDX-License-Identifier: MIT
"""ELF files and debug information that are cut off, changed, or as no compiler writes them."""

import os
import random
import struct

import pytest

from elf import make, pick_addresses, source, symbol
from frames import Frames, put_addresses


def damaged(data, seed):
    """A copy with some bytes changed or the end cut off."""
    chance = random.Random(seed)
    copy = bytearray(data)
    if seed % 4 == 0:
        return bytes(copy[:chance.randrange(len(copy))])
    for _ in range(chance.choice((1, 20, 400))):
        copy[chance.randrange(len(copy))] = chance.randrange(256)
    return bytes(copy)


@pytest.mark.slow
@pytest.mark.parametrize("program", ["pages", "symbols"])
def test_damaged_files_cost_their_names_only(program, programs, resolve, runner, record, tmp_path):
    data = (programs / program).read_bytes()
    addresses = pick_addresses(programs / program, 200)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    for seed in range(40):
        (tmp_path / "bad").write_bytes(damaged(data, seed))
        os.utime(tmp_path / "bad", (0, 0))
        put_addresses(profile.path, str(tmp_path / "bad"), sorted(set(addresses)), "file", "bad")
        result = runner.cprof_run("symbolize", profile.path)
        assert (result.returncode, result.stderr) == (0, ""), seed
        frames = Frames(profile)
        assert len(frames.at) == len(set(addresses)), seed
        assert frames.debug == "full" or frames.reason, seed


def test_a_header_that_promises_too_much_is_not_believed(programs, resolve, tmp_path):
    data = bytearray((programs / "pages").read_bytes())
    struct.pack_into("<Q", data, 40, 2 ** 63)  # e_shoff
    (tmp_path / "bad").write_bytes(data)
    frames = resolve(tmp_path / "bad", pick_addresses(programs / "pages", 50))
    assert frames.debug in ("symbols", "none") and frames.reason


# DWARF as no compiler writes it: one unit with the entries given, and a line table with as many rows as that.
ODD_DWARF = """
	.text
	.globl main
	.type main, %function
main:	nop
	nop
	.size main, .-main
	.section .debug_abbrev, "", %progbits
	.uleb128 1, 0x11		# a unit: low_pc, high_pc, stmt_list
	.byte 1, 0x11, 0x1, 0x12, 0x7, 0x10, 0x17, 0, 0
	.uleb128 2, 0x2e		# a function: name, low_pc, high_pc, abstract_origin, specification
	.byte 1, 0x3, 0x8, 0x11, 0x1, 0x12, 0x7, 0x31, 0x13, 0x47, 0x13, 0, 0
	.uleb128 3, 0xb			# a block
	.byte 1, 0, 0
	.uleb128 4, 0x1d		# an inlined call: low_pc, high_pc, abstract_origin, sibling
	.byte 0, 0x11, 0x1, 0x12, 0x7, 0x31, 0x13, 0x1, 0x13, 0, 0
	.uleb128 5, 0x3d		# an imported unit: import
	.byte 0, 0x18, 0x13, 0, 0
	.uleb128 6, 0x1d		# an inlined call in 8 bytes: ranges, call_line, call_column
	.byte 0, 0x55, 0x17, 0x59, 0x5, 0x57, 0xb, 0, 0
	.byte 0
	.section .debug_ranges, "", %progbits
	.quad 0, 2, 0, 0
	.section .debug_info, "", %progbits
unit:	.long 2f - 1f
1:	.value 4
	.long .debug_abbrev
	.byte 8
	.uleb128 1
	.quad main, 2
	.long .debug_line
	{entries}
	.byte 0
2:
	.section .debug_line, "", %progbits
	.long 2f - 1f
1:	.value 3
	.long 4f - 3f
3:	.byte 1, 1, -5, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0
	.asciz "odd.c"
	.byte 0, 0, 0, 0
4:	.byte 0, 9, 2
	.quad main
	.fill {rows}, 1, 0x13
	.byte 2, 2, 0, 1, 1
2:
	.section .note.GNU-stack, "", %progbits
"""

FUNCTION = 'function: .uleb128 2\n .asciz "main"\n .quad main, 2\n .long {origin}, {specification}\n {inside}\n .byte 0'
CALL = ".uleb128 4\n .quad main, 2\n .long {origin}, {sibling}\n"


def odd_program(folder, entries=FUNCTION.format(origin=0, specification=0, inside=""), rows=1):
    text = ODD_DWARF.format(entries=entries, rows=rows)
    make("gcc", "-x", "assembler", "odd.s", "-o", "odd", cwd=source(folder, "odd.s", text))
    make("objcopy", "--compress-debug-sections=zlib", "odd", cwd=folder)
    os.utime(folder / "odd", (0, 0))
    main = symbol(folder / "odd", "main")
    return folder / "odd", main


SELF = "function - unit"
ODD = {"nothing odd": FUNCTION.format(origin=0, specification=0, inside=""),
       "a function that is its own origin": FUNCTION.format(origin=SELF, specification=SELF, inside=""),
       "a call of the function around it": FUNCTION.format(origin=0, specification=0, inside=CALL.format(
           origin=SELF, sibling=0)),
       "a sibling before itself": FUNCTION.format(origin=0, specification=0, inside=CALL.format(
           origin=SELF, sibling=SELF) + CALL.format(origin=SELF, sibling=0xfffffff)),
       "references out of the unit": FUNCTION.format(origin=0x7fffffff, specification=-1, inside=""),
       "a unit that imports itself": ".uleb128 5\n.long 11\n" + FUNCTION.format(origin=0, specification=0, inside=""),
       "a hundred thousand blocks in each other": FUNCTION.format(origin=0, specification=0, inside=(
           ".fill 100000, 1, 3\n .fill 100000, 1, 0"))}


@pytest.mark.parametrize("oddity", ODD)
def test_entries_that_refer_to_themselves_or_nowhere_have_an_end(oddity, resolve, tmp_path):
    odd, main = odd_program(tmp_path, ODD[oddity])
    frames = resolve(odd, [main, main + 1])
    assert {chain[-1][0] for chain in frames.at.values()} == {"main"}
    assert {chain[0][3] for chain in frames.at.values()} == {2}  # lines are read all the same
    assert frames.debug == "full"


@pytest.mark.parametrize("much, left_out", [("calls", "reading it takes more memory than there is"), ("lines", "1 of 1")])
def test_debug_information_larger_than_the_memory_for_it_is_left_out(much, left_out, record, runner, tmp_path):
    calls = FUNCTION.format(origin=0, specification=0, inside=".fill 3000000, 8, 6")
    odd, main = odd_program(tmp_path, calls) if much == "calls" else odd_program(tmp_path, rows=2000000)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, str(odd), [main], "file", "odd")
    result = runner.cprof_run("symbolize", "--symbol-budget=1m,40M", profile.path)
    assert (result.returncode, result.stderr) == (0, "")
    frames = Frames(profile)
    assert frames.names() == {main: "main"} and left_out in frames.reason
