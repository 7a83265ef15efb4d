# SPDX-License-Identifier: MIT
"""`cprof report`: operands, bad files, formats, and that text and JSON say the same."""

import csv
import json
import os
import pty
import shutil
import sqlite3
import unicodedata

import pytest

VIEWS = ("summary", "functions", "callers", "modules", "threads", "heap", "leaks", "timeline", "quality")


@pytest.fixture(scope="module")
def recorded(cprof, programs, tmp_path_factory):
    """A profile of burn, recorded once; tests work on copies."""
    from conftest import Runner

    runner = Runner(tmp_path_factory.mktemp("recorded"), cprof)
    return runner.record(programs / "burn", "300", status=3)


@pytest.fixture
def profile(recorded, runner):
    shutil.copy(recorded.path, runner.folder / "cprof.data")
    return runner.folder / "cprof.data"


def fails(result, status, *words):
    """One message that says what is wrong, nothing on stdout."""
    assert result.returncode == status, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("cprof: ")
    for word in words:
        assert word in result.stderr
    assert len(result.stderr.splitlines()) <= 2


# --- operands ---

def test_without_operands_it_is_the_summary_of_cprof_data(run, profile):
    assert run("report").stdout == run("report", "summary", "cprof.data").stdout != ""


def test_a_file_operand_is_that_file(run, profile):
    wide = {"COLUMNS": "100"}
    expected = run("report", env=wide).stdout
    shutil.move(profile, profile.parent / "other")
    assert run("report", "other", env=wide).stdout == expected.replace("quality\n", "quality other\n")


def test_a_file_named_like_a_view_is_reached_by_a_path(run, profile):
    wide = {"COLUMNS": "120"}
    expected = run("report", env=wide).stdout
    shutil.copy(profile, profile.parent / "heap")
    assert run("report", "./heap", env=wide).stdout == expected.replace("quality\n", "quality ./heap\n")
    assert run("report", "heap", env=wide).stdout != expected


def test_the_file_may_come_first(run, profile):
    shutil.copy(profile, profile.parent / "heap")
    assert run("report", "cprof.data", "functions").stdout == run("report", "functions").stdout != ""
    assert run("report", "./heap", "leaks", "--json").stdout == run("report", "leaks", "--json").stdout


@pytest.mark.parametrize("operands", [("callers", "^seventy$"), ("callers", "^seventy$", "cprof.data"),
                                      ("cprof.data", "callers", "^seventy$"), ("callers", "--json", "^seventy$"),
                                      ("callers", "--function=^seventy$", "cprof.data"),
                                      ("callers", "cprof.data", "--function", "^seventy$")])
def test_the_function_whose_callers_are_shown_is_an_operand(run, profile, operands):
    expected = run("report", "callers", "--json", "--function", "^seventy$").stdout
    assert json.loads(expected)["callers"]
    assert run("report", *operands, "--json").stdout == expected
    assert run("report", *operands, "--limit", "1", "--json").returncode == 0


def test_callers_without_a_function_are_all_and_a_profile_is_no_function(run, profile):
    shutil.copy(profile, profile.parent / "old")
    everything = run("report", "callers", "--json").stdout
    for operand in ("old", "cprof.data", "./old", str(profile)):
        assert run("report", "callers", operand, "--json").stdout == everything
    (profile.parent / "seventy").write_text("#!/bin/sh\n")  # the program itself, maybe
    assert json.loads(run("report", "callers", "seventy", "--json").stdout)["callers"]
    fails(run("report", "callers", "./nothing"), 1, "./nothing")
    fails(run("report", "callers", "main", "nothing.data"), 1, "nothing.data")


@pytest.mark.parametrize("operands", [("callers", "main", "cprof.data", "more"), ("functions", "cprof.data", "more"),
                                      ("callers", "--function=main", "cprof.data", "more"),
                                      ("cprof.data", "callers", "main", "more")])
def test_more_operands_than_there_may_be(run, profile, operands):
    result = run("report", *operands)
    assert (result.returncode, result.stdout) == (64, "") and "too many arguments: 'more'" in result.stderr


def test_a_report_is_of_one_file(run, profile):
    shutil.copy(profile, profile.parent / "other.data")
    fails(run("report", "cprof.data", "other.data"), 64, "'cprof.data' and 'other.data'", "[VIEW] [FILE]")
    fails(run("report", "cprof.data", "bogus"), 64, "'bogus' is not a view")


