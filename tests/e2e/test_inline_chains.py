# SPDX-License-Identifier: MIT
"""Functions, files, lines and inline chains, against llvm-symbolizer."""

import os
import struct
from pathlib import Path

import pytest

from conftest import SQLITE_SOURCE
from elf import (SOURCES, debug_file, functions, make, output, pick_addresses, section, symbol,
                 symbols_by_address, unsized_symbols)
from llvm import compare, llvm_chains

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


# Besides: what takes longer to build, or has more to compare.
TEMPLATES = Path(__file__).with_name("templates.cc")
LIBRARY = sorted(SOURCES.parents[1].glob("lib/[bsu]*/*.c"))
LARGE_BUILDS = {
    **BUILDS,
    "clang++, templates": ["clang++", "-std=c++17", "-O2", "-g", TEMPLATES],
    "g++, templates, split": ["g++", "-std=c++17", "-O2", "-g", "-gsplit-dwarf", TEMPLATES],
    "clang++, templates, split, dwarf-4": ["clang++", "-std=c++17", "-O2", "-gdwarf-4", "-gsplit-dwarf", TEMPLATES],
    "sqlite3": ["gcc", "-O2", "-g", "-shared", "-fPIC", SQLITE_SOURCE],
    "C, LTO": ["gcc", "-O2", "-g", "-flto=1", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{SOURCES.parents[1]}/lib",
               *(file for file in LIBRARY if "shim" not in file.parts)],
}


@pytest.mark.long
@pytest.mark.parametrize("build", LARGE_BUILDS)
def test_twenty_thousand_chains_are_those_of_llvm_symbolizer(build, resolve, need, tmp_path):
    need.tool("llvm-symbolizer")
    need.tool(LARGE_BUILDS[build][0])
    if SQLITE_SOURCE in LARGE_BUILDS[build]:
        need.sqlite_source(tmp_path)
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
    start = symbol(library, "_Z6sharedi")
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
