# SPDX-License-Identifier: MIT
"""Projects of others, from Debian's sources: configured and built under cprof as without it."""

import shutil
import time

import pytest

from sums import check_stored_sums

TIME_LIMIT_S = 3600
COMPILER = "/usr/bin/gcc"
# Its search for the limits of memory runs in an address space of a few megabytes.
ALLOWED_REASON = "%address space%"


def debian_source(runner, name):
    """Unpacks the upstream source of the package, got by an apt of its own, in the folder `pristine`."""
    apt = runner.folder / "apt"
    for folder in ("lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "sources.list").write_text("deb-src http://deb.debian.org/debian bookworm main\n")
    get = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={apt}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", f"Dir::State::Lists={apt}/lists", "-o", f"Dir::Cache={apt}/cache"]
    for command in (["update"], ["source", "--download-only", name]):
        result = runner.run(*get, *command)
        if result.returncode:
            pytest.skip(f"Debian's source of {name} cannot be had: {result.stderr.strip()[-300:]}")
    (archive,) = runner.folder.glob(f"{name}_*.orig.tar.*z")
    assert runner.run("tar", "xf", archive).returncode == 0
    (source,) = runner.folder.glob(f"{name}-*")
    source.rename(runner.folder / "pristine")


def contents(runner, folder):
    """Of all files; of an archive those of its members, which also have times.  The log of configure
    tells when, and as which processes, it ran."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".a":
            files[path.name] = runner.run("ar", "p", path, text=False).stdout
        elif path.is_file() and path.name != "config.log":
            files[str(path.relative_to(folder))] = path.read_bytes()
    return files


def steps():
    return {"configure": ["../source/configure", "-C", f"CC={COMPILER}"], "make": ["make", "-j2"]}


def build(runner, run):
    """What run(name, command, folder) makes of it: always in the same folders, since their names get
    into results, and from the same source, where some of the results may go."""
    source, folder = runner.folder / "source", runner.folder / "build"
    shutil.copytree(runner.folder / "pristine", source)
    folder.mkdir()
    outcomes = {name: run(name, command, folder) for name, command in steps().items()}
    files = contents(runner, folder)
    shutil.rmtree(source)
    shutil.rmtree(folder)
    return outcomes, files


def build_plainly(runner):
    def run(name, command, folder):
        start = time.monotonic()
        result = runner.run(*command, cwd=folder, timeout=TIME_LIMIT_S)
        assert result.returncode == 0, result.stderr
        print(f"{name} plain: {time.monotonic() - start:.1f} s")
        return result.stdout
    return build(runner, run)


def build_recorded(runner):
    profiles = {}

    def run(name, command, folder):
        start = time.monotonic()
        profile = runner.record(*command, options=["--no-symbols"], output=f"{name}.cprof", cwd=folder,
                                timeout=TIME_LIMIT_S)
        profile.path = (folder / f"{name}.cprof").rename(runner.folder / f"{name}.cprof")
        profiles[name] = profile
        print(f"{name} recorded: {time.monotonic() - start:.1f} s, {profile.path.stat().st_size} bytes, "
              f"{profile.sql('SELECT count(*) FROM process')[0][0]} images")
        return profile.stdout
    return (*build(runner, run), profiles)


def check_tree(profile):
    """One tree of images, each with what it ran, its end and its heap."""
    assert profile.sql("SELECT value FROM meta WHERE key = 'complete'") == [(1,)]
    assert profile.sql("SELECT * FROM quality WHERE kind = 'bounded'") == []
    assert profile.sql("SELECT executable, reason FROM v_process WHERE executed AND NOT tracked AND NOT "
                       "(executable LIKE '%/conftest' AND reason LIKE ?)", ALLOWED_REASON) == []
    assert profile.sql("SELECT count(*) FROM v_process WHERE executed AND command = '[]'") == [(0,)]
    assert profile.sql("SELECT count(*) FROM v_process WHERE NOT replaced AND exit_status IS NULL "
                       "AND signal IS NULL") == [(0,)]
    check_stored_sums(profile)


def images(profile, program):
    """How many there are, with a heap, and that ended well."""
    return profile.sql("SELECT count(*), sum(tracked AND allocations > 0), sum(exit_status = 0) FROM v_process "
                       f"WHERE executed AND executable LIKE '%/{program}'")[0]


@pytest.mark.long
@pytest.mark.time_limit(TIME_LIMIT_S)
@pytest.mark.parametrize("name, results", [("dash", ["src/dash", "config.h"]), ("gzip", ["gzip", "lib/config.h"])])
def test_is_configured_and_built_as_without_cprof(runner, need, name, results):
    for tool in ("apt-get", "make", "ar"):
        need.tool(tool)
    need.file(COMPILER, "the compiler itself, not a cache of it")
    debian_source(runner, name)

    plain, files = build_plainly(runner)
    recorded, again, profiles = build_recorded(runner)
    assert recorded["configure"] == plain["configure"]
    assert sorted(recorded["make"].splitlines()) == sorted(plain["make"].splitlines())
    assert sorted(again) == sorted(files)
    assert [path for path in files if again[path] != files[path]] == []
    assert {"config.cache", *results} <= set(files)

    for profile in profiles.values():
        check_tree(profile)
    objects = [path for path in files if path.endswith(".o")]
    assert images(profiles["make"], "%as")[0] >= len(objects) > 20
    for step, program in (("make", "cc1"), ("make", "%as"), ("configure", "cc1")):
        count, tracked, well = images(profiles[step], program)
        assert count == tracked >= well > 20
