"""CUDA sources too long for a notebook's cell."""

from pathlib import Path


def source(name: str) -> str:
    """The text of `name`.cu in this folder.

    Raises
    ------
    FileNotFoundError
        Names the kernels that there are.
    """
    folder = Path(__file__).parent
    path = folder / f"{name}.cu"
    if not path.exists():
        there = ", ".join(sorted(file.stem for file in folder.glob("*.cu")))
        raise FileNotFoundError(f"there is no kernel {name!r}; there are {there}.")
    return path.read_text(encoding="utf-8")
