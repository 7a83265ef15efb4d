# SPDX-License-Identifier: MIT
"""Names from symbol tables alone, against readelf; PLT entries, against objdump."""

import collections
import re

import pytest

from elf import SOURCES, debug_file, make, output, pick_addresses, section


def test_every_address_in_a_symbol_is_named_by_it_and_others_by_their_function(resolve, need):
    """A stripped system library: only .dynsym, the rest is module+0xstart."""
    library = need.file("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "libsqlite3 is not installed").resolve()
    if debug_file(library).exists():
        pytest.skip("a debug package names its functions")
    symbols = collections.defaultdict(set)
    for line in output("readelf", "-sW", "--dyn-syms", library).splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] == "FUNC" and words[6] != "UND" and int(words[2], 0):
            symbols[int(words[1], 16), int(words[2], 0)].add(words[7].split("@")[0])
    frames = resolve(library, pick_addresses(library, 3000))
    named = 0
    for address, [(name, raw, *_)] in frames.at.items():
        inside = set().union(*(names for (start, size), names in symbols.items() if start <= address < start + size))
        if inside:
            assert name in inside, hex(address)
            named += 1
        else:
            assert raw == "" and re.fullmatch(re.escape(library.name) + r"\+0x[0-9a-f]+", name), hex(address)
            assert int(name.rpartition("+")[2], 16) <= address
    assert named > 300
    assert frames.debug == "symbols" and "stripped" in frames.reason


def function_starts(path):
    """Of .eh_frame, by readelf: {start: end}."""
    return {int(a, 16): int(b, 16) for a, b in
            re.findall(r"FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)", output("readelf", "--debug-dump=frames", path))}


def test_code_without_a_symbol_is_one_row_a_function(resolve, need):
    library = need.file("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "libsqlite3 is not installed").resolve()
    if debug_file(library).exists():
        pytest.skip("a debug package names its functions")
    starts = function_starts(library)
    frames = resolve(library, pick_addresses(library, 2000))
    checked = 0
    for address, [(name, raw, *_)] in frames.at.items():
        around = [start for start, end in starts.items() if start <= address < end]
        if not raw and around:
            assert name == f"{library.name}+{around[0]:#x}"
            checked += 1
    assert checked > 300


ASSEMBLY = """
	.text
sized:	.cfi_startproc
	nop
	ret
	.cfi_endproc
	.type sized, @function
	.size sized, .-sized
unsized: .cfi_startproc
	nop
	ret
	.cfi_endproc
	.cfi_startproc
	nop				# a function without any symbol
	ret
	.cfi_endproc
bare:	nop				# no size, no CFI
	ret
bare_too: nop
	ret
	.cfi_startproc
	nop				# without a symbol again
	ret
	.cfi_endproc
outer:	nop
label:	nop
	ret
	.type outer, @function
	.size outer, .-outer
	.globl sized, unsized, bare, bare_too, outer
	.section .note.GNU-stack, "", @progbits
"""


def assembled(folder):
    (folder / "a.S").write_text(ASSEMBLY)
    make("gcc", "-shared", "-nostdlib", "-o", "a.so", "a.S", cwd=folder)
    start, size = section(folder / "a.so", ".text")
    return folder / "a.so", start, range(start, start + size)


def test_symbols_without_a_size_end_where_something_else_begins(resolve, tmp_path):
    library, start, all_of_it = assembled(tmp_path)
    names = [name for _, name in sorted(resolve(library, all_of_it).names().items())]
    assert names == (2 * ["sized"] + 2 * ["unsized"] + 2 * [f"a.so+{start + 4:#x}"] + 2 * ["bare"] +
                     2 * ["bare_too"] + 2 * [f"a.so+{start + 10:#x}"] + 3 * ["outer"])


def test_in_dynsym_they_name_only_the_function_they_are_known_to_be_in(resolve, tmp_path):
    library, start, all_of_it = assembled(tmp_path)
    make("strip", library, cwd=tmp_path)
    names = [name for _, name in sorted(resolve(library, all_of_it).names().items())]
    assert names == (2 * ["sized"] + 2 * ["unsized"] + 2 * [f"a.so+{start + 4:#x}"] +
                     4 * [f"a.so+{start + 6:#x}"] + 2 * [f"a.so+{start + 10:#x}"] + 3 * ["outer"])


@pytest.mark.parametrize("flags", [[], ["-Wl,-z,now"], ["-no-pie"], ["-fcf-protection=full", "-Wl,-z,ibtplt"],
                                   ["-fuse-ld=lld"]], ids=" ".join)
def test_plt_entries_are_named_as_objdump_names_them(flags, resolve, need, tmp_path):
    if "-fuse-ld=lld" in flags:
        need.tool("ld.lld")
    make("gcc", "-O2", "-o", "app", SOURCES / "pages.c", *flags, cwd=tmp_path)
    app = tmp_path / "app"
    entries = {}
    for name in (".plt", ".plt.sec", ".plt.got"):
        if section(app, name):
            for start, called in re.findall(r"^([0-9a-f]+) <(\w+)@plt>:", output("objdump", "-d", "-j", name, app), re.M):
                entries[int(start, 16)] = f"{called}@plt"
    assert entries
    assert resolve(app, entries).names() == entries


CALLS = """
void first(void), second(void), third(void);
void (*pointer(void))(void) { return third; }
void calls(void) { first(); second(); third(); }
"""


@pytest.mark.parametrize("flags", [[], ["-mbranch-protection=standard", "-Wl,-z,force-bti"], ["-Wl,-z,now"]], ids=" ".join)
def test_plt_entries_of_aarch64_are_named_as_objdump_names_them(flags, resolve, need, tmp_path):
    need.tool("aarch64-linux-gnu-gcc")
    (tmp_path / "calls.c").write_text(CALLS)
    make("aarch64-linux-gnu-gcc", "-O1", "-shared", "-fPIC", "-nostdlib", "-o", "calls.so", "calls.c", *flags, cwd=tmp_path)
    library = tmp_path / "calls.so"
    entries = {int(start, 16): f"{called}@plt" for start, called in re.findall(
        r"^([0-9a-f]+) <(\w+)@plt>:", output("aarch64-linux-gnu-objdump", "-d", "-j", ".plt", library), re.M)}
    assert set(entries.values()) >= {"first@plt", "second@plt", "third@plt"}
    assert resolve(library, [*entries, *(start + 12 for start in entries)]).names() == {
        **entries, **{start + 12: name for start, name in entries.items()}}
