"""Write the texts of the appendix, notebooks/claims.ipynb, from the ledger of claims.

The ledger is `claims.json` in helpers/data, with `articles.json`. Each row needs a code cell with
its id, which is written by hand.
"""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import nbformat

from authoring.notebook_form import ROOT, AuthoringError, number_of, read, stored_text
from authoring.working_copy import update_files
from helpers.data import FOLDER, load_claims

PAGE = "notebooks/claims.ipynb"
ARTICLES = json.loads((FOLDER / "articles.json").read_text(encoding="utf-8"))
ROW = "-row"  # how the id of the text above a claim's code ends


def lists(claims: list[dict]) -> dict[str, str]:
    """By cell id, the list of the articles and that of all claims with a link to each."""
    articles = [f"- {article['full']} {sum(topic in row['topics'] for row in claims)} claims."
                for topic, article in ARTICLES.items()]
    groups = [f"**{group}:** " + ", ".join(f"[{row['id']}](#{row['id']})" for row in rows)
              for group, rows in groupby(claims, key=lambda row: row["group"])]
    return {"articles": "## The articles\n\nWe translated their titles.\n\n" + "\n".join(articles),
            "contents": "\n\n".join(["## The claims", *groups])}


def verdict_of(row: dict) -> str:
    """A claim's verdict with its condition, as the appendix and the lesson word it."""
    return " ".join(filter(None, (row["verdict"], row.get("condition"))))


def row_text(row: dict) -> str:
    """The text above a claim's code: where it comes from, its verdict, and what was found."""
    source = " and ".join(ARTICLES[topic]["short"] for topic in row["topics"])
    tried = f"{row['versions']}; {row['date']}"
    if row["taught"]:
        number = number_of(row["taught"]["lesson"])
        tried += f"; [lesson {number}]({number}_{row['taught']['lesson']}.ipynb)"
    return (f"### {row['id']}\n\n**Claim.** {row['claim']} *(From {source}.)*"
            f"\n\n**{verdict_of(row)}.** {row['found']} *({tried}.)*")


def with_claims(notebook: nbformat.NotebookNode, claims: list[dict]) -> nbformat.NotebookNode:
    """Change the page's texts into the ledger's; refuse a row that has no code cell."""
    rows, listed, cells = {row["id"]: row for row in claims}, lists(claims), []
    if missing := rows.keys() - {cell.id for cell in notebook.cells}:
        raise AuthoringError(f"{PAGE} has no code cell with the id {min(missing)!r}")
    for cell in notebook.cells:
        if cell.id in rows:
            cells.append(nbformat.v4.new_markdown_cell(row_text(rows[cell.id]), id=cell.id + ROW))
        if not cell.id.endswith(ROW):
            cell.source = listed.get(cell.id, cell.source)
            cells.append(cell)
    notebook.cells = cells
    return notebook


def write_claims(root: Path = ROOT, check: bool = False) -> list[str]:
    """Write the appendix's texts, or with `check` only name the page if it would change."""
    page = with_claims(read(root / PAGE), load_claims())
    return update_files({PAGE: stored_text(page)}, root, check)
