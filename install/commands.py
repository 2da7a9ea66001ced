"""What `python install` does: open JupyterLab, run the tests or a tool, bring a new edition.

The standard library only, and nothing of ours outside this folder: this runs with the machine's
own Python, before anything is installed.
"""

from __future__ import annotations

import json
import os
import sys

import learner
import update
from basics import WORK, Problem, explain, put, say
from environment import build_font_cache, ensure, take_over

# JupyterLab reads this file for this start only, so no other Jupyter of the learner's changes:
# the README opens rendered, and no news or update notices come up over the lessons.
LAB_SETTINGS = {
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
}


COMMANDS = ("lab", "test", "run", "update", "work")


def main(arguments: list[str]) -> int:
    """Run a command with the options after it; return the exit status.

    Where all goes well `lab`, `test` and `run` do not return: what they run takes over.
    """
    if not arguments or arguments[0] not in COMMANDS:
        print(f"usage: python install {'|'.join(COMMANDS)} [options passed on]", file=sys.stderr)
        return 2
    command, options = arguments[0], arguments[1:]
    try:
        if command == "lab":
            open_lab(options)
        elif command == "test":
            run_tests(options)
        elif command == "run":
            ensure({"dev"})
            take_over(options)
        elif command == "update":
            update.update()
        else:
            learner.bring(new_edition=True)
        return 0
    except Problem as problem:
        print(problem, file=sys.stderr)
    except OSError as error:
        print(explain(error), file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped; nothing half-made is left. Run it again when you like.", file=sys.stderr)
        return 130
    return 1


def open_lab(options: list[str]) -> None:
    """Open JupyterLab in the learner's folder, with the learner's own options after ours."""
    ensure(set())
    learner.bring(new_edition=False)
    if hasattr(os, "geteuid") and os.geteuid() == 0 and "--allow-root" not in options:
        # As in most containers; Jupyter would refuse, though it only listens on this machine.
        say("You are root: JupyterLab runs with --allow-root.")
        options = ["--allow-root", *options]
    own = WORK / ".course"
    settings = json.dumps(LAB_SETTINGS, indent=2) + "\n"
    put(own / "settings" / "overrides.json", settings.encode(), over=True)
    say(f"Opening JupyterLab in {WORK}; Ctrl-C twice in this terminal stops it.")
    take_over(
        [
            "-m",
            "jupyterlab",
            f"--ServerApp.root_dir={WORK}",
            "--LabApp.default_url=/lab/tree/README.md",
            f"--LabApp.app_settings_dir={own / 'settings'}",
            # Which notebooks are open is remembered here, apart from the learner's other work.
            f"--LabApp.workspaces_dir={own / 'workspaces'}",
            *options,
        ]
    )


def run_tests(options: list[str]) -> None:
    """Run pytest with `options`, in up to four processes, a file's tests together in one."""
    ensure({"dev"})
    build_font_cache()
    take_over(["-m", "pytest", "-n", "auto", "--maxprocesses=4", "--dist=loadfile", *options])


