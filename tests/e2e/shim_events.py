# SPDX-License-Identifier: MIT
"""A program under the shim, with tests/programs/heap_events in the place of the recorder.

    def test_every_free_is_there(events, programs):
        image = events(programs / "heap_every").image
        assert image["frees"] == 36
"""

import json
import subprocess

import pytest

ELIDED, STOP = 0xFFFFFFFE, 0xFFFFFFFF
STATE_LIVE, STATE_OFF = 1, 2
REASON_RECORDER_GONE, REASON_SANITIZER, REASON_FOREIGN_MALLOC, REASON_NO_RINGS, REASON_SECCOMP = 1, 2, 3, 6, 8


class Events:
    """What a run under the shim did."""

    def __init__(self, result, events):
        self.status, self.stdout, self.stderr = result.returncode, result.stdout, result.stderr
        self.gaps = events["gaps"]
        self.user_us, self.events = events["user_us"], events["events"]
        self.images = events["images"]

    @property
    def image(self):
        assert len(self.images) == 1
        return self.images[0]

    def numbers(self):
        """The numbers that the program printed of itself."""
        return [int(word) for word in self.stdout.split()]


def sound(image):
    """What must hold for every image that was tracked to its end."""
    for wrong in ("unknown_frees", "unknown_reallocs", "duplicates", "out_of_order", "bad_nodes",
                  "lost", "missed"):
        assert image[wrong] == 0, (wrong, image["argv"])
    assert image["state"] == STATE_LIVE and image["reason"] == 0
    for name in ("allocations", "reallocations", "frees"):
        assert image["counted_" + name] == image[name]
    assert image["counted_bytes"] == image["allocated_bytes"]


@pytest.fixture
def shim(cprof):
    return cprof.parent / "libcprof-heap.so"


@pytest.fixture
def events(runner, programs, shim, tmp_path):
    """events(program, *arguments): its Events.  options: of heap_events; behind: preloaded too."""
    def run(*command, options=(), behind="", check=True, **how):
        out = tmp_path / "events.json"
        preload = f"{shim}:{behind}" if behind else str(shim)
        result = runner.run("sh", "-c", 'exec "$@" 3>"$0"', out, programs / "heap_events", *options,
                            preload, *command, **how)
        events = Events(result, json.loads(out.read_text()))
        if check:
            assert result.returncode == 0, result.stderr
            assert events.gaps == 0
            for image in events.images:
                sound(image)
        return events
    return run


def build(tmp_path, name, source, *options):
    (tmp_path / f"{name}.c").write_text(source)
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", tmp_path / name, tmp_path / f"{name}.c", *options], check=True)
    return tmp_path / name
