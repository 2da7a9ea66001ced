"""Records what the real libraries answer: `python -m tests.behaviour.record`, on a GPU machine.

Every program runs twice. What it answered goes to recorded/cupy.json or pycuda.json, the public
names of the library's modules and classes to src/nogpu/faces/names.json, which nogpu itself reads.
What deserves a look is listed at the end.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # machine.py is there

from . import runner  # noqa: E402
from .collect import LIBRARIES, NAMES, RECORDED, Program, programs  # noqa: E402

SECONDS_WITH_COMPILATION = 45  # the first pass fills the library's cache of kernels
ERROR_NAME = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")


def write(path: Path, content: dict) -> None:
    """Write readable JSON that differs between two recordings only where the content does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(content, indent=1, ensure_ascii=False, sort_keys=False)
    path.write_text(text + "\n", encoding="utf-8")


def doubts(program: Program, first: runner.Answer, second: runner.Answer) -> list[str]:
    """Return what is suspicious about a program's two answers."""
    found = []
    for run, answer in (("first", first), ("second", second)):
        if answer.trouble:
            found.append(f"{run} run: {answer.trouble}")
        if answer.broken and not program.alone:
            found.append(f"{run} run: mark it alone, it left a broken context ({answer.broken})")
    announced = set(ERROR_NAME.findall(program.says))
    if first.error and first.error not in re.findall(r"\w+", program.says):
        found.append(f"ended with {first.error}, which its docstring does not name: "
                     f"{first.output[-1] if first.output else ''}")
    if announced and not any(name in line for name in announced for line in first.output):
        found.append(f"its docstring names {', '.join(sorted(announced))}, but it was not seen")
    if first.output == ["(no output)"]:
        found.append("printed nothing")
    return found


def main() -> int:
    """Record, report, and return 1 where something has no trustworthy answer."""
    parser = argparse.ArgumentParser(prog="python -m tests.behaviour.record", description=__doc__)
    parser.add_argument("--out", type=Path, default=RECORDED,
                        help="folder for the answers, and for the names unless it is the default")
    parser.add_argument("--library", choices=LIBRARIES, default="cupy", help="whose programs")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="print the answers of the programs whose name contains this; "
                             "write nothing")
    parser.add_argument("--jobs", type=int, default=runner.cores(), help="processes at a time")
    parser.add_argument("--simulator", action="store_true",
                        help="record even if the device is the simulator (to try things out)")
    options = parser.parse_args()

    begun = time.monotonic()
    chosen = [one for one in programs(options.library) if options.only in one.name]
    names_file = NAMES if options.out == RECORDED else options.out / NAMES.name
    greeting, report = runner.ask("all", options.library)
    if "ready" not in greeting:
        print(f"No {options.library} with a device here: {greeting['absent']}", file=sys.stderr)
        return 2
    about = greeting["ready"]
    if "nogpu" in about["device"] and not options.simulator:
        print(f"This is the simulator ({about['device']}): record on a GPU.", file=sys.stderr)
        return 2
    print(f"Recording {len(chosen)} programs twice on {about['device']}, "
          f"{options.library} {about[options.library]}, "
          f"{options.jobs} processes at a time.", flush=True)
    passes = []
    for number, seconds in ((1, SECONDS_WITH_COMPILATION), (2, runner.SECONDS)):
        passes.append(runner.run(chosen, options.jobs, seconds))
        print(f"Pass {number} done after {time.monotonic() - begun:.0f} s.", flush=True)
    first, second = passes

    answers, unstable, looks = {}, {}, {}
    for program in chosen:
        a, b = first[program.name], second[program.name]
        looks[program.name] = doubts(program, a, b)
        if a.output != b.output or a.trouble or b.trouble:
            unstable[program.name] = [a.output or [a.trouble], b.output or [b.trouble]]
        else:
            answers[program.name] = a.output
    if options.only:
        for name, output in answers.items():
            print(f"\n{name}", *(f"    {line}" for line in output), sep="\n")
    else:
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        header = {"recorded": {**about, "date": today}}
        answers_file = f"{options.library}.json"
        write(options.out / answers_file, header | {"answers": answers, "unstable": unstable})
        print(f"Wrote {options.out.name}/{answers_file}: {len(answers)} answers.")
        if report and "names" in report:
            others = json.loads(NAMES.read_text(encoding="utf-8"))
            write(names_file, others | {options.library: header | {"names": report["names"]}})
            print(f"Wrote {names_file.parent.name}/{names_file.name}.")
        else:
            print(f"The public names could NOT be read: {names_file.name} is not written.")

    print(f"\n{len(unstable)} without one clear answer (stored as \"unstable\"):")
    for name, pair in unstable.items():
        print(f"  {name}", *(f"    {str(one)[:300]}" for one in pair), sep="\n")
    suspicious = {name: found for name, found in looks.items() if found}
    print(f"\n{len(suspicious)} to look at:")
    for name, found in suspicious.items():
        print(f"  {name}", *(f"    {line[:200]}" for line in found), sep="\n")
    return 1 if unstable else 0


if __name__ == "__main__":
    sys.exit(main())
