"""CUDA sources too long for a notebook's cell."""

from pathlib import Path

FOLDER = Path(__file__).parent


def source(name: str) -> str:
    """The text of `name`.cu in this folder.

    Raises
    ------
    FileNotFoundError
        Names the kernels that there are.
    """
    path = FOLDER / f"{name}.cu"
    if not path.exists():
        there = ", ".join(sorted(file.stem for file in FOLDER.glob("*.cu")))
        raise FileNotFoundError(f"there is no kernel {name!r}; there are {there}.")
    return path.read_text(encoding="utf-8")


def template(name: str) -> str:
    """The text of the Jinja2 template `name`.cu.j2, which `helpers.generate.render` fills in."""
    return (FOLDER / f"{name}.cu.j2").read_text(encoding="utf-8")


def part(name: str, title: str) -> str:
    """One piece of `name`.cu: the lines below `// == title`, down to the next such line.

    Raises
    ------
    KeyError
        Names the parts that the file has.
    """
    pieces = source(name).split("\n// == ")[1:]
    parts = {head: body.strip("\n") for head, _, body in (p.partition("\n") for p in pieces)}
    if title not in parts:
        raise KeyError(f"{name}.cu has no part {title!r}; it has {', '.join(parts) or 'none'}.")
    return parts[title]
