"""The guides: their links lead somewhere, and the syllabi name what exists, with its minutes."""

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import nbformat
import pytest

from authoring.minutes import lesson_minutes
from authoring.notebook_form import ROOT, course_of, notebooks, read

TEACHING = ROOT / "docs" / "teaching.md"
AUTHORING = ROOT / "docs" / "authoring.md"
GUIDES = [TEACHING, ROOT / "docs" / "rooms.md", AUTHORING]
PAGES = [*GUIDES, *(ROOT / name for name in (
    "docs/updating.md", "docs/open_in.md", "docs/where_it_runs.md", "docs/measured.md",
    "docs/other_courses.md", "README.md", "README.zh.md"))]
# Files that the guides only give as examples: a lesson that is added, a learner's copy.
EXAMPLES = ("21_sparse_arrays", "sparse_arrays.py", "mine_08")
ROOMS = ("authoring", "checks", "docs", "exercises", "helpers", "install", "notebooks", "simulator",
         "solutions", "tests")
guide = pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.stem)
LESSON = re.compile(r"\[(?P<title>.+?)\]\(\.\./notebooks/(?P<file>\S+\.ipynb)\)")
TASK = re.compile(r"\[(?P<title>.+?)\]\(\.\./exercises/(?P<file>\S+\.ipynb)\),"
                  r" task (?P<number>\d+)")
SUM = re.compile(r"^Lessons (\d+) minutes, tasks (\d+), breaks (\d+), the rest (\d+):"
                 r" (\d+:\d\d) to (\d+:\d\d)\.$", re.M)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_code(text: str) -> str:
    text = re.sub(r"^ *```.*?^ *```$", "", text, flags=re.S | re.M)
    return re.sub(r"``.+?``|`[^`\n]+`", "", text)


def slug(heading: str) -> str:
    """The anchor that GitHub and JupyterLab give a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def cells_of(place: str) -> list:
    return nbformat.read(ROOT / place, as_version=4).cells


def tables(text: str) -> list[tuple[list[tuple[str, ...]], tuple[str, ...]]]:
    """Each day's rows (from, what, minutes, skip) and the figures of the sentence below it."""
    days = []
    for block in re.split(r"\n\| from \| what \| minutes \| skip \|\n\|[-|]+\|\n", text)[1:]:
        rows, _, rest = block.partition("\n\n")
        days.append(([tuple(part.strip() for part in row.strip("|").split("|"))
                      for row in rows.splitlines()], SUM.search(rest).groups()))
    return days


DAYS = tables(text_of(TEACHING))
day = pytest.mark.parametrize("number", range(len(DAYS)))


def clock(text: str) -> int:
    """Minutes since midnight."""
    hours, minutes = text.split(":")
    return 60 * int(hours) + int(minutes)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_links_lead_somewhere(path):
    text = without_code(text_of(path))
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        file = file.removeprefix("../../../blob/published/docs/")  # on GitHub, the same page there
        place = (path.parent / unquote(file)).resolve() if file else path
        assert place.exists() and place.is_relative_to(ROOT), target
        if anchor and place.suffix == ".md":
            headings = re.findall(r"^#+ (.+)$", text_of(place), re.M)
            assert anchor in map(slug, headings), target


@guide
def test_headings_are_in_order(path):
    levels = [len(mark) for mark in re.findall(r"^(#+) ", without_code(text_of(path)), re.M)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in zip(levels, levels[1:]))


@guide
def test_the_readme_leads_to_it(path):
    assert f"(docs/{path.name})" in text_of(ROOT / "README.md")


@guide
def test_named_files_and_commands_exist(path):
    text = text_of(path)
    named = re.findall(rf"`((?:{'|'.join(ROOMS)})/[\w./-]*)`", text)
    assert named
    for name in named:
        assert any(new in name for new in EXAMPLES) or (ROOT / name).exists(), name
    for name in re.findall(rf"python -m ((?:{'|'.join(ROOMS)})[\w.]*)", text):
        places = [folder / name.replace(".", "/") for folder in (ROOT, ROOT / "simulator")]
        assert any(place.with_suffix(".py").exists() or (place / "__main__.py").exists()
                   for place in places), name
    targets = set(re.findall(r"^([a-z-]+):.*(?:##|#@) ", text_of(ROOT / "Makefile"), re.M))
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= targets


def test_there_are_half_a_day_six_hours_one_day_and_two():
    assert len(DAYS) == 5


@day
def test_lessons_have_these_minutes(number):
    for _, what, minutes, skip in DAYS[number][0]:
        if found := LESSON.search(what):
            notebook = read(ROOT / "notebooks" / found["file"])
            skipped = skip.split("; ") if skip else ()
            assert int(minutes) == lesson_minutes(notebook, skipped=skipped), (what, "make tables")
            assert cells_of(f"notebooks/{found['file']}")[0].source.startswith(
                f"# {found['title']}"), what


