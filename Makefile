# Everything happens in $(VENV), made on first use; nothing outside this folder is changed.
VENV ?= .venv
PORT ?= 8000
export VENV PORT
# A file's tests share a Hub, so a file stays together.
PYTEST = python -m pytest -n logical --maxprocesses 4 --dist loadfile

.PHONY: demo test test-all lint docs clean

demo: ## A Hub with an embedded stand-in for a cluster on http://127.0.0.1:$(PORT)
	@scripts/demo

test: ## The tests that need neither a cluster nor root
	@scripts/environment test
	@env -u KUBECONFIG PATH="$(abspath $(VENV))/bin:$$PATH" $(PYTEST) -m "not smoke and not slow"

test-all: ## Those that take minutes as well: every way and phase of a cancel, restarts, crowds
	@scripts/environment test
	@env -u KUBECONFIG SUITE_ALL=1 PATH="$(abspath $(VENV))/bin:$$PATH" $(PYTEST) -m "not smoke"

lint: ## Format, lint, types and layers
	@scripts/environment lint
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/mypy --strict detailedspawner
	@$(VENV)/bin/lint-imports

docs: ## The documentation as a website in docs/_build
	@scripts/environment docs
	@$(VENV)/bin/python -m sphinx -W -n --keep-going -q docs docs/_build

clean: ## Remove what the other commands made
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
