# SPDX-License-Identifier: MIT
"""Programs with an allocator that a preloaded malloc does not reach: it is named, never an empty heap."""

import subprocess

import pytest

SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
void *MALLOC(size_t size);
int main(void)
{
	for (int i = 0; i < 2000; i++) {
		char *block = MALLOC(1000);
		memset(block, 1, 1000);
	}
	free(malloc(77));
	return 0;
}
"""

ARENA = """
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	size_t size = 200 << 20;
	char *arena = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(arena, 1, size);
	free(malloc(77));
	usleep(300000);
	return 0;
}
"""


def untracked(report):
    return [row["detail"] for row in report["quality"] if row["kind"] == "untracked"]


@pytest.fixture
def build(tmp_path, need):
    def run(function, *options, source=SOURCE):
        (tmp_path / "app.c").write_text(source)
        need.tool("gcc")
        subprocess.run(["gcc", "-O1", "-fno-builtin", f"-DMALLOC={function}", "-o", tmp_path / "app",
                        tmp_path / "app.c", *options], check=True)
        return tmp_path / "app"
    return run


def prefixed(tmp_path, need, prefix):
    """jemalloc under another name, as Rust's crates build it."""
    archive = need.file("/usr/lib/x86_64-linux-gnu/libjemalloc_pic.a", "libjemalloc-dev")
    names = subprocess.run(["nm", "--defined-only", "-g", "--format=posix", archive], text=True, capture_output=True)
    public = {line.split()[0] for line in names.stdout.splitlines() if " " in line}
    rename = tmp_path / "rename"
    rename.write_text("".join(f"{name} {prefix}{name}\n" for name in public if not name.startswith("_")))
    out = tmp_path / "libprefixed.a"
    subprocess.run(["objcopy", f"--redefine-syms={rename}", archive, out], check=True)
    return out


LINKED = ["-lpthread", "-ldl", "-lm", "-lstdc++"]


@pytest.mark.parametrize("archive, function, name", [("libjemalloc_pic.a", "malloc", "jemalloc"),
                                                     ("libtcmalloc_minimal.a", "tc_malloc", "tcmalloc")])
def test_one_linked_in_statically_is_named(record, build, need, archive, function, name):
    file = need.file(f"/usr/lib/x86_64-linux-gnu/{archive}", "the allocator's -dev package")
    report = record(build(function, file, *LINKED), options=["--cpu=off"]).report()
    assert any(f"has {name} in it" in detail and "shared library" in detail for detail in untracked(report))
    assert report["heap"]["tracked"] or "malloc of its own" in report["heap"]["reason"]


def test_one_under_a_prefix_is_named(record, build, need, tmp_path):
    need.tool("objcopy")
    archive = prefixed(tmp_path, need, "_rjem_")
    report = record(build("_rjem_malloc", archive, *LINKED), options=["--cpu=off"]).report()
    assert any("has jemalloc in it (_rjem_" in detail for detail in untracked(report))
    assert report["heap"]["tracked"] and report["heap"]["frees"] >= 1


def test_one_in_a_static_executable_is_named(record, build, need):
    file = need.file("/usr/lib/x86_64-linux-gnu/libjemalloc.a", "libjemalloc-dev")
    report = record(build("malloc", "-static", file, *LINKED), options=["--cpu=off"]).report()
    assert "static executable" in report["heap"]["reason"]
    assert any("has jemalloc in it" in detail for detail in untracked(report))


def test_one_that_a_program_calls_in_a_library_is_named(record, build, need):
    library = need.file("/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "libmimalloc2.0")
    report = record(build("mi_malloc", library), options=["--cpu=off"]).report()
    assert any("has mimalloc in it (mi_malloc)" in detail for detail in untracked(report))


LIBRARY = """
#include <stdlib.h>
void *_rjem_malloc(size_t size);
void *library_block(size_t size)
{
	free(malloc(99));
	return _rjem_malloc(size);
}
"""


def test_one_inside_a_library_is_named(record, build, need, tmp_path):
    """Bundled, as extension modules do, and hidden: only the library's own symbol table tells."""
    need.tool("objcopy")
    archive = prefixed(tmp_path, need, "_rjem_")
    (tmp_path / "part.c").write_text(LIBRARY)
    library = tmp_path / "libpart.so"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", library, tmp_path / "part.c", archive,
                    "-Wl,--exclude-libs,ALL", *LINKED], check=True)
    report = record(build("library_block", library, f"-Wl,-rpath,{tmp_path}"), options=["--cpu=off"]).report()
    assert any("libpart.so: has jemalloc in it (_rjem_" in detail for detail in untracked(report))


@pytest.mark.parametrize("library", ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"])
def test_one_in_the_place_of_malloc_is_seen(record, build, need, library):
    path = need.file(f"/usr/lib/x86_64-linux-gnu/{library}", "the allocator")
    report = record(build("malloc"), options=["--cpu=off"], env={"LD_PRELOAD": str(path)}).report()
    assert untracked(report) == [] and report["heap"]["allocations"] >= 2001
    assert report["heap"]["allocator"].startswith(library.split(".")[0])


def test_memory_that_a_program_maps_itself_is_said(record, build):
    profile = record(build("malloc", source=ARENA), options=["--cpu=off"])
    [detail] = untracked(profile.report())
    assert "app: has had 2" in detail and "but no more than" in detail and "maps memory itself" in detail
    assert "maps memory itself" in profile.text("quality")


def test_an_ordinary_program_has_no_allocator_of_its_own(record, build):
    assert untracked(record(build("malloc"), options=["--cpu=off"]).report()) == []
