# SPDX-License-Identifier: MIT
"""What functions are called: demangled, with the scope they are in, and where they were declared."""

from pathlib import Path

import pytest

from elf import SOURCES, make, output, pick_addresses, section, source, symbol
from frames import put_addresses


def test_demangled_names_are_those_of_llvm(programs, resolve, need):
    """Rust only: for C++ the two spell templates, lambdas and clones each in its way."""
    need.tool("llvm-cxxfilt")
    app = programs / "symbols_rust"
    chains = resolve(app, pick_addresses(app, 1000)).at.values()
    names = {raw: name for chain in chains for name, raw, *_ in chain if raw.startswith("_R")}
    shown = output("llvm-cxxfilt", input="\n".join(names)).splitlines()
    assert names and dict(zip(names, shown)) == names


OF_LANGUAGES = {"_ZN5shape6CircleC1ERKd": "shape::Circle::Circle(double const&)",
                "_ZN4core3fmt5write17h0123456789abcdefE": "core::fmt::write",
                "_RNvNtCs1234_7mycrate3foo3bar": "mycrate::foo::bar",
                "_D3app4Tree6insertMFiZv": "app.Tree.insert(int)",
                "plain_c": "plain_c"}


def test_symbols_of_each_language_are_as_its_source_spells_them(resolve, tmp_path):
    make("gcc", "-shared", "-nostdlib", "-o", "all.so", "all.s", cwd=source(tmp_path, "all.s", "".join(
        f".globl {name}\n.type {name}, @function\n{name}: nop\n.size {name}, .-{name}\n" for name in OF_LANGUAGES)))
    addresses = {symbol(tmp_path / "all.so", name): name for name in OF_LANGUAGES}
    names = resolve(tmp_path / "all.so", addresses).names()
    assert {addresses[address]: shown for address, shown in names.items()} == OF_LANGUAGES
    names = resolve(tmp_path / "all.so", addresses, "--no-demangle").names()
    assert names == addresses


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
    start = symbol(app, "main")
    frames = resolve(app, pick_addresses(app, 300) + [start], "--no-demangle")
    names = {name for chain in frames.at.values() for name, *_ in chain}
    assert "main" in names
    assert any(name.startswith("_Z") for name in names)
    assert not any(name.startswith(("std::", "words::", "shapes::")) for name in names)


def test_clang_declares_functions_in_file_0(record, runner, need, tmp_path):
    need.tool("clang")
    make("clang", "-O1", "-g", "-gdwarf-5", "-o", "app", SOURCES / "pages.c", cwd=tmp_path)
    profile = record("true", options=["--heap=off", "--no-symbols"])
    put_addresses(profile.path, str(tmp_path / "app"), [symbol(tmp_path / "app", "main")], "file", "app")
    assert runner.cprof_run("symbolize", profile.path).returncode == 0
    [(file,)] = profile.sql("SELECT path FROM function JOIN file ON file.id = function.file WHERE name = 'main'")
    assert Path(file).name == "pages.c"


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
    [mangled] = [line.split()[-1] for line in output("nm", tmp_path / "app").splitlines() if "_Z4spin" in line]
    name = output("c++filt", mangled).strip()
    assert len(name) > 4096
    profile = record(tmp_path / "app", options=["--heap=off"])
    [row] = [f for f in profile.report()["cpu"]["functions"] if f["name"].startswith(("spin<", "void spin<"))]
    assert row["name"].replace(" ", "") in name.replace(" ", "") and len(row["name"]) > 4096
    [line] = [line for line in profile.text("functions").splitlines() if "spin<" in line]
    assert len(line) <= 80
