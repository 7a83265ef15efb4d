# SPDX-License-Identifier: MIT
"""ELF files: how some are built for a test, and what readelf and nm say of them."""

import collections
import random
import re
import subprocess
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "programs"


def output(*command, **options):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True, **options).stdout


def make(*command, cwd):
    result = subprocess.run([str(c) for c in command], cwd=cwd, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def source(folder, name, text):
    """The folder, with the text in a file of that name."""
    (folder / name).write_text(text)
    return folder


def section(path, name, what=None):
    """(address, size), or the offset."""
    for line in output("readelf", "-SW", path).splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 5 and words[1] == name:
            address, offset, size = (int(word, 16) for word in words[3:6])
            return offset if what == "offset" else (address, size)
    return None


def symbol(path, name):
    """Its address."""
    return next(int(line.split()[0], 16) for line in output("nm", path).splitlines() if line.split()[-1] == name)


def functions(path):
    """(address, size) of each function that a symbol table lists."""
    found = set()
    for line in output("readelf", "-sW", path).splitlines():
        words = line.split()
        if len(words) >= 8 and words[3] in ("FUNC", "IFUNC") and words[6] != "UND" and int(words[2], 0):
            found.add((int(words[1], 16), int(words[2], 0)))
    return sorted(found)


def pick_addresses(path, nr, listed=None):
    """A third each: starts and middles of functions, anywhere in functions, anywhere in .text.  Fewer only if there are."""
    chance = random.Random(7)
    known = functions(listed or path)
    start, size = section(path, ".text")
    picked = {address + length // 2 * middle for middle in (0, 1)
              for address, length in chance.sample(known, min(len(known), nr // 6))}

    def add(up_to, pick):
        for _ in range(20 * nr):
            if len(picked) < up_to:
                picked.add(pick())

    def in_a_function():
        address, length = chance.choice(known)
        return address + chance.randrange(length)
    add(2 * nr // 3, in_a_function)
    add(nr, lambda: start + chance.randrange(size))
    return sorted(picked)


def symbols_by_address(*paths):
    found = collections.defaultdict(set)
    for path in paths:
        for option in ([], ["-D"]):
            lines = subprocess.run(["nm", *option, str(path)], capture_output=True, text=True).stdout.splitlines()
            for words in map(str.split, lines):
                if len(words) == 3:
                    found[int(words[0], 16)].add(words[2].split("@")[0])
    return list(found.values())


def unsized_symbols(*paths):
    lines = [line.split() for path in paths for line in output("readelf", "-sW", path).splitlines()]
    return {words[7].split("@")[0] for words in lines if len(words) >= 8 and words[2] == "0" and words[6].isdigit()}


def build_id(path):
    return re.search(r"Build ID: (\w+)", subprocess.run(["readelf", "-n", str(path)], capture_output=True,
                                                        text=True).stdout).group(1)


def debug_file(path):
    name = build_id(path)
    return Path(f"/usr/lib/debug/.build-id/{name[:2]}/{name[2:]}.debug")


def stripped_program(folder, *link, program="pages.c"):
    make("gcc", "-O2", "-g", *link, "-o", "app", SOURCES / program, cwd=folder)
    make("objcopy", "--only-keep-debug", "app", "app.debug", cwd=folder)
    address = symbol(folder / "app", "main")
    make("strip", "--strip-all", "app", cwd=folder)
    return folder / "app", folder / "app.debug", address
