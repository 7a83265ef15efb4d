# SPDX-License-Identifier: MIT
"""Names: functions, files, lines and inline chains against llvm-symbolizer; symbols against nm,
PLT entries against objdump; where debug information is found; damaged files.

The addresses to name are put into a recorded profile, then `cprof symbolize` runs on it.
"""

import collections
import contextlib
import http.server
import json
import os
import pty
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import threading
import time
import types
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parent.parent / "programs"
CLONE = r"(\.(part|constprop|isra|cold|lto_priv|llvm|localalias|\d+))+$"

# How names may differ from llvm-symbolizer's, which calls a function by some symbol at its start:
#   clone        llvm shows which part or variant it is: foo.part.0, foo.cold
#   constructor  llvm shows the symbol of one kind (C1, C2), we what the source has: one for all (C4)
#   redirected   llvm shows the symbol that a header of libc makes of the function that the source calls: open64
#   alias        another symbol of the same address
#   version      llvm shows "@@GLIBC_2.34", or one that is superseded
#   scope        llvm shows the bare name of what has no linkage name; we what it is in, too
#   hidden       llvm shows glibc's internal linkage name (__GI_write) of a call that was inlined
#   no symbol    llvm takes what is neither a function nor in a section of code (gcc's LTO leaves such)
#   unsized      llvm gives a symbol without a size (__restore_rt) the padding after its function, too
#   sequence     where one sequence of lines ends and another begins, libdw may give the last row of the former:
#                eu-addr2line says the same
#   symbol file  where debug information has no file llvm takes the one that the symbol table names
CLASSES = {"equal", "clone", "constructor", "redirected", "alias", "version", "scope", "hidden", "nameless",
           "no symbol", "unsized", "sequence", "symbol file"}


def output(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **options).stdout


def make(*command, cwd):
    result = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def source(folder, name, text):
    """The folder, with the text in a file of that name."""
    (folder / name).write_text(text)
    return folder


class Frames:
    """What cprof makes of addresses: {address: [(name, linkage name, file, line), ...]}, innermost first."""

    def __init__(self, profile):
        self.profile = profile
        self.at = collections.defaultdict(list)
        for value, name, linkage, has_name, file, line in profile.sql(
                "SELECT a.value, f.name, f.linkage_name, f.has_name, file.path, r.line FROM frame r "
                "JOIN address a ON a.id = r.address JOIN function f ON f.id = r.function "
                "LEFT JOIN file ON file.id = r.file "
                "ORDER BY a.id, r.depth DESC"):
            raw = (linkage or name) if has_name else ""
            self.at[value & (2 ** 64 - 1)].append((name, raw, file or "", line or 0))
        self.quality = profile.sql("SELECT kind, detail, count FROM quality")
        [(self.debug, self.debug_path, self.reason)] = profile.sql("SELECT debug, debug_path, reason FROM module")

    def names(self):
        return {address: chain[-1][0] for address, chain in self.at.items()}


@pytest.fixture
def resolve(runner, record):
    """resolve(file, addresses, *options): Frames, from a profile with these addresses only."""
    def resolve(file, addresses, *options, kind="file", name=None, env=None):
        profile = record("true", options=["--heap=off", "--no-symbols"])
        put_addresses(profile.path, str(file), sorted(set(addresses)), kind, name or Path(file).name)
        result = runner.cprof_run("symbolize", *options, profile.path, env=env)
        assert result.returncode == 0, result.stderr
        return Frames(profile)
    return resolve


def put_addresses(path, file, addresses, kind, name):
    connection = sqlite3.connect(path)
    for table in ("sample", "total", "heap", "heap_site", "stack", "address", "frame", "function", "file", "module",
                  "quality"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT INTO module(id, kind, path, name, open_path, debug) VALUES(0, ?, ?, ?, ?, 'not-tried')",
                       (kind, file, name, file))
    signed = [a - 2 ** 64 if a >= 2 ** 63 else a for a in addresses]
    connection.executemany("INSERT INTO address(id, kind, module, value) VALUES(?, 0, 0, ?)", enumerate(signed))
    connection.executemany("INSERT INTO stack(id, parent, address) VALUES(?, NULL, ?)",
                           ((i, i) for i in range(len(addresses))))
    connection.executemany("INSERT INTO total VALUES(?, 0, 0, 1, 1, 1)", ((i,) for i in range(len(addresses))))
    connection.commit()
    connection.close()


# --- the oracle ---------------------------------------------------------------------------------

def section(path, name, what=None):
    """(address, size), or the offset."""
    for line in output("readelf", "-SW", path).splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[1] == name:
            address, offset, size = (int(word, 16) for word in words[3:6])
            return offset if what == "offset" else (address, size)
    return None


def functions(path):
    """(address, size) of each function that a symbol table lists."""
    found = set()
    for line in output("readelf", "-sW", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "IFUNC") and words[6] != "UND" and int(words[2], 0):
            found.add((int(words[1], 16), int(words[2], 0)))
    return sorted(found)


