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
	size_t size = MIB << 20;
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


EARLY = r'''
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char arena[1 << 20];
static size_t used;
static int started;

static void start(void)
{
	char name[16];

	syscall(SYS_getppid);
	prctl(PR_GET_NAME, name, 0, 0, 0);
	started = 1;
}

void *malloc(size_t size)
{
	void *block;

	pthread_mutex_lock(&lock);
	if (!started)
		start();
	block = arena + used;
	used += (size + 31) / 16 * 16;
	pthread_mutex_unlock(&lock);
	return block;
}

void *calloc(size_t number, size_t size) { return malloc(number * size); }
void *realloc(void *block, size_t size) { return malloc(size); }
void free(void *block) { }
int main(void) { puts("done"); return started ? 0 : 1; }
'''


def test_one_that_makes_system_calls_with_its_lock_held_before_us(record, build, tmp_path):
    """As jemalloc does, by the first allocation of libstdc++, whose start comes before that of a preloaded library."""
    (tmp_path / "first.c").write_text("""
        #include <stdlib.h>
        void *first;
        __attribute__((constructor)) static void start(void) { first = malloc(10); }
    """)
    library = tmp_path / "libfirst.so"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-shared", "-fPIC", "-o", library, tmp_path / "first.c"], check=True)
    program = build("malloc", "-Wl,--no-as-needed", library, f"-Wl,-rpath,{tmp_path}", source=EARLY)
    profile = record(program, options=["--cpu=off"], timeout=20)
    assert profile.stdout == "done\n"
    assert "malloc of its own" in profile.report()["heap"]["reason"]


REPLACING = ["libjemalloc.so.2", "libmimalloc.so.2", "libtcmalloc_minimal.so.4"]


@pytest.mark.parametrize("library", REPLACING)
def test_one_in_the_place_of_malloc_is_seen(record, build, need, library):
    path = need.file(f"/usr/lib/x86_64-linux-gnu/{library}", "the allocator")
    report = record(build("malloc"), options=["--cpu=off"], env={"LD_PRELOAD": str(path)}).report()
    assert untracked(report) == [] and report["heap"]["allocations"] >= 2001
    assert report["heap"]["allocator"].startswith(library.split(".")[0])


# Every new and delete there is, in two threads, and with an argument one that throws; it prints what went through them: how many blocks and bytes of
# new, of new[], and how many were freed.
NEW = """
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>
typedef std::align_val_t align;
static const std::nothrow_t &quiet = std::nothrow;
static std::atomic<long> blocks, bytes, array_blocks, array_bytes, frees;
static void *one(void *block, size_t size)
{
	blocks++;
	bytes += size;
	return block;
}
static void *array(void *block, size_t size)
{
	array_blocks++;
	array_bytes += size;
	return block;
}
__attribute__((noinline)) static void work(size_t n)
{
	operator delete(one(operator new(n), n));
	operator delete(one(operator new(n), n), n);
	operator delete(one(operator new(n, quiet), n), quiet);
	operator delete(one(operator new(n, align(64)), n), align(64));
	operator delete(one(operator new(n, align(64)), n), n, align(64));
	operator delete(one(operator new(n, align(64), quiet), n), align(64), quiet);
	operator delete[](array(operator new[](n), n));
	operator delete[](array(operator new[](n), n), n);
	operator delete[](array(operator new[](n, quiet), n), quiet);
	operator delete[](array(operator new[](n, align(64)), n), align(64));
	operator delete[](array(operator new[](n, align(64)), n), n, align(64));
	operator delete[](array(operator new[](n, align(64), quiet), n), align(64), quiet);
	frees += 12;
	one(operator new(n), n);
}
static const volatile size_t too_much = PTRDIFF_MAX;
int main(int argc, char **)
{
	std::thread other([] { for (size_t n = 1; n < 500; n++) work(n); });
	for (size_t n = 1; n < 500; n++)
		work(n);
	other.join();
	try {
		if (argc > 1)
			(void)operator new(too_much);
	} catch (const std::bad_alloc &) {
		operator delete(one(operator new(7), 7));
		frees++;
	}
	if (!operator new(too_much, quiet))
		operator delete(nullptr);
	printf("%ld %ld %ld %ld %ld\\n", blocks.load(), bytes.load(), array_blocks.load(), array_bytes.load(), frees.load());
	return 0;
}
"""


