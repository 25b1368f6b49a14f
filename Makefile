# Each target sets up what it needs; running it again costs nothing.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JOBS   ?= 2

.PHONY: help demo test test-all test-cpus lint format bench docs rooms clean

help:            ## list the targets
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*##/\t/'

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Credo needs Python 3.11 or newer; got $$($(PYTHON) --version). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@

$(VENV)/.docs: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	@touch $@

demo: $(READY)       ## restore a portrait at four levels of noise, with a figure in build/
	@$(BIN)/python examples/plot_denoising.py

test: lint           ## the everyday suite, with coverage
	CREDO_KERNELS=compiled $(BIN)/python -m pytest -n $(JOBS) -m "not slow" --cov --cov-report=term

test-all: lint       ## everyday and slow tests, laws on ten times as many examples
	CREDO_KERNELS=compiled HYPOTHESIS_PROFILE=thorough \
	  $(BIN)/python -m pytest -n $(JOBS) --cov --cov-report=term

test-cpus: $(READY)  ## the everyday suite as on lesser processors (slow); TESTS=tests/properties
	$(BIN)/python tests/cpus.py -- -n $(JOBS) $(TESTS)

lint: $(READY)       ## ruff, mypy and the walls between the rooms
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

format: $(READY)     ## fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)      ## the measured tables of the README
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
	$(BIN)/python benchmarks/accuracy.py

rooms: $(READY)      ## redraw docs/_static/rooms.svg from the import graph
	$(BIN)/python docs/draw_rooms.py

docs: $(VENV)/.docs  ## the documentation, in build/docs
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/docs
	@echo "build/docs/index.html"

clean:               ## remove everything that make made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .coverage .hypothesis