def pick_addresses(path, nr, listed=None):
    """A third each: starts of functions, somewhere in functions, anywhere in .text.  Fewer only if there are."""
    chance = random.Random(7)
    known = functions(listed or path)
    start, size = section(path, ".text")
    picked = {address for address, _ in chance.sample(known, min(len(known), nr // 3))}

    def add(up_to, pick):
        for _ in range(20 * nr):
            if len(picked) < up_to:
                picked.add(pick())

    def in_a_function():
        address, length = chance.choice(known)
        return address + chance.randrange(length)
    add(2 * nr // 3, in_a_function)
    add(nr, lambda: start + chance.randrange(size))
    return sorted(picked)


def symbols_by_address(*paths):
    found = collections.defaultdict(set)
    for path in paths:
        for option in ([], ["-D"]):
            lines = subprocess.run(["nm", *option, str(path)], capture_output=True, text=True).stdout.splitlines()
            for words in map(str.split, lines):
                if len(words) == 3:
                    found[int(words[0], 16)].add(words[2].split("@")[0])
    return list(found.values())


def unsized_symbols(*paths):
    lines = [line.split() for path in paths for line in output("readelf", "-sW", path).splitlines()]
    return {words[7].split("@")[0] for words in lines if len(words) >= 8 and words[2] == "0" and words[6].isdigit()}


def llvm_chains(path, addresses):
    text = output("llvm-symbolizer", f"--obj={path}", "--output-style=JSON", "--no-demangle", "--inlines",
                  input="".join(f"{a:#x}\n" for a in addresses))
    chains = {}
    for line in text.splitlines():
        answer = json.loads(line)
        for entry in answer if isinstance(answer, list) else [answer]:
            chains[int(entry["Address"], 16)] = [
                (frame["FunctionName"], frame["FileName"], frame["Line"]) for frame in entry.get("Symbol", [])]
    return chains


def classify_name(shown, ours, theirs, outermost, aliases):
    if ours == theirs:
        return "equal" if ours else "nameless"
    plain = theirs.split("@")[0]
    if plain == ours:
        return "version"
    if re.sub(CLONE, "", plain) == ours:
        return "clone"
    if ours == re.sub(r"[CD][12](?=E)", lambda kind: kind[0][0] + "4", re.sub(CLONE, "", plain)):
        return "constructor"
    if outermost and any(plain in names and ours in {re.sub(CLONE, "", n) for n in names} for names in aliases):
        return "alias"
    if f"::{theirs}" in shown or shown.startswith(f"{theirs}("):
        return "scope"
    if theirs in (f"{ours}64", f"__isoc99_{ours}", f"__isoc23_{ours}"):
        return "redirected"
    if theirs.startswith("__GI_"):
        return "hidden"
    if outermost and re.fullmatch(r"\w+\.c\.[0-9a-f]{8}", theirs):
        return "no symbol"
    return "name"


def normal(path):
    return os.path.normpath(path) if path else ""


def classify(ours, theirs, aliases, unsized=()):
    """The classes of differences between two chains, innermost first."""
    if len(ours) == len(theirs) == 1 and not ours[0][1] and theirs[0][0] in unsized:
        return {"unsized"}
    if len(ours) != len(theirs):
        return {"chain"}
    classes = set()
    for i, ((shown, name, file, line), (llvm_name, llvm_file, llvm_line)) in enumerate(zip(ours, theirs)):
        classes.add(classify_name(shown, name, llvm_name, i == len(ours) - 1, aliases))
        if not file and not line and i == len(ours) - 1 and llvm_file and not llvm_line:
            classes.add("symbol file")
        elif (normal(file), line) != (normal(llvm_file), llvm_line):
            classes.add("file or line")
    return classes


def is_libdws(debug, address, ours):
    place = output("eu-addr2line", "-e", debug, hex(address)).split(":")
    return (normal(place[0]), place[1]) == (normal(ours[0][2]), str(ours[0][3]))


def compare(frames, chains, aliases, unsized=(), debug=None):
    """Asserts that all differences are of the known classes, and prints how many of each, with an example."""
    counts, examples = collections.Counter(), {}
    for address, theirs in chains.items():
        for one in classify(frames.at[address], theirs, aliases, unsized):
            if one == "file or line" and debug and is_libdws(debug, address, frames.at[address]):
                one = "sequence"
            counts[one] += 1
            examples.setdefault(one, (hex(address), frames.at[address], theirs))
    print(len(chains), "addresses:", dict(counts.most_common()))
    for one, (address, ours, theirs) in examples.items():
        print(f"  {one}: {address}\n    cprof {ours}\n    llvm  {theirs}")
    assert frames.debug == "full", frames.reason
    assert set(counts) <= CLASSES, {k: v for k, v in examples.items() if k not in CLASSES}
    assert counts["equal"] > 0.5 * len(chains)


# --- builds -------------------------------------------------------------------------------------

CXX = SOURCES / "symbols.cc"
RUST = SOURCES / "symbols_rust.rs"

BUILDS = {
    "gcc": ["g++", "-std=c++17", "-O2", "-g", CXX],
    "gcc dwarf-4, type units, sections collected": ["g++", "-std=c++17", "-O2", "-gdwarf-4", "-fdebug-types-section",
                                                    "-ffunction-sections", "-Wl,--gc-sections", CXX],
    "gcc dwarf-2, strict, sections": ["g++", "-std=c++17", "-O2", "-gdwarf-2", "-gstrict-dwarf", "-ffunction-sections",
                                      CXX],
    "gcc LTO, not PIE": ["g++", "-std=c++17", "-O2", "-g", "-flto=1", "-no-pie", CXX],
    "gcc split, compressed": ["g++", "-std=c++17", "-O2", "-g", "-gsplit-dwarf", "-gz", CXX],
    "clang": ["clang++", "-std=c++17", "-O2", "-g", CXX],
    "clang LTO, lld": ["clang++", "-std=c++17", "-O2", "-g", "-flto", "-fuse-ld=lld", CXX],
    "clang split": ["clang++", "-std=c++17", "-O2", "-g", "-gsplit-dwarf", CXX],
    "clang dwarf-3, names": ["clang++", "-std=c++17", "-O1", "-gdwarf-3", "-gpubnames", CXX],
    "clang -O0": ["clang++", "-std=c++17", "-O0", "-g", CXX],
    "rust legacy": ["rustc", "-O", "-C", "debuginfo=2", RUST],
    "rust v0": ["rustc", "-O", "-C", "debuginfo=2", "-C", "symbol-mangling-version=v0", RUST],
}


@pytest.mark.slow
@pytest.mark.parametrize("build", BUILDS)
def test_chains_files_and_lines_are_those_of_llvm_symbolizer(build, resolve, need, tmp_path):
    need.tool("llvm-symbolizer")
    need.tool(BUILDS[build][0])
    if "lld" in build:
        need.tool("ld.lld")
    make(*BUILDS[build], "-o", "app", cwd=tmp_path)
    app = tmp_path / "app"
    addresses = pick_addresses(app, 2000)
    compare(resolve(app, addresses), llvm_chains(app, addresses), symbols_by_address(app))


def build_id(path):
    return re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", str(path)], capture_output=True,
                                                        text=True).stdout).group(1)


def debug_file(path):
    name = build_id(path)
    return Path(f"/usr/lib/debug/.build-id/{name[:2]}/{name[2:]}.debug")


# Besides: what takes longer to build, or has more to compare.
SQLITE = "sqlite3.c"
TEMPLATES = Path(__file__).with_name("templates.cc")
LIBRARY = sorted(SOURCES.parents[1].glob("lib/[bsu]*/*.c"))
LARGE_BUILDS = {
    **BUILDS,
    "clang++, templates": ["clang++", "-std=c++17", "-O2", "-g", TEMPLATES],
    "g++, templates, split": ["g++", "-std=c++17", "-O2", "-g", "-gsplit-dwarf", TEMPLATES],
    "clang++, templates, split, dwarf-4": ["clang++", "-std=c++17", "-O2", "-gdwarf-4", "-gsplit-dwarf", TEMPLATES],
    "sqlite3": ["gcc", "-O2", "-g", "-shared", "-fPIC", SQLITE],
    "C, LTO": ["gcc", "-O2", "-g", "-flto=1", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{SOURCES.parents[1]}/lib",
               *(file for file in LIBRARY if "shim" not in file.parts)],
}


def fetch_sqlite(folder, need):
    """Of all that can be fetched with a package manager, this has the one large C file in it."""
    need.tool("npm")
    fetched = subprocess.run(["npm", "pack", "better-sqlite3"], cwd=folder, capture_output=True, text=True)
    if fetched.returncode:
        pytest.skip("npm has no network: " + fetched.stderr.strip().splitlines()[-1])
    make("tar", "-xzf", fetched.stdout.split()[-1], "--strip-components=3", "package/deps/sqlite3", cwd=folder)


@pytest.mark.long
@pytest.mark.parametrize("build", LARGE_BUILDS)
def test_twenty_thousand_chains_are_those_of_llvm_symbolizer(build, resolve, need, tmp_path):
    need.tool("llvm-symbolizer")
    need.tool(LARGE_BUILDS[build][0])
    if SQLITE in LARGE_BUILDS[build]:
        fetch_sqlite(tmp_path, need)
    make(*LARGE_BUILDS[build], "-o", "app", cwd=tmp_path)
    app = tmp_path / "app"
    addresses = pick_addresses(app, 20000)
    compare(resolve(app, addresses), llvm_chains(app, addresses), symbols_by_address(app))


JVM = "/usr/lib/jvm/java-17-openjdk-amd64/lib/server/libjvm.so"


@pytest.mark.long
@pytest.mark.parametrize("path, package", [("/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg"),
                                           ("/usr/bin/python3", "python3-dbg"), (JVM, "openjdk-17-dbg")])
def test_twenty_thousand_chains_of_debug_packages_are_those_of_llvm_symbolizer(path, package, resolve, need):
    compare_with_debug_package(path, package, resolve, need, 20000)


COMDAT = """
{lines}inline __attribute__((noinline)) int shared(int n) {{ return n * 31 + 7; }}
int {name}(int n) {{ return shared(n) + 1; }}
"""


@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]], ids=" ".join)
def test_code_of_an_inline_function_is_that_of_the_file_linked_first(order, resolve, tmp_path):
    """GNU ld keeps one, and lets the debug information of the others refer to it."""
    for name, lines in (("a", ""), ("b", "\n\n\n\n")):
        (tmp_path / f"{name}.cc").write_text(COMDAT.format(name=name, lines=lines))
    make("g++", "-O1", "-g", "-shared", "-fPIC", "-o", "both.so", *(f"{name}.cc" for name in order), cwd=tmp_path)
    library = tmp_path / "both.so"
    start = next(int(line.split()[0], 16) for line in output("nm", library).splitlines() if "shared" in line)
    function, place = output("addr2line", "-fe", library, hex(start)).splitlines()
    [(_, raw, file, line)] = resolve(library, [start]).at[start]
    assert (raw, f"{file}:{line}") == (function, place)
    assert Path(file).name == f"{order[0]}.cc"