def build_cxx(tmp_path, need, *options):
    need.tool("g++")
    (tmp_path / "new.cc").write_text(NEW)
    subprocess.run(["g++", "-std=c++17", "-O1", "-g", "-fno-builtin", "-pthread", "-o", tmp_path / "new",
                    tmp_path / "new.cc", *options], check=True)
    return tmp_path / "new"


def of_leaf(profile, leaf):
    """What the program's own calls of one function allocated and freed: blocks, bytes, frees, what is left."""
    sites = [site for site in profile.report("--limit", "10000")["heap"]["sites"]
             if site["stack"][-1] == leaf and site["stack"][-2].split("(")[0] in ("work", "main")]
    return [sum(site[figure] for site in sites) for figure in ("allocations", "allocated_bytes", "frees", "live_blocks")]


def in_the_place_of_malloc(tmp_path, need, library, how):
    """The program with it, and the environment."""
    path = need.file(f"/usr/lib/x86_64-linux-gnu/{library}", "the allocator")
    if how == "linked":
        return build_cxx(tmp_path, need, "-Wl,--no-as-needed", path), {}
    return build_cxx(tmp_path, need), {"LD_PRELOAD": str(path)}


@pytest.mark.parametrize("library", REPLACING)
@pytest.mark.parametrize("how", ["preloaded", "linked"])
@pytest.mark.parametrize("binding", ["", "1"])
def test_operators_new_of_an_allocator_count_as_malloc_does(record, need, tmp_path, library, how, binding):
    """What such a library has beside malloc, in all variants."""
    app, env = in_the_place_of_malloc(tmp_path, need, library, how)
    check_operators(record(app, options=["--cpu=off"], env={**env, "LD_BIND_NOW": binding}), library)


@pytest.mark.parametrize("how", ["preloaded", "linked"])
def test_operators_new_count_for_an_ordinary_user(nobody, need, how):
    app, env = in_the_place_of_malloc(nobody.folder, need, REPLACING[0], how)
    check_operators(nobody.record(app, options=["--cpu=off"], env=env), REPLACING[0])


def check_operators(profile, library):
    blocks, size, array_blocks, array_size, frees = map(int, profile.stdout.split())
    assert blocks == 2 * 499 * 7 and frees == blocks + array_blocks - 2 * 499
    assert of_leaf(profile, "operator new[]") == [array_blocks, array_size, array_blocks, 0]
    assert of_leaf(profile, "operator new") == [blocks, size, frees - array_blocks, 2 * 499]
    report = profile.report()
    assert untracked(report) == [] and report["heap"]["allocator"].startswith(library.split(".")[0])
    assert profile.spoiled_heap() == []


@pytest.mark.parametrize("library", [REPLACING[0], REPLACING[2]])
def test_an_operator_new_of_an_allocator_may_throw(record, need, tmp_path, library):
    """Through the shim, which goes on as before.  (mimalloc's ends the program.)"""
    app, env = in_the_place_of_malloc(tmp_path, need, library, "preloaded")
    profile = record(app, "throw", options=["--cpu=off"], env=env)
    blocks, size, array_blocks, _, frees = map(int, profile.stdout.split())
    assert blocks == 2 * 499 * 7 + 1
    assert of_leaf(profile, "operator new") == [blocks, size, frees - array_blocks, 2 * 499]
    # The exception is made inside of new, where nothing else counts, and freed outside.
    [(kind, detail, count)] = profile.spoiled_heap()
    assert kind == "bounded" and "never seen allocated" in detail and count == 1


@pytest.mark.parametrize("mode", ["sample=1K", "counts"])
def test_operators_new_of_an_allocator_are_counted_where_blocks_are_not_followed(record, need, tmp_path, mode):
    app, env = in_the_place_of_malloc(tmp_path, need, REPLACING[0], "preloaded")
    profile = record(app, options=["--cpu=off", f"--heap={mode}"], env=env)
    blocks, size, array_blocks, array_size, frees = map(int, profile.stdout.split())
    heap = profile.report()["heap"]
    assert blocks + array_blocks <= heap["allocations"] <= blocks + array_blocks + 20
    assert frees <= heap["frees"] <= frees + 20
    assert heap["allocated_bytes"] >= size + array_size


