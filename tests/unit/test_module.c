/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "object/module.h"

static struct modules modules;
static char folder[64];

static void make_folder(void)
{
	strcpy(folder, "/tmp/cprof-test-XXXXXX");
	cr_assert(ne(ptr, mkdtemp(folder), NULL));
}

/* Runs a shell command in the folder. */
static int run(const char *text)
{
	char *command = xasprintf("cd %s && %s", folder, text);
	int status = system(command);

	free(command);
	return status;
}

static void remove_folder(void)
{
	modules_release(&modules);
	run("rm -rf $PWD");
}

TestSuite(module, .init = make_folder, .fini = remove_folder);

static char *path_to(const char *name)
{
	return xasprintf("%s/%s", folder, name);
}

/* A small shared library with a build id that depends on the text. */
static char *build_library(const char *name, const char *text)
{
	if (system("command -v gcc >/dev/null"))
		cr_skip_test("no gcc to build a library with");

	char *path = path_to(name);
	char *command = xasprintf("echo 'int f(void) { return %s; }' | gcc -shared -fPIC "
				  "-Wl,--build-id=sha1 -x c - -o %s",
				  text, path);

	cr_assert(eq(int, system(command), 0));
	free(command);
	return path;
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	cr_assert(eq(int, stat(path, &st), 0));
	return st.st_ino;
}

static struct module *get(const char *path, uint64_t inode)
{
	return module_get(&modules, &(struct module_request){ .path = path, .inode = inode });
}

/* What readelf says. */
static char *build_id_of(const char *path)
{
	char *command = xasprintf("readelf -n %s | sed -n 's/.*Build ID: //p'", path);
	FILE *output = popen(command, "r");
	char line[256] = "";

	cr_assert(ne(ptr, fgets(line, sizeof(line), output), NULL));
	line[strcspn(line, "\n")] = '\0';
	pclose(output);
	free(command);
	return xstrdup(line);
}

Test(module, is_opened_and_known_by_its_build_id)
{
	char *path = build_library("a.so", "1"), *build_id = build_id_of(path);
	struct module *module = get(path, inode_of(path));

	cr_expect(ge(int, module->fd, 0));
	cr_expect(eq(int, (int)module->state, MODULE_THERE));
	cr_expect_str_eq(module->build_id, build_id);
	cr_expect_str_eq(module->open_path, path);
	cr_expect_str_eq(module_name(module), "a.so");
	cr_expect(eq(ptr, module->reason, NULL));
	cr_expect(gt(sz, module->elf.nr_loads, 0));
	free(path);
	free(build_id);
}

Test(module, is_one_however_often_it_is_mapped)
{
	char *path = build_library("a.so", "1");

	cr_expect(eq(ptr, get(path, inode_of(path)), get(path, inode_of(path))));
	cr_expect(eq(sz, modules.nr, 1));
	free(path);
}

Test(module, survives_the_deletion_of_its_file)
{
	char *path = build_library("a.so", "1");
	uint64_t inode = inode_of(path);
	struct module *module = get(path, inode);
	struct elf_file elf;

	unlink(path);
	cr_expect(eq(ptr, get(path, inode), module));
	cr_expect(eq(int, elf_file_read(&elf, module->fd, NULL), 0));
	cr_expect_str_eq(elf.build_id, module->build_id);
	elf_file_release(&elf);
	free(path);
}

Test(module, is_not_another_file_at_the_same_path)
{
	char *path = build_library("a.so", "1"), *other = build_library("b.so", "2");
	uint64_t inode = inode_of(path);

	rename(other, path);
	struct module *module = get(path, inode);
	cr_expect(eq(int, module->fd, -1));
	cr_expect(eq(int, (int)module->state, MODULE_REPLACED));
	cr_expect_str_eq(module->reason, "another file is there now");
	cr_expect(eq(ptr, module->build_id, NULL));
	cr_expect(eq(sz, module->elf.nr_loads, 0));
	free(path);
	free(other);
}