SEVERAL = {"main.c": "int first(int), second(int); int main(int n, char **v) { return v ? first(n) : second(n); }",
           "first.c": "static int twice(int n) { return 2 * n; }\nint first(int n) { return twice(n) + 1; }",
           "second.c": "int third(int n) { return n * n; }\nint second(int n) { return third(n + 1); }"}


def rotate_units(data, offset, size):
    """Each set of .debug_aranges becomes that of the next unit."""
    sets, at = [], offset
    while at < offset + size:
        sets.append(at)
        at += 4 + struct.unpack_from("<I", data, at)[0]
    units = [struct.unpack_from("<I", data, at + 6)[0] for at in sets]
    for at, unit in zip(sets, units[1:] + units[:1]):
        struct.pack_into("<I", data, at + 6, unit)
    return len(set(units))


@pytest.mark.parametrize("aranges", ["right", "wrong", "missing"])
def test_aranges_are_used_where_units_have_no_ranges_and_not_trusted(aranges, resolve, need, tmp_path):
    """Those of DWARF 2 have none, if their code is in several sections."""
    need.tool("llvm-symbolizer")
    for name, text in SEVERAL.items():
        (tmp_path / name).write_text(text)
    make("gcc", "-O2", "-gdwarf-2", "-gstrict-dwarf", "-ffunction-sections", *SEVERAL, "-o", "app", cwd=tmp_path)
    app = tmp_path / "app"
    addresses = [address for start, size in functions(app) for address in range(start, start + size)]
    chains, aliases = llvm_chains(app, addresses), symbols_by_address(app)
    if aranges == "wrong":
        data = bytearray(app.read_bytes())
        assert rotate_units(data, section(app, ".debug_aranges", "offset"), section(app, ".debug_aranges")[1]) == 3
        app.write_bytes(data)
        os.utime(app, (0, 0))
    elif aranges == "missing":
        make("objcopy", "-R", ".debug_aranges", app, cwd=tmp_path)
    frames = resolve(app, addresses)
    compare(frames, chains, aliases)
    assert {Path(chain[-1][2]).name for chain in frames.at.values() if chain[-1][2]} == set(SEVERAL)


