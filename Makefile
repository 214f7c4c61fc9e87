# Each target makes its own environment where there is none. PYTHON picks the interpreter: 3.11 or newer.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo demo-simulate test fuzz test-frameworks test-pytest lint bench bench-peers soak format clean

help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/'

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $@

# The simulation runner and the frameworks that can live with it are heavy, and only tests need them.
$(VENV)/.shared: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --editable . --group dev --group runner --group shared
	@touch $@

demo: $(VENV)/.core ## Check the recorded runs of an order desk against their expectations
	@echo "$$ tracewitness check examples/orders/orders.evals.yaml examples/orders/results.json"
	@$(BIN)/tracewitness check examples/orders/orders.evals.yaml examples/orders/results.json; \
	  status=$$?; echo "exit status $$status (1: something is broken, as it should be: one agent lied)"; test $$status -eq 1

$(VENV)/.simulate: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --editable '.[simulate]'
	@touch $@

demo-simulate: $(VENV)/.simulate ## Simulate customers of two order desks, one of which lies, with a local model server
	@cd examples/orders && PATH="$(abspath $(BIN)):$$PATH" python model_server.py sh simulate.sh

# The language server by which editors help with eval files comes from npm; its tests skip by name without it.
$(VENV)/.editor: $(VENV)/.core
	@if command -v npm >/dev/null; then \
	  npm install --silent --no-audit --no-fund --prefix $(VENV)/editor 'yaml-language-server@>=1.19' && touch $@; \
	else echo "The tests of editors need npm: apt-get install npm"; fi

test: $(VENV)/.shared $(VENV)/.editor ## Run the tests
	@command -v chromium >/dev/null || echo "The tests of the HTML report need a browser: apt-get install chromium"
	$(BIN)/python -m pytest --numprocesses auto --quiet

fuzz: $(VENV)/.shared ## Read 200,000 recordings that were cut, flipped, retyped or shuffled
	TRACEWITNESS_MUTANTS=200000 $(BIN)/python -m pytest --numprocesses auto --quiet tests/readers/test_mutated_recordings.py

# Frameworks differ in what they require, so each is tested in an environment of its own, where no test may be skipped.
FRAMEWORKS := $(shell sed -n 's/^framework-\([a-z-]*\) = .*/\1/p' pyproject.toml)
# What of a framework comes from npm; node has to be there for it.
NPM_vercel-ai := ai@6
# An agent of a framework that can't live with the others is simulated in the framework's environment, too.
ALSO_google-adk := tests/evals/simulation/test_agents_frameworks.py tests/cli/test_init.py -k 'google-adk or google_adk'

test-frameworks: $(addprefix test-framework-,$(FRAMEWORKS)) ## Run the tests of readers on the real frameworks

test-framework-%: .venv-frameworks/%/.ready
	TRACEWITNESS_NO_SKIPS=1 TRACEWITNESS_NODE_FOLDER=.venv-frameworks/$* \
	  .venv-frameworks/$*/bin/python -m pytest --quiet tests/readers/test_framework_$(subst -,_,$*).py $(ALSO_$*)

.PRECIOUS: .venv-frameworks/%/.ready
.venv-frameworks/%/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-frameworks/$*
	.venv-frameworks/$*/bin/python -m pip install --quiet --upgrade pip
	.venv-frameworks/$*/bin/python -m pip install --quiet --editable . --group framework-$*
	$(if $(NPM_$*),npm install --silent --no-audit --no-fund --prefix .venv-frameworks/$* $(NPM_$*))
	@touch $@

# The plugin works with every pytest from the oldest to the newest, and with the plugins of the time.
test-pytest: test-pytest-oldest test-pytest-newest ## Run the tests of the plugin on the oldest and the newest pytest

test-pytest-%: .venv-pytest/%/.ready
	TRACEWITNESS_NO_SKIPS=1 .venv-pytest/$*/bin/python -m pytest --quiet tests/plugin

.PRECIOUS: .venv-pytest/%/.ready
.venv-pytest/%/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-pytest/$*
	.venv-pytest/$*/bin/python -m pip install --quiet --upgrade pip
	.venv-pytest/$*/bin/python -m pip install --quiet --editable . --group pytest-$*
	@touch $@

lint: $(VENV)/.dev ## Check style, types and the directions of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev ## Run the benchmarks
	$(BIN)/python -m pytest benchmarks --quiet --benchmark-columns=min,median,max,rounds

.venv-peers/.ready: pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --upgrade pip
	.venv-peers/bin/python -m pip install --quiet --editable . --group peers
	@touch $@

bench-peers: .venv-peers/.ready ## Run the benchmarks against other libraries that check tool calls
	.venv-peers/bin/python benchmarks/peers/compare.py

soak: $(VENV)/.shared ## Scan for three minutes while workers are killed, files are torn and the disk is full
	$(BIN)/python benchmarks/soak.py

format: $(VENV)/.dev ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean: ## Remove what the other targets made
	rm -rf $(VENV) .venv-frameworks .venv-pytest .venv-peers .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks build dist
