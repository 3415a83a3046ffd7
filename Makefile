# `make demo` and `make test` need Python >= 3.11, make and git; they do the rest of the set-up.
# PYTHON=python3.12 chooses another interpreter for a new .venv (`make distclean` removes the old).

PYTHON ?= python3
PYTEST_ARGS ?= -n 2
VENV := .venv
BIN := $(VENV)/bin
# Modules are compiled when first imported: most of the large packages never are.
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

# Tests start many processes: none should compile its modules again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test lint types imports size check format docs site clean distclean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(firstword $(MAKEFILE_LIST)) | expand -t 12

demo: $(VENV)/.installed-cli ## fold a real data set, beside NumPy's answer
	$(BIN)/python examples/demo.py

test: $(VENV)/.installed-dev ## run the tests (PYTEST_ARGS="-n 2")
	$(BIN)/python -m pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-dev ## mypy --strict on src
	$(BIN)/mypy

imports: $(VENV)/.installed-dev ## the layer contracts
	$(BIN)/lint-imports --no-logo

size: $(VENV)/.installed-dev ## lengths of files and functions, licence lines
	$(BIN)/python tools/check_size.py

site: $(VENV)/.installed-dev ## build the documentation site into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

check: lint types imports size test site ## all of the checks above

format: $(VENV)/.installed-dev ## format, and repair what ruff can repair
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev ## write the generated pages again
	$(BIN)/python tools/cases_page.py
	$(BIN)/python tools/errors_page.py
	$(BIN)/python tools/life_of_a_sum.py

clean: ## remove caches and build outputs
	rm -rf build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests tools examples -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean ## the same, and the virtual environment
	rm -rf $(VENV)

# The stamps: an environment is installed again only when pyproject.toml has changed.
$(BIN)/python:
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

$(VENV)/.installed-cli: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) '.[cli]'
	@touch $@

# dev contains cli, so both stamps are set.
$(VENV)/.installed-dev: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) '.[dev]'
	@touch $(VENV)/.installed-cli $@
