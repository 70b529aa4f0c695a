# SPDX-License-Identifier: Apache-2.0
# Thin: CMakePresets.json says how things are built, this says which of them you want.
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

.PHONY: all test demo bench lint format asan tsan fuzz soak mutants install uninstall clean help
.DEFAULT_GOAL := all

all: build/release/build.ninja  ## the release program, at build/stannis
	@cmake --build --preset release -j $(JOBS) --target stannis
	@ln -sfn release/tools/stannis/stannis build/stannis

build/%/build.ninja: CMakePresets.json
	cmake --preset $*

test:  ## all tests: release build, without oneDNN, ASan+UBSan, TSan, then lint (installs what is missing)
	@scripts/setup.sh build lint
	@scripts/test.sh release plain asan tsan lint

demo: setup all  ## four emulated nodes train on real images, one is disturbed; about two minutes
	@scripts/demo.sh

bench: all  ## speed against PyTorch, both in one run
	@scripts/setup.sh bench
	@bench/vs_pytorch

asan: setup  ## the tests under AddressSanitizer and UBSan
	@scripts/test.sh asan

tsan: setup  ## the tests that start threads under ThreadSanitizer
	@scripts/test.sh tsan

lint:  ## clang-format, clang-tidy, cppcheck (files that passed before and have not changed are not looked at)
	@scripts/setup.sh build lint
	@scripts/lint.py

format:  ## clang-format in place
	@scripts/format.sh

fuzz:  ## a short run of each fuzz target
	@scripts/setup.sh build lint
	@scripts/fuzz.sh

soak: setup  ## ten million inputs of hostile clients to a device's front end, under sanitizers; hours
	@scripts/setup.sh build lint
	@scripts/soak.sh

mutants: setup  ## each row of tests/mutants.json must make its tests fail; ten seconds a row
	@scripts/mutants.py

install: build/release/build.ninja  ## program, libraries, headers and manual into PREFIX (/usr/local); DESTDIR stages
	@cmake --build --preset release -j $(JOBS) --target installed
	@cmake --install build/release --prefix $(abspath $(PREFIX))

uninstall: build/release/build.ninja  ## removes from PREFIX what install put there
	@scripts/uninstall.sh build/release $(abspath $(PREFIX))

clean:  ## remove build/
	rm -rf build

help:  ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup:
	@scripts/setup.sh build
