# SPDX-License-Identifier: MIT
"""What cprof makes of addresses of a file.

    frames = resolve(library, [0x1234])     # a fixture
    frames.at[0x1234]                       # [(name, linkage name, file, line), ...], innermost first

The addresses are put into a recorded profile, then `cprof symbolize` runs on it.
"""

import collections
import sqlite3
from pathlib import Path

import pytest


class Frames:
    """What cprof makes of addresses: {address: [(name, linkage name, file, line), ...]}, innermost first."""

    def __init__(self, profile):
        self.profile = profile
        self.at = collections.defaultdict(list)
        for value, name, linkage, has_name, file, line in profile.sql(
                "SELECT a.value, f.name, f.linkage_name, f.has_name, file.path, r.line FROM frame r "
                "JOIN address a ON a.id = r.address JOIN function f ON f.id = r.function "
                "LEFT JOIN file ON file.id = r.file "
                "ORDER BY a.id, r.depth DESC"):
            raw = (linkage or name) if has_name else ""
            self.at[value & (2 ** 64 - 1)].append((name, raw, file or "", line or 0))
        self.quality = profile.sql("SELECT kind, detail, count FROM quality")
        [(self.debug, self.debug_path, self.reason)] = profile.sql("SELECT debug, debug_path, reason FROM module")

    def names(self):
        return {address: chain[-1][0] for address, chain in self.at.items()}


@pytest.fixture
def resolve(runner, record):
    """resolve(file, addresses, *options): Frames, from a profile with these addresses only."""
    def resolve(file, addresses, *options, kind="file", name=None, env=None):
        profile = record("true", options=["--heap=off", "--no-symbols"])
        put_addresses(profile.path, str(file), sorted(set(addresses)), kind, name or Path(file).name)
        result = runner.cprof_run("symbolize", *options, profile.path, env=env)
        assert result.returncode == 0, result.stderr
        return Frames(profile)
    return resolve


def put_addresses(path, file, addresses, kind, name):
    connection = sqlite3.connect(path)
    for table in ("first_sample", "later_sample", "sample_sum", "heap", "heap_site", "stack", "address", "frame",
                  "function", "file", "module", "quality"):
        connection.execute(f"DELETE FROM {table}")
    connection.execute("INSERT INTO module(id, kind, path, name, open_path, debug) VALUES(0, ?, ?, ?, ?, 'not-tried')",
                       (kind, file, name, file))
    signed = [a - 2 ** 64 if a >= 2 ** 63 else a for a in addresses]
    connection.executemany("INSERT INTO address(id, kind, module, value) VALUES(?, 0, 0, ?)", enumerate(signed))
    connection.executemany("INSERT INTO stack(id, parent, address) VALUES(?, NULL, ?)",
                           ((i, i) for i in range(len(addresses))))
    connection.executemany("INSERT INTO first_sample(id, time_us, thread, stack, event, weight) VALUES(?, 0, 0, ?, 0, 1)",
                           ((i, i) for i in range(len(addresses))))
    connection.commit()
    connection.close()
