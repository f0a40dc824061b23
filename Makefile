# What this is: the project's commands; each does its own set-up into .venv on first use.
# What it is not: the build. Packaging lives in pyproject.toml, versions in requirements/tested.txt.
# The rule: nothing is installed outside .venv, and a second call installs nothing.

.PHONY: demo check touched test test-gpu newest versions targets mutants lint style types tested docs example notebook site setup clean
.DEFAULT_GOAL := check
# Thousands of modules and tests are compiled once, not in every process of every run.
unexport PYTHONDONTWRITEBYTECODE

ifndef PYTHON
PYTHON := $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && echo $$p && break; done)
endif

BIN := .venv/bin
STAMP := .venv/.installed

$(STAMP): pyproject.toml requirements/tested.txt
	@test -n "$(PYTHON)" || { echo "error: no Python 3.11 to 3.13 found on PATH; install one, or name it: make PYTHON=/path/to/python3" >&2; exit 2; }
	@echo 'setting up .venv (minutes: torch is large)'
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --no-compile -c requirements/tested.txt -e '.[worker,dev]'
	$(BIN)/python -m compileall -qq -j 0 .venv/lib || echo 'not every file of the packages could be compiled; those are compiled when they are imported'
	@touch $(STAMP)

docs: $(STAMP)
	$(BIN)/python docs/commands_page.py > docs/commands.md
	$(BIN)/python benchmarks/gallery_page.py

example: $(STAMP)
	$(BIN)/kernelwright report gallery/max_pool3d/runs/mailbox --format html --plots docs/example > docs/example/report.html
	PYTHONPATH=tests $(BIN)/python docs/report_pictures.py

notebook: $(STAMP)
	$(BIN)/python docs/run_notebook.py

site: $(STAMP)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet docs build/site
	@echo 'open build/site/index.html'

setup: $(STAMP)

demo: $(STAMP)
	$(BIN)/python demo/demo.py

# Types are checked beside the first tests: mypy uses one core.
check: style
	@$(MAKE) --no-print-directory -j 2 types tested TESTS='-m pure -n auto --dist worksteal'

touched: $(STAMP)
	@$(BIN)/python tests/touched.py

test: style
	@$(BIN)/python tests/lines.py
	@$(MAKE) --no-print-directory -j 2 types tested TESTS='-m "not gpu" -n auto --dist loadfile --no-loadscope-reorder'

tested: $(STAMP)
	$(BIN)/pytest $(TESTS)

# Not part of what continuous integration runs: gigabytes, and the index can break it. NEWEST_PYTHON: interpreters that are
# there already, in place of the two environments under build/newest.
newest:
	@$(PYTHON) tests/newest.py $(NEWEST_PYTHON)

# Not part of it either: records what each torch's Inductor generates, for the tests that read the records of all versions.
# VERSIONS_PYTHON: one interpreter for each version, with kernelwright, torch, Triton and pytest.
versions:
	@$(PYTHON) tests/newest.py --versions $(VERSIONS_PYTHON)

# Not part of what continuous integration runs, but for one problem (tests/test_targets.py): minutes of compilation.
targets: $(STAMP)
	$(BIN)/python tests/targets.py

mutants: $(STAMP)
	$(BIN)/python tests/mutants.py

test-gpu: $(STAMP)
	$(BIN)/pytest -m gpu

lint: style types

style: $(STAMP)
	$(BIN)/ruff format --check src tests gallery demo
	$(BIN)/ruff check src tests gallery demo

types: $(STAMP)
	@$(BIN)/mypy || { echo 'error: mypy found faults (above)' >&2; exit 1; }

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
