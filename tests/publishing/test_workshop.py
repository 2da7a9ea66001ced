"""A workshop's folder: what the day has and nothing else, minutes that fit, links that resolve."""

import importlib
import math
import posixpath
import re
from importlib.util import find_spec
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

import helpers
from authoring.minutes import cell_minutes, lesson_minutes, tasks_of, with_paths
from authoring.notebook_form import ROOT, read
from authoring.publish import repository
from authoring.timetable import GUIDE, ROW
from publishing.sheet import WORDS, sheet_of
from publishing.workshop import (
    DAYS,
    lesson_for,
    mark_slides,
    parts_of,
    tasks_for,
    write_notebooks,
    write_slides,
)

LINK = re.compile(r"\]\(([^)\s]+)\)")
days = pytest.mark.parametrize("day", DAYS)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    made = {day: tmp_path_factory.mktemp(day) for day in DAYS}
    for day, folder in made.items():
        write_notebooks(day, folder)
    return made


def minutes_stated(path: Path) -> int:
    """The minutes that a trimmed notebook's first cell states, all kinds of tasks together."""
    return sum(map(int, re.findall(r"(\d+) minutes", read(path).cells[0].source)))


@days
def test_the_minutes_of_the_notebooks_sum_to_the_day(folders, day):
    order = (folders[day] / "README.md").read_text(encoding="utf-8")
    sums = re.findall(r"^Lessons (\d+) minutes, tasks (\d+), breaks (\d+), the rest (\d+):"
                      r" (\d+):(\d\d) to (\d+):(\d\d)\.$", order, flags=re.M)
    lessons, tasks = (sum(int(row[column]) for row in sums) for column in (0, 1))
    assert lessons == sum(map(minutes_stated, folders[day].glob("notebooks/*.ipynb")))
    assert tasks == sum(map(minutes_stated, folders[day].glob("exercises/*.ipynb")))
    rows = [(int(hour), int(past), int(taken)) for hour, past, _, taken, _ in ROW.findall(order)]
    spent = sum(taken for _, _, taken in rows)
    assert spent == sum(60 * (int(row[6]) - int(row[4])) + int(row[7]) - int(row[5])
                        for row in sums) == sum(sum(map(int, row[:4])) for row in sums)


@days
def test_a_folder_has_what_its_day_has(folders, day):
    parts = parts_of(day)
    assert set(parts) == {path.relative_to(folders[day]).as_posix()
                          for path in folders[day].rglob("*.ipynb")}
    for place, chosen in parts.items():
        trimmed = read(folders[day] / place)
        nbformat.validate(trimmed)
        if place.startswith("exercises/"):
            assert set(tasks_of(trimmed)) == set(chosen) and chosen
            assert trimmed.cells[-1].id == "progress"
        else:
            text = "\n".join(cell.source for cell in trimmed.cells)
            assert text.count("Not read today.") == len(chosen)
            assert "## Going deeper" not in text and "## Key points" in text


@days
def test_links_resolve_in_the_folder_or_in_the_course(folders, day):
    course = f"https://github.com/{repository()}/blob/main/"
    for path in (*folders[day].rglob("*.ipynb"), *folders[day].rglob("*.md")):
        text = path.read_text(encoding="utf-8") if path.suffix == ".md" else "\n".join(
            cell.source for cell in read(path).cells if cell.cell_type == "markdown")
        for link in LINK.findall(text):
            target = link.partition("#")[0]
            if link.startswith(course):
                assert (ROOT / target.removeprefix(course)).exists(), f"{path.name}: {link}"
            elif target and ":" not in link:
                assert (path.parent / posixpath.normpath(target)).exists(), f"{path.name}: {link}"
        assert "[![" not in text


def test_the_guide_says_on_which_days_a_cell_is_in_view(folders):
    rows = re.findall(r"\| (\d\d) \| `([^`]+)` \| (every day|[a-z, ]+?)(?:, its picture)? \|",
                      (ROOT / GUIDE).read_text(encoding="utf-8"))
    assert len(rows) >= 6
    for lesson, words, told in rows:
        seen = {day for day in DAYS for path in folders[day].glob(f"notebooks/{lesson}_*.ipynb")
                for cell in read(path).cells
                if words in cell.source and cell.metadata["slideshow"]["slide_type"] != "skip"}
        days = {"every day": set(DAYS)}
        assert seen == (days[told] if told in days else set(told.split(", "))), words


def rows_below(heading):
    """The rows of the guide's first table below a heading."""
    text = (ROOT / GUIDE).read_text(encoding="utf-8").partition(f"\n### {heading}")[2]
    return [row.strip("| ").split(" | ") for row in re.search(
        r"\n\|[-|]+\|\n((?:\|.+\n)+)", text)[1].splitlines()]


@pytest.fixture(scope="module")
def sheets():
    return {day: sheet_of(title, day) for day, title in DAYS.items()}


@days
def test_the_sheet_has_the_day_s_rows_in_their_order(sheets, day, folders):
    order = (folders[day] / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"^### (\d+:\d\d) to (\d+:\d\d): (.+)$", sheets[day], re.M)
    rows = []  # a lesson ends when the round inside it would, and that has no row of its own
    for hour, past, what, minutes, _ in ROW.findall(order):
        end = 60 * int(hour) + int(past) + int(minutes)
        if what.startswith("Round inside"):
            begin, _, what = rows.pop()
        else:
            begin, what = f"{hour}:{past}", re.sub(r"\[(.+?)\]\([^)]*\)", r"\1", what)
        rows.append((begin, f"{end // 60}:{end % 60:02}", what))
    assert told == rows
    for parts in re.findall(r"\n### (.+)\n([^#]*)", sheets[day]):  # what is said is there
        assert not re.match(r".* (Say|Type) ", parts[0]) or "sk" in parts[1], parts
    assert "](" not in sheets[day] and "Going deeper" not in sheets[day]


