.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
# More workers than processors, because tests often wait for a timer or another process. Not many more, because each
# worker imports all tests first.
WORKERS := $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN) + 2)
PYTEST := pytest --numprocesses=$(WORKERS) --dist=worksteal
ARGS ?=
RACES := tests/acceptance tests/browser tests/unit/adapters tests/unit/storage \
	$(addprefix tests/unit/bot/,agents client hooks mcp outbox receipts runtime service webhooks workers)
# Tests start hundreds of processes. Compile each module once, instead of in each process. pytest compiles the tests.
unexport PYTHONDONTWRITEBYTECODE
COMPILE := $(BIN)/python -m compileall -q -j 0 -x '/(test_[^/]*|conftest)\.py$$' bot adapters storage tests

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/core.stamp ## Answer a sample form in the browser, no token needed (ARGS=--no-browser prints the address)
	@$(BIN)/answerback demo $(ARGS)

.PHONY: venv
venv: .venv/all.stamp ## Create .venv with everything needed to run, test and document

PINS := pyproject.toml $(wildcard bot/*/pyproject.toml) manifests/constraints.txt .ci/constraints.txt .ci/venv manifests/install \
	tests/recipes/environments/package-lock.json

.venv/core.stamp: $(PINS)
	@test -f .venv/all.stamp || .ci/venv core
	@test ! -f .venv/all.stamp || .ci/venv all
	@touch $@

.venv/all.stamp: $(PINS)
	@.ci/venv all
	@touch .venv/core.stamp $@

# pytest rewrites the assertions of a file when it first imports it: once here, instead of in each worker.
TEST_FILES := $(shell find tests -name 'test_*.py' -not -path 'tests/agents/*' -not -path 'tests/hosts/*' -not -path 'tests/recipes/frameworks/*')
.venv/tests.stamp: $(TEST_FILES) | venv
	@printf '%s\n' $? | xargs --max-procs=2 --max-args=250 $(BIN)/python -m pytest --collect-only -qq -p no:cacheprovider > /dev/null || true
	@touch $@

.PHONY: test
test: venv .venv/tests.stamp ## Run what finds most faults, in four minutes (ARGS="-k word" selects; ANSWERBACK_SYSTEM_PACKAGES=no installs no browser, no database)
	@.ci/system-packages
	@$(COMPILE)
	@MATRIX=once $(BIN)/python -m $(PYTEST) $(ARGS)

.PHONY: test-whole
test-whole: venv .venv/tests.stamp ## Run all tests but those with real agents, in all combinations
	@.ci/system-packages
	@$(COMPILE)
	@MATRIX=whole $(BIN)/python -m $(PYTEST) $(ARGS)

.PHONY: test-agents
test-agents: venv ## Run the tests with real agents and frameworks, installed into .venv, and scripted models
	@.ci/recipes frameworks
	@.ci/agents
	@timeout 1200 $(BIN)/python -m $(PYTEST) --numprocesses=auto --maxprocesses=4 --timeout=300 --durations=5 tests/agents tests/recipes/frameworks $(ARGS)

.PHONY: test-hosts
test-hosts: venv ## Run every kind of prompt on every real host, with scripted models; takes about half an hour
	@.ci/agents
	@$(BIN)/python -m $(PYTEST) --numprocesses=2 -rs tests/hosts $(ARGS)

.PHONY: check
check: style types imports audit check-unit check-processes check-browser check-simulation ## Run every check that a change has to pass: what .ci/run runs

# The groups of its tests, which can run side by side.
check-unit: CHECKED := tests/unit tests/meta tests/mutants
check-processes: CHECKED := tests/acceptance tests/budgets
check-browser: CHECKED := tests/browser tests/documentation tests/recipes
check-browser: docs

.PHONY: check-unit check-processes check-browser
check-unit check-processes check-browser: venv .venv/tests.stamp
	@.ci/system-packages
	@$(COMPILE)
	@$(BIN)/python -m $(PYTEST) $(CHECKED) $(ARGS)
	@$(if $(filter check-unit,$@),$(BIN)/python -m tests.mutants --quick)

# New seeds for so many minutes, on the newest Python that is here.
SIMULATE_MINUTES ?= 10
.PHONY: check-simulation
check-simulation: venv
	@$(firstword $(wildcard .venv/python3.13/bin/python) $(BIN)/python) -m tests.simulation --minutes $(SIMULATE_MINUTES) --jobs 2

.PHONY: style
style: venv ## Check formatting and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

.PHONY: format
format: venv ## Format the code and apply lint fixes
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: types
types: venv ## Run mypy in strict mode, on the tests too
	@$(BIN)/mypy

.PHONY: imports
imports: venv ## Check which package may import which
	@$(BIN)/lint-imports

.PHONY: coverage
coverage: venv ## Run all tests with branch coverage; bot/ and storage/ need 100 %, or a reason for each exclusion
	@.ci/system-packages
	@$(COMPILE)
	@$(BIN)/coverage erase
	@MATRIX=whole $(BIN)/coverage run -m $(PYTEST) $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report
	@$(BIN)/coverage report --include='bot/*,storage/*' --fail-under=100

.PHONY: mutants
mutants: venv ## Change one line of the product at a time, and see the named tests fail (ARGS=--quick leaves out slow ones)
	@.ci/system-packages
	@$(BIN)/python -m tests.mutants $(ARGS)

.PHONY: soak
soak: venv ## Repeat the tests in which processes and connections race, with random delays (ARGS=5 sets how often)
	@.ci/system-packages
	@$(COMPILE)
	@for ((round = 1; round <= $(or $(ARGS),20); round++)); do \
		echo "Round $$round"; MATRIX=whole $(BIN)/python -m $(PYTEST) --quiet -p tests.random_delays $(RACES) || exit 1; done

.PHONY: versions
versions: venv ## Run the unit tests with the lowest and the newest versions of the dependencies, and with other Pythons
	@.ci/system-packages
	@.ci/versions lowest
	@.ci/versions newest
	@.ci/versions pythons

.PHONY: audit
audit: venv ## Look up known vulnerabilities of the installed packages, where a database can be reached
	@.ci/audit

.PHONY: release
release: venv ## Build wheels, source distributions, notes, bill of materials and image into dist/, and check them in clean environments
	@.ci/release

.PHONY: chaos
chaos: venv ## Test replicas on one PostgreSQL while everything fails (ARGS=1000 sets the rounds; CHAOS_SEED=7 repeats a run)
	@.ci/system-packages
	@CHAOS_ROUNDS=$(or $(ARGS),100) CHAOS_SEED=$${CHAOS_SEED:-$$RANDOM} $(BIN)/python -m pytest -q -x -rP tests/acceptance/test_chaos.py tests/acceptance/test_chaos_deciding.py

.PHONY: simulate
simulate: venv ## Run the whole service in virtual time, each seed with its own faults (ARGS="--seeds 1000"; --seed 7 repeats one)
	@$(BIN)/python -m tests.simulation $(ARGS)

.PHONY: simulate-coverage
simulate-coverage: venv ## Run seeds of the simulation, and say which lines of the product they run (ARGS="--seeds 20")
	@$(BIN)/coverage erase
	@PYTHONHASHSEED=0 $(BIN)/coverage run -m tests.simulation $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --include='bot/answerback/*,adapters/answerback_chat/*,adapters/answerback_slack/*,storage/answerback_storage/sqlite/*'

.PHONY: bench
bench: venv ## Run the benchmarks, with baselines in the same run (ARGS="--against COMMIT service" runs one, beside a commit)
	@$(BIN)/python -m tests.benchmarks $(ARGS)

.PHONY: budgets
budgets: venv ## Measure again what tests/budgets/budgets.json allows, and rewrite it: give the reason in the commit
	@.ci/system-packages
	@$(BIN)/python -m tests.budgets

.PHONY: docs
# Not --quiet: with it, mkdocs counts no warnings, and --strict has no effect.
docs: venv ## Build the documentation into site/; broken links are errors
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file .mkdocs.yml
	@echo "Built site/. To read it with its search: python3 -m http.server --bind 127.0.0.1 --directory site"

.PHONY: lock
lock: venv ## Pin the newest releases allowed by pyproject.toml, with hashes
	@.ci/lock

.PHONY: frontier
frontier: venv ## For maintainers: compare how the newest release of each agent and framework asks with what is recorded (ARGS=--record)
	@$(BIN)/python -m tests.frontier $(ARGS)

.PHONY: clean
clean: ## Remove everything the other targets created
	rm -rf .venv site build *.egg-info bot/answerback_{agents,base,client,hosts}/{build,*.egg-info} .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*
