"""Write the index of functions and the glossary, both made from the lessons.

The index lists the functions that the lessons' code uses and their text names. The glossary's
sentences are in `helpers/data/glossary.json`, each with the lesson that introduces the term; in
that lesson the term's first use becomes a link to the glossary.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from itertools import groupby
from pathlib import Path

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from .notebook_form import ROOT, AuthoringError, lesson_paths, read, stored_text, subject_of
from .working_copy import update_files

TERMS = ROOT / "helpers" / "data" / "glossary.json"
SHORT = {"numpy": "np", "cupy": "cp", "pycuda.driver": "drv", "pycuda.gpuarray": "gpuarray",
         "helpers.draw": "draw"}
LONG = re.compile(rf"^({'|'.join(SHORT)})\b")
GROUPS = {  # heading: the roots of the names listed under it, and where they are documented
    "NumPy": (("np",), "numpy.org"),
    "Methods of arrays": (("array",), "numpy.org"),
    "CuPy": (("cp", "cupyx", "cupy_backends"), "docs.cupy.dev"),
    "PyCUDA": (("drv", "gpuarray", "pycuda"), "documen.tician.de"),
    "CUDA C++": (("cuda",), "docs.nvidia.com"),
    "The course's own": (("helpers", "draw"), None),
}
SITES = {root: site for roots, site in GROUPS.values() for root in roots}
METHODS = frozenset({  # attributes that are taken for an array's
    "T", "argsort", "astype", "base", "copy", "cumsum", "fill", "flags", "get", "item", "nbytes",
    "ravel", "reshape", "strides", "swapaxes", "tobytes", "tolist", "transpose", "view",
})
CUDA_NAMES = re.compile(
    r"\b(__(?:global|shared|device|constant|restrict|launch_bounds)__|__syncthreads\w*|__syncwarp"
    r"|__(?:shfl|ballot|any|all|reduce|match)_\w+|atomic[A-Z]\w*|threadIdx|blockIdx|blockDim"
    r"|gridDim|clock64|(?:float|int)[24]|make_float4|__half2float|__float2half|__ldg)\b")
NOT_LISTED = re.compile(r"u?int\w*|float\d+|complex\d+|bool_?|inf|nan|newaxis|pi|signature|__\w+__")
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[`([^`\]]+)`\]\((https?://[^)\s]+)\)")


def anchor(term: str) -> str:
    """The anchor that a Markdown page gives the heading of a term."""
    return re.sub(r"[^\w-]", "", term.lower().replace(" ", "-"))


def load_terms() -> list[dict]:
    """The glossary's terms, each with `term`, `written`, `lesson` and `meaning`.

    `written` is how the lesson writes the term, `lesson` the subject of the lesson.
    """
    return json.loads(TERMS.read_text(encoding="utf-8"))


def imported_names(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for: {"np": "numpy"} for `import numpy as np`."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            package = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for alias in node.names:
                first = alias.name.partition(".")[0]
                names[alias.asname or first] = package + (alias.name if alias.asname else first)
    return names


@cache
def functions_in(code: str) -> tuple[str, ...]:
    """The library functions in a notebook's code, each as often as it stands there.

    CUDA C++ inside strings counts too, and so does each attribute that is named as a method of
    arrays.
    """
    tree, found = ast.parse(code), []
    names = imported_names(tree)
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    without_arguments = {id(node.func) for node in ast.walk(tree)
                         if isinstance(node, ast.Call) and not node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [f"cuda.{name}" for name in CUDA_NAMES.findall(node.value)]
        if not isinstance(node, (ast.Attribute, ast.Name)):
            continue
        root, *attributes = ast.unparse(node).split(".")
        if root in names and all(map(str.isidentifier, attributes)):
            name = LONG.sub(lambda found: SHORT[found[0]], ".".join([names[root], *attributes]))
            if id(node) not in inner and is_listed(name):
                found.append(name)
        elif isinstance(node, ast.Attribute) and node.attr in METHODS:
            # An array's `get` is called without arguments, a dictionary's with some.
            if node.attr != "get" or id(node) in without_arguments:
                found.append(f"array.{node.attr}")
    return tuple(found)


def is_listed(name: str) -> bool:
    """Whether the index may list a dotted name: of the course's own only `helpers.name`."""
    root, _, rest = name.partition(".")
    return (root in SITES and bool(rest) and not NOT_LISTED.fullmatch(rest.rpartition(".")[2])
            and (root != "helpers" or "." not in rest))


def is_named(name: str, spans: str) -> bool:
    """Whether the text between backticks names a function: `np.add`, but not by `np.add.at`."""
    shown = re.sub(r"^(array(?=\.)|(cuda|helpers)\.)", "", name)
    return bool(re.search(rf"(\b|(?=\.)){re.escape(shown)}(?!\w|\.\w\w)", spans))


def code_of(notebook: nbformat.NotebookNode) -> str:
    """A notebook's Python, with IPython's commands translated."""
    return "\n".join(in_python(cell.source) for cell in notebook.cells if cell.cell_type == "code")


@cache
def in_python(source: str) -> str:
    """A cell with IPython's commands translated."""
    return TransformerManager().transform_cell(source)


