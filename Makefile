# Every target sets up what it needs: on a fresh Debian machine with Python 3.11+, venv and make, `make demo`
# and `make test` are the only two commands to know.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install demo test check format schema taxonomy-score bench exam clean

install: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	touch $@

demo: $(STAMP)
	$(BIN)/critpath demo

test: $(STAMP)
	$(BIN)/pytest -n auto

format: $(STAMP)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

schema: $(STAMP)
	$(BIN)/python scripts/generate.py

# pytest runs last, so that its closing line closes the output.
check: $(STAMP)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate.py --check
	$(BIN)/pytest -n auto

taxonomy-score: $(STAMP)
	$(BIN)/python scripts/taxonomy_score.py

bench: $(STAMP)
	$(BIN)/python benchmarks/large_export.py

exam: $(STAMP)
	CRITPATH_EXAM=1 $(BIN)/pytest -n auto tests/truth

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