@day
def test_tasks_are_core_and_have_these_minutes(number):
    for _, what, minutes, _ in DAYS[number][0]:
        if found := TASK.search(what):
            text = "\n".join(cell.source for cell in cells_of(f"exercises/{found['file']}"))
            heading = rf"^## {found['number']}\. {re.escape(found['title'])} ★+"
            match = re.search(heading + r" \(core, (\d+) minutes", text, re.M)
            assert match and match[1] == minutes, (what, minutes)


@day
def test_every_row_is_a_lesson_a_task_or_talk(number):
    for _, what, _, skip in DAYS[number][0]:
        assert bool(LESSON.search(what)) + bool(TASK.search(what)) == ("](" in what), what
        assert not skip or LESSON.search(what), what


@day
def test_the_hours_and_the_sums_are_right(number):
    rows, (lessons, tasks, breaks, rest, first, last) = DAYS[number]
    assert rows[0][0] == first
    now, sums = clock(first), dict.fromkeys(("lessons", "tasks", "breaks", "rest"), 0)
    for begin, what, minutes, _ in rows:
        assert clock(begin) == now, (begin, what)
        now += int(minutes)
        kind = ("lessons" if LESSON.search(what) else "tasks" if TASK.search(what)
                else "breaks" if what in ("Break", "Lunch") else "rest")
        sums[kind] += int(minutes)
    assert now == clock(last)
    assert sums == {"lessons": int(lessons), "tasks": int(tasks), "breaks": int(breaks),
                    "rest": int(rest)}


@day
def test_no_stretch_without_a_break_is_longer_than_two_hours(number):
    stretch = 0
    for _, what, minutes, _ in DAYS[number][0]:
        stretch = 0 if what in ("Break", "Lunch") else stretch + int(minutes)
        assert stretch <= 125, what


@day
def test_each_day_has_spare_time(number):
    spare = sum(int(minutes) for _, what, minutes, _ in DAYS[number][0] if what == "Spare time")
    assert 25 <= spare <= 40
    assert number == 3 or any("[Whatever the launch]" in what for _, what, *_ in DAYS[number][0])


def test_the_evening_has_the_minutes_of_half_a_day_and_of_six_hours():
    evening = text_of(TEACHING).partition("\n## One evening\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\d) \| (\d+) \| (.+) \|$", evening, re.M)
    work = sum(int(minutes) for _, minutes, what in rows if re.match(r"Lessons? \d\d", what))
    assert work == sum(map(int, DAYS[0][1][:2]))
    more, = (int(minutes) for _, minutes, what in rows if what.startswith("Six hours only"))
    assert work + more == sum(map(int, DAYS[1][1][:2]))
    assert [number for number, *_ in rows] == list("123456789")
    minutes = [int(minutes) for _, minutes, _ in rows]
    assert sum(minutes) == 300 and "These are five hours" in evening
    assert sum(minutes) - sum(minutes[1:3]) + 15 == 240  # rows 2 and 3 in fifteen minutes
    assert "Take fifteen minutes for rows 2 and 3" in evening and "That leaves four." in evening


def test_six_hours_are_six_hours():
    *_, first, last = DAYS[1][1]
    assert clock(last) - clock(first) == 360


def test_the_rounds_of_a_day_are_predictions_to_lead():
    table = text_of(TEACHING).partition("\n### Predictions to lead\n")[2].partition("\n## ")[0]
    led = re.findall(r"^\| (\d\d) (.+?) \|", table, re.M)
    rounds = [(found[1], name) for rows, _ in DAYS for _, what, minutes, _ in rows
              if (found := re.match(r"Round inside (\d\d): (.+)", what)) and minutes == "5"
              for name in found[2].split(", ")]
    assert len(rounds) == sum("Round" in what for rows, _ in DAYS for _, what, *_ in rows)
    assert set(rounds) <= set(led) and {lesson for lesson, _ in led} == {
        lesson for lesson, _ in rounds}
    for rows, _ in DAYS:
        places = [what for _, what, *_ in rows]
        for k, what in enumerate(places):
            if found := re.match(r"Rounds? inside (\d\d)", what):
                assert f"](../notebooks/{found[1]}_" in places[k - 1], what


def test_the_steps_of_a_round_take_five_minutes_more():
    table = text_of(TEACHING).partition("\n### A round\n")[2].partition("\n### ")[0]
    taken = {"half": 0.5, "2": 2, "one and a half": 1.5, "as long as the sheet gives": 0}
    told = re.findall(r"^\| ([^|]+) \| (?:you|pairs|all)", table, re.M)
    assert len(told) == 7 and sum(map(taken.__getitem__, told)) == 5
    assert "take five minutes" in table


@day
def test_each_goal_of_a_day_has_a_block_and_a_question_and_mostly_a_task(number):
    """A lesson without a goal would be an hour for nothing, and a goal without one a promise."""
    text = text_of(TEACHING)
    table = text.partition("\n### Questions at the end\n")[2].partition("\n### ")[0]
    goals = {row[0]: row[1:] for row in re.findall(
        r"^\| (\d\d) \| (.+?) \| (.+\?.*\)) \|$", table, re.M)}  # the question has its answer
    told = [re.search(rf"^## {day}\n\n(At the end, people .+)$", text, re.M)[1]
            for day in ("Half a day", "Six hours", "One day", "Two days")]
    promise = told[min(number, 3)] + (told[2] if number > 2 else "")
    rows = [what for _, what, *_ in DAYS[number][0]]
    lessons = {found["file"][:2] for what in rows if (found := LESSON.search(what))}
    tasks = {found["file"][:2] for what in rows if (found := TASK.search(what))}
    of_both = {found[1] for rows, _ in DAYS[3:] for _, what, *_ in rows
               if (found := re.search(r"notebooks/(\d\d)_", what))}
    for lesson in lessons - {"20"}:  # which is an outlook
        assert goals[lesson][0] in promise, lesson
    for lesson, (goal, _) in goals.items():
        assert (goal in promise) == (lesson in (of_both if number > 2 else lessons)), goal
    assert lessons - tasks - {"20"} <= ({"01", "08"} if number > 1 else set())


def test_the_message_serves_each_machine_and_writes_no_sheet():
    message = text_of(TEACHING).partition("\n### Tonight's message\n")[2].partition("\n### ")[0]
    learners = "\n".join(line for line in message.splitlines() if line.startswith(">"))
    assert "make workshop" not in learners and "teacher" not in learners  # it has the answers
    assert "On a Mac" in learners and re.search(r"answer by \d+:\d\d", learners)
    version = re.search(r'requires-python = ">=(\S+)"', text_of(ROOT / "pyproject.toml"))[1]
    assert f"Python {version} or newer" in learners


@pytest.mark.parametrize("page", [TEACHING, ROOT / "docs" / "where_it_runs.md"])
def test_the_lessons_that_build_pycuda_are_those_that_need_it(page):
    told = re.search(r"lessons ([\d, and]+) build PyCUDA", text_of(page))[1]
    assert re.findall(r"\d\d", told) == [
        path.name[:2] for path in notebooks("notebooks") if path.name[:2].isdigit() and any(
            'needs="pycuda"' in cell.source for cell in read(path).cells)]