@pytest.mark.slow
@pytest.mark.parametrize("path, package", [("/lib/x86_64-linux-gnu/libc.so.6", "libc6-dbg"),
                                           ("/usr/bin/python3", "python3-dbg")])
def test_debug_packages_name_like_llvm_symbolizer(path, package, resolve, need):
    compare_with_debug_package(path, package, resolve, need, 2000)


def compare_with_debug_package(path, package, resolve, need, nr):
    need.tool("llvm-symbolizer")
    need.tool("eu-addr2line")
    path = need.file(path, "another architecture").resolve()
    debug = need.file(debug_file(path), f"{package} is not installed")
    addresses = pick_addresses(path, nr, listed=debug)
    frames = resolve(path, addresses)
    compare(frames, llvm_chains(debug, addresses), symbols_by_address(path, debug), unsized_symbols(debug), debug)
    assert frames.debug_path == str(debug)


def test_demangled_names_are_those_of_llvm(programs, resolve, need):
    """Rust only: for C++ the two spell templates, lambdas and clones each in its way."""
    need.tool("llvm-cxxfilt")
    app = programs / "symbols_rust"
    chains = resolve(app, pick_addresses(app, 1000)).at.values()
    names = {raw: name for chain in chains for name, raw, *_ in chain if raw.startswith("_R")}
    shown = output("llvm-cxxfilt", input="\n".join(names)).splitlines()
    assert names and dict(zip(names, shown)) == names


SCOPED = {"in_class": "outer::(anonymous namespace)::Table::in_class",
          "out_of_class": "outer::(anonymous namespace)::Table::out_of_class",
          "in_local_class": "outer::(anonymous namespace)::Table::out_of_class::Local::in_local_class",
          "in_anonymous": "outer::(anonymous namespace)::in_anonymous",
          "in_namespace": "outer::inner::in_namespace",
          "at_top": "at_top"}


@pytest.mark.parametrize("flags", [[], ["-gdwarf-4", "-fdebug-types-section"], ["-flto=1"], ["dwz"]],
                         ids=["plain", "type units", "LTO", "dwz"])
def test_inlined_functions_without_a_linkage_name_are_named_with_their_scope(flags, resolve, need, tmp_path):
    app = tmp_path / "app"
    make("g++", "-O2", "-g", "-fno-ipa-icf", *(flag for flag in flags if flag != "dwz"), "-o", app,
         SOURCES / "symbols_scopes.cc", cwd=tmp_path)
    if "dwz" in flags:
        need.tool("dwz")
        make("dwz", app, cwd=tmp_path)
    start, size = section(app, ".text")
    chains = resolve(app, range(start, start + size)).at.values()
    inlined = {name for chain in chains for name, *_ in chain[:-1]}
    assert set(SCOPED.values()) <= inlined
    # that it has code of its own elsewhere lends it the name of that, so both are one function
    assert {name for chain in chains for name, *_ in chain if "twice" in name} == {"outer::inner::twice(int)"}


def test_no_demangle_leaves_the_names_of_the_symbol_table(programs, resolve):
    app = programs / "symbols"
    start = next(int(line.split()[0], 16) for line in output("nm", app).splitlines() if line.endswith(" T main"))
    frames = resolve(app, pick_addresses(app, 300) + [start], "--no-demangle")
    names = {name for chain in frames.at.values() for name, *_ in chain}
    assert "main" in names
    assert any(name.startswith("_Z") for name in names)
    assert not any(name.startswith(("std::", "words::", "shapes::")) for name in names)


# --- symbol tables ------------------------------------------------------------------------------

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


# --- where debug information is -----------------------------------------------------------------

def stripped_program(folder, *link, program="pages.c"):
    make("gcc", "-O2", "-g", *link, "-o", "app", SOURCES / program, cwd=folder)
    make("objcopy", "--only-keep-debug", "app", "app.debug", cwd=folder)
    address = next(int(line.split()[0], 16) for line in output("nm", folder / "app").splitlines()
                   if line.endswith(" T main"))
    make("strip", "--strip-all", "app", cwd=folder)
    return folder / "app", folder / "app.debug", address


def test_found_by_build_id_below_debug_dir(resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path)
    name = build_id(app)
    place = tmp_path / "debug" / ".build-id" / name[:2] / f"{name[2:]}.debug"
    place.parent.mkdir(parents=True)
    debug.rename(place)
    frames = resolve(app, [main], "--debug-dir", tmp_path / "debug")
    assert frames.names() == {main: "main"}
    assert frames.at[main][-1][2].endswith("pages.c")
    assert frames.debug_path == str(place)