Test(module, is_not_a_file_with_another_build_id)
{
	char *path = build_library("a.so", "1");
	uint8_t build_id[20] = { 0xab, 0xcd };
	struct module *module = module_get(
		&modules, &(struct module_request){
				  .path = path, .build_id = build_id, .build_id_size = 20 });

	cr_expect(eq(int, (int)module->state, MODULE_REPLACED));
	cr_expect_str_eq(module->build_id, "abcd000000000000000000000000000000000000");
	free(path);
}

/* A pid or a range of addresses may be another program's by the time we look. */
Test(module, is_not_what_was_mapped_there_meanwhile)
{
	char *path = build_library("a.so", "1"), *other = build_library("b.so", "2");
	char *build_id = build_id_of(path);
	uint8_t bytes[20];
	int fd = open(other, O_RDONLY);
	char *mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	for (size_t i = 0; i < sizeof(bytes); i++)
		cr_assert(eq(int, sscanf(build_id + 2 * i, "%2hhx", &bytes[i]), 1));
	struct module *module =
		module_get(&modules, &(struct module_request){ .path = path,
							       .pid = getpid(),
							       .start = (uintptr_t)mapped,
							       .end = (uintptr_t)mapped + 4096,
							       .build_id = bytes,
							       .build_id_size = sizeof(bytes) });
	cr_expect_str_eq(module->open_path, path);
	cr_expect_str_eq(module->elf.build_id, build_id);
	munmap(mapped, 4096);
	close(fd);
	free(path);
	free(other);
	free(build_id);
}

Test(module, leaves_some_descriptors_to_others)
{
	char *path = build_library("a.so", "1");
	struct rlimit limit;
	int next = dup(0);

	close(next);
	cr_assert(eq(int, getrlimit(RLIMIT_NOFILE, &limit), 0));
	limit.rlim_cur = (rlim_t)next + 4;
	cr_assert(eq(int, setrlimit(RLIMIT_NOFILE, &limit), 0));
	struct module *module = get(path, 0);
	cr_expect(eq(int, module->fd, -1));
	cr_expect_str_eq(module->reason, "Too many open files");
	free(path);
}

Test(module, is_a_new_one_when_its_file_was_written_anew_in_place)
{
	char *path = build_library("a.so", "1");
	struct module *before = get(path, inode_of(path));
	uint64_t inode = before->size ? inode_of(path) : 0;
	char *other = build_library("b.so", "2");

	cr_assert(eq(int, run("cat b.so > a.so"), 0));
	cr_assert(eq(u64, inode_of(path), inode));
	struct module *after = get(path, inode);
	cr_expect(ne(ptr, after, before));
	cr_expect(ne(int, strcmp(after->build_id, before->build_id), 0));
	free(path);
	free(other);
}

Test(module, says_why_its_file_cannot_be_had)
{
	char *gone = path_to("gone.so");
	struct module *module = get(gone, 1);

	cr_expect(eq(int, (int)module->state, MODULE_DELETED));
	cr_expect_str_eq(module->reason, "the file is gone");
	cr_expect(eq(ptr, module->open_path, NULL));
	free(gone);

	char *text = path_to("text");
	run("echo hello > text");
	module = get(text, inode_of(text));
	cr_expect(eq(int, (int)module->state, MODULE_NOT_ELF));
	cr_expect(ne(ptr, module->reason, NULL));
	free(text);
}

Test(module, is_found_in_the_mount_namespace_of_the_process)
{
	char *path = build_library("a.so", "1");
	/* A process whose root is the folder: for it the file is /a.so. */
	pid_t child = fork();

	if (!child) {
		if (chroot(folder))
			_exit(1);
		pause();
	}
	usleep(50000);
	struct module *module = module_get(
		&modules,
		&(struct module_request){ .path = "/a.so", .pid = child, .inode = inode_of(path) });
	int status = 0;
	bool ended = waitpid(child, &status, WNOHANG) == child;
	if (!ended) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	if (ended)
		cr_skip_test("chroot is not allowed here");
	cr_expect(ge(int, module->fd, 0));
	cr_expect(eq(int, (int)module->state, MODULE_THERE));
	cr_expect(eq(ptr, module->open_path, NULL)); /* nothing at our /a.so */
	free(path);
}

