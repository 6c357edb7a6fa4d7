# Two commands do everything: `make site` builds the book, `make test` proves
# it. Each makes the environment it needs in .venv.

PYTHON ?= python3.11
BIN := .venv/bin
SNIPPETS ?=
# Or cuda: the GPU of this machine.
DEVICE ?= interpreter
# Material's notice about MkDocs 2; which generator we use is decided.
export NO_MKDOCS_2_WARNING = 1

.PHONY: help site serve test test-versions test-gpu lint run accept record \
  bench-build clean

help: ## What there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

site: .venv/.book ## Build the book into site/, every output proven; DEVICE=cuda: on the GPU too
	BOOKPRESS_DEVICE=$(DEVICE) $(BIN)/mkdocs build

serve: .venv/.book ## Read the book at http://127.0.0.1:8000 while you write
	BOOKPRESS_DEVICE=$(DEVICE) $(BIN)/mkdocs serve --no-strict

test: .venv/.test lint ## Lint, types, and all tests
	$(BIN)/pytest -n 2 --dist loadgroup

test-versions: .venv/.test ## Run the library's tests under other torch and triton
	$(BIN)/nox

test-gpu: ## Run just what a GPU can add, with the python3 of a GPU machine
	PYTHONPATH=src python3 -m pytest -m gpu tests/triton_grad

lint: .venv/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright

run: .venv/.book ## Run snippets as `make site` does: make run SNIPPETS=ch16
	$(BIN)/python -m bookpress run --device $(DEVICE) $(SNIPPETS)

accept: .venv/.book ## Record outputs that drifted: make accept SNIPPETS=ch16
	$(BIN)/python -m bookpress accept $(SNIPPETS)

record: ## Record on this machine's GPU, with its python3; say what is stale then
	PYTHONPATH=src python3 -m bookpress record $(SNIPPETS)

bench-build: .venv/.book ## Time the build: cold, warm, one kernel touched
	$(BIN)/python bench/build.py

clean: ## Remove the site, the cache of runs and the environments
	rm -rf site .bookpress .nox .venv

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/.book: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[book]'
	touch $@

.venv/.test: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[book,test]'
	touch $@
