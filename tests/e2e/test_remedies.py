# SPDX-License-Identifier: MIT
"""What a module without names says: why, and what would help."""

import os
import re
import subprocess

import pytest

from elf import SOURCES, build_id, debug_file, functions, make, output, pick_addresses, section, source
from frames import Frames, put_addresses


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


def test_debug_information_of_libraries_only_is_not_taken_for_the_programs(resolve, need, tmp_path):
    """Rust's own library has some whatever the program is built with."""
    need.tool("rustc")
    for name, flags in (("release", []), ("debug", ["-g"])):
        make("rustc", "-O", *flags, "-o", name, SOURCES / "symbols_rust.rs", cwd=tmp_path)
    starts = [int(line.split()[0], 16) for line in output("nm", "--defined-only", tmp_path / "release").splitlines()
              if "12symbols_rust" in line]
    frames = resolve(tmp_path / "release", starts)
    assert all(line == 0 for chain in frames.at.values() for *_, line in chain)
    assert frames.debug == "symbols"
    # that it is Rust's is not in the files of old compilers
    assert re.fullmatch("no debug information of most code that was seen; build with -g( .cargo: debug = true.)?", frames.reason)
    frames = resolve(tmp_path / "debug", [start for start, _ in functions(tmp_path / "debug")])
    assert frames.debug == "full" and frames.reason is None


@pytest.mark.parametrize("place, contents, advice", [
    (".go.buildinfo", "\xff Go buildinf:", "build without -ldflags=-s"),
    (".comment", "rustc version 1.80.0", "build with -g and do not strip it (cargo: debug = true, strip = false)")])
def test_a_stripped_program_says_how_its_compiler_is_asked(place, contents, advice, resolve, tmp_path):
    """What these compilers leave in a file is put into one, since Go cannot be had everywhere."""
    make("gcc", "-O2", "-Wl,--build-id=none", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    (tmp_path / "trace").write_text(contents)
    make("objcopy", "--strip-all", "-R", place, "--add-section", f"{place}=trace", "app", cwd=tmp_path)
    os.utime(tmp_path / "app", (0, 0))
    assert resolve(tmp_path / "app", [section(tmp_path / "app", ".text")[0]]).reason == f"stripped, no names; {advice}"


def test_a_file_that_is_gone_or_refused_is_said(nobody, tmp_path):
    make("gcc", "-O2", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    (nobody.folder / "app").write_bytes((tmp_path / "app").read_bytes())
    (nobody.folder / "app").chmod(0o600)
    for name, why in (("gone", "No such file or directory"), ("app", "Permission denied")):
        profile = nobody.record("true", options=["--heap=off", "--no-symbols"])
        put_addresses(profile.path, str(nobody.folder / name), [0x1000], "file", name)
        assert nobody.cprof_run("symbolize", profile.path).returncode == 0
        frames = Frames(profile)
        assert frames.reason == f"open {nobody.folder / name}: {why}; `cprof symbolize` names it where it can be read"


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