@pytest.mark.parametrize("arguments, said", [
    (["--time", "2,1"], "'2,1' as FROM,TO ends no later than it begins"), (["--time", "x,1"], "'x,1' is not FROM,TO"),
    (["--time", "1000,"], "--time: the recording ends at "), (["functions", "--json", "--csv"], "give one of them")])
def test_arguments_that_make_no_sense_are_refused(run, profile, arguments, said):
    result = run("report", *arguments)
    assert (result.returncode, result.stdout) == (64, "") and said in result.stderr


@pytest.mark.parametrize("view, title, key", [("heap", "allocated", "allocated_bytes"), ("threads", "CPU", "share")])
def test_columns_can_be_named_as_in_text(run, profile, view, title, key):
    assert run("report", view, "--sort", title).stdout == run("report", view, "--sort", key).stdout != ""


@pytest.mark.parametrize("view", VIEWS)
def test_options_may_stand_between_view_and_file(run, profile, view):
    result = run("report", view, "--json", "cprof.data")
    assert result.returncode == 0
    json.loads(result.stdout)


def test_a_word_that_is_nearly_a_view_gets_it_proposed(run, profile):
    fails(run("report", "fnctions"), 64, "fnctions", "did you mean 'functions'?")


def test_a_word_that_is_neither_view_nor_file_is_bad_usage(run, profile):
    fails(run("report", "bogus"), 64, "bogus", "views are: summary")


def test_two_operands_must_begin_with_a_view(run, profile):
    fails(run("report", "bogus", "cprof.data"), 64, "bogus")


@pytest.mark.parametrize("option,words", [
    (("--sort", "selv"), ("selv", "did you mean 'self'?")),
    (("--limit", "0"), ("--limit", "0")),
    (("--limit", "x"), ("--limit", "'x'", "'all'")),
    (("--min", "200"), ("--min", "200")),
    (("--function", "["), ("--function", "[")),
    (("--nonsense",), ("nonsense",)),
])
def test_bad_options_are_named(run, profile, option, words):
    result = run("report", *option)
    assert result.returncode == 64
    assert result.stdout == ""
    for word in words:
        assert word in result.stderr


def test_a_selection_that_selects_nothing_says_what_there_is(run, profile):
    fails(run("report", "--comm", "nobody"), 1, "nobody", "burn")


def test_the_help_names_every_view(run):
    help = run("report", "--help").stdout
    assert all(f"\n  {view} " in help for view in VIEWS)
    assert run("report", "bogus").stderr.splitlines()[1] == "cprof: views are: " + ", ".join(VIEWS)


# --- CSV ---

@pytest.mark.parametrize("view, keys", [("functions", ("name", "samples", "self")), ("leaks", ("live_bytes",)),
                                        ("heap", ("at_peak_bytes", "stack")), ("threads", ("tid", "command")), ("modules", ("names", "self")),
                                        ("callers", ("caller", "total")),
                                        ("timeline", ("t_s", "max_live_bytes")), ("quality", ("kind", "detail"))])
def test_csv_has_the_values_of_json(record, programs, view, keys):
    def same(text, value):
        if isinstance(value, list):
            return text == ";".join(value)
        return text == str(value) if isinstance(value, str) else float(text or "nan") == pytest.approx(value)
    profile = record("sh", "-c", f"'{programs / 'heap_sites'}' 3; : 'a \"quoted, word\"'", status=None)
    result = profile.runner.cprof_run("report", view, "--csv", profile.path)
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(result.stdout.splitlines()))
    document = profile.report(view)[view]
    expected = document["sites"] if view == "heap" else document
    assert len(rows) == len(expected)
    for row, values in zip(rows, expected):
        for key in keys:
            assert values[key] is None and row[key] == "" or same(row[key], values[key])


def test_the_summary_is_no_csv(record):
    profile = record("true")
    fails(profile.runner.cprof_run("report", "--csv", profile.path), 64, "not one table")


# --- bad files ---

def test_a_missing_default_file_says_how_to_make_one(run):
    fails(run("report"), 1, "cprof.data", "cprof record")


def test_a_missing_file_is_named(run):
    fails(run("report", "missing.data"), 1, "missing.data")