def test_operators_new_that_call_malloc_count_once(record, need, tmp_path):
    profile = record(build_cxx(tmp_path, need), options=["--cpu=off"])
    blocks, _, array_blocks, _, frees = map(int, profile.stdout.split())
    report = profile.report()
    assert untracked(report) == []
    assert blocks + array_blocks <= report["heap"]["allocations"] <= blocks + array_blocks + 20
    assert frees <= report["heap"]["frees"] <= frees + 20
    assert not [site for site in report["heap"]["sites"] if site["stack"][-1].startswith("operator")]


# A program in C, to which C++ comes with plugins: one has its own new, the other that of a library.
HOST = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
	printf("%d", !!dlsym(RTLD_DEFAULT, "_Znwm"));
	for (int i = 1; i < argc; i++) {
		void *plugin = dlopen(argv[i], RTLD_NOW);
		int (*run)(void) = plugin ? (int (*)(void))dlsym(plugin, "run") : NULL;
		printf(" %d", run ? run() : -1);
	}
	printf(" %d\\n", !!dlsym(RTLD_DEFAULT, "_Znwm"));
	return 0;
}
"""

PLUGIN = """
#include <string>
#include <cstdlib>
#include <new>
static int mine;
#ifdef OWN
static char arena[1 << 20], *next = arena;
void *operator new(std::size_t size)
{
	mine++;
	next += (size + 31) / 16 * 16;
	return next - size / 16 * 16 - 16;
}
void operator delete(void *block) noexcept { mine += block >= arena && block < arena + sizeof(arena) ? 100 : 10000; }
void operator delete(void *block, std::size_t) noexcept { operator delete(block); }
#endif
extern "C" int run()
{
	for (int i = 0; i < 5; i++)
		operator delete(operator new(10));
	std::string *text = new std::string(300, 'x');	/* of libstdc++, which finds the same */
	delete text;
	return mine;
}
"""


def test_plugins_have_the_operators_new_that_they_have_without_cprof(record, runner, need, tmp_path):
    """The names that the shim stands in front of are nobody's who is loaded later."""
    need.tool("g++")
    (tmp_path / "host.c").write_text(HOST)
    (tmp_path / "plugin.cc").write_text(PLUGIN)
    subprocess.run(["gcc", "-o", tmp_path / "host", tmp_path / "host.c", "-ldl"], check=True)
    plugins = [tmp_path / "own.so", tmp_path / "plain.so"]
    for plugin, option in zip(plugins, ["-DOWN", "-DPLAIN"]):
        subprocess.run(["g++", "-O1", "-fno-builtin", option, "-shared", "-fPIC", "-o", plugin, tmp_path / "plugin.cc"],
                       check=True)
    for order in (plugins, plugins[::-1]):
        for binding in ("", "1"):
            env = {"LD_BIND_NOW": binding}
            alone = runner.run(tmp_path / "host", *order, env=env)
            profile = record(tmp_path / "host", *order, options=["--cpu=off"], env=env)
            assert profile.stdout == alone.stdout != "" and alone.returncode == 0
            assert alone.stdout.startswith("0 ") and "-1" not in alone.stdout
            assert profile.report()["heap"]["frees"] >= 6


@pytest.mark.parametrize("mib", [20, 200])
def test_memory_that_a_program_maps_itself_is_said(mib, record, build):
    profile = record(build("malloc", f"-DMIB={mib}", source=ARENA), options=["--cpu=off"])
    report = profile.report()
    [detail] = untracked(report)
    assert "app: the blocks of malloc are tracked, but were no more than" in detail
    assert " of the 2" in detail and "map memory itself" in detail
    assert report["processes"][0]["tracked"] is True
    assert "map memory itself" in " ".join(profile.text("quality").split())


def test_an_ordinary_program_has_no_allocator_of_its_own(record, build):
    assert untracked(record(build("malloc"), options=["--cpu=off"]).report()) == []
