# Daily verbs over CMake. `make` alone installs nothing; the verbs that need more say what is missing.
#
#   make          build build/croft and build/libcroft.{a,so}     needs gcc, cmake
#   make install PREFIX=/usr/local DESTDIR=   command, library, header   needs the same
#   make demo     six row operators, checked and timed             needs the same
#   make check    everything that must never break (TESTING.md)    needs `make deps`
#   make check-long   what takes longer                            needs the same
#   make check-gpu    the examples on a CUDA device                needs gcc, cmake, python3-numpy
#   make mutate SEED=n   mutants of thread programs, by operator   needs the same
#   make soak MINUTES=n  tests that draw by chance, with fresh seeds  needs `make deps`
#   make bench    the speed and memory figures of docs/performance.md
#   make bless    rewrite what the golden tests expect; look at the difference
#   make docs     rewrite the tables of docs/ from the .def files
#   make format   clang-format over the C sources
#   make deps     install the Debian packages (root), or print the line that does

BUILD_PACKAGES := gcc libc6-dev cmake
CHECK_PACKAGES := $(BUILD_PACKAGES) g++ clang libclang-rt-14-dev libcmocka-dev clang-format pkg-config \
                  python3 python3-numpy ocl-icd-libopencl1 pocl-opencl-icd oclgrind locales-all \
                  python3-jsonschema python3-setuptools python3-wheel python3-pip python3-venv \
                  mypy
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
PYTHON ?= $(shell for m in numpy,jsonschema numpy; do for p in python3 /usr/bin/python3; do \
            $$p -c "import $$m" 2>/dev/null && { command -v $$p; break 2; }; done; done)
PREFIX ?= /usr/local
MAKEFLAGS += --no-print-directory
FORMATTED = $(shell find src cli bench test include -name '*.[ch]' 2>/dev/null)

.PHONY: all build build-bench install install-built deps deps-build deps-check demo check check-run check-long check-gpu mutate soak bless \
        docs bench format clean

all: build

build:
	@sh tools/packages need $(BUILD_PACKAGES)
	@cmake --preset release -DCROFT_TOOLS=OFF >/dev/null
	@cmake --build build -j$(JOBS) --target croft croft_shared croft_static

build-bench: build
	@cmake --build build -j$(JOBS)

install: build
	@$(MAKE) install-built

install-built:
	@DESTDIR='$(DESTDIR)' cmake --install build --prefix '$(PREFIX)'

deps:
	@sh tools/packages install $(CHECK_PACKAGES)

deps-build:
	@sh tools/packages ensure $(BUILD_PACKAGES)

deps-check:
	@sh tools/packages ensure $(CHECK_PACKAGES)

demo: deps-build
	@$(MAKE) build
	@cmake --build build -j$(JOBS) --target bench_demo
	@build/bench/bench_demo
	@echo && build/croft plan examples/softmax.croft N=4096

check: deps-check
	@$(MAKE) check-run

check-run:
	@$(PYTHON) test/run --tier check -j$(JOBS)

check-long: deps-check
	@$(PYTHON) test/run --tier check-long -j$(JOBS)

check-gpu:
	@$(PYTHON) test/gpu/run.py
	@$(PYTHON) test/gpu/rows.py --no-build
	@$(PYTHON) test/gpu/native.py
	@$(PYTHON) test/opencl/device.py --gpu --one-of 8 -j 8

bless: build
	@$(PYTHON) test/pass/golden.py --bless
	@$(PYTHON) test/script/explain.py --bless
	@$(PYTHON) test/script/device_texts.py --bless

MINUTES ?= 10
soak: deps-check
	@cmake --preset release -DCROFT_TOOLS=ON >/dev/null
	@cmake --build build -j$(JOBS)
	@$(PYTHON) test/generated/soak.py --minutes $(MINUTES) -j$(JOBS)

SEED ?= 1
mutate: deps-check
	@cmake --preset release -DCROFT_TOOLS=ON >/dev/null
	@cmake --build build -j$(JOBS) --target mutate
	@$(PYTHON) test/mutate/run.py --kernels 20 --seed $(SEED) -j$(JOBS)

docs: deps-check
	@cmake --preset release -DCROFT_TOOLS=ON >/dev/null
	@cmake --build build -j$(JOBS) --target unit_ir_docs
	@build/test/unit_ir_docs write

bench: build-bench
	@build/bench/bench_rows build/croft; rows=$$?; build/bench/bench_planning; planning=$$?; \
	build/bench/bench_loads && [ $$rows = 0 ] && [ $$planning = 0 ]

format:
	@clang-format -i $(FORMATTED)

clean:
	rm -rf build