def test_an_empty_file(run, runner):
    (runner.folder / "empty.data").touch()
    fails(run("report", "empty.data"), 1, "empty.data", "empty")


def test_a_folder(run, runner):
    (runner.folder / "folder").mkdir()
    fails(run("report", "folder"), 1, "folder")


@pytest.mark.parametrize("content", [b"hello\n", b"\x7fELF" + bytes(10000), b"PERFILE2" + bytes(5000)])
def test_something_that_is_not_a_profile(run, runner, content):
    (runner.folder / "not.data").write_bytes(content)
    fails(run("report", "not.data"), 1, "not.data", "not a profile")


def test_another_sqlite_database_is_not_a_profile(run, runner):
    connection = sqlite3.connect(runner.folder / "other.data")
    connection.execute("CREATE TABLE event (id INTEGER PRIMARY KEY)")
    connection.commit()
    connection.close()
    fails(run("report", "other.data"), 1, "other.data", "not a profile")


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_truncated_profile(run, profile, share):
    os.truncate(profile, int(profile.stat().st_size * share))
    fails(run("report"), 1, "cprof.data")


def test_a_profile_of_a_newer_cprof(run, profile):
    connection = sqlite3.connect(profile)
    connection.execute("PRAGMA user_version = 1000")
    connection.commit()
    connection.close()
    fails(run("report"), 1, "cprof.data", "newer")


def test_an_unreadable_profile(nobody, profile):
    copy = nobody.folder / "secret.data"
    shutil.copy(profile, copy)
    os.chmod(copy, 0)
    fails(nobody.cprof_run("report", "secret.data"), 1, "secret.data", "ermission")


# --- formats ---

@pytest.mark.parametrize("view", VIEWS)
def test_json_of_a_view_is_an_object_with_its_name(run, profile, view):
    whole = json.loads(run("report", "--json").stdout)
    found = json.loads(run("report", view, "--json").stdout)
    if view == "summary":
        assert found == whole
    else:
        assert list(found)[0] == view and set(found) <= {view, "reason"}
    assert found.get("functions", whole["cpu"]["functions"]) == whole["cpu"]["functions"]
    assert found.get("quality", whole["quality"]) == whole["quality"]


def test_text_and_json_have_the_same_functions(run, profile):
    whole = json.loads(run("report", "--json").stdout)
    text = run("report", "functions", "--limit", "all", env={"COLUMNS": "400"}).stdout
    if not whole["cpu"]["event"]:
        pytest.skip(f"no CPU samples: {whole['cpu']['reason']}")
    for function in whole["cpu"]["functions"]:
        assert function["name"] in text
    assert f"{whole['cpu']['samples']:,} samples" in text


def test_shares_are_of_one_and_ordered(run, profile):
    cpu = json.loads(run("report", "--json").stdout)["cpu"]
    if not cpu["event"]:
        pytest.skip(f"no CPU samples: {cpu['reason']}")
    shares = [f["self"] for f in cpu["functions"]]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1)
    assert all(f["self"] <= f["total"] + 1e-9 <= 1 + 2e-9 for f in cpu["functions"])
    assert sum(f["samples"] for f in cpu["functions"]) == cpu["samples"]


def test_limit_min_sort_and_filters(run, profile):
    def functions(*options):
        return json.loads(run("report", "functions", "--json", *options).stdout)["functions"]

    everything = functions()
    if not everything:
        pytest.skip("no CPU samples")
    assert functions("--limit", "2") == everything[:2]
    assert functions("--min", "5") == [f for f in everything if f["self"] >= 0.05]
    assert functions("--function", "^se") == [f for f in everything if f["name"].startswith("se")]
    assert functions("--module", "^burn$") == [f for f in everything if f["module"] == "burn"]
    assert [f["total"] for f in functions("--sort", "total")] == sorted((f["total"] for f in everything), reverse=True)
    assert [f["name"] for f in functions("--sort", "name")] == sorted(f["name"] for f in everything)


def columns(line):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


@pytest.mark.parametrize("width", [None, 40, 60, 132])
@pytest.mark.parametrize("view", VIEWS)
def test_text_keeps_to_the_width(run, profile, view, width):
    result = run("report", view, "--limit", "all", env={"COLUMNS": str(width)} if width else {})
    assert result.returncode == 0
    assert max(columns(line) for line in result.stdout.splitlines()) <= (width or 80)


