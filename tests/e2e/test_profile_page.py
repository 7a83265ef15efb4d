# SPDX-License-Identifier: MIT
"""cprof-profile(5) describes the file as it is, and its examples work."""

import re
import sqlite3
import subprocess

import pytest

from test_manual import page

PAGE = "cprof-profile.5"


@pytest.fixture(scope="module")
def database(cprof, programs, tmp_path_factory):
    """A profile with processes, threads that free each other's blocks and samples, opened as the page says."""
    folder = tmp_path_factory.mktemp("profile")
    command = f"{programs / 'burn'} 300; {programs / 'heap_sites'} 100; {programs / 'heap_shapes'} 7 1"
    subprocess.run([cprof, "record", "-q", "--", "sh", "-c", command], cwd=folder, check=False,
                   stdout=subprocess.DEVNULL)
    return sqlite3.connect(f"file:{folder / 'cprof.data'}?mode=ro", uri=True)


def queries():
    return re.findall(r"\.Bd -literal -offset 2n\n(SELECT.*?;)\n\.Ed", page(PAGE), re.DOTALL)


def section(heading):
    """What is between a .Ss or .Sh line and the next of either."""
    return re.split(r"^\.S[sh] ", page(PAGE).split(f"{heading}\n")[1], flags=re.MULTILINE)[0]


def words_of(macro, text):
    """The arguments of `.Va a , b` and `.It Va a`."""
    lines = re.findall(rf"^\.(?:It )?{macro} (.*)$", text, re.MULTILINE)
    return [word for line in lines for word in line.split() if re.fullmatch(r"\w+", word)]


def objects(database, kind):
    return [name for name, in database.execute("SELECT name FROM sqlite_master WHERE type = ?", (kind,))]


def columns(database, name):
    return [row[1] for row in database.execute(f"PRAGMA table_info({name})")]


def test_every_view_has_a_section_with_its_columns_in_order(database):
    views = objects(database, "view")
    assert sorted(views) == sorted(re.findall(r"^\.Ss (v_\w+)$", page(PAGE), re.MULTILINE))
    for view in views:
        items = re.findall(r"^\.It Va (\w+)$", section(f".Ss {view}"), re.MULTILINE)
        assert items == columns(database, view), view


def test_every_table_is_listed_with_its_columns(database):
    tables = [name for name in objects(database, "table") if not name.startswith("sqlite_")]
    listed = section(".Sh TABLES")
    entries = dict(re.findall(r"^\.It Sy (\w+)\n(.*?)(?=^\.It|^\.El)", listed, re.MULTILINE | re.DOTALL))
    assert sorted(entries) == sorted(tables)
    for table in tables:
        assert sorted(words_of("Va", entries[table])) == sorted(columns(database, table)), table


def test_every_key_of_meta_is_listed(database):
    listed = words_of("Li", section(".Ss Keys of meta"))
    missing = {key for key, in database.execute("SELECT key FROM meta")} - set(listed)
    assert not missing


def test_the_numbers_that_identify_a_profile_are_those_of_the_page(database):
    application, = database.execute("PRAGMA application_id").fetchone()
    version, = database.execute("PRAGMA user_version").fetchone()
    assert hex(application) in page(PAGE) and application.to_bytes(4, "big") == b"CPRF"
    assert f"at byte 60; it is {version}." in page(PAGE)


def kinds_in(text):
    return set(re.findall(r"[a-z]+(?:-[a-z]+)?", text))


def test_the_kinds_of_quality_are_those_of_reports(database):
    words = re.search(r"^\.Em kind\nis one of\n((?:\.Cm .*\n)+)", page("cprof-report.1"), re.MULTILINE)[1]
    reported = kinds_in(words.replace(".Cm", ""))
    listed = re.search(r"^\.It Va kind\n(.*?)\.$", section(".Ss v_quality"), re.MULTILINE | re.DOTALL)[1]
    assert kinds_in(listed) - {"or"} == reported
    schema, = database.execute("SELECT sql FROM sqlite_master WHERE name = 'quality'").fetchone()
    comment = re.search(r"kind TEXT NOT NULL,(.*?)detail TEXT", schema, re.DOTALL)[1]
    assert kinds_in(comment) == reported


def test_stacks_that_were_put_together_are_a_kind(record, programs, need):
    need.perf()
    profile = record(programs / "deep", options=["--stack-size=512"], status=None)
    known = kinds_in(section(".Ss v_quality"))
    assert {kind for kind, in profile.sql("SELECT kind FROM quality")} <= known and "stitched" in known


def test_a_page_has_an_example_for_each_view(database):
    text = " ".join(queries())
    for view in objects(database, "view"):
        assert re.search(rf"\b{view}\b", text), view


@pytest.mark.parametrize("query", queries(), ids=lambda query: re.search(r"FROM (\w+)", query)[1])
def test_the_example_works(database, query, need):
    need.perf()
    assert database.execute(query).fetchall() != []


def test_the_shell_opens_it_as_the_page_says(database, runner, need):
    options = re.search(r"^\.Dl \$ sqlite3 (-readonly.*) cprof.data$", page(PAGE), re.MULTILINE)[1]
    path = database.execute("PRAGMA database_list").fetchone()[2]
    for query in queries():
        result = runner.run(need.tool("sqlite3"), *options.split(), path, query)
        assert result.returncode == 0 and not result.stderr, result.stderr