@pytest.mark.parametrize("place", ["app.debug", ".debug/app.debug", "elsewhere"])
@pytest.mark.parametrize("link", [[], ["-Wl,--build-id=none"]], ids=["build id", "checksum"])
def test_found_by_debuglink(place, link, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path, *link)
    make("objcopy", "--add-gnu-debuglink=app.debug", "app", cwd=tmp_path)
    options = []
    if place == "elsewhere":  # below a debug directory, at the program's own path
        options = ["--debug-dir", tmp_path / "root"]
        target = Path(f"{tmp_path}/root{tmp_path}/app.debug")
    else:
        target = tmp_path / place
    target.parent.mkdir(parents=True, exist_ok=True)
    if target != debug:
        debug.rename(target)
    frames = resolve(app, [main], *options)
    assert frames.names() == {main: "main"}
    assert frames.at[main][-1][2].endswith("pages.c")
    assert frames.debug_path == str(target)


@pytest.mark.parametrize("link", [[], ["-Wl,--build-id=none"]], ids=["build id", "checksum"])
def test_debug_information_of_another_build_is_not_used(link, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path, *link)
    make("objcopy", "--add-gnu-debuglink=app.debug", "app", cwd=tmp_path)
    make("gcc", "-O1", "-g", *link, "-DANOTHER", "-o", "other", SOURCES / "pages.c", cwd=tmp_path)
    make("objcopy", "--only-keep-debug", "other", debug, cwd=tmp_path)
    frames = resolve(app, [main])
    assert re.fullmatch(r"app\+0x[0-9a-f]+", frames.names()[main])
    assert "app.debug is of another build" in frames.reason


