# SPDX-License-Identifier: MIT
"""What the tests of `cprof stat` share."""

import json


def stat_document(runner, *arguments, status=0, **options):
    """What `cprof stat --json ARGUMENTS` writes, parsed."""
    result = runner.cprof_run("stat", "--json", "-o", "stat.json", *arguments, **options)
    assert result.returncode == status, result.stderr
    document = json.loads((runner.folder / "stat.json").read_text())
    assert set(document) == {"commands", "comparison"}
    return document


def stat(runner, *arguments, **options):
    """The command object of a single command."""
    document = stat_document(runner, *arguments, **options)
    assert document["comparison"] == []
    return document["commands"][0]


def perf_counts(runner, events, *command):
    """perf's own counts of the same events, by name."""
    result = runner.run("perf", "stat", "-x", ";", "-o", "perf.csv", "-e", events, "--", *command)
    assert result.returncode == 0, result.stderr
    lines = [line.split(";") for line in (runner.folder / "perf.csv").read_text().splitlines() if ";" in line]
    return {line[2]: float(line[0]) for line in lines}


def events_of(command):
    return {event["name"]: event for event in command["events"]}
