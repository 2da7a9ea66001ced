"""Judge one answer: `python -m checks.grading.judge_one`, which `submissions` starts for each.

The checks are imported before the answer runs. Afterwards their functions must be the same ones:
an answer that replaces one of them, or one of NumPy's, is named and gets no points.
"""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from contextlib import redirect_stderr, redirect_stdout
from types import FunctionType, ModuleType

# Packages whose functions decide on a verdict.
GUARDED = ("checks", "helpers", "numpy", "nogpu", "builtins", "json", "contextlib", "functools")


def main() -> None:
    """Read a job from standard input, and write its progress and its result to a pipe.

    The job is JSON: `before` (sources of the teacher's), `answer`, `check`, `needs` (for
    `helpers.start`), `pipe` (a file descriptor) and `secret`, which each message begins with.
    """
    job = json.load(sys.stdin)
    with os.fdopen(job["pipe"], "w") as pipe:
        tell = _messenger(pipe, job["secret"])
        job["secret"] = job["pipe"] = None
        _judge(job, tell)
    os._exit(0)  # not through what the answer may have left for the end


def _messenger(pipe: io.TextIOBase, secret: str) -> object:
    dumps = json.dumps

    def tell(**message: str) -> None:
        pipe.write(f"{secret} {dumps(message)}\n")
        pipe.flush()

    return tell


def _judge(job: dict, tell: object) -> None:
    import helpers

    space: dict = {"__name__": "__main__"}
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        tell(stage="the course's own cells")
        helpers.start(**({"needs": job["needs"]} if job["needs"] else {}))
        for source in job["before"]:
            exec(compile(source, "<course>", "exec"), space)
        found = fingerprint()
        tell(stage="the answer's cell")
        try:
            exec(compile(job["answer"], "<answer>", "exec"), space)
        except BaseException as error:
            tell(state="no", text=f"the cell raised {_line(error)}")
            return
        if changed := changes(found):
            tell(state="tampered", text=f"the answer replaced {', '.join(changed)}")
            return
        tell(stage="the check, which calls the answer")
        printed.seek(0)
        printed.truncate()
        result = _run_check(job["check"], space, printed)
    if changed := changes(found):
        result = {"state": "tampered", "text": f"the answer replaced {', '.join(changed)}"}
    tell(**result)


def _run_check(source: str, space: dict, printed: io.StringIO) -> dict[str, str]:
    """The verdict of a check's cell: `ok` only where it printed so and raised nothing."""
    from checks import NothingJudged

    os.environ["NBGRADER_EXECUTION"] = "validate"
    try:
        exec(compile(source, "<check>", "exec"), space)
        state, text = "ok", ""
    except NothingJudged as error:
        state, text = "unchecked", str(error)
    except AssertionError as error:
        state, text = "no", str(error)
    except BaseException as error:
        state, text = "no", f"the check raised {_line(error)}"
    said = printed.getvalue()
    if state == "no" and "[todo]" in said:
        state = "todo"
    if state == "ok" and "[ok]" not in said:
        state, text = "tampered", "the check did not print its [ok]"
    return {"state": state, "text": text}


def _line(error: BaseException) -> str:
    return traceback.format_exception_only(type(error), error)[-1].strip()


def fingerprint() -> dict[str, tuple]:
    """The functions and classes of all guarded modules, by name."""
    found: dict[str, tuple] = {}
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] in GUARDED:
            found[name] = (id(module), module)
            for attribute, value in list(vars(module).items()):
                _note(found, f"{name}.{attribute}", value, name)
    return found


def _note(found: dict[str, tuple], name: str, value: object, module: str) -> None:
    if isinstance(value, type):
        found[name] = (id(value), value)
        if value.__module__ == module:
            for attribute, member in list(vars(value).items()):
                inner = getattr(member, "__func__", member)
                if callable(inner) or isinstance(inner, property):
                    found[f"{name}.{attribute}"] = (_identity(inner), inner)
    elif callable(value) and not isinstance(value, ModuleType):
        found[name] = (_identity(value), value)


def _identity(value: object) -> tuple:
    """What a function is: itself, its code and its defaults."""
    if isinstance(value, FunctionType):
        return id(value), id(value.__code__), id(value.__defaults__)
    # Of a task its own attributes, of anything else itself.
    own = vars(value) if type(value).__module__.startswith("checks.") else {}
    return (id(value), *[(key, id(part)) for key, part in own.items()])


def changes(before: dict[str, tuple]) -> list[str]:
    """Names of functions and classes that differ from an earlier fingerprint, three at most."""
    now = fingerprint()
    return [name for name, (what, _) in before.items()
            if name not in now or now[name][0] != what][:3]


if __name__ == "__main__":
    main()