@pytest.mark.parametrize("ending", [0, 1])
def test_a_semester_has_fourteen_lessons_each_after_those_that_it_needs(ending):
    section = text_of(TEACHING).partition("\n## A semester\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \d+ to \d+.*? \| (.+) \| (.+) \|$", section, re.M)
    order = ", ".join(row[ending] for row in rows).split(", ")
    assert len(order) == len(set(order)) == 14
    for k, number in enumerate(order):
        (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
        needs = cells_of(f"notebooks/{path.name}")[0].source.partition("You need")[2]
        needed = re.findall(r"\((\d\d)_", needs.partition("\n\n")[0])
        assert set(needed) <= set(order[:k]), number


def test_the_words_to_search_for_lead_to_one_cell():
    rows = re.findall(r"\| (\d\d) \| `([^`]+)` \|", text_of(TEACHING))
    assert len(rows) >= 6
    for lesson, words in rows:
        (path,) = (ROOT / "notebooks").glob(f"{lesson}_*.ipynb")
        found = [one for one in cells_of(f"notebooks/{path.name}") if words in one.source]
        assert [one.cell_type for one in found] == ["code"], (lesson, words)


def test_what_is_said_to_appear_is_what_a_notebook_has_printed():
    said = re.findall(r"^- \*\*Appears.*", text_of(TEACHING), re.M)
    quotes = [quote for line in said for quote in re.findall(r"`([^`]+)`", line)]
    assert len(said) >= 4 and len(quotes) >= 8
    outputs = [output for path in notebooks("notebooks") for cell in read(path).cells
               for output in (*cell.get("outputs", ()), *course_of(cell).get("recorded", ()))]
    printed = " ".join(" ".join(output.get("text") or output.get("data", {}).get("text/plain", "")
                                for output in outputs).split())
    assert [quote for quote in quotes if " ".join(quote.split()) not in printed] == []


def test_the_sum_of_all_lessons_and_core_tasks_is_as_told():
    total = sum(lesson_minutes(read(path)) for path in notebooks("notebooks"))
    for path in notebooks("exercises"):
        text = "\n".join(cell.source for cell in read(path).cells)
        total += sum(map(int, re.findall(r"^##+ \d+.*★ \(core, (\d+) minutes", text, re.M)))
    for path in (TEACHING, ROOT / "README.md"):
        hours = int(re.search(r"is about (\d+) hours", text_of(path))[1])
        assert hours == round(total / 60), path.name


def test_the_readme_tells_the_hours_of_the_shorter_way_as_its_table_does():
    text = text_of(ROOT / "README.md")
    hours = re.search(r"shorter way takes (\d+) hours and (\d+) for its core", text).groups()
    assert int(re.search(r"shorter way\]\(#lessons\) is about (\d+)\.", text)[1]) == \
        sum(map(int, hours))


def test_the_readme_s_beginning_tells_the_same_hours():
    text = text_of(ROOT / "README.md")
    whole, shorter = re.search(r"course takes about (\d+) hours, the \[shorter way\]\(#lessons\)"
                               r" about (\d+)\.", text).groups()
    assert whole == re.search(r"is about (\d+) hours", text)[1]
    assert shorter == re.search(r"shorter way\]\(#lessons\) is about (\d+)\.", text)[1]


def test_the_readme_s_first_evening_has_these_minutes():
    steps = dict(re.findall(r"^(\d)\. \*\*.*?\((\d+) minutes\)", text_of(ROOT / "README.md"), re.M))
    tasks = {name: "\n".join(cell.source for cell in cells_of(f"exercises/{name}.ipynb"))
             for name in ("00_start_here", "06_first_kernels")}
    core = re.findall(r"^## \d+.*★ \(core, (\d+) minutes", tasks["00_start_here"], re.M)
    kernel = re.search(r"^## 2\. Whatever the launch ★ \(core, (\d+) minutes",
                       tasks["06_first_kernels"], re.M)
    assert steps == {"1": str(lesson_minutes(read(ROOT / "notebooks" / "00_start_here.ipynb"))),
                     "2": str(sum(map(int, core))), "3": kernel[1]}
    assert len(core) == 2 and sum(map(int, steps.values())) == 90  # "about an hour and a half"


def test_the_readme_s_first_answer_gets_the_verdict_that_is_printed_below_it(tmp_path):
    code, verdict = re.search(r"```python\n(.*?)```.*?```\n(\[no\].*?)```",
                              text_of(ROOT / "README.md"), re.S).groups()
    begin = "import helpers; helpers.start(); from checks import first_kernels as check\n"
    guarded = code.replace("    v[i] =", "    if (i < n) v[i] =")
    assert guarded != code
    done = subprocess.run([sys.executable, "-c", begin + code + guarded], cwd=tmp_path, text=True,
                          capture_output=True, env=os.environ | {
                              "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
                              "COURSE_BACKEND": "simulator"})
    _, first, second = done.stdout.split("[no]")
    assert ["[no]", *first.split()] == verdict.split(), done.stdout + done.stderr
    assert "with fewer threads than elements, the rest stays as it was" in " ".join(second.split())
    assert "with fewer threads than elements, the rest stays as it was" in text_of(
        ROOT / "README.md")


def test_the_readme_s_kernel_is_what_the_exercise_s_stub_begins_with():
    """The first evening copies two lines into it, and the verdict names their number."""
    head, body = re.search(r"\n(extern .*?)\n(.*?)\}", text_of(ROOT / "README.md"), re.S).groups()
    stub, = (cell.source for cell in cells_of("exercises/06_first_kernels.ipynb")
             if cell.source.startswith("decay = "))
    assert stub == f'decay = r"""\n{head}\n    // YOUR CODE HERE\n}}\n"""'
    assert len(body.strip().splitlines()) == 2


def test_the_chinese_readme_has_the_code_and_the_figures_of_the_english_one():
    english, chinese = text_of(ROOT / "README.md"), text_of(ROOT / "README.zh.md")
    blocks = re.compile(r"^```.*?^```$", re.M | re.S)
    assert blocks.findall(chinese) == blocks.findall(english)
    pictures = re.compile(r"!\[[^]]+(\]\(\S+\))")
    assert pictures.findall(chinese) == pictures.findall(english)
    figure = re.compile(r"(?<![\w.])[1-9]\d*(?:\.\d+)?")
    assert set(figure.findall(without_code(chinese))) <= set(figure.findall(english))
    assert re.search(r"(\d+) 小时", chinese)[1] == re.search(r"is about (\d+) hours", english)[1]
    rows = re.compile(r"^\| (\d\d) \| \[[^]]+\]\((\S+)\)", re.M)
    assert rows.findall(chinese) == rows.findall(english)


def test_the_tables_of_the_readme_begin_within_a_hundred_lines():
    assert text_of(ROOT / "README.md").partition("<!-- lessons -->")[0].count("\n") <= 100
