# SPDX-License-Identifier: MIT
"""CPU time where perf is refused: threads stopped by ptrace for a moment."""

import json

import pytest


@pytest.fixture
def record_stops(runner, programs, cprof):
    """record_stops(program, *args): recorded without perf, as a report."""
    def record(*command, options=("--heap=off",), status=0, filter=("1",), **kwargs):
        result = runner.run(programs / "noperf", *filter, cprof, "record", *options, "--", *command, **kwargs)
        assert result.returncode == status, result.stderr
        report = json.loads(runner.cprof_run("report", "--json").stdout)
        report["stderr"] = " ".join(result.stderr.split())
        return report

    return record


def functions_of(report):
    return {function["name"]: function for function in report["cpu"]["functions"]}


@pytest.mark.parametrize("error", [1, 38])
def test_shares_are_right_and_the_event_has_its_own_name(record_stops, programs, error):
    report = record_stops(programs / "burn", 2000, status=3, filter=(error,))
    cpu, functions = report["cpu"], functions_of(report)
    assert cpu["event"] == "cpu-time" and cpu["unit"] == "ns"
    assert cpu["substituted_for"] == "cycles" and "seccomp" in cpu["reason"]
    assert cpu["counters"]["cycles"]["status"] == "not-permitted"
    assert cpu["ipc"] is None
    assert "sampled cpu-time" in report["stderr"] and "--cap-add=PERFMON" in report["stderr"]
    assert functions["seventy"]["self"] == pytest.approx(0.7, abs=0.15)
    assert functions["thirty"]["self"] == pytest.approx(0.3, abs=0.15)
    assert functions["main"]["total"] > 0.9
    assert cpu["counters"]["cpu-time"]["value"] == pytest.approx(2e9, rel=0.1)