@pytest.mark.parametrize("view", VIEWS)
def test_a_pipe_gets_no_colour_unless_asked(run, profile, view):
    assert "\033" not in run("report", view).stdout
    assert "\033[" in run("report", view, "--color=always").stdout


def test_output_goes_to_a_file(run, profile):
    expected = run("report").stdout
    result = run("report", "-o", "report.txt")
    assert (result.returncode, result.stdout) == (0, "")
    assert (profile.parent / "report.txt").read_text() == expected
    assert run("report", "-o", "-").stdout == expected


def test_an_output_that_cannot_be_written(run, profile):
    fails(run("report", "-o", "/nonexistent/report.txt"), 1, "/nonexistent/report.txt")
    fails(run("report", "-o", "/dev/full"), 1, "/dev/full")
    fails(run("report", "--json", "-o", "/dev/full"), 1, "/dev/full")


def test_a_full_disk_behind_stdout(cprof, runner, profile):
    result = runner.run("/bin/sh", "-c", f"{cprof} report > /dev/full")
    assert result.returncode == 1
    assert "standard output" in result.stderr


def test_a_reader_that_leaves_early_gets_no_message(cprof, runner, profile):
    result = runner.run("/bin/sh", "-c", f"{cprof} report --json | head -c 1")
    assert (result.stdout, result.stderr) == ("{", "")


