# Everything here runs on a machine with Python 3.11, make and git. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
UV_VERSION := 0.13.8
PORT ?= 8000
DATA ?= $(or $(SANDBOX_DATA),var/sandbox)
ARGS ?=

# Uses uv from the PATH if there is one, otherwise installs a pinned version into .tools.
UV := $(or $(shell command -v uv 2>/dev/null),.tools/uv/bin/uv)
RUN := .venv/bin/python
PYTEST = $(RUN) -m pytest -n 2 --dist loadgroup

export UV_PYTHON_DOWNLOADS := never
# Compile bytecode once, at installation. If processes may not write bytecode, each would compile again at its start.
export UV_COMPILE_BYTECODE := 1
export UV_PYTHON ?= $(shell command -v $(PYTHON) 2>/dev/null)

.PHONY: help install run run-production test test-long test-all test-faults test-browser screenshots lint format bench openapi addresses field-tables clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 26

install: .venv/.installed ## install all locked dependencies into .venv

.tools/uv/bin/uv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Sluice needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 2; }
	@echo "Fetching uv $(UV_VERSION) into .tools ..."
	@$(PYTHON) -m venv .tools/uv || { echo "python3 cannot make a virtual environment; on Debian: apt-get install python3-venv"; exit 2; }
	@.tools/uv/bin/pip install --quiet uv==$(UV_VERSION)

.venv/.installed: pyproject.toml uv.lock | $(filter .tools/%,$(UV))
	@$(UV) sync --locked --quiet
	@touch $@

run: install ## start the sandbox: web, worker and schedule on SQLite (PORT=8000, DATA=var/sandbox)
	@exec $(RUN) manage.py sandbox --port $(PORT) --data $(DATA)

run-production: install ## start production's processes on this machine: PostgreSQL, Redis, gunicorn with TLS, worker, beat (ARGS=--help)
	@exec $(RUN) -m config.runtime.local_production $(ARGS)

test: install ## run the test suite (on SQLite, or with DATABASE_URL and REDIS_URL); ARGS go to pytest
	@$(PYTEST) -m "not e2e and not faults and not long" $(ARGS)

test-long: install ## run the slow tests: journeys, races, state machines, hanging peers
	@$(PYTEST) -m "not e2e and not faults and long" $(ARGS)

test-all: install ## run all tests that need no browser, and the most important fault tests
	@$(PYTEST) -m "not e2e and (representative or not faults)" $(ARGS)

test-faults: install ## kill, stop, fill and lock everything under load (needs PostgreSQL and Redis installed)
	@$(RUN) -m pytest tests/faults -m "faults and not in_short" $(ARGS)

test-browser: install ## run the browser tests (needs Chromium)
	@$(UV) sync --locked --quiet --group e2e
	@$(PYTEST) --dist loadfile -m e2e $(ARGS)

screenshots: install ## take screenshots of every page into screenshots/ (needs Chromium)
	@$(UV) sync --locked --quiet --group e2e
	@$(RUN) -m tests.browser.screenshots

lint: install ## check style, types, import contracts, migrations and the API description
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/lint-imports
	@.venv/bin/mypy
	@$(RUN) manage.py check_project

format: install ## format the code and apply ruff's fixes
	@.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format --quiet .

bench: install ## run the benchmarks: ARGS="--quick", ARGS="ledger api" (needs PostgreSQL, pgbench, Redis)
	@$(UV) sync --locked --quiet --group bench
	@$(RUN) -m benchmarks $(ARGS)

audit: install ## audit locked packages for known vulnerabilities (ARGS=--unless-offline accepts an unavailable index)
	@$(UV) sync --locked --quiet --group audit
	@mkdir -p build && $(UV) export --locked --quiet --all-extras --all-groups --no-emit-project --output-file build/requirements.txt >/dev/null
	@$(RUN) -m config.checks.package_audit build/requirements.txt $(ARGS)

sbom: $(filter .tools/%,$(UV)) ## write what an installation consists of into build/sbom.json (CycloneDX)
	@mkdir -p build && $(UV) export --locked --quiet --preview-features sbom-export --format cyclonedx1.5 --no-default-groups --all-extras --output-file build/sbom.json >/dev/null
	@echo "build/sbom.json"

pin-images: ## print the images of docker-compose.yml with the digests of today, for .env (needs docker and its registry)
	@set -o pipefail; sed -nE 's/.*\$$\{([A-Z]+_IMAGE):-([^@}]+)(@[^}]+)?\}.*/\1 \2/p' docker-compose.yml | while read -r name image; do \
		digest=$$(docker buildx imagetools inspect "$$image" --format '{{.Manifest.Digest}}' </dev/null) \
			|| { echo "The digest of $$image can't be looked up: is there a way to the registry?" >&2; exit 2; }; \
		echo "$$name=$$image@$$digest"; \
	done

openapi: install ## print the OpenAPI document
	@$(RUN) manage.py spectacular --format openapi-json --validate --fail-on-warn

addresses: install ## write docs/addresses.md from the table of config/access_rules.py
	@$(RUN) manage.py address_guide > docs/addresses.md

field-tables: install ## write the tables of fields in docs/*.md from the declarations of answers
	@$(RUN) manage.py field_tables

clean: ## remove what can be made again (keeps var/)
	@rm -rf build .venv .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis
