"""The claims ledger: each row has its heading, its verdict and its cell in the appendix."""

import copy
import functools
import re
from datetime import date

import nbformat
import pytest

from authoring.notebook_form import IGNORE_TAG, ROOT, AuthoringError, number_of
from helpers.data import load_claims
from publishing import claims as appendix

PAGE = ROOT / appendix.PAGE
LESSON = "19_myths_measured.ipynb"  # tells twelve of the claims
VERDICTS = {"True", "Partly true", "Depends", "Incomplete", "Inconsistent", "Misleading",
            "Unneeded", "Unfounded", "Outdated", "Wrong"}
TOPICS = {"windowed products", "PyTorch libraries", "PyCUDA and CuPy", "CuPy tour",
          "NumPy inference", "found since"}
FIELDS = {"id", "group", "topics", "claim", "verdict", "found", "versions", "date", "taught"}
# A row may have a "condition", too: for what its verdict holds.


known_number = functools.cache(number_of)  # which asks git


@functools.cache
def cells_of(lesson, folder="notebooks"):
    path = ROOT / folder / lesson
    return nbformat.read(path, as_version=4).cells if path.exists() else []


def wrong_fields(row):
    """What is wrong with a row of the ledger by itself."""
    if set(row) - {"condition"} != FIELDS:
        return [f"{row.get('id')}: its fields are {sorted(row)}"]
    name, wrong = row["id"], []
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 60:
        wrong.append(f"{name}: is no id in lower case and hyphens")
    if row["verdict"] not in VERDICTS:
        wrong.append(f"{name}: verdict {row['verdict']!r} is none of {sorted(VERDICTS)}")
    if not re.fullmatch(r"(|(for|in|beside) [\w ,.]*\w)", row.get("condition", "")):
        wrong.append(f"{name}: condition {row['condition']!r} does not continue a verdict")
    if not row["topics"] or not set(row["topics"]) <= TOPICS:
        wrong.append(f"{name}: topics {row['topics']}")
    if not row["versions"] or date.fromisoformat(row["date"]) < date(2026, 1, 1):
        wrong.append(f"{name}: versions and date")
    if not row["found"].endswith((".", ":", ".)", ". (")):
        wrong.append(f"{name}: what was found is no sentence")
    if not 3 <= len(row["claim"].split()) <= 30:
        wrong.append(f"{name}: a claim is one sentence of at most 30 words")
    return wrong


def wrong_cells(row, cells):
    """What is wrong with a row's heading and cell on the page."""
    name = row["id"]
    code = [k for k, cell in enumerate(cells) if cell.id == name]
    if not code or cells[code[0]].cell_type != "code":
        return [f"{name}: no code cell of that id"]
    cell, text = cells[code[0]], cells[code[0] - 1].source
    wrong = []
    claim, found, verdict = map(re.escape, (row["claim"], row["found"], appendix.verdict_of(row)))
    if not re.match(rf"### {name}\n\n\*\*Claim\.\*\* {claim} \*\(From .+\.\)\*\n\n"
                    rf"\*\*{verdict}\.\*\* {found} ", text):
        wrong.append(f"{name}: heading, claim and verdict before the cell are not the ledger's")
    ends = f"({row['versions']}; {row['date']}"
    if (taught := row["taught"]) is not None:
        lesson = f"{known_number(taught['lesson'])}_{taught['lesson']}.ipynb"
        ends += f"; [lesson {lesson[:2]}]({lesson})"
        there = [*cells_of(lesson), *cells_of(lesson, "exercises")]
        if not any(other.id == taught["cell"] for other in there):
            wrong.append(f"{name}: {lesson} and its exercises have no cell {taught['cell']}")
    if not text.endswith(f" *{ends}.)*"):
        wrong.append(f"{name}: does not end with *{ends}.)*")
    if not cell.outputs and IGNORE_TAG not in cell.metadata.get("tags", []):
        wrong.append(f"{name}: its cell prints nothing")
    return wrong


def problems(claims, cells):
    """Each way in which ledger and page disagree, as a sentence."""
    found = [sentence for row in claims for sentence in wrong_fields(row)]
    if found:
        return found
    ids = [row["id"] for row in claims]
    found += [f"{name}: twice in the ledger" for name in set(ids) if ids.count(name) > 1]
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    headings = re.findall(r"^##+ (.+)$", text, flags=re.M)
    expected = list(dict.fromkeys(name for row in claims for name in (row["group"], row["id"])))
    if [name for name in headings if name in expected or re.fullmatch(r"[a-z0-9-]+", name)] \
            != expected:
        found.append("the page's headings are not the ledger's groups and rows, in its order")
    linked = re.findall(r"\[([a-z0-9-]+)\]\(#([a-z0-9-]+)\)", text)
    if linked != [(name, name) for name in ids]:
        found.append("the list of claims does not link each row once, in order")
    return found + [sentence for row in claims for sentence in wrong_cells(row, cells)]


def test_every_claim_has_its_row_and_its_cell():
    assert problems(load_claims(), cells_of(PAGE.name)) == []


def test_the_page_is_what_the_generator_writes():
    assert appendix.write_claims(check=True) == [], "run make claims"


def page(*names):
    return nbformat.v4.new_notebook(cells=[
        nbformat.v4.new_markdown_cell("old", id="contents"),
        *(nbformat.v4.new_code_cell("1", id=name) for name in names)])


def test_a_changed_ledger_changes_the_page():
    rows = load_claims()[:2]
    first, second = (row["id"] for row in rows)
    written = appendix.with_claims(page(first, second, "tool"), rows)
    assert [cell.id for cell in written.cells] == ["contents", f"{first}-row", first,
                                                   f"{second}-row", second, "tool"]
    assert f"[{first}](#{first})" in written.cells[0].source
    rows[0]["verdict"] = "Outdated"
    again = appendix.with_claims(copy.deepcopy(written), rows)
    changed = [cell.id for cell, old in zip(again.cells, written.cells)
               if cell.source != old.source]
    assert changed == [f"{first}-row"] and "**Outdated.**" in again.cells[1].source
    # A row that has left the ledger leaves its code, and loses its text.
    fewer = appendix.with_claims(again, rows[1:])
    assert [cell.id for cell in fewer.cells] == ["contents", first, f"{second}-row", second, "tool"]


def test_a_row_without_code_is_refused():
    with pytest.raises(AuthoringError, match="no code cell with the id 'strided-parallel'"):
        appendix.with_claims(page("strided-no-copy"), load_claims()[:2])


def test_each_row_names_an_article_with_a_title_where_there_is_one():
    assert set(appendix.ARTICLES) == TOPICS
    text = next(cell.source for cell in cells_of(PAGE.name) if cell.id == "articles")
    assert all(article["full"] in text for article in appendix.ARTICLES.values())
    assert len(re.findall(r"[\u4e00-\u9fff]", text)) > 20  # three titles in the original


def test_the_lesson_tells_twelve_claims_with_the_verdicts_of_the_ledger():
    text = "\n\n".join(cell.source for cell in cells_of(LESSON) if cell.cell_type == "markdown")
    parts = re.split(r"^### \d+\. ", text.partition("## All twelve")[0], flags=re.M)[1:]
    told = re.findall(r"^\| (\d+) \|.*\| ([a-z][^|]*) \|$", text, flags=re.M)
    assert [number for number, _ in told] == [str(k) for k in range(1, 13)]
    verdicts = {row["id"]: appendix.verdict_of(row) for row in load_claims()}
    for part, (_, verdict), name in zip(parts, told, TOLD, strict=True):
        assert "**Claim.**" in part and re.search(r"\*\((\"|The article on )", part)
        assert verdict == verdicts[name][0].lower() + verdicts[name][1:]
        assert f"**{verdicts[name]}.**" in part  # with its condition, in the same words


TOLD = ["clock-around-launch", "hundred-times", "strided-parallel", "cupy-matmul-view",
        "einsum-faster", "transpose-reshape", "percent-and-times", "attention-4-gb",
        "float32-twice", "synchronize-inside", "index-arrays", "autoinit-beside-cupy"]


def test_every_topic_is_there():
    claims = load_claims()
    assert len(claims) >= 90
    assert {topic for row in claims for topic in row["topics"]} == TOPICS
    assert {row["verdict"] for row in claims} == VERDICTS


def drop_cell(claims, cells):
    cells[:] = [cell for cell in cells if cell.id != claims[3]["id"]]


def drop_row(claims, cells):
    del claims[3]


def add_row(claims, cells):
    claims.insert(3, {**claims[3], "id": "another-claim"})


def repeat_row(claims, cells):
    claims.append(claims[0])


def change_verdict(claims, cells):
    claims[0]["verdict"] = "Wrong" if claims[0]["verdict"] == "True" else "True"


def change_versions(claims, cells):
    claims[0]["versions"] = "NumPy 1.26"


def unknown_verdict(claims, cells):
    claims[0]["verdict"] = "Maybe"


def change_condition(claims, cells):
    claims[0]["condition"] = "for small arrays"


def odd_condition(claims, cells):
    claims[0]["condition"] = "sometimes"


def no_versions(claims, cells):
    claims[0]["versions"] = ""


def teach_elsewhere(claims, cells):
    taught = next(row["taught"] for row in claims if row["taught"])
    taught["cell"] = "no-such-cell"


def no_output(claims, cells):
    next(cell for cell in cells if cell.id == claims[0]["id"]).outputs = []


@pytest.mark.parametrize("damage, words", [
    (drop_cell, "no code cell"), (drop_row, "headings"), (add_row, "another-claim: no code cell"),
    (repeat_row, "twice"), (change_verdict, "not the ledger's"), (change_versions, "end with"),
    (unknown_verdict, "none of"),
    (change_condition, "not the ledger's"), (odd_condition, "does not continue"),
    (no_versions, "versions and date"),
    (teach_elsewhere, "no cell no-such-cell"), (no_output, "prints nothing"),
])
def test_the_ledger_can_fail(damage, words):
    claims, cells = copy.deepcopy(load_claims()), copy.deepcopy(cells_of(PAGE.name))
    damage(claims, cells)
    assert any(words in sentence for sentence in problems(claims, cells))
