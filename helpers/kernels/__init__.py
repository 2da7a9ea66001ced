"""CUDA sources too long for a notebook's cell."""

from pathlib import Path

FOLDER = Path(__file__).parent


def source(name: str) -> str:
    """The text of `name`.cu in this folder."""
    return (FOLDER / f"{name}.cu").read_text(encoding="utf-8")


def template(name: str) -> str:
    """The text of the Jinja2 template `name`.cu.j2, which `helpers.generate.render` fills in."""
    return (FOLDER / f"{name}.cu.j2").read_text(encoding="utf-8")


def part(name: str, title: str) -> str:
    """One piece of `name`.cu: the lines below `// == title`, down to the next such line."""
    pieces = (piece.partition("\n") for piece in source(name).split("\n// == ")[1:])
    return {head: lines.strip("\n") for head, _, lines in pieces}[title]
