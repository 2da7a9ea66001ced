# The two commands are `make lab` and `make test`; each makes .venv when it has to.
# PYTHON picks the Python that .venv is made with, ARGS is passed on to JupyterLab or pytest.

SHELL = /bin/sh
.DEFAULT_GOAL = help
.PHONY: help lab test new record exercises index tables publish bench clean

# python3 where it is new enough, else the newest python3.X on PATH that is. Asking each one
# what it is (and not only whether it exists) passes over version managers' placeholders.
PYTHON ?= $(shell for python in python3 python3.20 python3.19 python3.18 python3.17 python3.16 \
	python3.15 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; \
	then echo $$python; break; fi; done)

# Where none is new enough, python3 (if there is one) says so itself: see install/__main__.py.
INSTALL = python="$(PYTHON)"; command -v "$${python:=python3}" >/dev/null || { \
	echo "This course needs Python 3.10 or newer, and '$$python' is not on this machine:" \
	"install it (Debian, Ubuntu, WSL: sudo apt install python3 python3-venv; macOS:" \
	"brew install python; or python.org) and run this again." >&2; exit 1; }; \
	"$$python" install

help:  ## list these targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile
	@echo 'ARGS are passed on:    make lab ARGS="--no-browser --port 8899"'
	@echo 'PYTHON makes .venv:    make lab PYTHON=python3.12'

lab:  ## install what is missing and open JupyterLab on the lesson list
	@$(INSTALL) lab $(ARGS)

test:  ## install what is missing and run every test (ARGS="-k name" for some of them)
	@$(INSTALL) test $(ARGS)

new:  ## write the files of a new lesson (LESSON=15_name)
	@$(INSTALL) run -m authoring new $(LESSON) $(ARGS)

record:  ## run the named notebooks in place and store their outputs (NOTEBOOKS="a.ipynb ...")
	@$(INSTALL) run -m authoring record $(NOTEBOOKS) $(ARGS)

exercises:  ## write exercises/ from solutions/
	@$(INSTALL) run -m authoring exercises $(ARGS)

index:  ## write the lessons' index of functions and their glossary
	@$(INSTALL) run -m authoring index $(ARGS)

tables:  ## write the README's tables of faults and speeds from the recorded data
	@$(INSTALL) run -m authoring tables $(ARGS)

publish:  ## write the course's address into badges and setup cells (REPO=owner/name)
	@$(INSTALL) run -m authoring publish $(REPO) $(ARGS)

bench:  ## measure this machine and write the labelled data that lessons show
	@$(INSTALL) run -m authoring bench $(ARGS)

clean:  ## remove .venv and what builds and tests leave behind
	rm -rf .venv build *.egg-info .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
