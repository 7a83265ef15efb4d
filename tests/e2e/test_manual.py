# SPDX-License-Identifier: MIT
"""The manual pages say what there is: neither less nor more than `--help`."""

import json
import re
from pathlib import Path

import pytest

MAN = Path(__file__).resolve().parents[2] / "man"
# Described once, in cprof(1).
COMMON = {"--quiet", "--verbose", "--color", "--debug", "--help", "--usage", "--version"}

HELP_ROW = re.compile(r" +(-\w(?:[ =]\S+)?(?:, +--\S+)?|--\S+)(?:  |$)")
MAN_ITEM = re.compile(r"^\.It (Fl .*)", re.MULTILINE)


def commands(run):
    """The names in the list that `cprof --help` prints."""
    text = run("--help").stdout
    listed = text[text.index("usage:"):text.index("example:")]
    return re.findall(r"^  (\w+)  ", listed, re.MULTILINE)


def options_of_help(text):
    """{"--output": "FILE", "-o": "FILE", "--json": None}; the row that stands for the common ones aside."""
    options = {}
    for line in text.splitlines():
        row = HELP_ROW.match(line)
        if not row or line.lstrip().startswith("-q -v"):
            continue
        names = [re.match(r"(-\w|--[\w-]+)(?:\[?[ =]([^]]+)\]?)?$", name) for name in row[1].split(", ")]
        argument = next((name[2] for name in names if name[2]), None)
        options.update({name[1].strip(): argument for name in names})
    return options


def options_of_page(text):
    """The same of a page: `.It Fl o Ar file , Fl -output Ns = Ns Ar file`."""
    options = {}
    for item in MAN_ITEM.findall(text):
        for name, rest in re.findall(r"Fl (\S+)((?: (?!Fl )\S+)*)", item):
            argument = re.search(r"Ar (\S+)", rest)
            options["-" + name] = argument and argument[1]
    return options


def page(name):
    return (MAN / name).read_text()


def common_options():
    found = options_of_page(page("cprof.1").split(".Pp\nThese options are understood")[1].split(".El")[0])
    return set(found)


def test_every_command_has_a_page_that_cprof_1_refers_to(run):
    index = page("cprof.1")
    for command in commands(run):
        assert (MAN / f"cprof-{command}.1").exists(), command
        assert f".It Cm {command}" in index and f".Nm cprof Cm {command}" in index, command
        assert index.count(f".Xr cprof-{command} 1") >= 2, f"{command}: in its paragraph and in SEE ALSO"


def test_the_pages_describe_the_options_that_help_lists_and_no_others(run):
    for command in commands(run):
        listed = options_of_help(run(command, "--help").stdout)
        described = options_of_page(page(f"cprof-{command}.1"))
        assert sorted(described) == sorted(listed), f"cprof-{command}.1 (left) against --help (right)"
        for name, argument in listed.items():
            assert bool(described[name]) == bool(argument), f"cprof-{command}.1, {name}: argument or none"


def test_help_lists_every_option_that_is_accepted(run):
    for command in commands(run):
        accepted = set(re.findall(r"--\w[\w-]*", run(command, "--usage").stdout))
        listed = {name for name in options_of_help(run(command, "--help").stdout) if name.startswith("--")}
        assert listed == accepted - COMMON, command


def test_a_synopsis_has_no_option_that_the_command_does_not_know(run):
    for command in commands(run):
        text = page(f"cprof-{command}.1")
        synopsis = text.split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0]
        used = {"-" + name for name in re.findall(r"Fl (\S+)", synopsis)} - {"--", "---"}
        assert used <= set(options_of_help(run(command, "--help").stdout)), command


def test_the_options_of_all_commands_are_in_cprof_1():
    assert COMMON <= common_options()


def test_the_views_of_a_report_are_on_its_page(run):
    listed = run("report", "--help").stdout.split("VIEW is one of\n")[1].split("FILE is")[0]
    text = page("cprof-report.1")
    described = text[text.index("is one of\n"):].split(".El")[0]
    assert re.findall(r"^  (\w+)", listed, re.MULTILINE) == re.findall(r"^\.It Cm (\w+)", described, re.MULTILINE)


def test_the_domains_of_debug_are_in_cprof_1(run):
    known = re.search(r"known are: (.*)", run("record", "--debug=no-such-domain", "true").stderr)[1].split(", ")
    described = page("cprof.1").split(".It Fl -debug")[1].split(".It")[0]
    assert {word for word in re.findall(r"[a-z]+", described) if word in known} == set(known)


def test_the_variables_that_are_read_are_in_cprof_1():
    sources = [path for folder in ("cmd", "lib") for path in (MAN.parent / folder).rglob("*.c")
               if "shim" not in path.parts]
    read = {name for path in sources for name in re.findall(r'\bgetenv\("(\w+)"\)', path.read_text())}
    assert read
    described = " ".join(re.findall(r"^\.(?:It )?Ev (.*)", page("cprof.1"), re.MULTILINE))
    assert not read - set(re.findall(r"\w+", described))


def test_pages_refer_to_pages_that_exist():
    for path in MAN.iterdir():
        for name, section in re.findall(r"^\.Xr (cprof\S*) (\d)", path.read_text(), re.MULTILINE):
            assert (MAN / f"{name}.{section}").exists(), f"{path.name} refers to {name}({section})"


@pytest.mark.parametrize("path", sorted(MAN.iterdir()), ids=lambda path: path.name)
def test_the_page_is_clean_mdoc(runner, need, path):
    result = runner.run(need.tool("mandoc"), "-T", "lint", "-W", "warning", path)
    assert result.returncode == 0, result.stdout


def keys_of(value):
    """All keys of a JSON document; not the names of events, which are keys of `counters`."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    found = set(value)
    for key, member in value.items():
        found |= keys_of(list(member.values()) if key == "counters" else member)
    return found


def keys_in_page(name):
    """Those of the JSON on the page, without events."""
    blocks = re.findall(r"^\.Bd -literal.*?\n(\{.*?)^\.Ed", page(name), re.MULTILINE | re.DOTALL)
    text = re.sub(r'("counters": \{)"\w+": ', r"\1", "".join(blocks))
    return set(re.findall(r'"(\w+)":', text))


def test_the_json_of_a_report_is_on_its_page(record, programs, need):
    need.perf()
    profile = record("sh", "-c", f"{programs / 'burn'} 300; {programs / 'heap_sites'} 100", status=None)
    documents = [profile.report(*view) for view in ((), ("callers",), ("modules",), ("threads",), ("timeline",))]
    assert keys_of(documents) == keys_in_page("cprof-report.1")


def test_the_json_of_stat_is_on_its_page(run):
    over_time = run("stat", "--json", "-o", "-", "-I", "50", "sleep", "0.2")
    compared = run("stat", "--json", "-o", "-", "-r", "2", "--", "true", "---", "true")
    assert keys_of([json.loads(result.stdout) for result in (over_time, compared)]) == keys_in_page("cprof-stat.1")
