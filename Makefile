# Every recipe sets up what it needs; only Python 3.11+, make and a package registry are assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test lint docs bench cassandra cassandra-stop clean

# One stamp for each set of extras, so that an installed one is not installed again.
$(VENV)/.base: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "neardup needs Python 3.11 or later; try make PYTHON=python3.11"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.test: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "neardup needs Python 3.11 or later; try make PYTHON=python3.11"; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test,hf,cassandra]'
	@touch $@

demo: $(VENV)/.base
	@mkdir -p demo
	@$(BIN)/neardup synth -n 20000 -o demo/notes.jsonl --overwrite
	@$(BIN)/neardup dedup demo/notes.jsonl -o demo/out --preset clinical --id id --overwrite
	@echo "The notes lie in demo/notes.jsonl, the clusters and the clean corpus in demo/out."

test: $(VENV)/.test lint
	$(BIN)/python -m pytest

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: $(VENV)/.test
	$(BIN)/python tools/make_cli_docs.py

bench: $(VENV)/.base
	$(BIN)/python bench/setup_peers.py
	$(BIN)/python bench/run.py
	$(BIN)/python bench/targets.py

# A real server on the loopback address, for the tests of the store and for bench/stores.py. Without
# Java 11 or 17 and Maven it says so and ends with 3; the tests are then skipped.
cassandra: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cassandra]'
	@$(BIN)/python tools/cassandra.py start

cassandra-stop:
	@$(PYTHON) tools/cassandra.py stop

clean: cassandra-stop
	rm -rf $(VENV) demo build dist bench/.venvs bench/data .cassandra
