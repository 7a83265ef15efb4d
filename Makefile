# SPDX-License-Identifier: MIT
# cprof - see `make help`.  One non-recursive Makefile; everything built lands in $(O).

VERSION := 0.1.0

CC         ?= cc
CXX        ?= c++
RUSTC      ?= rustc
PKG_CONFIG ?= pkg-config
INSTALL    ?= install
PYTEST     ?= /usr/bin/python3 -m pytest

PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib/cprof
MANDIR  ?= $(PREFIX)/share/man

# --- configuration: DEBUG=1, SAN=address,undefined, WERROR=1, V=1 -----------
# CROSS=aarch64-linux-gnu- SYSROOT=dir builds for another machine (see scripts/arm64-vm/setup).
ifneq ($(CROSS),)
target     := $(if $(SYSROOT),--sysroot=$(abspath $(SYSROOT)))
CC         := $(CROSS)gcc $(target)
CXX        := $(CROSS)g++ $(target)
AR         := $(CROSS)ar
PKG_CONFIG := PKG_CONFIG_SYSROOT_DIR=$(abspath $(SYSROOT)) \
	PKG_CONFIG_LIBDIR=$(abspath $(SYSROOT))/usr/lib/$(CROSS:-=)/pkgconfig pkg-config
endif

comma  := ,
CONFIG := $(if $(SAN),san-$(subst $(comma),-,$(SAN)),$(if $(DEBUG),debug,release))
O      ?= build/$(CROSS)$(CONFIG)

WARN := -Wall -Wextra -Wshadow -Wpointer-arith -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wwrite-strings -Wvla -Wformat=2 -Wundef
OPT  := $(if $(DEBUG)$(SAN),-O1 -g3 -fno-omit-frame-pointer,-O2 -g)

CFLAGS   ?= $(OPT)
CPPFLAGS += -D_GNU_SOURCE -Ilib -I. -DCPROF_VERSION='"$(VERSION)"' -DCPROF_LIBDIR='"$(LIBDIR)"'
common   := -std=gnu11 $(WARN) $(if $(WERROR),-Werror) -MMD -MP -pthread
san      := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all)

# Always there, then what may be absent, which cprof loads itself when it needs it.
pkgs      := libdw libelf sqlite3 jansson
deps_cflags := $(shell $(PKG_CONFIG) --cflags $(pkgs) 2>/dev/null)
deps_libs   := $(or $(shell $(PKG_CONFIG) --libs $(pkgs) 2>/dev/null),-ldw -lelf -lsqlite3 -ljansson) \
	-liberty -lm
ifneq ($(wildcard $(SYSROOT)/usr/include/perfmon/pfmlib.h),)
deps_cflags += -DHAVE_PFM
deps_libs   += -ldl
endif

prog_cflags = $(common) $(deps_cflags) $(san) $(CFLAGS) $(CPPFLAGS)
# The shim runs inside somebody else's process: no sanitizer, nothing exported by accident.  Words that
# were just stored one by one are not loaded in pairs, for which the CPU would have to wait.
# It is loaded into each of thousands of short processes: one mapping for what is read, one for what is
# written (next to which its table of libc's functions is, which no relocated page protects, and what
# lib/shim/exports.c changes).
shim_few_pages := -Wl,-z,noseparate-code -Wl,-z,norelro
shim_cflags = $(common) -fno-tree-vectorize -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-builtin $(CFLAGS) $(CPPFLAGS)

