# PYTHON is the Python (3.11 or newer) that the virtual environment is made with.
PYTHON ?= python3
UV ?= uv
BIN := .venv/bin
STAMP := .venv/.installed
AMQP_LOG := .venv/amqp.log

.DEFAULT_GOAL := help
.PHONY: help install amqp peers connectors demo test check-slow mutants lint format docs bench lock clean

help:  ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## Install Fairlead and everything it needs into .venv

$(STAMP): requirements.lock requirements-amqp.lock pyproject.toml examples/fairlead-cheapest/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Fairlead needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
	  "Name another one: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps -e . -e examples/fairlead-cheapest
	@$(MAKE) --no-print-directory amqp > $(AMQP_LOG) 2>&1 || \
	  echo "The extra amqp is left out: python-qpid-proton could not be built, which takes a C compiler" \
	  "and Python's headers (why: $(AMQP_LOG); again: make amqp). All else is installed."
	@touch $@

# Newer versions of pip hold what builds a package to the second list only, older ones to the first.
amqp:  ## Build what the extra amqp needs (install does it, too, where it can)
	PIP_CONSTRAINT=requirements-amqp.lock PIP_BUILD_CONSTRAINT=requirements-amqp.lock \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check python-qpid-proton

peers: install  ## Install the programs that tests speak to, as far as this machine lets it
	@.ci/peers

connectors:  ## Make .venv-connectors: Spark with Kafka, Delta, Iceberg and S3, for the tests of these
	@PYTHON="$(PYTHON)" .ci/connectors

demo: install  ## Dispatch a year of real departures through a storm, under two policies
	$(BIN)/fairlead demo

DRAW ?= 0
# Where this variable is set, each command that a test starts compiles anew all that it imports.
test check-slow mutants: export PYTHONDONTWRITEBYTECODE =

test: lint  ## Check the code and run the quick tests, of many cases a few (others: DRAW=7)
	FAIRLEAD_DRAW=$(DRAW) $(BIN)/python -m pytest -m "not slow" --draw 5 -n 3 --dist loadgroup --durations 10

check-slow: install  ## Run all tests: every case, and the slow ones
	$(BIN)/python -m pytest -m "not slow" -n 3 --dist loadgroup --durations 20
	$(BIN)/python -m pytest -m slow -n 3 --dist loadgroup --durations 20

N ?= 100
SEED ?= 1
mutants: install  ## Change N lines that decide, drawn by SEED, and print what no test catches
	$(BIN)/python -m tests.mutants --count $(N) --seed $(SEED)

lint: install  ## Check format, rules, types and the borders between the rooms
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: install  ## Format the code and mend what can be mended
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: install  ## Build the site of the docs into build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: install  ## Measure, beside what a user would pick instead
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.lock
	$(BIN)/python -m benchmarks a b c e f j l m n o p r s u w x y
	$(BIN)/python -m benchmarks g h i k q t v --runs 1
	$(BIN)/python -m benchmarks d --runs 1

lock:  ## Renew requirements.lock with the newest versions allowed (needs uv)
	$(UV) pip compile --quiet --universal --upgrade --python-version 3.11 \
	  --extra all --extra dev \
	  --custom-compile-command "make lock" \
	  --output-file requirements.lock pyproject.toml
	$(UV) pip compile --quiet --universal --upgrade --python-version 3.11 \
	  --constraint requirements.lock --custom-compile-command "make lock" \
	  --output-file requirements-amqp.lock requirements-amqp.in
	$(UV) pip compile --quiet --universal --upgrade --python-version 3.11 \
	  --constraint requirements.lock --custom-compile-command "make lock" \
	  --output-file benchmarks/requirements.lock benchmarks/requirements.in
	$(UV) pip compile --quiet --universal --upgrade --python-version 3.11 \
	  --custom-compile-command "make lock" \
	  --output-file connectors/requirements.lock connectors/requirements.in

clean:  ## Remove the virtual environment and everything that was made
	rm -rf .venv .venv-connectors .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist build
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