Test(module, without_a_file_is_anonymous)
{
	struct module *anonymous = get("//anon", 0);

	cr_expect(eq(int, (int)anonymous->kind, MODULE_ANONYMOUS));
	cr_expect(eq(ptr, get("[heap]", 0), anonymous));
	cr_expect(eq(ptr, get("/dev/zero", 5), anonymous));
}

Test(module, the_vdso_is_a_copy_of_our_own)
{
	struct module *vdso = get("[vdso]", 0);

	cr_expect(eq(int, (int)vdso->kind, MODULE_VDSO));
	cr_expect(ge(int, vdso->fd, 0));
	cr_expect(ne(ptr, vdso->build_id, NULL));
	cr_expect(gt(u64, vdso->elf.eh_frame_hdr.size, 0));
}

/* --- elf_file --------------------------------------------------------------------------- */

Test(elf_file, takes_the_bias_from_the_executable_segment_that_holds_the_offset)
{
	/* As lld lays out: offset and address differ, and neighbours share a page. */
	struct elf_part loads[] = {
		{ .address = 0, .offset = 0, .size = 0x1240 },
		{ .address = 0x2240, .offset = 0x1240, .size = 0x3000, .executable = true },
		{ .address = 0x6240, .offset = 0x4240, .size = 0x100 },
	};
	struct elf_file elf = { .loads = loads, .nr_loads = 3 };
	uint64_t address;

	cr_assert(elf_file_address(&elf, 0x1000, &address)); /* mapped from the page's start */
	cr_expect(eq(u64, address, 0x2000));
	cr_assert(elf_file_address(&elf, 0x3000, &address)); /* split by mprotect */
	cr_expect(eq(u64, address, 0x4000));
	cr_assert(elf_file_address(&elf, 0x4000, &address));
	cr_expect(eq(u64, address, 0x5000));
	cr_expect(not(elf_file_address(&elf, 0x10000, &address)));
}

Test(elf_file, refuses_what_is_no_elf_file)
{
	struct error err = ERROR_INIT;
	struct elf_file elf;
	int fd = open("/proc/self/maps", O_RDONLY);

	cr_expect(eq(int, elf_file_read(&elf, fd, &err), ERR_FORMAT));
	cr_expect_str_eq(err.message, "not an ELF file");
	close(fd);
}

Test(elf_file, does_not_copy_what_lies_outside_the_file)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct error err = ERROR_INIT;
	struct elf_part part = { .offset = 0x10, .size = 0x3fffffff };

	cr_expect(eq(ptr, elf_file_copy(fd, &part, &err), NULL));
	part = (struct elf_part){ .offset = UINT64_MAX - 4, .size = 16 };
	cr_expect(eq(ptr, elf_file_copy(fd, &part, &err), NULL));
	part = (struct elf_part){ .offset = 1, .size = 3 };
	uint8_t *bytes = elf_file_copy(fd, &part, &err);
	cr_assert(ne(ptr, bytes, NULL));
	cr_expect(eq(int, memcmp(bytes, "ELF", 3), 0));
	free(bytes);
	close(fd);
}

/* Every header field of a real file damaged in turn: nothing but an error or a wrong answer. */
Test(elf_file, survives_damaged_headers)
{
	int fd = open("/proc/self/exe", O_RDONLY), copy = memfd_create("elf", 0);
	static uint8_t bytes[1 << 16];
	ssize_t size = read(fd, bytes, sizeof(bytes));
	struct elf_file elf;

	cr_assert(gt(int, (int)size, 4096));
	cr_assert(eq(int, (int)write(copy, bytes, (size_t)size), (int)size));
	for (off_t at = 0; at < 64 + 56 * 12; at++) {
		uint8_t damaged = bytes[at] ^ 0xff;

		cr_assert(eq(int, (int)pwrite(copy, &damaged, 1, at), 1));
		if (!elf_file_read(&elf, copy, NULL)) {
			struct elf_part rest = elf_file_rest(&elf, elf.eh_frame.address);

			free(elf_file_copy(copy, &rest, NULL));
			free(elf_file_copy(copy, &elf.eh_frame_hdr, NULL));
			elf_file_release(&elf);
		}
		cr_assert(eq(int, (int)pwrite(copy, &bytes[at], 1, at), 1));
	}
	close(fd);
	close(copy);
}
