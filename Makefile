# Everything a person or a CI runs. `make` alone lists the targets.
# PORT, LASTGOOD_HOME and SPEED may be given on the command line or in the environment.

VENV := .venv
PY := $(VENV)/bin/python

.DEFAULT_GOAL := help
.PHONY: help setup dev clients frameworks up demo screenshots load test check lint fix types imports migrations docs settings-docs lock cli clean

help: ## this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' Makefile | expand -t 22

setup: $(VENV)/stamp-base ## the environment with the locked packages, nothing else

dev: $(VENV)/stamp-dev clients ## the same with the packages for tests and checks

clients: $(VENV)/stamp-base ## the wandb clients that the tests drive, each in an environment of its own
	@sh requirements/client.sh 0.31.0 $(VENV)
	@sh requirements/client.sh 0.16.6 $(VENV)

frameworks: $(VENV)/stamp-base ## torch (CPU) and transformers beside it, for the tests that roll trainings back
	@sh requirements/frameworks.sh $(VENV)

# Without cached bytecode each of our processes compiles a thousand files when it starts.
unexport PYTHONDONTWRITEBYTECODE

# Killing make ends what it started.
up demo: export LASTGOOD_DIE_WITH_PARENT := 1

up: setup ## Lastgood in the foreground (Ctrl-C stops it); PORT=8000 LASTGOOD_HOME=var
	@$(PY) -m workers.supervisor

demo: setup ## the same, fed with two real recorded runs; SPEED=
	@$(PY) manage.py demo

screenshots: dev ## every page of the demo, in both themes and on a phone, into docs/img; ONLY=runs,nodes
	@$(PY) -m workers.demo.pictures --only "$(ONLY)"

load: setup ## read a recorded run folder into a running Lastgood: make load DIR=... KEY=...
	@$(PY) manage.py load "$(DIR)" --run "$(KEY)" --wait

test: check ## all checks and the whole suite against real Postgres and Valkey
	$(PY) -m pytest -q -n auto --maxprocesses 4 --dist loadscope --no-loadscope-reorder

check: lint types imports migrations docs ## what must hold before a commit, without the tests

lint: dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

fix: dev ## let ruff repair what it can
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: dev
	$(PY) -m mypy apps workers config

imports: dev
	$(VENV)/bin/lint-imports

migrations: dev
	$(PY) -W "ignore:Got an error checking" manage.py makemigrations --check --dry-run --skip-checks

docs: dev
	$(PY) -m config.settings_docs --check

settings-docs: dev
	$(PY) -m config.settings_docs

lock: $(VENV)/stamp-venv ## write requirements/*.txt anew from pyproject.toml
	sh requirements/lock.sh

cli: $(VENV)/stamp-venv ## dist/lastgood, the client for terminals as one file
	$(PY) -m workers.cli.bundle dist/lastgood

clean: ## remove the environment and caches; your data in var/ stays
	rm -rf $(VENV) .venv-clients .venv-frameworks .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Stamps: a second call costs nothing, a changed lock file installs again.
$(VENV)/stamp-venv: requirements/uv.txt
	sh requirements/environment.sh $(VENV)
	@touch $@

$(VENV)/stamp-base: $(VENV)/stamp-venv requirements/base.txt
	sh requirements/install.sh $(VENV) requirements/base.txt
	@touch $@

$(VENV)/stamp-dev: $(VENV)/stamp-base requirements/dev.txt
	sh requirements/install.sh $(VENV) requirements/dev.txt
	@touch $@
