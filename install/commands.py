"""The commands of `python install`: open JupyterLab, run the tests or a tool, update the course.

The machine's own Python runs them before anything is installed. So the modules of this folder
import the standard library and each other, and nothing else of the course.
"""

from __future__ import annotations

import json
import os
import sys

from basics import ROOT, WORK, Problem, explain, put, say
from environment import become_python, build_font_cache, ensure
from learner import copies, update

# These settings open the README rendered and switch off notices about news and updates. They are
# stored in the learner's folder, so another Jupyter of the learner's does not change.
LAB_SETTINGS = {
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}

COMMANDS = ("lab", "test", "run", "site", "update", "work")


def main(arguments: list[str]) -> int:
    """Run a command with options; return the exit status.

    `lab`, `test`, `run` and `site` return only after an error: otherwise the process becomes the
    program that was asked for.
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
        elif command in ("run", "site"):  # `site` with what builds the course's pages
            ensure({"dev", "site"} if command == "site" else {"dev"})
            become_python(options)
        elif command == "update":
            update.update()
        else:
            copies.copy_course(update=True)
        return 0
    except Problem as problem:
        print(problem, file=sys.stderr)
    except OSError as error:
        print(explain(error), file=sys.stderr)
    except KeyboardInterrupt:
        print("\nStopped. Nothing unfinished is left: run it again at any time.", file=sys.stderr)
        return 130
    return 1


def open_lab(options: list[str]) -> None:
    """Open JupyterLab in the learner's folder, on the README.

    `options` come last, so they override the course's own.
    """
    copies.refuse_unusable_folder()
    ensure(set())
    copies.copy_course(update=False)
    if os.geteuid() == 0 and "--allow-root" not in options:
        # In most containers the user is root. Jupyter refuses to start as root without this
        # option, although it listens on this machine only.
        say("You are root: JupyterLab runs with --allow-root.")
        options = ["--allow-root", *options]
    own = WORK / ".course"
    settings = json.dumps(LAB_SETTINGS, indent=2) + "\n"
    put(own / "settings" / "overrides.json", settings.encode(), replace=True)
    say(f"Opening JupyterLab in {WORK}; Ctrl-C twice in this terminal stops it.")
    become_python(
        [
            "-m",
            "jupyterlab",
            f"--ServerApp.root_dir={WORK}",
            "--LabApp.default_url=/lab/tree/README.md",
            f"--LabApp.app_settings_dir={own / 'settings'}",
            # JupyterLab stores here which notebooks are open, apart from the learner's other work.
            f"--LabApp.workspaces_dir={own / 'workspaces'}",
            # The README's picture lies behind a link to the course's folder, and Jupyter's usual
            # handler sends no such file (with tornado 6.5.9 and later).
            "--ContentsManager.files_handler_class=jupyter_server.files.handlers.FilesHandler",
            # What "Print" and "Export as HTML" make of a notebook.
            f"--TemplateExporter.extra_template_basedirs={ROOT / 'install' / 'pages'}",
            "--HTMLExporter.template_name=course",
            *options,
        ]
    )


def run_tests(options: list[str]) -> None:
    """Run pytest with `options` in up to four processes; one process runs all tests of a file."""
    ensure({"dev", "site"} if "--slow" in options else {"dev"})
    build_font_cache()
    # One process more than there are cores, because some tests wait.
    workers = min(4, (os.cpu_count() or 1) + 1)
    spread = ["-n", str(workers), "--dist=loadfile", "--max-worker-restart=0"]
    become_python(["tests/run.py", *spread, *options])
