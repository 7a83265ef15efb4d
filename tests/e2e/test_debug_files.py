# SPDX-License-Identifier: MIT
"""Where debug information is found, and which is not used."""

import os
import re
import shutil
import struct
import subprocess
import time
from pathlib import Path

import pytest

from elf import (SOURCES, build_id, functions, make, output, pick_addresses, section, stripped_program,
                 symbols_by_address)
from llvm import compare, llvm_chains


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
        make("g++", "-O2", "-g", "-gdwarf-4", f"-D{name}", SOURCES / "symbols.cc", "-o", name, cwd=tmp_path)
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
    without = resolve(app, whole.at)
    make("objcopy", "--add-section", ".gnu_debugdata=mini.xz", "app", cwd=tmp_path)
    with_it = resolve(app, whole.at)
    assert "main" in whole.names().values() and "main" not in without.names().values()
    assert with_it.names() == whole.names()


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