@days
def test_the_sheet_has_each_round_of_the_day_with_its_cell(sheets, day, folders):
    order = (folders[day] / "README.md").read_text(encoding="utf-8")
    rounds = {row[0]: row for row in rows_below("Predictions to lead")}
    led = re.findall(r"Round inside (\d\d): (.+?) \|", order)
    assert led
    for number, name in led:
        _, words, *texts = rounds[f"{number} {name}"]
        assert len(texts) == 5
        begin = sheets[day].index(f"**Lead *{name}*.**")
        block = sheets[day][begin:].partition("\n**If")[0].partition("\n###")[0]
        section, = re.findall(
            rf"They read\* (.+) \*to above the cell with\* {re.escape(words)}", block)
        assert all(text in block for text in texts), name
        path, = folders[day].glob(f"notebooks/{number}_*.ipynb")
        cells = read(path).cells
        cell, = (k for k, cell in enumerate(cells)
                 if cell.cell_type == "code" and words.strip("`") in cell.source)
        assert [one.source.partition("\n")[0] for one in cells[:cell]
                if one.source.startswith("## ")][-1] == f"## {section}"
        assert "source_hidden" not in cells[cell].metadata.get("jupyter", {}), name


def in_minutes(clock):
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)


@days
def test_the_sheet_is_in_the_order_of_what_happens(sheets, day, folders):
    for block in re.split(r"^###? ", sheets[day], flags=re.M):
        if not (row := re.match(r"(\d+:\d\d) to (\d+:\d\d): (\d\d) ", block)):
            continue
        times = re.findall(r"^(?:- )?\*\*(\d+:\d\d)\*\* \*", block, re.M)
        clocks = [in_minutes(clock) for clock in times]  # of sections, and of a round's steps
        assert clocks == sorted(set(clocks)), row[0]  # nothing else at the same minute
        assert in_minutes(row[1]) <= clocks[0] and clocks[-1] <= in_minutes(row[2]), row[0]
        path, = folders[day].glob(f"notebooks/{row[3]}_*.ipynb")
        read_today = re.findall(r"^## (.+)$(?!\n\nNot read today)", "\n".join(
            cell.source for cell in read(path).cells if cell.cell_type == "markdown"), re.M)
        assert re.findall(r"^\*\*(?:\d+:\d\d|then)\*\* \*(.+)\*$", block,
                          re.M) == read_today
        lead, shown = block.find("**Lead *"), block.find("**To show")
        assert shown < 0 or lead < shown, row[0]
        steps = re.findall(r"^- \*\*(\d+:\d\d|then)\*\* \*", block[lead:], re.M)
        assert lead < 0 or len(steps) == 5 and steps[0] == "then", row[0]
        if lead >= 0:  # half a minute, two and a half, the cell, and one and a half
            taken = int(re.search(r"what it prints \((\d+) minute", block)[1])
            assert abs(in_minutes(steps[4]) - in_minutes(steps[1]) - taken - 4.5) < 2, row[0]


@days
def test_the_sheet_shows_what_is_in_view_with_its_words(sheets, day):
    for lesson, words, seen, _, minutes in rows_below_show():
        block = re.search(rf"^### \S+ to \S+: {lesson} .*?(?=^### )", sheets[day], re.M | re.S)
        if seen.startswith("every day") or day in seen:
            search = block[0].partition("**To show")[2].partition("\n")[0]
            assert f"{words} ({minutes} min)" in search, words


def rows_below_show():
    """The guide's table of what to show: lesson, words, days, what, minutes."""
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    return re.findall(r"^\| (\d\d) \| (`[^`]+`) \| (.+?) \| (.+?) \| (\d+) \|$", text, re.M)


@days
def test_the_sheet_asks_after_the_last_task_and_cuts_in_the_spare_time(sheets, day):
    blocks = re.split(r"^### (?=\d)", sheets[day].partition("\n## What goes wrong")[0],
                      flags=re.M)[1:]
    lessons = [found[0][:2] if (found := re.findall(r"(?:notebooks|exercises)/(\d\d_)", block))
               else "" for block in blocks]
    ends = rows_below("Questions at the end")
    own = tuple(f": {key}, task " for key, *_ in ends if not key.isdigit())  # a task's question
    for lesson, goal, question in ends:
        if not lesson.isdigit():
            assert all(question in block for block in blocks if f": {lesson}, task " in block)
            assert sheets[day].count(question) == sheets[day].count(f": {lesson}, task ")
        if lesson in lessons:
            assert f"*The goal:* they can {goal}." in sheets[day]
            asked, = (k for k, block in enumerate(blocks) if question in block)
            last = max(k for k, other in enumerate(lessons) if other == lesson
                       and "Spare time\n" not in blocks[k]
                       and not any(task in blocks[k].partition("\n")[0] for task in own))
            still = asked == last + 1 and ": Still " in blocks[asked]
            assert asked == last and ": Still " not in blocks[asked + 1] or still, lesson
    spare = [block for block in blocks if ": Spare time\n" in block]
    assert len(spare) >= 2
    for block in spare:
        assert "**Late by more than" in block and "**Early:**" in block
        begin, end = map(in_minutes, re.match(r"(\S+) to (\S+):", block).groups())
        paid = re.search(r"^\*It pays for\*.*$", block, re.M)[0]
        assert sum(map(int, re.findall(r"(\d+) minute", paid))) == end - begin
    assert blocks[-1].count("two lines on paper") == 1


