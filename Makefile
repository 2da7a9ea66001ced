# The two commands are `make lab` and `make test`. Each makes the folder .venv if it is missing.
# PYTHON chooses the Python that .venv is made with. ARGS is passed on to JupyterLab or pytest.
# WORK is the learner's own folder.
# `make help` lists the targets marked with two hashes, `make help-authors` those marked with #@.

SHELL = /bin/sh
.DEFAULT_GOAL = help
.PHONY: help lab update test test-all clean help-authors new record exercises index claims tables picture house site workshop publish grade mutants bench

# python3 if it is new enough, else the newest python3.X on PATH. Each one is run and asked for its
# version, because a version manager's placeholder exists but does not run.
PYTHON ?= $(shell for python in python3 python3.20 python3.19 python3.18 python3.17 python3.16 \
	python3.15 python3.14 python3.13 python3.12 python3.11 python3.10; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; \
	then echo $$python; break; fi; done)

WORK ?= $(COURSE_WORK)

# If none is new enough, python3 runs install/__main__.py, which says what is needed.
INSTALL = python="$(PYTHON)"; command -v "$${python:=python3}" >/dev/null || { \
	echo "This course needs Python 3.10 or newer, and '$$python' is not on this machine:" \
	"install it (Debian, Ubuntu, WSL: sudo apt install python3 python3-venv; macOS:" \
	"brew install python; or python.org) and run this again." >&2; exit 1; }; \
	COURSE_WORK="$(WORK)" "$$python" install

help:  ## list what learners and teachers need
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile
	@echo 'WORK is your folder:     make lab WORK=~/my-course     (COURSE_WORK names it for good)'
	@echo 'ARGS are passed on:      make lab ARGS="--no-browser --port 8899"'
	@echo 'PYTHON makes .venv:      make lab PYTHON=python3.12'

lab:  ## install what is missing and open JupyterLab in your own folder, work/
	@$(INSTALL) lab $(ARGS)

update:  ## bring the new edition; whatever you have changed is kept
	@$(INSTALL) update

test:  ## install what is missing and run every test (ARGS="-k name" for some of them)
	@$(INSTALL) test $(ARGS)

test-all:  ## run every test, also those that are slow by nature (--slow)
	@$(INSTALL) test --slow $(ARGS)

# It removes only what is named here, and nothing in work/.
clean:  ## remove .venv and what builds and tests leave behind
	@[ ! -e .venv ] || [ -e .venv/pyvenv.cfg ] || [ -e .venv/unfinished ] || { \
		echo ".venv is not a virtual environment: move it elsewhere." >&2; exit 1; }
	rm -rf .venv build/lib build/bdist.* build/site build/workshop simulator/build .pytest_cache .ruff_cache
	rm -rf *.egg-info simulator/src/*.egg-info
	find . \( -path ./work -o -path ./.git \) -prune -o -name __pycache__ -type d -prune \
		-exec rm -rf {} +

help-authors:  ## list what authors of lessons need besides
	@awk -F ':.*#@ ' '/^[a-z-]+:.*#@ / {printf "make %-12s %s\n", $$1, $$2}' Makefile

# For authors: docs/authoring.md says when to use which.

new:  #@ write the files of a new lesson (LESSON=15_name)
	@$(INSTALL) run -m authoring new $(LESSON) $(ARGS)

record:  #@ run the named notebooks in place and store their outputs (NOTEBOOKS="a.ipynb ...")
	@$(INSTALL) run -m authoring record $(NOTEBOOKS) $(ARGS)

exercises:  #@ write exercises/ from solutions/
	@$(INSTALL) run -m authoring exercises $(ARGS)

index:  #@ write the lessons' index of functions and their glossary
	@$(INSTALL) run -m authoring index $(ARGS)

claims:  #@ write the appendix of claims from the ledger
	@$(INSTALL) run -m publishing claims $(ARGS)

tables:  #@ write the tables of README and docs, and minutes wherever they are stated
	@$(INSTALL) run -m authoring tables $(ARGS)

picture:  #@ draw the README's picture from the recorded ladder
	@$(INSTALL) run -m publishing picture $(ARGS)

house:  #@ print the rooms, their lines and who imports whom
	@$(INSTALL) run -m authoring house $(ARGS)

site:  #@ build the course as static pages, build/site/html, from the stored outputs
	@$(INSTALL) site -m publishing site $(ARGS)

workshop:  #@ write a day's notebooks, slides and teacher's sheet, build/workshop (DAY=half|six|one|two)
	@$(INSTALL) site -m publishing workshop $(DAY) $(ARGS)

publish:  #@ make the branch `published`, with your address in the badges (REPO=owner/name)
	@$(INSTALL) run -m publishing publish $(REPO) $(ARGS)

grade:  #@ judge submissions again (SOLUTION=solutions/03_einsum.ipynb FOLDER=room)
	@$(INSTALL) run -m authoring grade $(SOLUTION) $(FOLDER) $(ARGS)

mutants:  #@ give every mutant of the solutions to its check, and report (LESSON=06, or all)
	@$(INSTALL) run -m authoring mutants $(LESSON) $(ARGS)

bench:  #@ measure this machine and write the labelled data that lessons show
	@$(INSTALL) run -m authoring bench $(ARGS)
