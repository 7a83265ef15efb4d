# SPDX-License-Identifier: MIT
"""What a module without names says: why, and what would help."""

import subprocess

import pytest

from elf import SOURCES, build_id, debug_file, functions, make, pick_addresses, section, source

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
