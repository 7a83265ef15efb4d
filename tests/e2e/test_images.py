# SPDX-License-Identifier: MIT
"""The images of a tree are the same whether perf tells of them, looks at /proc now and then, or only what they say."""

import pytest

from conftest import Profile

MODES = {"perf": None, "by ptrace": (1,), "refused": ("-p", 1)}    # programs/noperf

SCRIPTS = {
    "a.sh": "exec bash b.sh",
    "b.sh": "exec bash c.sh",
    "c.sh": "for ((i = 0; i < 200000; i++)); do :; done",
    "tree.sh": "./burn 200 & env ./burn 200 & wait; (./burn 100; ./burn 100); exec env ./burn 300",
}

# A program, and what the images are: of the pid of that letter, by that executable ("fork": it is its parent's).
TREES = {
    "an exec": (("sh", "-c", "exec ./burn 300"), "A0 dash, A1 burn"),
    "a chain": (("env", "sh", "-c", "exec nice env ./burn 300"), "A0 env, A1 dash, A2 nice, A3 env, A4 burn"),
    "the same program": (("bash", "a.sh"), "A0 bash, A1 bash, A2 bash"),
    "a tree": (("bash", "tree.sh"), "A0 bash, B0 fork, B1 burn, C0 fork, C1 env, C2 burn, D0 fork, D1 burn, E0 fork, "
               "E1 burn, A1 env, A2 burn"),
}


@pytest.fixture
def record_as(runner, programs, cprof):
    def record(mode, *command):
        refuse = (programs / "noperf", *MODES[mode]) if MODES[mode] else ()
        result = runner.run(*refuse, cprof, "record", "-q", "--no-symbols", "--", *command)
        return Profile(runner, runner.folder / "cprof.data", result)

    for name, text in SCRIPTS.items():
        (runner.folder / name).write_text(text + "\n")
    (runner.folder / "burn").symlink_to(programs / "burn")
    return record


def images(profile):
    """As in TREES; the letters are in the order of the pids."""
    rows = profile.sql("SELECT pid, image, executed, replace(executable, rtrim(executable, replace(executable, '/', '')), '') "
                       "FROM process")
    pids = sorted({pid for pid, *_ in rows})
    return {f"{chr(ord('A') + pids.index(pid))}{image} {name if executed or not image and pid == pids[0] else 'fork'}"
            for pid, image, executed, name in rows}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tree", TREES)
def test_each_is_there_once_and_in_order(tree, mode, record_as):
    command, truth = TREES[tree]
    profile = record_as(mode, *command)
    assert images(profile) == set(truth.split(", "))
    assert profile.sql("SELECT * FROM process WHERE NOT tracked OR end_us < start_us") == []
    # One after the other, up to the last one, which was not replaced.
    assert profile.sql("SELECT a.id FROM process a LEFT JOIN process b ON b.pid = a.pid AND b.image = a.image + 1 "
                       "WHERE a.replaced != (b.id IS NOT NULL) OR a.end_us > b.start_us OR "
                       "(b.id AND a.parent IS NOT b.parent)") == []


@pytest.mark.parametrize("mode", ["perf", "by ptrace"])
@pytest.mark.parametrize("tree", ["an exec", "a chain"])
def test_its_samples_and_its_heap_are_of_one_image(tree, mode, record_as):
    command, _ = TREES[tree]
    profile = record_as(mode, *command)
    [(executable, heap)] = profile.sql("SELECT executable, allocations IS NOT NULL FROM v_process ORDER BY samples DESC LIMIT 1")
    assert executable.endswith("/burn") and heap