def on_terminal(runner, *command, env):
    """What command writes to a terminal."""
    master, slave = pty.openpty()
    with runner.start(*command, env=env, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        output = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            output += chunk
    os.close(master)
    assert process.returncode == 0
    return output.decode()


def test_a_terminal_gets_colour_and_the_pager(cprof, runner, profile):
    output = on_terminal(runner, cprof, "report", env={"TERM": "xterm", "PAGER": "sed 's/^/paged /'"})
    assert "\033[1m" in output
    assert all(line.startswith("paged ") for line in output.splitlines())

    plain = on_terminal(runner, cprof, "report", env={"TERM": "xterm", "PAGER": "cat", "NO_COLOR": "1"})
    assert "\033" not in plain


def test_json_is_never_paged(cprof, runner, profile):
    output = on_terminal(runner, cprof, "report", "--json", env={"TERM": "xterm", "PAGER": "sed 's/^/paged /'"})
    json.loads(output)


# --- the tables against a count over the raw rows ---

class Raw:
    """The rows of a profile, and what is on each stack: [(function, name)], outermost first."""

    def __init__(self, path):
        self.rows = sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute
        self.parents = {i: (parent, address) for i, parent, address in self.rows("SELECT id, parent, address FROM stack")}
        self.modules = {i: module for i, module in self.rows("SELECT id, module FROM address")}
        self.kinds = {i: kind for i, kind in self.rows("SELECT id, kind FROM module")}
        self.frames = {}
        for address, function, name in self.rows(
                "SELECT frame.address, function.id, function.name FROM frame "
                "JOIN function ON function.id = frame.function ORDER BY frame.address, frame.depth"):
            self.frames.setdefault(address, []).append((function, name))

    def addresses(self, stack):
        """Innermost first."""
        while stack is not None:
            stack, address = self.parents[stack]
            yield address

    def on_stack(self, stack):
        return [f for address in reversed(list(self.addresses(stack))) for f in self.frames.get(address, [])]

    def is_overhead(self, stack):
        kinds = [self.kinds.get(self.modules[address]) for address in self.addresses(stack)]
        return next((kind for kind in kinds if kind != "kernel"), None) == "self"


def test_the_functions_are_those_of_a_count_over_all_samples(run, profile):
    cpu = json.loads(run("report", "--json").stdout)["cpu"]
    if not cpu["event"]:
        pytest.skip(f"no CPU samples: {cpu['reason']}")
    raw, own, total, everything, samples = Raw(profile), {}, {}, 0, 0
    for stack, weight in raw.rows("SELECT stack, weight FROM v_sample WHERE event = 0"):
        if raw.is_overhead(stack):
            continue
        samples += 1
        everything += weight
        functions = raw.on_stack(stack)
        leaf = raw.frames.get(next(raw.addresses(stack)))
        if leaf:
            own[leaf[-1][1]] = own.get(leaf[-1][1], 0) + weight
        for name in {name for _, name in functions}:
            total[name] = total.get(name, 0) + weight
    assert cpu["samples"] == samples
    for name in ("main", "seventy", "thirty"):
        found = [f for f in cpu["functions"] if f["name"] == name]
        assert sum(f["self_weight"] for f in found) == own.get(name, 0)
        assert sum(f["self"] for f in found) == pytest.approx(own.get(name, 0) / everything)
        assert sum(f["total"] for f in found) == pytest.approx(total.get(name, 0) / everything)


def callers_of(run, *names):
    """By (caller, name), of those of these names: sums over functions of the same name."""
    sums = {}
    for row in json.loads(run("report", "callers", "--json").stdout)["callers"]:
        if row["name"] in names:
            sums.setdefault((row["caller"], row["name"]), []).append(row)
    return {pair: {key: sum(row[key] or 0 for row in rows) for key in rows[0] if isinstance(rows[0][key], (int, float))}
            for pair, rows in sums.items()}


def test_the_callers_are_those_of_a_count_over_all_samples(run, profile):
    cpu = json.loads(run("report", "--json").stdout)["cpu"]
    if not cpu["event"]:
        pytest.skip(f"no CPU samples: {cpu['reason']}")
    names, raw, own, total, everything = ("main", "seventy", "thirty"), Raw(profile), {}, {}, 0
    for stack, weight in raw.rows("SELECT stack, weight FROM v_sample WHERE event = 0"):
        if raw.is_overhead(stack):
            continue
        everything += weight
        functions = [None] + [name for _, name in raw.on_stack(stack)]
        pairs = list(zip(functions, functions[1:]))
        for pair in set(pairs):
            total[pair] = total.get(pair, 0) + weight
        if pairs and raw.frames.get(next(raw.addresses(stack))):
            own[pairs[-1]] = own.get(pairs[-1], 0) + weight
    found = callers_of(run, *names)
    assert found.keys() == {pair for pair in total if pair[1] in names}
    assert ("main", "seventy") in found
    for pair, sums in found.items():
        assert sums["total"] == pytest.approx(total[pair] / everything)
        assert sums["self"] == pytest.approx(own.get(pair, 0) / everything)


def test_the_callers_of_allocation_functions_have_the_allocations_of_their_sites(record, programs):
    profile = record(programs / "heap_sites", "100")
    heap = profile.report("heap")["heap"]
    expected = {}
    for site in heap["sites"]:
        sums = expected.setdefault(tuple(site["stack"][-2:]), dict.fromkeys(("allocations", "allocated_bytes", "at_peak_bytes"), 0))
        for key in sums:
            sums[key] += site[key]
    found = callers_of(lambda *args: profile.runner.cprof_run(*args, profile.path), *{pair[-1] for pair in expected})
    assert len(expected) > 3
    for pair, sums in expected.items():
        assert {key: found[pair][key] for key in sums} == sums, pair


def test_the_sites_add_up_to_the_heap(run, profile):
    heap = json.loads(run("report", "--json").stdout)["heap"]
    if not heap["tracked"]:
        pytest.skip(f"no heap figures: {heap['reason']}")
    for key in ("allocations", "frees", "reallocations", "allocated_bytes", "live_bytes", "live_blocks", "temporary"):
        assert sum(site[key] for site in heap["sites"]) == heap[key], key
    assert sum(site["at_peak_bytes"] for site in heap["sites"]) == heap["peak_bytes"]
    assert len({json.dumps([[f["name"], f["file"], f["line"]] for f in s["frames"]]) for s in heap["sites"]}) == len(heap["sites"])
    assert all([f["name"] for f in site["frames"]] == site["stack"] for site in heap["sites"])


# --- what a profile without names does ---

def test_names_are_resolved_when_they_are_missing(run, runner, programs):
    result = run("record", "--no-symbols", "-o", "bare.data", "--", programs / "burn", "300")
    assert result.returncode == 3
    report = json.loads(run("report", "--json", "bare.data").stdout)
    if not report["cpu"]["event"]:
        pytest.skip(f"no CPU samples: {report['cpu']['reason']}, {result.stderr}")
    assert "seventy" in [f["name"] for f in report["cpu"]["functions"]]