def links_in(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Addresses of documentation that a notebook's text links, by the function's name."""
    found: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for text, url in LINK.findall(cell.source):
                found.setdefault(text.partition("(")[0].lstrip("."), url)
    return found


def documentation_of(name: str, links: dict[str, str]) -> str | None:
    """The address in `links` for a function, found by its full name or by the last part of it."""
    if name in links:
        return links[name]
    site, url = SITES[name.partition(".")[0]], links.get(name.rpartition(".")[2], "")
    return url if site and site in url else None


def index_page(lessons: dict[str, nbformat.NotebookNode]) -> str:
    """The text of the index: each function that some text names, with the lessons that use it.

    In bold is the first lesson that links its documentation, else the first that names it.

    Parameters
    ----------
    lessons : dict
        The lessons' notebooks by file name, in order.
    """
    code = {file: set(functions_in(code_of(notebook))) for file, notebook in lessons.items()}
    links = {file: links_in(notebook) for file, notebook in lessons.items()}
    spans = {file: " ".join(SPAN.findall("\n".join(cell.source for cell in notebook.cells
                                                   if cell.cell_type == "markdown")))
             for file, notebook in lessons.items()}
    text = ["# Index of functions", "",
            "The functions that a lesson explains, and the lessons that use them; in bold the one"
            " that introduces the function. Terms are in the [glossary](glossary.md). (Written by"
            " `make index`.)"]
    for heading, (roots, _) in GROUPS.items():
        rows = sorted((name for name in set().union(*code.values())
                       if name.partition(".")[0] in roots), key=lambda name: (name.lower(), name))
        text += ["", f"## {heading}", "", "| name | lessons |", "|---|---|"]
        for name in rows:
            shown = re.sub(r"^(array(?=\.)|cuda\.)", "", name)
            urls = {file: url for file in lessons if (url := documentation_of(name, links[file]))}
            named = [file for file in lessons if is_named(name, spans[file])]
            if not (main := next(iter([*urls, *named]), None)):
                continue
            numbers = [f"**[{file[:2]}]({file})**" if file == main else f"[{file[:2]}]({file})"
                       for file in lessons if name in code[file] or file in urls or file == main]
            text.append(f"| {f'[`{shown}`]({urls[main]})' if urls else f'`{shown}`'} |"
                        f" {', '.join(numbers)} |")
    return "\n".join(text) + "\n"


def glossary_page(terms: list[dict], files: dict[str, str]) -> str:
    """The text of the glossary: each term with its meaning and the lesson that introduces it.

    Parameters
    ----------
    terms : list of dict
        As `load_terms` gives them.
    files : dict
        The lessons' file names by subject.
    """
    text = ["# Glossary", "",
            "Each term as the course uses it, and the lesson that introduces it. Functions are in"
            " the [index](index.md). (Written by `make index` from `helpers/data/glossary.json`.)"]
    in_order = sorted(terms, key=lambda term: term["term"].lower())
    for letter, group in groupby(in_order, key=lambda term: term["term"][0].upper()):
        text += ["", f"## {letter}"]
        for term in group:
            file = files[term["lesson"]]
            text += ["", f"### {term['term']}", "",
                     f"{term['meaning']} *[Lesson {file[:2]}]({file})*"]
    return "\n".join(text) + "\n"


def link_terms(notebook: nbformat.NotebookNode, terms: list[dict]) -> list[str]:
    """Link the first use of each term in its lesson to the glossary; return the unused terms.

    A bold use is preferred to one in italics. A bold term that already links documentation keeps
    that link, written behind the term.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    unused = []
    for term in terms:
        written, target = term["written"], f"glossary.md#{anchor(term['term'])}"
        if any(f"]({target})" in cell.source for cell in cells):
            continue
        word, url = re.escape(written), r"\((https://[^)]+)\)"
        for mark, pattern in (
            ("**", rf"\[\*\*{word}\*\*\]{url}|\*\*\[{word}\]{url}\*\*"
                   rf"|(?<![*\[])\*\*{word}\*\*(?!\*)"),
            ("*", rf"(?<![\w*`\[])\*{word}\*(?![\w*`])"),
        ):
            if uses := [(cell, found) for cell in cells
                        if (found := re.search(pattern, cell.source))]:
                cell, found = uses[0]
                link = f"[{mark}{written}{mark}]({target})"
                if found.lastindex:
                    link += f" ([documentation]({found[found.lastindex]}))"
                cell.source = cell.source[:found.start()] + link + cell.source[found.end():]
                break
        else:
            unused.append(term["term"])
    return unused


def write_pages(folder: Path, check: bool = False) -> list[str]:
    """Write `index.md` and `glossary.md` into the lessons' folder, and the links to the glossary.

    Parameters
    ----------
    folder : Path
        The lessons' folder.
    check : bool
        Only find out what would change.

    Returns
    -------
    list of str
        The files changed, or with `check` the files that are not up to date.

    Raises
    ------
    AuthoringError
        When the glossary names a lesson that does not exist or that does not use the term, and
        when a page or lesson was edited here; no file is then changed.
    """
    lessons = {path.name: read(path) for path in lesson_paths(folder.parent)}
    files = {subject_of(Path(name).stem): name for name in lessons}
    terms, unused = load_terms(), []
    if unknown := {term["lesson"] for term in terms} - set(files):
        raise AuthoringError(f"{TERMS.name}: no lesson has the subject {min(unknown)!r}")
    for subject, name in files.items():
        own = [term for term in terms if term["lesson"] == subject]
        unused += [f"{name} does not use {term!r}" for term in link_terms(lessons[name], own)]
    if unused:
        raise AuthoringError("; ".join(unused))
    texts = {f"notebooks/{name}": stored_text(notebook) for name, notebook in lessons.items()}
    pages = {"notebooks/glossary.md": glossary_page(terms, files),
             "notebooks/index.md": index_page(lessons)}
    changed = update_files(texts | pages, folder.parent, check, pages.keys())
    return [Path(name).name for name in changed]
