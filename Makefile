# Two commands matter: `make demo` and `make test`. Each sets up what it needs.
# `make quick` is for the loop while working: lint, and all tests that are not slow.
# `make bench` measures Accord against its peers, in about two hours, and writes docs/benchmarks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

# pytest keeps the tests, with their asserts rewritten, as bytecode
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test suite quick lint docs fuzz bench paper paper-full otree dist clean

demo: $(READY)
	rm -rf runs/demo
	$(BIN)/accord optimize signalling -k 1 --objective player=professor --out runs/demo
	$(BIN)/accord certify signalling runs/demo/policy.npz -k 0 -k 1 -k inf
	$(BIN)/accord report runs/demo

test: lint docs suite

# With the oldest dependencies, in a fresh checkout: PIP_CONSTRAINT=.ci/oldest.txt make suite
suite: $(READY)
	$(PYTEST) -m "not kernels"
	NUMBA_BOUNDSCHECK=1 $(PYTEST) -m kernels

quick: $(READY) lint
	$(PYTEST) -q -m "not slow" --hypothesis-profile quick

lint: $(READY)
	$(BIN)/ruff check src tests tools benchmarks paper examples
	$(BIN)/ruff format --check src tests tools benchmarks paper examples
	$(BIN)/mypy

docs: $(DOCS_READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "The documentation is in build/site/index.html: open it in a browser."

# damaged files of every kind, with new seeds, for so many seconds each
SECONDS ?= 60
fuzz: $(READY)
	$(BIN)/python -m tests.support.fuzzing $(SECONDS)

bench: $(READY)
	$(BIN)/python -m benchmarks

paper: $(READY)
	$(BIN)/python -m paper

paper-full: $(READY)
	$(BIN)/python -m paper --full

# oTree pins old versions, so its example has an environment of its own.
OTREE := build/otree
otree: $(OTREE)/.ready
	$(OTREE)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps .
	rm -rf build/otree-project && cp -r examples/otree build/otree-project
	cd build/otree-project && ../otree/bin/otree test chicken_once 4 && ../otree/bin/otree test chicken_twice 4

$(OTREE)/.ready: examples/otree/requirements.txt
	test -x $(OTREE)/bin/python || $(PYTHON) -m venv $(OTREE)
	$(OTREE)/bin/python -m pip install --quiet --disable-pip-version-check -r examples/otree/requirements.txt
	touch $@

# The files of a release, from a clean checkout: the same bytes on every machine.
BUILD := build/tools
dist: $(BUILD)/.ready
	@test -z "$$(git status --porcelain)" || { echo "commit or remove what git status shows"; exit 1; }
	rm -rf dist
	umask 022 && $(BUILD)/bin/python -m build --no-isolation --outdir dist
	cd dist && sha256sum *.tar.gz *.whl > SHA256SUMS

$(BUILD)/.ready: .ci/build.txt
	test -x $(BUILD)/bin/python || $(PYTHON) -m venv $(BUILD)
	$(BUILD)/bin/python -m pip install --quiet --disable-pip-version-check -r .ci/build.txt
	touch $@

$(READY): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	$(BIN)/python -m compileall -q src
	touch $@

$(DOCS_READY): $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	touch $@

clean:
	rm -rf $(VENV) build dist