# --- what is built: the folders are the lists -------------------------------
guest_srcs := $(wildcard lib/shim/*.c lib/unwind/*.c lib/arch/*.c)
lib_srcs   := $(filter-out lib/shim/%,$(wildcard lib/*/*.c lib/*/*/*.c))
cmd_srcs   := $(wildcard cmd/*.c)
unit_srcs  := $(wildcard tests/unit/*.c)
prog_srcs  := $(wildcard tests/programs/*.c tests/programs/*.cc $(if $(CROSS),,tests/programs/*.rs))

objs       = $(patsubst %.c,$(O)/%.o,$(1))
lib_objs  := $(call objs,$(lib_srcs))
shim_objs := $(patsubst %.c,$(O)/shim/%.o,$(guest_srcs))
cmd_objs  := $(call objs,$(cmd_srcs))
unit_objs := $(call objs,$(unit_srcs))
# What the shim does apart from interposing is tested like any other code, sanitizers and all.
shim_unit := $(patsubst %.c,$(O)/%.o,$(filter-out %hooks.c,$(wildcard lib/shim/*.c)))
programs  := $(patsubst tests/programs/%,$(O)/programs/%,$(basename $(prog_srcs))) $(if $(CROSS),,$(O)/programs/bench_unwind $(O)/programs/bench_collector)

cprof := $(O)/cprof
shim  := $(O)/libcprof-heap.so
lib   := $(O)/libcprof.a
unit  := $(O)/unit-tests

all: $(cprof) $(shim)
programs: $(programs)

ifneq ($(V),1)
Q := @
say = @printf '  %-7s %s\n' $(1) $(patsubst $(O)/%,%,$@)
endif

$(cprof): $(cmd_objs) $(lib)
	$(call say,LINK)
	$(Q)$(CC) $(san) $(LDFLAGS) -pthread -o $@ $(cmd_objs) $(lib) $(deps_libs) $(LIBS)

# One test runs it.
$(unit): $(unit_objs) $(shim_unit) $(lib) | $(filter %/rust_words,$(programs))
	$(call say,LINK)
	$(Q)$(CC) $(san) $(LDFLAGS) -pthread -o $@ $(unit_objs) $(shim_unit) $(lib) -lcriterion $(deps_libs) $(LIBS)

$(shim): $(shim_objs) lib/shim/exports.map
	$(call say,LINK)
	$(Q)$(CC) -shared $(LDFLAGS) -Wl,--version-script=lib/shim/exports.map -Wl,-z,defs \
		-Wl,-z,now $(shim_few_pages) -Wl,-soname,libcprof-heap.so -o $@ $(shim_objs) -ldl

$(lib): $(lib_objs)
	$(call say,AR)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(shim_objs): flags = $(shim_cflags)
$(lib_objs) $(cmd_objs) $(unit_objs) $(shim_unit): flags = $(prog_cflags)
# Criterion's eq(str, ...) takes char *; warnings differ in name, and clang lacks some attributes.
$(unit_objs): flags += -Wno-discarded-qualifiers -Wno-unknown-warning-option -Wno-unknown-attributes \
	-Wno-incompatible-pointer-types-discards-qualifiers

define compile
$(call say,CC)
$(Q)mkdir -p $(@D)
$(Q)$(CC) $(flags) -c -o $@ $<
endef
$(O)/shim/%.o: %.c $(O)/flags ; $(compile)
$(O)/%.o:      %.c $(O)/flags ; $(compile)

# Test targets are built with fixed flags: what they do must not depend on CFLAGS.  A program that
# needs others says so in a line "// PFLAGS: ..." of its source.
program_flags = $(shell sed -n 's,^// PFLAGS: ,,p' $<)
$(O)/programs/%: tests/programs/%.c
	$(call say,PROG)
	$(Q)mkdir -p $(@D)
	$(Q)$(CROSS)gcc $(target) -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o $@ $< -pthread $(program_flags)
# They know how events are laid out.
$(O)/programs/heap_events $(O)/programs/guest_scribbles: lib/shim/wire.h
$(O)/programs/%: tests/programs/%.cc
	$(call say,PROG)
	$(Q)mkdir -p $(@D)
	$(Q)$(CROSS)g++ $(target) -O2 -g -fomit-frame-pointer -fno-optimize-sibling-calls -o $@ $< -pthread $(program_flags)
$(O)/programs/%: tests/programs/%.rs
	$(call say,PROG)
	$(Q)mkdir -p $(@D)
	$(Q)MAKEFLAGS= $(RUSTC) -O -C debuginfo=2 -o $@ $< $(program_flags)

# With the shim as programs get it.  Walks are timed on stacks of functions without frame pointers.
$(O)/programs/bench_unwind: $(wildcard tests/bench/unwind/*.c) $(filter-out %hooks.o,$(shim_objs)) $(lib)
	$(call say,PROG)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(prog_cflags) -fomit-frame-pointer -fno-optimize-sibling-calls $(LDFLAGS) -o $@ $^ $(deps_libs) $(LIBS) -ldl

$(O)/programs/bench_collector: tests/bench/collector/main.c tests/unit/heap_fake.h $(lib)
	$(call say,PROG)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(prog_cflags) $(LDFLAGS) -o $@ $(filter-out %.h,$^) $(deps_libs) $(LIBS)

# libFuzzer's, see scripts/fuzz.  A line "// FUZZ: ..." of the source says what is fuzzed.
build/fuzz/%: tests/fuzz/%.c $(lib_srcs)
	$(call say,FUZZ)
	$(Q)mkdir -p $(@D)
	$(Q)clang -std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		-Wno-everything $(deps_cflags) $(CPPFLAGS) -o $@ $< \
		$(shell sed -n 's,^// FUZZ: ,,p' $<) $(deps_libs)

# Rewritten only when the flags change, so a new CFLAGS rebuilds and nothing else does.
$(O)/flags: FORCE
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(subst ','\'',$(CC) $(prog_cflags) | $(shim_cflags))' >$@.new; \
		cmp -s $@.new $@ && rm $@.new || mv $@.new $@

-include $(patsubst %.o,%.d,$(lib_objs) $(shim_objs) $(cmd_objs) $(unit_objs) $(shim_unit))

# --- tests and checks -------------------------------------------------------
check: check-unit check-e2e check-layers $(if $(SAN),,check-symbols)
# T=pattern picks: a Criterion filter here ("unwind_*/*"), a pytest -k expression there.
check-unit: $(unit)
	$(Q)$(unit) $(if $(T),--filter '$(T)')
check-e2e: all $(programs)
	$(Q)CPROF=$(abspath $(cprof)) PROGRAMS=$(abspath $(O)/programs) \
		$(PYTEST) -q -rs -p no:cacheprovider tests/e2e $(if $(T),-k '$(T)')
check-layers:
	$(Q)scripts/check-layers
check-symbols: $(lib) $(shim)
	$(Q)scripts/check-symbols $^
check-format:
	$(Q)git ls-files '*.[ch]' | xargs clang-format --dry-run -Werror
format:
	$(Q)git ls-files '*.[ch]' | xargs clang-format -i
tidy: $(O)/compile_commands.json
	$(Q)clang-tidy -p $(O) --quiet $(lib_srcs) $(cmd_srcs) $(wildcard lib/shim/*.c)
$(O)/compile_commands.json: $(O)/flags
	$(Q)scripts/compile-commands '$(CC) $(subst ','\'',$(prog_cflags))' $(lib_srcs) $(cmd_srcs) \
		$(wildcard lib/shim/*.c) >$@

install: all
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR) $(DESTDIR)$(MANDIR)/man1 \
		$(DESTDIR)$(MANDIR)/man5
	$(INSTALL) -m 755 $(cprof) $(DESTDIR)$(BINDIR)/
	$(INSTALL) -m 755 $(shim) $(DESTDIR)$(LIBDIR)/
	$(INSTALL) -m 644 $(wildcard man/*.1) $(DESTDIR)$(MANDIR)/man1/
	$(INSTALL) -m 644 $(wildcard man/*.5) $(DESTDIR)$(MANDIR)/man5/
uninstall:
	rm -f $(DESTDIR)$(BINDIR)/cprof $(DESTDIR)$(LIBDIR)/libcprof-heap.so
	rm -f $(patsubst man/%,$(DESTDIR)$(MANDIR)/man1/%,$(wildcard man/*.1)) \
		$(patsubst man/%,$(DESTDIR)$(MANDIR)/man5/%,$(wildcard man/*.5))

clean:
	rm -rf build

help:
	@echo "make [all]         cprof and its heap shim, into build/<config>/"
	@echo "make check         unit + end-to-end + layering       T=<name> picks some"
	@echo "make install       PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)"
	@echo "make format tidy   clang-format, clang-tidy"
	@echo "options            DEBUG=1  SAN=address,undefined  WERROR=1  V=1  O=<dir>"

.PHONY: all programs check check-unit check-e2e check-layers check-symbols check-format format tidy \
	install uninstall clean help FORCE
.DELETE_ON_ERROR:
