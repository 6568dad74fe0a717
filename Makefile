# Everything here runs on a machine with Python 3.11, make and git. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
UV_VERSION := 0.13.8
PORT ?= 8000
DATA ?= $(or $(SANDBOX_DATA),var/sandbox)
ARGS ?=
RAILS ?=
ONLY ?=
BASE ?=

# Uses uv from the PATH if there is one, otherwise installs a pinned version into .tools.
UV := $(or $(shell command -v uv 2>/dev/null),.tools/uv/bin/uv)
RUN := .venv/bin/python
# A third process works while the others wait for a server or a clock.
PYTEST = $(RUN) -m pytest -n 3 --dist loadgroup
# Without the tests that have a target of their own.
SUITE := not e2e and not clients and not image and not operations$(if $(ONLY), and ($(ONLY)))

export UV_PYTHON_DOWNLOADS := never
# Compile bytecode once, at installation. If processes may not write bytecode, each would compile again at its start.
export UV_COMPILE_BYTECODE := 1
# The interpreter itself: if uv is given a version manager's shim, it makes .venv anew at every sync. PYTHON=… decides.
export UV_PYTHON := $(or $(if $(filter command,$(origin PYTHON)),,$(UV_PYTHON)),$(shell $(PYTHON) -c 'import sys; print(sys._base_executable)' 2>/dev/null))

VARIABLES := ARGS BASE DATA IMAGE_CACHE ONLY PORT PYTHON RAILS
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(VARIABLES),$(GIVEN))
$(if $(UNKNOWN),$(error $(UNKNOWN)? Known: $(VARIABLES)))

.PHONY: help install run run-production test test-long test-all test-faults test-operations test-browser test-clients test-image screenshots lint format bench bench-compare openapi client-models client-dist addresses field-tables fonts clean

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

run: install ## start the sandbox: web, worker and schedule on SQLite (PORT=8000, DATA=var/sandbox, RAILS=checkout,paystack)
	@exec $(RUN) manage.py sandbox --port $(PORT) --data '$(DATA)' $(if $(RAILS),--rails '$(RAILS)')

run-production: install ## start production's processes on this machine: PostgreSQL, Redis, gunicorn with TLS, worker, beat (ARGS=--help)
	@exec $(RUN) -m config.runtime.local_production $(ARGS)

test: install ## run the test suite (on SQLite, or with DATABASE_URL and REDIS_URL; ONLY=mark; ARGS go to pytest)
	@$(PYTEST) -m "$(SUITE) and not faults and not long" $(ARGS)

test-long: install ## run the slow tests: journeys, races, state machines, hanging peers
	@$(PYTEST) -m "$(SUITE) and not faults and long" $(ARGS)

test-all: install ## run all tests that need no browser, and the most important fault tests
	@$(PYTEST) -m "$(SUITE) and (representative or not faults)" $(ARGS)

test-faults: install ## kill, stop, fill and lock everything under load (needs PostgreSQL and Redis installed; PgBouncer for one test)
	@$(RUN) -m pytest tests/faults -m "faults and not in_short" $(ARGS)

test-operations: install ## run the commands of docs/operations.md on a scratch host (needs root, systemd, nginx, PostgreSQL, Redis)
	@$(RUN) -m pytest tests/operations -m operations $(ARGS)

test-clients: install ## test both clients and what generators make of the API (needs Node.js 20 and npm; ARGS=--all also needs Java)
	@$(UV) sync --locked --quiet --inexact --group generators $(if $(filter --all,$(ARGS)),--group openapi-generator)
	@$(RUN) -m pytest tests/client_packages --timeout=900 -m "clients $(if $(filter --all,$(ARGS)),,and not openapi_generator)" $(filter-out --all,$(ARGS))

test-image: install ## build the image and run the service from it (as root; needs buildah, podman, crun, debootstrap)
	@$(RUN) -m pytest tests/image -m image $(ARGS)

test-browser: install ## run the browser tests (needs Chromium)
	@$(UV) sync --locked --quiet --inexact --group e2e
	@$(PYTEST) -n 2 tests/browser --dist loadfile --no-loadscope-reorder -m e2e $(ARGS)

screenshots: install ## take screenshots of every page into screenshots/ (needs Chromium)
	@$(UV) sync --locked --quiet --inexact --group e2e
	@$(RUN) -m tests.browser.screenshots

lint: install ## check style, types, import contracts, migrations and the API description
	@.venv/bin/ruff check .
	@.venv/bin/ruff format --check --quiet .
	@.venv/bin/lint-imports
	@.venv/bin/mypy
	@.venv/bin/mypy --config-file clients/python/pyproject.toml clients/python/src
	@$(RUN) manage.py check_project
	@$(RUN) manage.py spectacular --format openapi-json | $(RUN) clients/python/generate.py --check -

format: install ## format the code and apply ruff's fixes
	@.venv/bin/ruff check --fix --quiet . ; .venv/bin/ruff format --quiet .

bench: install ## run the benchmarks: ARGS="--quick", ARGS="ledger api" (needs PostgreSQL, pgbench, Redis)
	@$(UV) sync --locked --quiet --inexact --group bench
	@$(RUN) -m benchmarks $(ARGS)

bench-compare: install ## compare two commits' speed: BASE=c1ab994 ARGS=api (ARGS=--help; needs PostgreSQL, Redis)
	@$(RUN) -m benchmarks.compare $(if $(BASE),--base $(BASE)) $(ARGS)

audit: install ## audit locked packages for known vulnerabilities (ARGS=--unless-offline accepts an unavailable index)
	@$(UV) sync --locked --quiet --inexact --group audit
	@mkdir -p build && $(UV) export --locked --quiet --all-extras --all-groups --no-emit-project --no-emit-local --output-file build/requirements.txt >/dev/null
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

client-models: install ## write the clients' models from the OpenAPI document (needs Node.js 20 and npm)
	@mkdir -p build && $(RUN) manage.py spectacular --format openapi-json > build/openapi.json
	@$(RUN) clients/python/generate.py build/openapi.json
	@cd clients/node && npm ci --silent --no-audit --no-fund && npm exec -- openapi-typescript ../../build/openapi.json -o src/schema.d.ts
	@cd clients/node && npm version --silent --allow-same-version --no-git-tag-version "$$($(CURDIR)/$(RUN) -c 'import json; print(json.load(open("../../build/openapi.json"))["info"]["version"])')" >/dev/null

client-dist: install ## build both client packages twice, and use each in an empty project (ARGS=--without-licence)
	@$(RUN) clients/client_dist.py $(ARGS)

addresses: install ## write docs/addresses.md from the access rules of the views
	@$(RUN) manage.py address_guide > docs/addresses.md

# Inter: Latin-1, the letters of Yoruba, Igbo and Hausa with their marks, punctuation, naira, euro, arrows and keys.
INTER := inter-ui@4.1.1
INTER_LETTERS := U+20-7E,U+A0-AC,U+AE-FF,U+131,U+143-144,U+152-153,U+181,U+18A,U+198-199,U+1F8-1F9,U+253,U+257,U+300-301,$\
	U+304,U+323,U+1E44-1E45,U+1E62-1E63,U+1EB8-1EB9,U+1ECA-1ECD,U+1EE4-1EE5,U+2010-2015,U+2018-201E,U+2022,U+2026,$\
	U+2032-2033,U+20A6,U+20AC,U+2190-2193,U+2197,U+21A9,U+2212,U+2318,U+25CF,U+2713
MONO := @fontsource-variable/jetbrains-mono@5.3.0
MONO_LETTERS := U+20-7E,U+A0-FF,U+2013-2014,U+2018-201A,U+201C-201D,U+2022,U+2026,U+2191,U+2193,U+2212

fonts: install ## rebuild static/fonts from the published fonts (needs npm to fetch them)
	@$(UV) sync --locked --quiet --inexact --group fonts
	@rm -rf build/fonts && mkdir -p static/fonts build/fonts/inter build/fonts/mono
	@cd build/fonts && for font in "inter $(INTER)" "mono $(MONO)"; do \
		set -- $$font; tar -xzf "$$(npm pack --silent "$$2")" -C "$$1" --strip-components=1 || exit 2; done
	@.venv/bin/fonttools varLib.instancer --quiet --no-recalc-timestamp --output build/fonts/inter.ttf \
		build/fonts/inter/variable/InterVariable.woff2 wght=400:650 opsz=14
	@.venv/bin/fonttools varLib.instancer --quiet --no-recalc-timestamp --output build/fonts/mono.ttf \
		build/fonts/mono/files/jetbrains-mono-latin-wght-normal.woff2 wght=400:600
	@.venv/bin/pyftsubset build/fonts/inter.ttf --unicodes="$(INTER_LETTERS)" --flavor=woff2 \
		--layout-features=calt,case,ccmp,cv05,locl,ss02,tnum,zero,kern,mark,mkmk --output-file=static/fonts/inter.woff2
	@.venv/bin/pyftsubset build/fonts/mono.ttf --unicodes="$(MONO_LETTERS)" --flavor=woff2 \
		--layout-features=ccmp --output-file=static/fonts/jetbrains-mono.woff2
	@cp build/fonts/inter/LICENSE.txt static/fonts/inter-OFL.txt
	@cp build/fonts/mono/LICENSE static/fonts/jetbrains-mono-OFL.txt
	@ls -l static/fonts

field-tables: install ## write the tables of fields in docs/*.md from the declarations of answers
	@$(RUN) manage.py field_tables

clean: ## remove what can be made again (keeps var/)
	@rm -rf build .venv .tools .mypy_cache .pytest_cache .ruff_cache .hypothesis
