.DEFAULT_GOAL := help
SHELL := /bin/bash
BIN := .venv/bin
# More than processors, for a test often waits for a timer or another process; but each of them imports all tests first.
WORKERS := $(shell expr 2 \* $$(getconf _NPROCESSORS_ONLN) + 2)
PYTEST := pytest --numprocesses=$(WORKERS) --dist=worksteal
ARGS ?=
# Tests start hundreds of processes: each module is compiled once, and not by each of them. pytest compiles its own.
unexport PYTHONDONTWRITEBYTECODE
COMPILE := $(BIN)/python -m compileall -q -j 0 -x '/(test_[^/]*|conftest)\.py$$' bot adapters storage tests

.PHONY: help
help: ## Show what can be made
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: demo
demo: .venv/core.stamp ## Walk a form on a page in the browser, no token needed (ARGS=--no-browser prints the address)
	@$(BIN)/answerback demo $(ARGS)

.PHONY: venv
venv: .venv/all.stamp ## Make .venv with everything that running, testing and documenting needs

PINS := pyproject.toml bot/answerback_client/pyproject.toml constraints.txt .ci/venv manifests/install

.venv/core.stamp: $(PINS)
	@test -f .venv/all.stamp || .ci/venv core
	@test ! -f .venv/all.stamp || .ci/venv all
	@touch $@

.venv/all.stamp: $(PINS)
	@.ci/venv all
	@touch .venv/core.stamp $@

.PHONY: test
test: venv ## Run every test that needs no agent or framework (ARGS="-k word" runs some)
	@.ci/system-packages
	@$(COMPILE)
	@$(BIN)/python -m $(PYTEST) $(ARGS)

.PHONY: test-agents
test-agents: venv ## Drive the real agents and frameworks, installed into .venv, with scripted models
	@.ci/recipes frameworks
	@.ci/agents
	@timeout 1200 $(BIN)/python -m $(PYTEST) --numprocesses=auto --maxprocesses=4 --timeout=300 --durations=5 tests/agents tests/recipes/frameworks $(ARGS)

.PHONY: check
check: style types imports docs coverage ## Everything that has to hold: style, types, import rules, docs, tests

.PHONY: style
style: venv ## Formatting and lint
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .

.PHONY: format
format: venv ## Format the code, and fix what lint can fix
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

.PHONY: types
types: venv ## mypy, strict, tests included
	@$(BIN)/mypy

.PHONY: imports
imports: venv ## Who may import whom
	@$(BIN)/lint-imports

.PHONY: coverage
coverage: venv ## Every test, with branch coverage; bot/ and storage/ leave nothing out without a reason
	@.ci/system-packages
	@$(COMPILE)
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m $(PYTEST) $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report
	@$(BIN)/coverage report --include='bot/*,storage/*' --fail-under=100

.PHONY: chaos
chaos: venv ## Replicas on one PostgreSQL while everything breaks, so many rounds (ARGS=1000; CHAOS_SEED=7 repeats a run)
	@.ci/system-packages
	@CHAOS_ROUNDS=$(or $(ARGS),100) CHAOS_SEED=$${CHAOS_SEED:-$$RANDOM} $(BIN)/python -m pytest -q -x -rP tests/acceptance/test_chaos.py

.PHONY: bench
bench: venv ## Measure, beside baselines in the same run (ARGS=store measures one part)
	@$(BIN)/python -m tests.benchmarks $(ARGS)

.PHONY: docs
# Not --quiet: with it mkdocs counts no warnings, and --strict holds nothing.
docs: venv ## Build the documentation into site/, every broken link an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --config-file .mkdocs.yml

.PHONY: lock
lock: venv ## Pin the newest releases that pyproject.toml allows, with hashes
	@printf 'pip\nsetuptools\n' | $(BIN)/uv pip compile pyproject.toml - --all-extras --universal \
		--python-version 3.11 --generate-hashes --upgrade --no-header --no-annotate --quiet \
		--no-emit-package answerback-client --output-file constraints.txt

.PHONY: clean
clean: ## Remove what the other targets made
	rm -rf .venv site build *.egg-info bot/answerback_client/{build,*.egg-info} .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*
