# SPDX-License-Identifier: MIT
"""The frame around all commands: help, version, bad usage, output that cannot be written."""

import fcntl
import os
import pty
import re
import socket
import struct
import termios
from pathlib import Path

import pytest


def on_a_terminal(runner, *command, columns=80, **env):
    """What a command prints to a terminal of its own, and its status."""
    main, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    process = runner.start(*command, env={"TERM": "xterm", **env}, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    output = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # EIO: the last user of the terminal has gone
            break
        if not part:
            break
        output += part
    os.close(main)
    return process.wait(), output.decode().replace("\r\n", "\n")


def test_help_fits_a_screen_and_shows_an_example(run):
    result = run("--help")
    lines = result.stdout.splitlines()
    assert result.returncode == 0
    assert result.stderr == ""
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    assert "cprof record ./app" in result.stdout


def test_help_lists_every_command_and_each_has_help(run):
    listed = [line.split()[0] for line in run("--help").stdout.splitlines()
              if line.startswith("  ") and not line.startswith("  cprof")]
    assert listed
    for command in listed:
        result = run(command, "--help")
        assert result.returncode == 0, command
        assert result.stdout.startswith(f"Usage: cprof {command}")
        lines = result.stdout.splitlines()
        assert len(lines) <= {"record": 36, "report": 30, "stat": 28}.get(command, 24) and max(map(len, lines)) <= 80, command
        assert f"cprof {command}" in result.stdout.split("\n", 1)[1], f"no example in {command} --help"
        assert run("help", command).stdout == result.stdout


def test_usage_is_understood_with_a_command_and_without(run):
    listed = [line.split()[0] for line in run("--help").stdout.splitlines()
              if line.startswith("  ") and not line.startswith("  cprof")]
    result = run("--usage")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("usage: cprof COMMAND") and result.stdout.splitlines()[-1].split()[1:] == listed
    for command in listed:
        assert run(command, "--usage").returncode == 0


@pytest.mark.parametrize("command, page", [("record", "cprof-record.1"), ("report", "cprof-report.1"),
                                           ("stat", "cprof-stat.1"), ("symbolize", "cprof-symbolize.1")])
def test_every_option_of_the_help_is_in_the_manual(run, command, page):
    manual = (Path(__file__).parents[2] / "man" / page).read_text()
    shown = run(command, "--help").stdout
    options = set(re.findall(r"^ .*?--([a-z-]+)(?:=|  )", shown, re.MULTILINE)) - {"color", "debug"}
    assert options
    assert [o for o in sorted(options) if not re.search(rf"Fl -{o}\b", manual)] == []


def test_version_says_what_is_in(run):
    result = run("--version")
    assert result.returncode == 0
    assert result.stdout.startswith("cprof 0.")
    assert "libpfm" in result.stdout


def test_no_command_is_bad_usage(run):
    result = run()
    assert result.returncode == 64
    assert result.stdout == ""
    assert "usage: cprof COMMAND" in result.stderr


def test_unknown_command_names_the_one_meant(run):
    result = run("recrod")
    assert result.returncode == 64
    assert result.stdout == ""
    assert "'recrod' is not a command" in result.stderr
    assert "did you mean 'record'?" in result.stderr


def test_unknown_command_far_from_all_points_at_help(run):
    result = run("frobnicate")
    assert result.returncode == 64
    assert "did you mean" not in result.stderr
    assert "cprof --help" in result.stderr


@pytest.mark.parametrize("command, status", [("record", 125), ("stat", 125), ("report", 64)])
def test_unknown_option_names_it_and_points_at_help(run, command, status):
    result = run(command, "--frobnicate")
    assert result.returncode == status
    assert "--frobnicate" in result.stderr
    assert f"cprof {command} --help" in result.stderr


@pytest.mark.parametrize("command, status", [("record", 125), ("stat", 125), ("report", 64)])
def test_unknown_debug_domain_lists_the_known(run, command, status):
    result = run(command, "--debug=unwnd", "x")
    assert result.returncode == status
    assert "'unwnd'" in result.stderr and "unwind" in result.stderr


def test_verbose_tells_what_is_done(run):
    plain, verbose = run("stat", "true"), run("stat", "-v", "true")
    assert "cprof: target: true: pid " in verbose.stderr and "pid" not in plain.stderr


def test_unknown_color_mode_is_bad_usage(run):
    result = run("report", "--color=sometimes")
    assert result.returncode == 64
    assert "'sometimes' is none of: auto, always, never" in result.stderr


def test_where_the_locale_has_no_utf8_all_text_is_ascii_and_as_wide(record, programs, runner):
    program = runner.folder / "größe…漢"
    program.write_bytes((programs / "heap_wave").read_bytes())
    program.chmod(0o755)
    ascii_only = {"LC_ALL": "C"}
    profile = record(program, "a", 2, 10, 100000, 1000, env=ascii_only)
    assert profile.stderr.isascii() and " | 1 thread | " in profile.stderr
    for view in ("summary", "functions", "threads", "heap", "leaks", "timeline", "quality"):
        text = profile.text(view)
        result = runner.cprof_run("report", view, profile.path, env=ascii_only)
        assert result.stdout.isascii()
        wide = {"漢": "漢 "}
        assert [len(line) for line in result.stdout.splitlines()] == [
            len("".join(wide.get(c, c) for c in line)) for line in text.splitlines()]
    assert not profile.text().isascii()
    for output in ([], ["-o", "-"]):
        result = runner.cprof_run("stat", "-r", "2", *output, program, env=ascii_only)
        assert (result.stdout + result.stderr).isascii() and "2 runs" in result.stdout + result.stderr
    for locale, shown in (("C", "gr??e"), ("C.UTF-8", "größe")):
        for command in (["report", "größe"], ["record", "--größe"]):
            assert shown in runner.cprof_run(*command, env={"LC_ALL": locale}).stderr
    json = runner.cprof_run("report", "--json", profile.path, env=ascii_only).stdout
    assert json == runner.cprof_run("report", "--json", profile.path).stdout


def test_full_disk_under_standard_output_fails(run):
    with open("/dev/full", "w") as full:
        result = run("--help", stdout=full)
    assert result.returncode == 1
    assert "No space left on device" in result.stderr


def test_closed_standard_output_fails(runner, cprof):
    result = runner.run("sh", "-c", f"'{cprof}' --help >&-")
    assert result.returncode == 1
    assert "standard output" in result.stderr


def test_closed_standard_error_is_survived(runner, cprof):
    result = runner.run("sh", "-c", f"'{cprof}' frobnicate 2>&-")
    assert result.returncode == 64
    assert result.stdout == ""


def written_to_stderr(runner, *command, **options):
    """What each write(2) to standard error wrote: it is a packet there."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    runner.cprof_run(*command, stderr=theirs, **options)
    theirs.close()
    writes = []
    while text := ours.recv(1 << 20):
        writes.append(text.decode())
    ours.close()
    return writes


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
@pytest.mark.parametrize("command, first, last", [
    (["record", "true"], "exit 0", "more: cprof report"), (["stat", "-r", "2", "true"], "2 runs", "page-faults"),
    (["stat", "--json", "true"], "{", "}")])
def test_what_goes_to_standard_error_at_the_end_is_written_in_one_piece(runner, command, first, last, locale):
    """Others may write there meanwhile: jobs of a build, say."""
    [text] = written_to_stderr(runner, *command, env={"LC_ALL": locale})
    assert first in text and last in text and text.endswith("\n")


def test_reader_that_goes_away_fails_the_report_without_a_word(runner, record, cprof):
    profile = record("true")
    reader, writer = os.pipe()
    os.close(reader)
    result = runner.run(cprof, "report", profile.path, stdout=writer)
    os.close(writer)
    assert (result.returncode, result.stderr) == (1, "")


# --- the terminal --------------------------------------------------------------------------------

PAGER = "sed 's/^/paged: /'"


def test_a_report_goes_through_the_pager_on_a_terminal_only(runner, record, cprof):
    profile = record("true")
    status, shown = on_a_terminal(runner, cprof, "report", profile.path, PAGER=PAGER)
    assert status == 0
    assert all(line.startswith("paged: ") for line in shown.splitlines())
    piped = runner.run(cprof, "report", profile.path, env={"PAGER": PAGER})
    assert piped.returncode == 0 and "paged: " not in piped.stdout


@pytest.mark.parametrize("pager", ["", "cat"])
def test_an_empty_pager_is_none(runner, record, cprof, pager):
    profile = record("true")
    status, shown = on_a_terminal(runner, cprof, "report", profile.path, PAGER=pager)
    assert status == 0 and "exit 0" in shown


@pytest.mark.parametrize("pager", ["no-such-pager", "/no/such/pager -x", "/etc/passwd"])
def test_a_pager_that_cannot_be_run_costs_no_report(runner, record, cprof, pager):
    profile = record("true")
    for command in ("report", "report heap", "list"):
        words = [*command.split(), *([profile.path] if command != "list" else [])]
        status, shown = on_a_terminal(runner, cprof, *words, PAGER=pager, NO_COLOR="1")
        expected = on_a_terminal(runner, cprof, *words, PAGER="", NO_COLOR="1")
        assert status == 0 and pager.split()[0] in shown.splitlines()[0]
        assert (0, "\n".join(shown.splitlines()[1:]) + "\n") == expected


def test_leaving_the_pager_early_is_fine(runner, record, cprof):
    profile = record("true")
    status, shown = on_a_terminal(runner, cprof, "report", profile.path, PAGER="head -n 1")
    assert status == 0 and len(shown.splitlines()) == 1


def test_colour_is_for_terminals_and_for_who_asks(runner, record, cprof):
    profile = record("true")

    def coloured(*options, terminal=True, **env):
        command = [cprof, "report", *options, profile.path]
        if terminal:
            return "\x1b[" in on_a_terminal(runner, *command, PAGER="", **env)[1]
        return "\x1b[" in runner.run(*command, env=env).stdout

    assert coloured()
    assert not coloured(NO_COLOR="1")
    assert not coloured(TERM="dumb")
    assert not coloured("--color=never")
    assert coloured("--color=always", NO_COLOR="1")
    assert not coloured(terminal=False)
    assert coloured("--color=always", terminal=False)


def test_text_is_as_wide_as_the_terminal_or_columns_says(runner, record, cprof):
    profile = record("sh", "-c", ":")

    def width(**options):
        shown = on_a_terminal(runner, cprof, "report", "quality", profile.path, PAGER="", NO_COLOR="1", **options)[1]
        return max(map(len, shown.splitlines()))

    assert width(columns=60) <= 60 < width(columns=200)
    assert width(columns=200, COLUMNS="70") <= 70
