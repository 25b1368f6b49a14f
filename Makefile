# Each target sets up what it needs; running it again costs nothing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
DEMO   := $(VENV)/.demo
READY  := $(VENV)/.ready
PEERS  := $(VENV)/.peers
INSTALL = $(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check
JOBS   ?= 2
PYTEST  = $(BIN)/python -m pytest -n $(JOBS) --dist worksteal
# What runs each line; laws, pages and examples run the same lines again, and are slowed down by coverage.
COVERED = tests/unit $(wildcard tests/e2e/*cli.py)

.PHONY: help demo test test-all test-cpus kernels mutants lint format bench docs rooms pictures clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Credo needs Python 3.11 or newer; got $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(DEMO): pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[plots]'
	@touch $@

$(READY): pyproject.toml | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@touch $(DEMO) $@

# One by one: a peer that cannot be installed here is printed as not measured. PGMax also asks for Jupyter and TensorFlow.
$(PEERS): $(READY)
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["peers"], sep="\n")' | \
	  while read -r peer; do $(INSTALL) "$$peer" || echo "$$peer cannot be installed here: not measured"; done
	@$(INSTALL) joblib tqdm && $(INSTALL) --no-deps pgmax==0.6.1 || echo "PGMax cannot be installed here: not measured"
	@touch $@

$(VENV)/.docs: $(READY)
	$(INSTALL) -e '.[docs]'
	@touch $@

demo: $(DEMO)        ## restore a portrait at four levels of noise, with a figure in build/
	@$(BIN)/python examples/images/plot_denoising.py

test: $(READY)       ## the everyday suite, with coverage
	@$(MAKE) --no-print-directory -j2 lint kernels
	$(PYTEST) -m "not slow" --cov --cov-report=term $(COVERED)
	$(PYTEST) -m "not slow" --ignore=tests/unit --ignore-glob='tests/e2e/*cli.py'

test-all: $(VENV)/.docs ## everyday and slow tests, laws on ten times as many examples, the site if Chromium is there
	@$(MAKE) --no-print-directory -j2 lint kernels
	HYPOTHESIS_PROFILE=thorough $(PYTEST) --cov --cov-report=term

kernels: $(READY)    ## compile ahead what tests need, once, before they share it
	$(BIN)/python -m credo warm-up

test-cpus: $(READY)  ## the everyday suite as on lesser processors (slow); TESTS=tests/properties
	$(BIN)/python tests/cpus.py -- -n $(JOBS) $(TESTS)

mutants: $(READY)    ## plant described faults, ROOM=decisions for those of one room: does a test notice?
	$(BIN)/python tests/mutants/run.py --room '$(ROOM)' --jobs $(JOBS)

lint: $(READY)       ## ruff, mypy and the walls between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)     ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(PEERS)      ## the measured tables, and the pages that quote them
	$(BIN)/python benchmarks/peers/decisions.py
	$(BIN)/python benchmarks/peers/gaussian.py
	$(BIN)/python benchmarks/peers/missing.py
	$(BIN)/python benchmarks/peers/discrete.py
	$(BIN)/python benchmarks/peers/logistic.py
	$(BIN)/python benchmarks/peers/exact.py
	$(BIN)/python benchmarks/peers/loopy.py
	$(BIN)/python benchmarks/peers/ldpc.py
	$(BIN)/python benchmarks/peers/grid.py
	$(BIN)/python benchmarks/peers/tables.py
	$(BIN)/python benchmarks/images.py
	$(BIN)/python benchmarks/accuracy.py
	$(BIN)/python benchmarks/plans.py
	$(BIN)/python benchmarks/peers/glance.py

rooms: $(READY)      ## redraw docs/_static/rooms.svg from the import graph
	$(BIN)/python docs/draw_rooms.py

pictures: $(READY)   ## redraw docs/_static/*.png, by the tutorials and examples that show the code
	$(BIN)/python docs/draw_pictures.py

docs: $(VENV)/.docs  ## the site, in build/docs: runs the gallery, needs no network, ends at a warning
	$(BIN)/sphinx-build -W --keep-going -q -j $(JOBS) -b html docs build/docs
	@echo "build/docs/index.html"

clean:               ## remove everything that make made
	rm -rf docs/_generated docs/gallery docs/reference/names
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .coverage .hypothesis