def test_clang_declares_functions_in_file_0(record, runner, need, tmp_path):
    need.tool("clang")
    make("clang", "-O1", "-g", "-gdwarf-5", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    main = next(int(line.split()[0], 16) for line in output("nm", tmp_path / "app").splitlines() if line.endswith(" T main"))
    put_addresses(profile.path, str(tmp_path / "app"), [main], "file", "app")
    assert runner.cprof_run("symbolize", profile.path).returncode == 0
    [(file,)] = profile.sql("SELECT path FROM function JOIN file ON file.id = function.file WHERE name = 'main'")
    assert Path(file).name == "pages.c"


@pytest.mark.parametrize("minutes", [-1, 5])
def test_a_file_without_a_build_id_that_was_changed_since_is_not_used(minutes, resolve, tmp_path):
    make("gcc", "-O2", "-g", "-Wl,--build-id=none", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    app, changed = tmp_path / "app", time.time() + 60 * minutes
    os.utime(app, (changed, changed))
    frames = resolve(app, [section(app, ".text")[0]])
    if minutes < 0:
        assert frames.debug == "full"
    else:
        assert frames.debug == "none" and "changed after the recording" in frames.reason


@pytest.mark.slow
def test_shared_debug_information_of_dwz(resolve, need, tmp_path):
    need.tool("dwz")
    need.tool("llvm-symbolizer")
    for name in ("one", "two"):
        make("g++", "-O2", "-g", "-gdwarf-4", f"-D{name}", CXX, "-o", name, cwd=tmp_path)
        shutil.copy(tmp_path / name, tmp_path / f"{name}.whole")
    make("dwz", "-m", "shared", "one", "two", cwd=tmp_path)
    addresses = pick_addresses(tmp_path / "one", 600)
    chains = llvm_chains(tmp_path / "one.whole", addresses)
    frames = resolve(tmp_path / "one", addresses)
    compare(frames, chains, symbols_by_address(tmp_path / "one"))
    assert frames.reason is None
    (tmp_path / "shared").unlink()
    assert "incomplete" in resolve(tmp_path / "one", addresses).reason


def test_minidebuginfo_names_what_strip_took_away(resolve, need, tmp_path):
    need.tool("xz")
    make("gcc", "-O2", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    app = tmp_path / "app"
    whole = resolve(app, pick_addresses(app, 200))
    make("objcopy", "--only-keep-debug", "app", "mini", cwd=tmp_path)
    make("xz", "mini", cwd=tmp_path)
    make("strip", "--strip-all", "app", cwd=tmp_path)
    without = resolve(app, pick_addresses_of(whole))
    make("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "app", cwd=tmp_path)
    with_it = resolve(app, pick_addresses_of(whole))
    assert "main" in whole.names().values() and "main" not in without.names().values()
    assert with_it.names() == whole.names()


def pick_addresses_of(frames):
    return list(frames.at)


def resolve_without_dwo(resolve, folder):
    for file in folder.glob("*.dwo"):
        file.unlink()
    app = folder / "app"
    frames = resolve(app, [start for start, _ in functions(app)])
    assert "main" in frames.names().values()
    return frames


def test_missing_split_debug_information_is_said(resolve, tmp_path):
    make("gcc", "-O2", "-g", "-gsplit-dwarf", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    frames = resolve_without_dwo(resolve, tmp_path)
    assert frames.debug == "symbols" and "1 of 1 .dwo" in frames.reason


def test_a_dwp_file_is_read_or_said(resolve, need, tmp_path):
    """libdw reads them since 0.191."""
    need.tool("dwp")
    make("gcc", "-O2", "-g", "-gdwarf-4", "-gsplit-dwarf", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    make("dwp", "-e", "app", cwd=tmp_path)
    frames = resolve_without_dwo(resolve, tmp_path)
    assert frames.debug == "full" or "app.dwp, which libdw reads since 0.191" in frames.reason


def compress(kind, app):
    if subprocess.run(["objcopy", f"--compress-debug-sections={kind}", app], capture_output=True).returncode:
        pytest.skip(f"this objcopy does not know {kind}")


@pytest.mark.parametrize("kind", ["zlib", "zlib-gnu", "zstd"])
def test_compressed_sections_are_read(kind, resolve, tmp_path):
    make("g++", "-O2", "-g", "-o", "app", SOURCES / "symbols_scopes.cc", cwd=tmp_path)
    app = tmp_path / "app"
    addresses = pick_addresses(app, 300)
    plain = resolve(app, addresses)
    compress(kind, app)
    frames = resolve(app, addresses)
    assert plain.debug == frames.debug == "full", frames.reason
    assert frames.at == plain.at


@pytest.mark.parametrize("kind", ["zlib", "zstd"])
@pytest.mark.parametrize("damage", ["size", "contents"])
def test_a_compressed_section_that_is_damaged_costs_the_lines_only(kind, damage, resolve, tmp_path):
    make("gcc", "-O2", "-g", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    app = tmp_path / "app"
    compress(kind, app)
    data = bytearray(app.read_bytes())
    offset = section(app, ".debug_info", "offset")
    if damage == "size":
        struct.pack_into("<Q", data, offset + 8, 2 ** 62)  # ch_size of Elf64_Chdr
    else:
        data[offset + 40:offset + 60] = bytes(20)
    app.write_bytes(data)
    os.utime(app, (0, 0))
    frames = resolve(app, [start for start, _ in functions(app)])
    assert "main" in frames.names().values()
    assert frames.debug == "symbols" and frames.reason.startswith("debug information unreadable: ")


def owner_of(path):
    """Of the package that dpkg says a file is of."""
    for name in (path, str(path).removeprefix("/usr")):
        found = subprocess.run(["dpkg", "-S", str(name)], capture_output=True, text=True).stdout
        if found:
            return found.split(":")[0]
    pytest.skip(f"dpkg does not know {path}")


def test_a_stripped_library_says_which_package_would_help(resolve, need):
    need.tool("dpkg")
    library = need.file("/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "libsqlite3 is not installed").resolve()
    if debug_file(library).exists():
        pytest.skip("its debug package is installed")
    frames = resolve(library, pick_addresses(library, 10))
    assert frames.reason == ("stripped, only exported functions have names; "
                             f"install {owner_of(library)}-dbgsym or try --debuginfod")


def test_a_program_without_debug_information_says_how_to_build_it(resolve, tmp_path):
    make("gcc", "-O2", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    assert resolve(tmp_path / "app", [start for start, _ in functions(tmp_path / "app")]).reason == (
        "no debug information; build with -g")
    make("strip", "app", cwd=tmp_path)
    assert resolve(tmp_path / "app", [section(tmp_path / "app", ".text")[0]]).reason == (
        "stripped, no names; build with -g and do not strip it or try --debuginfod")


def test_modules_are_listed_with_what_would_help(record, tmp_path):
    make("gcc", "-O1", "-shared", "-fPIC", "-o", "libnamed.so", "named.c", cwd=source(tmp_path, "named.c", """
        #include <stdlib.h>
        __attribute__((noinline)) static long spin(long n) { while (n--) __asm__ volatile(""); return 0; }
        void *work(long n) { return malloc(100 + spin(n)); }"""))
    make("gcc", "-O1", "-g", "-o", "app", "app.c", "-L.", "-lnamed", "-Wl,-rpath,$ORIGIN", cwd=source(tmp_path, "app.c", """
        void *work(long n);
        int main(void) { for (int i = 0; i < 7; i++) if (!work(30000000)) return 1; return 0; }"""))
    make("strip", "libnamed.so", cwd=tmp_path)
    modules = {m["module"]: m for m in record(tmp_path / "app").report("modules")["modules"]}
    library, app = modules["libnamed.so"], modules["app"]
    assert library["self"] > 0.5 and library["total"] >= library["self"] and app["total"] > 0.5 > app["self"]
    assert library["allocations"] == 7 and library["allocated_bytes"] == 700
    assert app["allocations"] >= 7 and app["names"] == "full" and app["reason"] is None and app["unnamed"] == 0
    assert library["names"] == "symbols" and library["unnamed"] > 0
    assert library["reason"] == ("stripped, only exported functions have names; "
                                 "build with -g and do not strip it or try --debuginfod")
    assert library["path"] == str(tmp_path / "libnamed.so") and library["build_id"] == build_id(tmp_path / "libnamed.so")


@pytest.mark.parametrize("place", ["usr/lib/debug/.build-id/{id[0]}{id[1]}/{rest}.debug", "usr/lib/debug{path}.debug",
                                   "{folder}/.debug/app.debug"])
def test_debug_information_in_the_root_of_a_container_is_found(place, record, need, tmp_path):
    """All that is known from outside are the descriptors that were kept."""
    need.root()
    app, debug, _ = stripped_program(tmp_path, program="burn.c")
    make("objcopy", f"--add-gnu-debuglink={debug}", "app", cwd=tmp_path)
    root, name = tmp_path / "root", build_id(app)
    libraries = [word for word in output("ldd", app).split() if word.startswith("/")]
    for file in [str(app), *libraries]:
        (root / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, root / file[1:])
    target = root / place.format(id=name, rest=name[2:], path=app, folder=str(tmp_path)[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    debug.rename(target)
    app.unlink()
    profile = record("chroot", root, app, "500", options=["--heap=off"], status=3)
    [row] = [m for m in profile.report("modules")["modules"] if m["module"] == "app"]
    assert row["path"] == str(app)
    assert (row["names"], row["debug_path"]) == ("full", str(target)), row["reason"]


# --- what is fetched ----------------------------------------------------------------------------

class Debuginfod(http.server.BaseHTTPRequestHandler):
    """As `debuginfod` answers: /buildid/HEX/debuginfo."""

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.server.stalls:
            self.server.stop.wait(60)
            return
        file = self.server.files.get(self.path)
        self.send_response(200 if file else 404)
        data = file.read_bytes() if file else b""
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(need, tmp_path):
    """A debuginfod with .files {path: file}, which lists what it was .asked; if it .stalls, it never answers."""
    if not list(Path("/usr/lib").glob("*/libdebuginfod.so.1")):
        pytest.skip("libdebuginfod is not installed")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Debuginfod)
    server.files, server.asked, server.stalls, server.stop = {}, [], False, threading.Event()
    server.url = f"http://127.0.0.1:{server.server_port}/"
    server.env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "HOME": str(tmp_path), "DEBUGINFOD_URLS": server.url,
                  "no_proxy": "127.0.0.1"}
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.stop.set()
    server.shutdown()
    thread.join()
    server.server_close()


def asks_for(path):
    return f"/buildid/{build_id(path)}/debuginfo"


@pytest.mark.parametrize("option", ["--debuginfod", "--debuginfod=auto", "--debuginfod={url}"])
def test_debug_files_are_fetched_when_asked(option, server, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path)
    server.files[asks_for(app)] = debug
    option = option.format(url=server.url)
    env = dict(server.env, DEBUGINFOD_URLS="http://localhost:1/") if "://" in option else server.env
    frames = resolve(app, [main], option, env=env)
    assert frames.names() == {main: "main"}
    assert frames.at[main][-1][2].endswith("pages.c")
    assert frames.debug_path.startswith(str(tmp_path / "cache"))
    assert server.asked == [asks_for(app)]


@pytest.mark.parametrize("option, urls", [([], True), (["--debuginfod=auto"], False)])
def test_nothing_is_fetched_unasked(option, urls, server, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path)
    server.files[asks_for(app)] = debug
    frames = resolve(app, [main], *option, env=dict(server.env, DEBUGINFOD_URLS=server.url if urls else ""))
    assert frames.debug == "none" and "try --debuginfod" in frames.reason
    assert not server.asked


def test_a_fetched_file_of_another_build_is_not_used(server, resolve, tmp_path):
    app, debug, main = stripped_program(tmp_path)
    make("gcc", "-O1", "-g", "-DANOTHER", "-o", "other", SOURCES / "pages.c", cwd=tmp_path)
    server.files[asks_for(app)] = tmp_path / "other"
    frames = resolve(app, [main], "--debuginfod", env=server.env)
    assert frames.debug == "none" and "is of another build" in frames.reason


def test_what_the_server_lacks_is_said(server, resolve, tmp_path):
    app, _, main = stripped_program(tmp_path)
    frames = resolve(app, [main], "--debuginfod", env=server.env)
    assert frames.debug == "none" and "debuginfod has none either" in frames.reason


def test_a_server_that_does_not_answer_is_given_up(server, resolve, tmp_path):
    server.stalls = True
    app, _, main = stripped_program(tmp_path)
    frames = resolve(app, [main], "--debuginfod", env=dict(server.env, DEBUGINFOD_TIMEOUT="1"))
    assert frames.debug == "none" and "debuginfod does not answer" in frames.reason


def wait_until(condition):
    for _ in range(3000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def test_an_interrupt_skips_what_is_fetched_and_a_terminal_shows_it(server, record, runner, tmp_path):
    server.stalls = True
    app, _, main = stripped_program(tmp_path)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, str(app), [main], "file", "app")
    ours, theirs = pty.openpty()
    with runner.start(runner.cprof, "symbolize", "--debuginfod", profile.path, env=server.env, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while b"fetching" not in shown:
            shown += os.read(ours, 1000)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
    os.close(ours)
    assert b"looking up names: 0 of 1 modules, app: fetching" in shown
    assert "skipped" in Frames(profile).reason


def test_asked_to_end_it_leaves_the_profile_as_it_was(server, record, runner, tmp_path):
    server.stalls = True
    app, _, main = stripped_program(tmp_path)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, str(app), [main], "file", "app")
    with runner.start(runner.cprof, "symbolize", "--debuginfod", profile.path, env=server.env, text=True,
                      stderr=subprocess.PIPE) as process:
        wait_until(lambda: server.asked)
        process.send_signal(signal.SIGTERM)
        message = process.communicate()[1]
        assert "stopped by SIGTERM while looking up names" in message
        assert f"`cprof symbolize {profile.path}`" in message
        assert process.returncode == 1
    assert profile.sql("SELECT count(*) FROM frame") == [(0,)]
    assert profile.sql("SELECT debug FROM module") == [("not-tried",)]


# --- the budget ---------------------------------------------------------------------------------

@pytest.mark.slow
def test_after_the_budget_names_have_no_lines_and_that_is_said(resolve, need):
    libc = need.file("/lib/x86_64-linux-gnu/libc.so.6", "another architecture").resolve()
    debug = need.file(debug_file(libc), "libc6-dbg is not installed")
    addresses = pick_addresses(libc, 1000, listed=debug)
    all_of_it, some_of_it = resolve(libc, addresses), resolve(libc, addresses, "--symbol-budget=1m,20M")
    lines = [sum(chain[0][3] > 0 for chain in frames.at.values()) for frames in (all_of_it, some_of_it)]
    assert 0 < lines[1] < lines[0]
    unnamed = [sum(not chain[-1][1] for chain in frames.at.values()) for frames in (all_of_it, some_of_it)]
    assert unnamed[0] == unnamed[1]
    left_out = int(re.match(r"(\d+) addresses without lines and inlined calls: 20.0 MiB of memory are spent "
                            r"\(--symbol-budget\)", some_of_it.reason).group(1))
    assert lines[1] <= len(some_of_it.at) - left_out
    assert ("bounded", f"{libc.name}: {some_of_it.reason}", left_out) in some_of_it.quality


@pytest.mark.parametrize("value", ["x", "1s,", "1s,x", "-1s"])
def test_a_budget_that_is_none_is_bad_usage(value, run):
    result = run("symbolize", f"--symbol-budget={value}")
    assert result.returncode == 64 and "--symbol-budget" in result.stderr


# --- no ELF file --------------------------------------------------------------------------------

def test_kernel_functions_are_named_by_kallsyms(resolve, need):
    need.root()
    with open("/proc/kallsyms") as file:
        symbols = [line.split()[:3] for line in file]
    texts = {int(a, 16): name for a, kind, name in symbols if kind in "tT" and int(a, 16)}
    if not texts:
        pytest.skip("kallsyms shows no addresses")
    starts = collections.Counter(int(a, 16) for a, *_ in symbols)
    some = random.Random(3).sample([a for a in texts if starts[a] == 1], 200)
    frames = resolve("[kernel]", some, kind="kernel", name="[kernel]")
    assert frames.names() == {a: texts[a] for a in some}


def test_hidden_kernel_addresses_are_said(nobody, need):
    if Path("/proc/sys/kernel/kptr_restrict").read_text().strip() == "0" and int(
            Path("/proc/sys/kernel/perf_event_paranoid").read_text()) < 2:
        pytest.skip("this kernel shows its addresses to everybody")
    profile = nobody.record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, "[kernel]", [0xffffffff81000000], "kernel", "[kernel]")
    assert nobody.cprof_run("symbolize", profile.path).returncode == 0
    frames = Frames(profile)
    assert frames.names() == {0xffffffff81000000: "[kernel]"}
    assert "hidden" in frames.reason


@contextlib.contextmanager
def perf_map(runner):
    """A profile of one process with code at 0x1000 to 0x1030 made at run time, and the map of that process."""
    pid = 2 ** 22 + 17  # above what the kernel gives out
    profile = runner.record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, "[anon]", [0x1000, 0x101f, 0x1024, 0x1030], "anonymous", f"[anon:{pid}]")
    with contextlib.closing(sqlite3.connect(profile.path)) as connection:
        connection.execute("UPDATE process SET pid = ?", (pid,))
        connection.commit()

    def names():
        assert runner.cprof_run("symbolize", profile.path).returncode == 0
        return Frames(profile)
    path = Path(f"/tmp/perf-{pid}.map")
    try:
        yield types.SimpleNamespace(path=path, names=names, nameless=f"[anon:{pid}]")
    finally:
        path.unlink(missing_ok=True)


def test_jit_code_is_named_by_perf_map_as_it_grows(runner):
    with perf_map(runner) as jit:
        jit.path.write_text("1000 20 LazyCompile:~work app.js:7\nnonsense\n")
        work = "LazyCompile:~work app.js:7"
        assert jit.names().names() == {0x1000: work, 0x101f: work, 0x1024: jit.nameless, 0x1030: jit.nameless}
        with jit.path.open("a") as file:
            file.write("1020 8 Builtin:Add\n1018 8 Builtin:Instead\n")
        assert jit.names().names() == {0x1000: work, 0x101f: "Builtin:Instead", 0x1024: "Builtin:Add",
                                       0x1030: jit.nameless}


def test_the_perf_map_of_a_former_process_is_not_used(runner):
    with perf_map(runner) as jit:
        jit.path.write_text("1000 40 another_program\n")
        before = time.time() - 3600
        os.utime(jit.path, (before, before))
        frames = jit.names()
    assert set(frames.names().values()) == {jit.nameless}
    assert frames.debug == "none" and "is older than the process" in frames.reason


@pytest.mark.parametrize("kind", ["a link", "another user's"])
def test_a_perf_map_that_anybody_may_have_put_there_is_not_used(kind, nobody, tmp_path):
    with perf_map(nobody) as jit:
        if kind == "a link":
            (tmp_path / "map").write_text("1000 40 somewhere_else\n")
            jit.path.symlink_to(tmp_path / "map")
        else:
            jit.path.write_text("1000 40 something_else\n")
            os.chown(jit.path, 12345, -1)
        frames = jit.names()
    assert set(frames.names().values()) == {jit.nameless} and "--perf-basic-prof" in frames.reason


def test_a_program_that_makes_code_is_named_by_its_perf_map(record, programs):
    profile = record(programs / "jit", "600")
    report = profile.report()
    path = Path(f"/tmp/perf-{report['processes'][0]['pid']}.map")
    assert path.read_text().count("\n") == 2
    path.unlink()
    functions = {f["name"]: f for f in report["cpu"]["functions"]}
    assert functions["jit_early"]["self"] > 0.3 and functions["jit_late one.js:7"]["self"] > 0.3
    assert functions["jit_early"]["module"].startswith("[anon")


# --- damage -------------------------------------------------------------------------------------

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
    main = next(int(line.split()[0], 16) for line in output("nm", folder / "odd").splitlines() if " T main" in line)
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


@pytest.mark.slow
def test_templates_of_more_than_4_kb_are_shortened_for_display_and_whole_in_json(record, runner, need, tmp_path):
    need.perf()
    twice = "".join(f"using T{i} = Pair<T{i - 1}, T{i - 1}>;\n" for i in range(1, 11))
    make("g++", "-O1", "-g", "-o", "app", "app.cc", cwd=source(tmp_path, "app.cc", f"""
        template <class A, class B> struct Pair {{}};
        using T0 = int;
        {twice}
        static volatile long sink;
        template <class T> __attribute__((noinline)) void spin(T *) {{ for (long i = 0; i < 300000000; i++) sink = i; }}
        template void spin<T10>(T10 *);
        int main() {{ spin((T10 *)nullptr); }}"""))
    [symbol] = [line.split()[-1] for line in output("nm", tmp_path / "app").splitlines() if "_Z4spin" in line]
    name = output("c++filt", symbol).strip()
    assert len(name) > 4096
    profile = record(tmp_path / "app", options=["--heap=off"])
    [row] = [f for f in profile.report()["cpu"]["functions"] if f["name"].startswith(("spin<", "void spin<"))]
    assert row["name"].replace(" ", "") in name.replace(" ", "") and len(row["name"]) > 4096
    [line] = [line for line in profile.text("functions").splitlines() if "spin<" in line]
    assert len(line) <= 80
