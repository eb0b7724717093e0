# Every recipe sets up what it needs; only Python 3.11+, make and a package registry are assumed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Two processes of tests more than there are cores: servers and killed processes are waited for.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 2)
SPREAD := -n $(WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: demo spark-demo test kernels collected test-long test-lowest test-bare test-spark \
	test-cassandra test-stores lint workflows docs site bench kills profile experiments times fuzz soak coverage \
	audit release browser cassandra cassandra-stop clean

# One stamp for each set of extras, so that an installed one is not installed again. Pip would compile
# modules on one core; this takes all cores, and leaves out the tests of other packages.
EXTRAS_test := [test,hf,cassandra,docs]
EXTRAS_experiments := [experiments,cassandra]
EXTRAS_stores := [stores]
EXTRAS_release := [release]
EXTRAS_checks := [checks,hf,cassandra,docs]
$(VENV)/.%: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "neardup needs Python 3.11 or later; try make PYTHON=python3.11"; exit 1; }
	@$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.$(EXTRAS_$*)'
	@$(BIN)/python -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || true
	@touch $@

demo: $(VENV)/.base
	@mkdir -p demo
	@$(BIN)/neardup synth -n 20000 -o demo/notes.jsonl --overwrite
	@$(BIN)/neardup dedup demo/notes.jsonl -o demo/out --preset clinical --id id --overwrite
	@echo "The notes are in demo/notes.jsonl, the clusters and the clean corpus in demo/out."

# PySpark is in an environment of its own: `make test` would take minutes longer with it.
SPARK := .venv-spark
$(SPARK)/.done: pyproject.toml
	@test -x $(SPARK)/bin/python || $(PYTHON) -m venv $(SPARK)
	@$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check -e '.[spark,report]' pytest
	@touch $@

# The same job on Apache Spark, with two executors in processes of their own, and what differs.
spark-demo: $(SPARK)/.done demo
	@$(SPARK)/bin/python tools/spark_demo.py demo/notes.jsonl demo/out demo/spark

# What is wrong with a change shows here, in less than 9 minutes on two cores: lint, and the tests that
# are not marked as long. Each area has some, each command those of its promises.
test: $(VENV)/.test
	@$(MAKE) --no-print-directory -j3 lint kernels collected
	@test -z "$$CI" || $(BIN)/python tools/browser.py install || true
	$(BIN)/python -m pytest $(SPREAD) -m "not long"

# Processes that test would compile the same kernels at the same time; mypy leaves a core idle.
kernels: $(VENV)/.test
	$(BIN)/neardup warmup

# Files of tests are compiled here, once; else each process that tests would do it.
collected: $(VENV)/.test
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null

# The rest, marked as long: real texts, kills at many moments, faults of the service, pages in a browser
# at several widths, large corpora, and examples and cells that differ little from those of `make test`.
test-long: $(VENV)/.test
	$(BIN)/python -m pytest $(SPREAD) -m long

# On Apache Spark: `make test` leaves these out, since pyspark is not there. Needs Java 17.
test-spark: $(SPARK)/.done
	$(SPARK)/bin/python -m pytest tests/spark

# The store in Cassandra, by a server that the tests start. `make test` leaves it out: a server keeps
# a core busy for a minute. Needs Java 11 or 17.
test-cassandra: $(VENV)/.test
	NEARDUP_START_CASSANDRA=1 $(BIN)/python -m pytest tests/state/test_state_cassandra.py

# The stores of Google and Azure, by servers on this machine; that of Azure needs node and npm.
test-stores: $(VENV)/.test $(VENV)/.stores
	npm install --silent --prefix .azurite azurite
	$(BIN)/python -m pytest tests/io/test_io_stores.py