@days
def test_the_sheet_says_what_a_section_asks_and_what_a_task_returns(sheets, day):
    sections = re.findall(r"^\*\*(?:\d+:\d\d|then)\*\* \*(.+)\*\n+(.*)", sheets[day], re.M)
    assert len(sections) > 15  # each says what it is for, and what they do there
    assert all(re.match(r"[A-Z].{20,}[.:] \*\(\d+ cells?[,)]", told) for name, told in sections
               if name != "Key points")
    for section in re.split(r"^(?:###|\*\*(?:\d+:\d\d|then)\*\* \*)", sheets[day], flags=re.M):
        told = re.findall(r"\*Right:\*|^\*Measured:|^\*In the fold", section, re.M)
        assert section.count("*They are asked:*") <= len(told), section
    explained, solved = (sheets[day].find(words) for words in (
        "A thread is a pair `(blockIdx.x, threadIdx.x)`", 'return "race", 5'))
    assert (explained > 0) == (solved > 0) and explained <= solved
    assert sheets[day].count("returns a tuple of four things") == (solved > 0)
    if "Type *A first kernel*" in sheets[day]:
        assert sheets[day].index("| Python | C |") < sheets[day].index("twice = cp.RawKernel")


@days
def test_the_sheet_names_rounds_only_while_they_are_ahead(sheets, day):
    named = 0
    for early in re.finditer(r"^\*\*Early:\*\* .*Ahead: (.+)\.$", sheets[day], re.M):
        rest = sheets[day][early.end():].split(": Spare time\n")[0]
        for name in re.findall(r"\*(.+?)\* in lesson", early[1]):
            named += 1
            assert "Or lead a round more." in early[0]
            assert f"**If you are early: *{name}*.**" in rest, name
    assert named
    assert sheets[day].count("Or lead a round more.") == sheets[day].count(" Ahead: ")
    assert sheets[day].count("**Late here,**") == (2 if day == "two" else 1)  # once a day


def test_each_round_stops_before_one_cell():
    for name, words, *_ in rows_below("Predictions to lead"):
        path, = (ROOT / "notebooks").glob(f"{name[:2]}_*.ipynb")
        found = [cell for cell in read(path).cells if words.strip("`") in cell.source]
        assert [cell.cell_type for cell in found] == ["code"], name


@days
def test_the_sheet_has_a_wrong_answer_and_the_solution_of_each_task(sheets, day):
    wrong = {row[0]: row for row in rows_below("Wrong answers")}
    for place, numbers in parts_of(day).items():
        for number in numbers if place.startswith("exercises/") else ():
            cells = read(ROOT / place.replace("exercises", "solutions")).cells
            at, = (k for k, cell in enumerate(cells) if cell.source.startswith(f"## {number}. "))
            title = re.match(r"## \d+\. (.+?) ★", cells[at].source)[1]
            assert sheets[day].count(wrong[title][2]) == 1, title
            block = sheets[day].partition(f": {title}, task {number}\n")[2].partition("\n###")[0]
            assert f"*They write:* {wrong[title][4]}." in block and "*The solution:*" in block
            given = re.search(r"```\w*\n(.+?)```", cells[at].source, re.S)
            assert not given or given[1] in block, title
            answer = next(cell.source for cell in cells[at:] if "SOLUTION" in cell.source)
            for line in answer.splitlines():
                assert "SOLUTION" in line or line.strip() in sheets[day], line
    assert "SOLUTION" not in sheets[day]


@days
def test_the_sheet_says_what_stands_for_folded_sections(sheets, day, folders):
    skipped = [heading for place, chosen in parts_of(day).items()
               if place.startswith("notebooks/") for heading in chosen]
    told = dict(re.findall(r"^\*Folded\* \((.+)\), they read: (.+)$", sheets[day],
                           re.M))
    without = {"One program, all the way", "A finished network to serve?"}
    assert set(skipped) - without == set(told)
    read_there = "\n".join(cell.source for path in folders[day].glob("notebooks/*.ipynb")
                           for cell in read(path).cells)
    for heading, sentence in told.items():  # the learner's notebook has the sentence
        assert f"## {heading}\n\nNot read today. {sentence} Run the folded cell" in read_there


def lesson_numbered(number):
    (path,) = (ROOT / "notebooks").glob(f"{number}_*.ipynb")
    return path, read(path)


def test_the_words_for_the_days_name_sections_of_the_lessons():
    for kind in ("for", "folded"):
        assert len(WORDS[kind]) > 20
        for key in WORDS[kind]:
            assert key[3:] in {section for *_, section in with_paths(lesson_numbered(key[:2])[1])}


@days
def test_the_sheet_has_the_key_points_and_the_answers_inside_the_lessons(sheets, day, folders):
    for path in folders[day].glob("notebooks/*.ipynb"):
        *_, points = (cell.source for cell in read(path).cells if "## Key points" in cell.source)
        points = re.findall(r"^- .+$", re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", points), re.M)
        assert len(points) >= 3 and all(f"{point}\n" in sheets[day] for point in points), path.name
        for cell in read(path).cells:
            if cell.metadata.get("course", {}).get("warm_up"):
                names = [key[3:] for key in WORDS["answers"] if key[:2] == path.name[:2]
                         and re.search(rf"^(def )?{key[3:]}\b", cell.source, re.M)]
                assert len(names) == 1, cell.source
                assert f"```\n{WORDS['answers'][f'{path.name[:2]} {names[0]}']}\n```" in sheets[day]


@pytest.mark.parametrize("key", WORDS["answers"])
def test_the_answers_inside_the_lessons_are_right(key):
    helpers.start()
    import cupy as cp

    place, variables = lesson_numbered(key[:2])[0].stem[3:], {"np": np, "cp": cp, "math": math}
    exec(WORDS["answers"][key], variables)
    task = getattr(importlib.import_module(f"checks.{place}"), key[3:])
    assert task.judge(variables[key[3:]]).state == "ok"


@days
def test_the_sheet_has_the_room_the_other_ways_and_the_installation_in_the_break(sheets, day):
    head, *blocks = re.split(r"^### (?=\d)", sheets[day], flags=re.M)
    for words in ("**Half an hour before:**", "**Wi-Fi:**", "**Learners arrive**"):
        assert words in head
    lessons = {place[10:12] for place in parts_of(day)}
    for key, so in WORDS["thoughts"].items():  # of NumPy people, each about a lesson of the day
        assert key[:2] in lessons and f"| {key[3:]} | {so} | {key[:2]} |\n" in head
    assert "- **Paper:**" in blocks[0] and "- **Browser**" in blocks[0]
    installs = [block.partition("\n")[0] for block in blocks if "`make lab`, and the line" in block]
    kind = "Break" if day == "half" else "Lunch"
    assert [row.rpartition(": ")[2] for row in installs] == [kind]
    assert f"`{day}.zip` from the morning" in sheets[day]


def test_a_sheet_has_its_own_day_s_folder(sheets):
    for day, sheet in sheets.items():
        assert f"find work -name '{day}*.zip'" in sheet
        assert not any(f"`{other}`" in sheet for other in DAYS if other != day)


@days
def test_the_sheet_says_what_a_delay_moves_and_offers_no_round_twice_at_a_time(sheets, day):
    assert "Add your delay to every time, also to the steps of a round" in sheets[day]
    offered = 0
    for block in re.split(r"^### (?=\d)", sheets[day], flags=re.M):
        if not re.match(r"\S+ to \S+: \d\d ", block):
            continue
        assert "I am* ____ *minutes late" in block
        led = re.findall(r"^- \*\*(\d+:\d\d)\*\* \*", block, re.M)  # the steps of the round
        for early in re.findall(r"\*\*If you are early: .*", block):
            at = in_minutes(re.search(r"(?:by|ended by) (\d+:\d\d)", early)[1])
            after = "ended by " in early
            last = in_minutes(led[-1]) if led else 0
            assert at == last - 5 if after else not led or not (
                in_minutes(led[0]) - 5 < at < last), early
            offered += 1
    assert offered


@days
def test_the_sheet_has_a_vote_on_a_kernel_and_what_to_do_with_its_result(sheets, day):
    head = sheets[day].partition("in running order")[0]
    assert "at your \"three\" all hold it up" in head and "**Fewer than one in three?**" in head
    assert "**Time is up:** who has `[ok]`?" in head
    votes = len(re.findall(r"All vote at your \"three\"", sheets[day]))
    assert votes == sheets[day].count("**Lead *")
    blocks = re.split(r"^### (?=\d)", sheets[day], flags=re.M)
    typed = [block for block in blocks if ": Type *A first kernel*" in block]
    assert all("**Vote** before you run it" in block for block in typed)
    assert typed or "**Lead *three trips*.**" in sheets[day]


@days
def test_the_sheet_prints_the_kernel_and_the_reasons_of_the_round_on_suspects(sheets, day):
    block = re.search(r"^### \S+ to \S+: 10 .*?(?=^### )", sheets[day], re.M | re.S)[0]
    vote = block.index("**Lead *suspects*")
    assert 0 < block.index("6 |     tile[ty][tx] = x[") < vote
    assert 0 < block.index("| `blocks` | a race between blocks") < vote
    assert "- `blocks`: this race needs a second block" in block[vote:]
    assert sheets[day].count("*Why, from the fold that stays closed:*") == sheets[day].count(
        "**Lead *")


@days
def test_the_sheet_leaves_out_what_the_learners_screens_have(sheets, day):
    assert not re.search(r"^\*Hint[ \d]*:\*|The repaired kernel is launched like", sheets[day],
                         re.M)
    if "Repair a benchmark" in sheets[day]:
        assert "1. There is no warm-up." in sheets[day]  # the list of faults is no hint
    assert ("pair_index" in sheets[day]) == (day == "one")  # others have it only if they are early
    for more in re.findall(r"^Or (?:begin|give) .*Places below zero.*", sheets[day], re.M):
        assert "in `work/exercises/`" in more  # the day's folder does not have it
    assert not re.search(r"Lessons \d+ minutes", sheets[day])
    assert ("build PyCUDA" in sheets[day]) == (day == "two")


@days
def test_feedback_and_a_fresh_exercise_are_in_the_day_s_own_folder(sheets, day, folders):
    notes = [block for block in re.split(r"^### (?=\d)", sheets[day], flags=re.M)
             if "what is not clear to me?" in block]
    assert [re.match(r"\S+ to \S+: (\w+)", block)[1] for block in notes] == [
        "Break" if day == "half" else "Lunch"]
    unpacked, copied = re.search(
        r"-e (work/\S+\.zip) work/new`.*`cp work/new/(\S+) work/\S+`", sheets[day]).groups()
    assert unpacked == f"work/{day}.zip" and f" work/{day}/exercises/again" in sheets[day]
    assert copied.startswith(f"{day}/") and list(folders[day].glob(copied.partition("/")[2]))
    for row in re.findall(r"^\| .*sudo apt.*$", sheets[day], re.M):
        assert "long break" in row, row


def core_minutes(number, *headings):
    """The minutes of these sections of a lesson."""
    cells = [(cell, section) for cell, path, section in with_paths(lesson_numbered(number)[1])
             if path != "deeper"]
    assert set(headings) <= {section for _, section in cells}
    return sum(cell_minutes(cell) for cell, section in cells if section in headings)


def test_the_cuts_of_the_short_days_win_what_they_say():
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    for day in ("Half a day", "Six hours"):
        cuts = re.findall(r"^- The (?:first|second): (.+)$", text.partition(f"\n## {day}\n")[2]
                          .partition("\n## ")[0], re.M)
        assert re.search(r"first kernel\* \((\d+)\).* solving them \((\d+)\).* win ten",
                         cuts[0]).groups() == ("5", "6")
        assert round(core_minutes("06", "ElementwiseKernel", "Types, and helper variables")) == 6
        if "lesson 10" in cuts[1]:
            steps = [section for *_, section in with_paths(lesson_numbered("10")[1])
                     if re.match("Step [123]", section)]
            shown, kept = 3, core_minutes("10", "From what you see to what you try")
            assert "in three minutes instead of ten" in cuts[1] and "You win nine" in cuts[1]
            assert round(core_minutes("10", *steps)) == 10 and round(kept) == 2
            assert round(10 - shown + kept) == 9
        else:
            assert "*A tree of sums* becomes homework. You win ten." in cuts[1]
        assert not any("you alone" in cut for cut in cuts)


class PretendedClock:
    """A device that works after a launch has returned, and the host's clock."""

    def __init__(self, launch: float, takes: float):
        self.launch, self.takes, self.now, self.free = launch, takes, 0.0, 0.0

    def read(self) -> float:
        return self.now

    def work(self) -> None:
        self.now += self.launch
        self.free = max(self.now, self.free) + self.takes

    def synchronize(self) -> None:
        self.now = max(self.now, self.free)


def without_the_wait_at_the_end(source):
    before, wait, after = source.rpartition("        synchronize()\n")
    assert wait and before.count("synchronize()") == 1
    return before + after


def test_the_answers_to_the_questions_at_the_end_are_right():
    asked = {row[0]: row[2] for row in rows_below("Questions at the end")}
    launch, done, first, last = map(float, re.search(
        r"returns after ([\d.]+) ms; after `synchronize\(\)`, the clock says ([\d.]+) ms\..*"
        r"\(([\d.]+): the launch\. ([\d.]+): the launch and the work, and it is right\)",
        asked["05"]).groups())
    assert (launch, done) == (first, last) and launch < done / 10
    clock = PretendedClock(launch, done - launch)
    cells = read(ROOT / "solutions/05_numpy_to_cupy.ipynb").cells
    right = next(cell.source for cell in cells if "def seconds(work, clock, synchronize) ->"
                 in cell.source and "SOLUTION" in cell.source)
    for source, answer in ((right, done), (without_the_wait_at_the_end(right), launch)):
        variables = {}
        exec("import statistics\n" + source, variables)
        taken = variables["seconds"](clock.work, clock.read, clock.synchronize)
        assert round(taken, 6) == answer
    helpers.start()
    import cupy as cp

    line, = re.findall(r"`(x\[i\] = .+?)`", asked["10"])
    shift = cp.RawKernel('extern "C" __global__ void shift(float* x, int n) {\n'
                         "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                         f"    if (i < n - 1) {line};\n}}", "shift")
    arguments = cp.arange(32, dtype=cp.float32), np.int32(32)
    report = str(helpers.inspect(shift, (4,), (8,), arguments, counters=False))
    assert "race" in report and "(Yes: thread 5 reads `x[6]`, and thread 6 writes it" in asked["10"]


def options(vote):
    """The answers among which a vote lets people choose."""
    return re.split(r"; or |; |, or |, | or ", vote.rpartition(": ")[2].rstrip("?"))


def test_each_vote_has_three_answers_and_says_why_one_may_think_the_wrong_ones():
    for name, _, question, right, others, *_ in rows_below("Predictions to lead"):
        vote = re.search(r"\*\*([^*]+\?)\*\*$", question)[1]
        assert len(re.findall(r", | or ", vote)) >= 2 and " or " in vote, name
        assert len(re.findall(r"(?:^|\. )[^:.]+(?:\.\d)?[^:.]*: ", others)) >= 2, name
        assert not re.match(r"(yes|no)\b", right), name
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    first, = re.findall(r"threads 10 and 11 do: \*\*(.+?)\*\*", text)
    assert len(options(first)) == 3


def test_the_votes_on_the_grid_stride_loop_offer_what_wrong_kernels_do():
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    talk, = re.findall(r"as a vote: which elements does thread 5 take: \*\*(.+?)\*\*", text)
    end = {row[0]: row[2] for row in rows_below("Questions at the end")}["06"]
    for vote, n, blocks, threads in ((talk, 27, 3, 4), (end, 2000, 4, 256)):
        right, block = (list(range(5, n, step)) for step in (blocks * threads, threads))
        assert "only 5;" in vote and f"; {right[0]} and {right[1]};" in vote and len(right) == 2
        assert f"{', '.join(map(str, block[:3]))} and so on" in vote and len(block) > 3
    assert end.endswith("the step is the whole grid's 1024)")


def test_the_wrong_benchmark_gets_the_answer_that_the_sheet_prints():
    row, = (row for row in rows_below("Wrong answers") if row[0] == "Repair a benchmark")
    cells = read(ROOT / "solutions/05_numpy_to_cupy.ipynb").cells
    right = next(cell.source for cell in cells if "def seconds(work, clock, synchronize) ->"
                 in cell.source and "SOLUTION" in cell.source)
    assert row[1] == "waits before each call, and not after it"
    variables = {}
    exec("import statistics\n" + without_the_wait_at_the_end(right), variables)
    verdict = importlib.import_module("checks.numpy_to_cupy").seconds.judge(variables["seconds"])
    assert verdict.state == "no" and row[2].strip("`") in verdict.text


def test_the_question_on_the_barrier_is_about_a_fault():
    asked = {row[0]: row[2] for row in rows_below("Questions at the end")}["A tree of sums"]
    first, then = re.findall(r"`([^`]+;(?: \})?)`", asked)[:2]
    helpers.start()
    import cupy as cp

    def report(body):
        kernel = cp.RawKernel('extern "C" __global__ void miss(const float* x, float* y) {\n'
                              "    __shared__ float tile[64];\n    int t = threadIdx.x;\n"
                              f"    {body}\n    {then}\n    if (t < 60) y[t] = tile[59 - t];\n}}",
                              "miss")
        x = cp.arange(64, dtype=cp.float32)
        return str(helpers.inspect(kernel, (1,), (64,), (x, cp.zeros_like(x)), counters=False))

    assert "barrier" in report(first) and "(60 to 63." in asked
    repaired, = re.findall(r"Only `(.+?)` stays", asked)
    assert repaired in first
    assert "No fault found" in report(f"if (t < 60) {{ {repaired} }} __syncthreads();")


@days
def test_what_is_said_is_drawn_and_atomics_come_before_their_task(sheets, day):
    said = [block for block in re.split(r"^### (?=\d)", sheets[day], flags=re.M)
            if re.match(r"\S+ to \S+: Say ", block)]
    assert len(said) >= 2 and all("*Draw:*\n\n```\n" in block for block in said)
    for name, drawn in WORDS["sketches"].items():
        assert (drawn in sheets[day]) == (f"for which you say *{name}*" in sheets[day] or any(
            f"*{name}*" in block.partition("\n")[0] for block in said)), name
    told = sheets[day].index("`atomicAdd(&y[0], 1.0f)` adds in one step")
    assert told < sheets[day].index(": Overlap-add, task 1\n")


@days
def test_the_sheet_has_the_rules_that_it_needs(sheets, day):
    head = sheets[day].partition("in running order")[0]
    for rule in ("Breaks keep their length", "If more than a third are wrong, explain",
                 "takes five minutes, in your own words"):
        assert head.count(rule) == 1, rule
    assert "for ten minutes at most, and installs nothing" in sheets[day]
    told = re.findall(r"^\*\*Is it \d+:\d\d or earlier\?\*\* Begin the next row", sheets[day], re.M)
    assert len(told) == sheets[day].count(": Spare time\n")
    cuts = re.findall(r"^\*\*Late by more than that:\*\* (.+)$", sheets[day], re.M)
    assert len(cuts) == len(set(cuts)) and all(sheets[day].count(cut) == 1 for cut in cuts)


def test_six_hours_have_spare_time_in_the_last_part(sheets):
    *_, last = re.findall(r"^### (\S+) to \S+: Spare time$", sheets["six"], re.M)
    assert in_minutes(last) > in_minutes("13:25")


def test_the_first_kernel_has_spare_time_behind_it_and_a_cut_of_its_own(sheets):
    minutes = round(core_minutes("06", "Enough C for a kernel"))
    for day in ("half", "six"):
        typed, spare, lesson = re.split(r"^### (?=\d)", sheets[day].partition(
            ": Type *A first kernel*")[2], flags=re.M)[:3]
        assert ": Spare time\n" in spare and "06 First kernels" in lesson.partition("\n")[0]
        cut = re.search(r"^\*\*Late by more than that:\*\* (.+)$", spare, re.M)[1]
        assert f"*Enough C for a kernel* in lesson 06 ({minutes}) is only run" in cut
        assert "did they read the C table with you?" in cut and "| Python | C |" in typed
        assert "You win five." in cut and minutes >= 5 and "Places below zero" not in spare


def test_the_minutes_inside_the_first_kernel_sum_to_its_row(sheets):
    for day in ("half", "six"):
        begin, end, block = re.search(
            r"^### (\S+) to (\S+): Type \*A first kernel\*(.+?)^### ", sheets[day], re.M | re.S
        ).groups()
        inside = re.findall(r"\((\d+) minutes?\)", block)
        assert sum(map(int, inside)) == in_minutes(end) - in_minutes(begin) and len(inside) == 6


def test_the_message_and_the_rehearsal_fit_the_day(folders):
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    ends = {}
    for day, kind in (("six", "Lunch"), ("half", "Break")):
        order = (folders[day] / "README.md").read_text(encoding="utf-8")
        *_, (hour, past, _, taken, _) = (row for row in ROW.findall(order) if row[2] == kind)
        eat = 60 * int(hour) + int(past)
        end = re.search(r": (\d+:\d\d) to (\d+:\d\d)\.$", order, re.M)
        ends[day] = (*end.groups(), f"{hour}:{past}",
                     f"{(eat + int(taken)) // 60}:{(eat + int(taken)) % 60:02}")
    begin, end, eat, back = ends["six"]
    come = re.search(rf"from {begin} to {end}\. Please come at (\S+)\. Lunch is from {eat} to"
                     rf" {back}:", text)[1]
    assert in_minutes(begin) - in_minutes(come) == 15 and "a quarter of an hour before" in text
    lunch = " to ".join(ends["half"][2:])
    assert f"(Half a day: to {ends['half'][1]}, lunch from {lunch}.)" in text
    taken, told = re.search(r"^\| 9 \| (\d+) \| (.+) \|$", text, re.M).groups()
    assert sum(map(int, re.findall(r"\((\d+)\)", told))) == int(taken)
    lead, = re.findall(r"Lead the round \*(.+?)\* aloud", told)
    for day in ("six", "half"):
        order = (folders[day] / "README.md").read_text(encoding="utf-8")
        assert f": {lead} |" in order
        assert all(f"*{name}*" in told for name in re.findall(r"(?:Say|Type) \*(.+?)\*", order))


def test_the_evening_says_when_to_begin_and_reads_the_replies_when_they_are_there():
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d) \| (\d+) \| (.+) \|$", text.partition("\n## One evening\n")[2]
                      .partition("\n### ")[0], re.M)
    begin, end = map(in_minutes, re.search(
        r"Begin at (\d+:\d\d).* half an hour to eat before row 5: until (\d+:\d\d)", text).groups())
    taken = [int(minutes) for _, minutes, _ in rows]
    assert begin + 15 + sum(taken[:4]) + 30 == in_minutes(re.search(
        r"At (\d+:\d\d), wherever you are:", rows[4][2])[1])
    assert re.search(r"answer by (\d+:\d\d) tonight", text)[1] in rows[4][2]
    assert begin + 15 + sum(taken) + 30 == end and "`six.zip`" in rows[4][2]


def test_the_evening_rehearses_the_learners_line_and_mails_it():
    text = (ROOT / GUIDE).read_text(encoding="utf-8")
    evening, _, day = text.partition("\n## The first fifteen minutes\n")
    second = evening.partition("Second block:")[2].partition("\n### ")[0]
    line, = re.findall(r"```\n(python3 .+)\n```", second)
    assert re.search(r"```\n(python3 .+)\n```", day)[1] == line
    order = [second.index(step) for step in ("`make lab`", "drag `", "second terminal", line)]
    assert order == sorted(order)  # the learners' steps
    assert "the second block's long line to all" in re.search(r"^\| 5 \|.+$", evening, re.M)[0]
    assert "a line to copy later" in evening and "copy the line below from your mail" in day
    assert "typed again, it writes over the answers in `six`" in day
    assert "`make lab` never writes over answers; only the zip's line does" in day


def test_the_vote_on_one_batch_follows_from_its_question():
    row = {row[0]: row for row in rows_below("Predictions to lead")}["00 one batch"]
    most, = (int(number.replace(",", "")) for number in re.findall(r": ([\d,]+) digits", row[2]))
    part, time = map(int, re.search(r"(\d+) % of the operations took (\d+) % of the", row[2])
                     .groups())
    least = int(re.search(r"less than ([\d,]+)\?", row[2])[1].replace(",", ""))
    assert abs(100e9 / 1.5e6 - most) < 500 and most * time / part < least
    assert f"{time / 100} / {part / 100}, a fifth" in row[3] and "13,000" in row[3]
    assert round(most * time / part, -3) == 13000 and "More than 15,000?" in row[5]
    fold = "\n".join(cell.source for cell in lesson_numbered("00")[1].cells)
    assert f"{part} % of all" in fold and f"only {time} % of the time" in fold


@days
def test_the_sheet_gives_a_task_s_end_its_three_minutes(sheets, day):
    blocks = [(*re.match(r"\S+ to (\S+): (.+)", block).groups(), block)
              for block in re.split(r"^### (?=\d)", sheets[day], flags=re.M)[1:]]
    ends = [(to, name, text) for (to, name, text), (_, then, _) in zip(blocks, blocks[1:])
            if re.search(r", task \d$|^Still ", name) and not then.startswith("Still ")]
    assert len(ends) == sum(len(numbers) for place, numbers in parts_of(day).items()
                            if place.startswith("exercises/"))
    for to, name, text in ends:
        up, = re.findall(r"^\*\*(\S+), time is up\.\*\* \*A wrong answer\*", text, re.M)
        assert in_minutes(to) - in_minutes(up) == 3, name
    assert sheets[day].count(", time is up.**") == len(ends)


@days
def test_the_late_rule_never_shortens_what_must_not_be_left_out(sheets, day):
    kept = re.findall(r"^Never leave out (.+)\.$", sheets[day], re.M)
    for block in re.split(r"^### (?=\d)", sheets[day], flags=re.M):
        if not (rule := re.search(r"^\*\*Late here,\*\* .+$", block, re.M)):
            continue
        begin, name = re.match(r"(\S+) to \S+: (.+), task", block).groups()
        if f"*{name}*" not in " ".join(kept):
            assert f"*{name}* is solved together, in five" in rule[0]
            continue
        assert "solved together" not in rule[0] and "Ask the room to stay" in rule[0]
        after = sheets[day][sheets[day].index(block) + len(block):]
        taken, = re.findall(rf"\*{name}\* keeps its (\d+) minutes", rule[0])
        still = re.match(r"\S+ to (\S+): Still|", after.removeprefix("### "))[1]
        end = still or re.match(r"\S+ to (\S+):", block)[1]
        assert in_minutes(end) - in_minutes(begin) == int(taken)
        *homework, last = map(in_minutes, re.findall(r"You begin by (\S+)\?", rule[0]))
        later = re.findall(r"^### (\S+) to (\S+): (.+), task", after, re.M)
        assert len(homework) == len(later)  # the tasks after it go first
        for by, (first, to, other) in zip(homework, later):
            assert by - in_minutes(begin) == in_minutes(to) - in_minutes(first)
            assert f"Only *{other}* becomes homework" in rule[0]
        close = re.search(r"^### \S+ to (\S+): Questions", after, re.M)[1]
        assert in_minutes(close) - 3 == last + int(taken)


@days
def test_the_sheet_prints_what_a_vote_is_about_and_not_its_answer(sheets, day):
    block = re.search(r"^### \S+ to \S+: 05 .*?(?=^### )", sheets[day], re.M | re.S)[0]
    source, = (cell.source for cell in lesson_numbered("05")[1].cells
               if "def clocks(work)" in cell.source)
    clocks = re.search(r"(?ms)^def clocks.+?(?=\n\n\n)", source)[0]
    assert 0 < block.index(clocks) < block.index("**Lead *five clocks*")
    assert 0 < block.index("report = benchmark(") < block.index("**Lead *five clocks*")
    block = re.search(r"^### \S+ to \S+: 10 .*?(?=^### )", sheets[day], re.M | re.S)[0]
    for words in ("1 as it is (`y` is the array `x`), 2 one block, 3 a new array for `y`",
                  "an index fault spoils every tile"):
        assert 0 < block.index(words) < block.index("**Lead *suspects*")
    if ": Say *The grid-stride loop*" in sheets[day]:
        block = sheets[day].partition(": Say *The grid-stride loop*\n")[2].partition("\n###")[0]
        assert block.index("*Ask first*, before you draw") < block.index("*Draw:*")
        assert block.index("*Draw:*") < block.index("> Thread 0 takes")


@days
def test_the_sheet_leaves_out_the_key_points_of_folded_sections(sheets, day):
    order = {place[10:12]: chosen for place, chosen in parts_of(day).items()
             if place.startswith("notebooks/")}
    for key, section in WORDS["points"].items():
        number, begins = key[:2], f"\n- {key[3:]}"
        points = lesson_numbered(number)[1].cells
        assert any(begins in cell.source for cell in points if "## Key points" in cell.source), key
        assert section in {heading for *_, heading in with_paths(lesson_numbered(number)[1])}
        if number in order:
            block = re.search(rf"^### \S+ to \S+: {number} .*?(?=^### )", sheets[day],
                              re.M | re.S)[0]
            told, _, left = block.rpartition("\n**")[2].partition("*Folded today, so leave out:*")
            assert begins in (left if section in order[number] else told), key


def heading(text, **course):
    return new_markdown_cell(text, metadata={"course": course} if course else {})


def small_lesson():
    warm_up = new_code_cell("def f(): ...", metadata={"course": {"warm_up": True}})
    return new_notebook(cells=[
        heading("# 99 Small\n\n**60 minutes.** You need nothing."), new_code_cell("import math"),
        heading("## One\n\n" + "word " * 1000), new_code_cell("a = 1\na"), heading("Why?"),
        new_code_cell("b = a"), warm_up,
        heading("## Two\n\n" + "word " * 500), new_code_cell("print(b)"),
        heading("## Going deeper: three", path="deeper"), new_code_cell("c = 3")])


def test_a_skipped_section_is_run_in_one_folded_cell():
    before = lesson_minutes(small_lesson(), skipped=["One"])
    cells = lesson_for(small_lesson(), ["One"]).cells
    assert [cell.source.split("\n")[0] for cell in cells] == [
        "# 99 Small", "import math", "## One", "a = 1", "## Two", "print(b)"]
    assert cells[3].source == "a = 1\na\n\n\nb = a\n\n\ndef f(): ..."
    assert cells[3].metadata["jupyter"]["source_hidden"] and cell_minutes(cells[3]) == 0
    assert f"**{before} minutes.**" in cells[0].source and before < 15


def test_an_exercise_keeps_only_its_tasks():
    exercise = new_notebook(cells=[
        heading("# 99 Small: exercises\n\n**2 core tasks, 25 minutes.**"), heading("## The data"),
        heading("## 1. First ★ (core, 10 minutes)"), new_code_cell("first"),
        heading("## 2. Second ★ (core, 15 minutes)"), new_code_cell("second"), heading("### After"),
        heading("## Other"), heading("## Your progress"), new_code_cell("progress()")])
    cells = tasks_for(exercise, [2]).cells
    assert [cell.source.split("\n")[0] for cell in cells] == [
        "# 99 Small: exercises", "## The data", "## 2. Second ★ (core, 15 minutes)", "second",
        "### After", "## Your progress", "progress()"]
    assert "**1 core task, 15 minutes.**" in cells[0].source


def test_a_slide_shows_the_answer_last_and_no_skipped_section():
    recorded = [new_output("stream", name="stdout", text="26\n")]
    lesson = small_lesson()
    lesson.cells.append(new_code_cell("show()", metadata={"course": {
        "answer": True, "recorded": recorded, "path": "core"}}))
    cells = mark_slides(lesson_for(lesson, ["One"])).cells
    kinds = [cell.metadata["slideshow"]["slide_type"] for cell in cells]
    assert kinds == ["slide", "-", "skip", "skip", "slide", "-", "fragment"]
    assert not cells[-1].outputs  # the template of the slides shows what was recorded


@pytest.mark.slow
@pytest.mark.skipif(find_spec("sphinx_revealjs") is None, reason="needs the extra `site`")
def test_slides_need_no_network(folders):
    pages = write_slides(folders["half"] / "notebooks")
    assert len(pages) == len(list(folders["half"].glob("notebooks/*.ipynb")))
    shown = []  # answers to predictions, page by page
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|link|img)[^>]*?(?:src|href)=\"([^\"]{1,99})", text)
        files = [name for name in loaded if not name.startswith("data:")]
        assert "reveal.js/dist/reveal.js" in files and "</section>" in text
        assert all((page.parent / name).exists() for name in files)
        notebook = page.with_name(page.name.replace(".slides.html", ".ipynb"))
        shown.append(text.count("yours  measured"))
        assert shown[-1] == notebook.read_text(encoding="utf-8").count("yours  measured")
        assert "#@title" not in text
    assert any(shown)
    styles = (page.parent / "reveal.js" / "dist" / "theme" / "white.css").read_text("utf-8")
    assert "url(http" not in styles


@pytest.mark.slow
@pytest.mark.parametrize("day, place", [(day, place) for day in DAYS for place in parts_of(day)])
def test_each_notebook_of_a_day_runs_through(folders, day, place, monkeypatch):
    from nbclient import NotebookClient

    monkeypatch.setenv("COURSE_BACKEND", "simulator")
    path = folders[day] / place
    metadata = {"metadata": {"path": str(path.parent)}}
    NotebookClient(read(path), timeout=300, resources=metadata).execute()
