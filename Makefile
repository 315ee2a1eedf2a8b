# Two commands do everything on a machine that has Python 3.11 or newer, git and make: `make demo` and `make test`.

# The newest Python that is new enough and works (a version manager's shim may exist and fail).
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)
VENV ?= .venv
JOBS ?= auto
PY := $(VENV)/bin/python

.PHONY: help demo test lint bench conformance generated notebooks clean
.DEFAULT_GOAL := help

help:  ## list the commands
	@sed -n 's/^\([a-z]*\):.*## /  make \1: /p' Makefile

demo: $(VENV)/.demo  ## train a classifier of handwritten digits three ways, with a table and a picture
	$(PY) -m examples.digits

test: $(VENV)/.test  ## run the test suite
	$(PY) -m pytest -q -n $(JOBS)

lint: $(VENV)/.lint  ## check style and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

bench: $(VENV)/.test  ## run the benchmarks (QUICK=1: in five minutes; PyTorch's rows need pip install -e '.[rivals]')
	$(PY) -m benchmarks $(if $(QUICK),--quick)
	$(if $(QUICK),,$(PY) -m benchmarks.growth)

conformance: $(VENV)/.test  ## run PyTorch's operator database (CONFORM=folder of the harness, TORCH_PYTHON=a Python with torch) and the long sweeps
	$(if $(CONFORM),$(PY) -m conformance $(CONFORM) --python "$(TORCH_PYTHON)",@echo "Without CONFORM=folder-of-the-harness TORCH_PYTHON=a-python-with-torch only our own sweeps run.")
	$(PY) -m pytest -q -n $(JOBS) -m slow

generated: $(VENV)/.test  ## write what is made of the declarations: docs/operators.md, the stubs, the table of decompositions
	$(PY) -m functorch_lite.testing.generated

notebooks: $(VENV)/.notebooks  ## make what the notebooks need ready, and say how to open them
	@echo "Ready. In an editor: open notebooks/01_transforms.ipynb and choose $(PY) as its kernel."
	@echo "In a browser: $(PY) -m pip install jupyterlab && $(PY) -m jupyterlab notebooks"
	@echo "After a change, run them all and keep what they show: $(PY) -m notebooks"

clean:  ## remove everything that was built
	rm -rf $(VENV) .venv-* build dist *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(PY):
	@test -n "$(PYTHON)" || { echo "No working Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@echo "Creating $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv $(VENV)

# One stamp for each extra: installed again when pyproject.toml changes.
$(VENV)/.%: pyproject.toml | $(PY)
	@echo "Installing functorch_lite[$*]"
	@$(PY) -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	@touch $@