# With the lowest versions that pyproject.toml allows: what needs no extra is tested, and files that
# need one, which other packages write and read again.
LOWEST := .venv-lowest
LOWEST_TESTS := tests/io tests/output tests/sketch tests/cli/test_cli_outputs.py
test-lowest:
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	$(LOWEST)/bin/python tools/lowest.py > $(LOWEST)/constraints.txt
	$(LOWEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		-e '.[citations,office]' -c $(LOWEST)/constraints.txt pytest hypothesis duckdb pandas polars \
		nbib odfpy openpyxl pybtex rispy vobject xlwt
	$(LOWEST)/bin/python -m pytest $(LOWEST_TESTS) -k "not louvain"

# With what the package itself requires and nothing else: no extra, no test dependency but pytest.
BARE := .venv-bare
test-bare:
	@test -x $(BARE)/bin/python || $(PYTHON) -m venv $(BARE)
	$(BARE)/bin/python -m pip install --quiet --disable-pip-version-check -e . pytest
	$(BARE)/bin/python -m pytest tests/cli/test_cli_bare.py tests/cli/test_cli_outputs.py -k "not louvain"

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The workflows of GitHub: their schema, and what makes them unsafe; nothing is fetched.
workflows: $(VENV)/.checks
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet .github

# What the documentation takes from the code: options, signatures, layers, modules, figures, and what
# the cells of the notebook show. The picture of the report needs a browser, see `make browser`;
# without one it stays as it is.
docs: $(VENV)/.test
	$(BIN)/python tools/make_cli_docs.py
	$(BIN)/python tools/make_matrix.py
	$(BIN)/python tools/make_reference.py
	$(BIN)/python tools/make_figures.py
	$(BIN)/python tools/make_notebook.py

# The documentation as pages, in site/; nothing is fetched.
site: $(VENV)/.test
	$(BIN)/python -m mkdocs build --strict

# Wheel and sdist in dist/, checked; the wheel alone does the main job in an empty environment.
release: $(VENV)/.release
	$(BIN)/python tools/release.py

bench: $(VENV)/.base
	$(BIN)/python bench/setup_peers.py
	$(BIN)/python bench/run.py
	$(BIN)/python bench/shapes.py
	$(BIN)/python bench/targets.py

# Four hundred processes that are killed, or refused by the system: writers of an index at any moment,
# and runs, streams and additions at a call that writes, which takes strace. The tests kill some.
kills: $(VENV)/.test
	NEARDUP_KILLS=150 $(BIN)/python -m pytest tests/index/test_index_durable.py -k kills
	NEARDUP_COPY_HISTORIES=2000 $(BIN)/python -m pytest tests/index/test_index_copied.py -k histories
	NEARDUP_KILLS=1 $(BIN)/python -m pytest tests/state/test_state_output_folder.py -k killed
	NEARDUP_KILLS=300 $(BIN)/python -m pytest tests/passages -k killed
	NEARDUP_MANY=1 $(BIN)/python -m pytest tests/deduplication tests/state \
		tests/linkage/test_records_against_killed.py -k "killed or damaged or disk"
	$(BIN)/python -m fuzz crashes --cases 150
	NEARDUP_SERVE_KILLS=100 $(BIN)/python -m pytest tests/serve/test_serve_faults.py -k kills
	NEARDUP_INTERLEAVINGS=1000 $(BIN)/python -m pytest tests/serve/test_serve_groups.py -k interleaving

# Where the CPU time goes, by libraries and functions; needs perf of Linux.
profile: $(VENV)/.base
	$(BIN)/python bench/profiling.py

# Looks for inputs that break neardup, an hour and a half in all; see fuzz/README.md.
fuzz: $(VENV)/.test
	NEARDUP_MANY=1 $(BIN)/python -m pytest tests/kernels tests/cluster tests/match tests/inspect \
		tests/passages tests/fuzz tests/linkage tests/index/test_index_copied.py \
		tests/deduplication/test_engine_definition.py
	$(BIN)/python -m fuzz readers --cases 1000000 --seconds 1500
	$(BIN)/python -m fuzz kernels --cases 20000 --seconds 900
	$(BIN)/python -m fuzz options --cases 5000 --seconds 600
	$(BIN)/python -m fuzz engines --cases 5000 --seconds 900
	$(BIN)/python -m fuzz state --cases 20000 --seconds 600
	$(BIN)/python -m fuzz indexes --cases 20000 --seconds 600
	$(BIN)/python -m fuzz.indexes --cases 1000
	NEARDUP_SERVE_REQUESTS=100000 $(BIN)/python -m pytest tests/serve/test_serve_faults.py -k any_kind

# A stream into an index for an hour, with readers, kills, compactions and full disks; then half an hour
# of calls of a service, whose memory must stay what it is.
soak: $(VENV)/.test
	$(BIN)/python -m fuzz.soak --minutes 60
	NEARDUP_SERVE_SOAK=1800 $(BIN)/python -m pytest -rP tests/serve/test_serve_faults.py -k memory

# Which branches outside the kernels the tests take, those of child processes included; on Apache
# Spark too where `make test-spark` has made its environment, with Cassandra where
# `NEARDUP_START_CASSANDRA` is set, and with the stores where `make test-stores` has been run. That
# tests pass is a matter of `make test` and `make test-long`: some can't while coverage is measured,
# which takes time and writes files where they forbid it.
coverage: $(VENV)/.checks
	$(BIN)/python -m coverage erase
	-$(BIN)/python -m coverage run -m pytest $(SPREAD)
	@test ! -e $(SPARK)/.done || { \
		$(SPARK)/bin/python -m pip install --quiet --disable-pip-version-check 'coverage>=7.10' && \
		$(SPARK)/bin/python -m coverage run -m pytest tests/spark; }
	$(BIN)/python tools/coverage_report.py 92

# Known weaknesses of what is installed; asks the database of pip-audit over the network, and fails
# where that can't be asked, instead of calling what nobody looked at safe.
audit: $(VENV)/.checks
	$(BIN)/python -m pip freeze --exclude-editable > $(VENV)/installed.txt
	$(BIN)/python -m pip_audit --strict --no-deps --disable-pip -r $(VENV)/installed.txt

# A browser for the tests of pages, if none is here: Chromium of Debian or Ubuntu, as root. Where it
# can't be had, it says why and ends with 3; the tests are then skipped.
browser: $(VENV)/.test
	@$(BIN)/python tools/browser.py install

# The experiments of the paper, and the pages in docs/paper, in about 47 minutes by their runs.json.
# It starts a Cassandra and stops it, as far as one can be had; see `make cassandra`.
experiments: $(VENV)/.experiments
	$(BIN)/python -m experiments

# The same with ten million notes, three runs each; for a machine that does nothing else, and has 50 GB.
times: $(VENV)/.experiments
	$(BIN)/python bench/ten_million.py --runs 3
	$(BIN)/python -m experiments

# A real server on the loopback address, for bench/stores.py. Without Java 11 or 17 and Maven it says
# so and ends with 3.
cassandra: $(VENV)/.test
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[cassandra]'
	@$(BIN)/python tools/cassandra.py start

cassandra-stop:
	@$(PYTHON) tools/cassandra.py stop

clean: cassandra-stop
	rm -rf $(VENV) $(SPARK) $(LOWEST) $(BARE) demo site build dist bench/.venvs bench/data .cassandra .azurite
