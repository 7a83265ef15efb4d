# SPDX-License-Identifier: MIT
"""The inline chains of llvm-symbolizer, and by what cprof's may differ from them.

llvm calls a function by some symbol at its start.  The classes of differences:

    clone        llvm shows which part or variant it is: foo.part.0, foo.cold
    constructor  llvm shows the symbol of one kind (C1, C2), we what the source has: one for all (C4)
    redirected   llvm shows the symbol that a header of libc makes of the function that the source calls: open64
    alias        another symbol of the same address
    version      llvm shows "@@GLIBC_2.34", or one that is superseded
    scope        llvm shows the bare name of what has no linkage name; we what it is in, too
    hidden       llvm shows glibc's internal linkage name (__GI_write) of a call that was inlined
    no symbol    llvm takes what is neither a function nor in a section of code (gcc's LTO leaves such)
    unsized      llvm gives a symbol without a size (__restore_rt) the padding after its function, too
    sequence     where one sequence of lines ends and another begins, libdw may give the last row of the former:
                 eu-addr2line says the same
    symbol file  where debug information has no file llvm takes the one that the symbol table names
"""

import collections
import json
import os
import re

from elf import output

CLONE = r"(\.(part|constprop|isra|cold|lto_priv|llvm|localalias|\d+))+$"
CLASSES = {"equal", "clone", "constructor", "redirected", "alias", "version", "scope", "hidden", "nameless",
           "no symbol", "unsized", "sequence", "symbol file"}


def llvm_chains(path, addresses):
    text = output("llvm-symbolizer", f"--obj={path}", "--output-style=JSON", "--no-demangle", "--inlines",
                  input="".join(f"{a:#x}\n" for a in addresses))
    chains = {}
    for line in text.splitlines():
        answer = json.loads(line)
        for entry in answer if isinstance(answer, list) else [answer]:
            chains[int(entry["Address"], 16)] = [
                (frame["FunctionName"], frame["FileName"], frame["Line"]) for frame in entry.get("Symbol", [])]
    return chains


def classify_name(shown, ours, theirs, outermost, aliases):
    if ours == theirs:
        return "equal" if ours else "nameless"
    plain = theirs.split("@")[0]
    if plain == ours:
        return "version"
    if re.sub(CLONE, "", plain) == ours:
        return "clone"
    if ours == re.sub(r"[CD][12](?=E)", lambda kind: kind[0][0] + "4", re.sub(CLONE, "", plain)):
        return "constructor"
    if outermost and any(plain in names and ours in {*names, *(re.sub(CLONE, "", n) for n in names)} for names in aliases):
        return "alias"
    if f"::{theirs}" in shown or shown.startswith(f"{theirs}("):
        return "scope"
    if theirs in (f"{ours}64", f"__isoc99_{ours}", f"__isoc23_{ours}"):
        return "redirected"
    if theirs.startswith("__GI_"):
        return "hidden"
    if outermost and re.fullmatch(r"\w+\.c\.[0-9a-f]{8}", theirs):
        return "no symbol"
    return "name"


def normal(path):
    return os.path.normpath(path) if path else ""


def classify(ours, theirs, aliases, unsized=()):
    """The classes of differences between two chains, innermost first."""
    if len(ours) == len(theirs) == 1 and not ours[0][1] and theirs[0][0] in unsized:
        return {"unsized"}
    if len(ours) != len(theirs):
        return {"chain"}
    classes = set()
    for i, ((shown, name, file, line), (llvm_name, llvm_file, llvm_line)) in enumerate(zip(ours, theirs)):
        classes.add(classify_name(shown, name, llvm_name, i == len(ours) - 1, aliases))
        if not file and not line and i == len(ours) - 1 and llvm_file and not llvm_line:
            classes.add("symbol file")
        elif (normal(file), line) != (normal(llvm_file), llvm_line):
            classes.add("file or line")
    return classes


def is_libdws(debug, address, ours):
    place = output("eu-addr2line", "-e", debug, hex(address)).split(":")
    return (normal(place[0]), place[1]) == (normal(ours[0][2]), str(ours[0][3]))


def compare(frames, chains, aliases, unsized=(), debug=None):
    """Asserts that all differences are of the known classes, and prints how many of each, with an example."""
    counts, examples = collections.Counter(), {}
    for address, theirs in chains.items():
        for one in classify(frames.at[address], theirs, aliases, unsized):
            if one == "file or line" and debug and is_libdws(debug, address, frames.at[address]):
                one = "sequence"
            counts[one] += 1
            examples.setdefault(one, (hex(address), frames.at[address], theirs))
    print(len(chains), "addresses:", dict(counts.most_common()))
    for one, (address, ours, theirs) in examples.items():
        print(f"  {one}: {address}\n    cprof {ours}\n    llvm  {theirs}")
    assert frames.debug == "full", frames.reason
    assert set(counts) <= CLASSES, {k: v for k, v in examples.items() if k not in CLASSES}
