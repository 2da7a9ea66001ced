"""The course's index of functions and its glossary, made from the lessons themselves.

`write_pages` is what `make index` calls. The index is read off the code and the links of the
lessons; the glossary's sentences are in `data/glossary.json`, each with the lesson that introduces
the term, where its first use becomes a link to the glossary.
"""

from __future__ import annotations

import ast
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import nbformat

TERMS = Path(__file__).parents[1] / "helpers" / "data" / "glossary.json"
SHORT = {"numpy": "np", "cupy": "cp", "pycuda.driver": "drv", "pycuda.gpuarray": "gpuarray",
         "helpers.draw": "draw"}
GROUPS = {  # heading: the roots of the names below it
    "NumPy": ("np",),
    "Methods of arrays": ("array",),
    "CuPy": ("cp", "cupyx", "cupy_backends"),
    "PyCUDA": ("drv", "gpuarray", "pycuda"),
    "CUDA C++": ("cuda",),
    "The course's own": ("helpers", "draw"),
}
SITES = {"np": "numpy.org", "array": "numpy.org", "cp": "docs.cupy.dev", "cupyx": "docs.cupy.dev",
         "drv": "documen.tician.de", "gpuarray": "documen.tician.de",
         "pycuda": "documen.tician.de", "cuda": "docs.nvidia.com"}
METHODS = frozenset({
    "T", "argsort", "astype", "base", "copy", "cumsum", "fill", "flags", "get", "item", "nbytes",
    "ravel", "reshape", "strides", "swapaxes", "tobytes", "tolist", "transpose", "view",
})
CUDA_NAMES = re.compile(
    r"\b(__(?:global|shared|device|constant|restrict|launch_bounds)__|__syncthreads\w*|__syncwarp"
    r"|__(?:shfl|ballot|any|all|reduce|match)_\w+|atomic[A-Z]\w*|threadIdx|blockIdx|blockDim"
    r"|gridDim|clock64|(?:float|int)[24]|make_float4|__half2float|__float2half|__ldg)\b")
NO_FUNCTIONS = frozenset({
    "bool", "bool_", "complex64", "complex128", "float16", "float32", "float64", "inf", "int8",
    "int16", "int32", "int64", "nan", "newaxis", "pi", "signature", "uint8", "uint16",
    "uint32", "uint64", "uintp", "__version__",
})
MODULES = frozenset({"cp.linalg", "helpers.data", "helpers.kernels", "helpers.timing"})
LINK = re.compile(r"\[`([^`\]]+)`\]\((https?://[^)\s]+)\)")


def slug(term: str) -> str:
    """The anchor of a term's heading."""
    return re.sub(r"[^\w-]", "", term.lower().replace(" ", "-"))


def load_terms() -> list[dict]:
    """The glossary's terms: `term`, `written` (as the lesson prints it), `lesson`, `meaning`."""
    return json.loads(TERMS.read_text(encoding="utf-8"))


def dotted(node: ast.AST) -> tuple[str, list[str]] | None:
    """Root name and attributes of `a.b.c`, or None where the root is no name."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    return (node.id, attributes[::-1]) if isinstance(node, ast.Name) else None


def imported(tree: ast.AST) -> dict[str, str]:
    """What each imported name stands for, as a dotted path."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def shortened(path: str) -> str:
    """A dotted path with the names that the lessons use: numpy is np."""
    for long in sorted(SHORT, key=len, reverse=True):
        if path == long or path.startswith(long + "."):
            return SHORT[long] + path[len(long):]
    return path


def functions_in(code: str) -> Iterator[str]:
    """The library functions that a notebook's code names, array methods and CUDA C++ included."""
    tree = ast.parse(code)
    names = imported(tree)
    roots = {root for group in GROUPS.values() for root in group}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    empty_calls = {id(node.func) for node in ast.walk(tree)
                   if isinstance(node, ast.Call) and not node.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (f"cuda.{name}" for name in CUDA_NAMES.findall(node.value))
        if not isinstance(node, (ast.Attribute, ast.Name)):
            continue
        found = dotted(node)
        path = names.get(found[0]) if found else None
        if path is None:
            if isinstance(node, ast.Attribute) and node.attr in METHODS and (
                    node.attr != "get" or id(node) in empty_calls):  # a dictionary's has arguments
                yield f"array.{node.attr}"
        elif id(node) not in inner:
            name = shortened(".".join([path, *found[1]]))
            root, _, rest = name.partition(".")
            if root in roots and rest and name not in MODULES \
                    and rest.rpartition(".")[2] not in NO_FUNCTIONS:
                yield name


def code_of(notebook: nbformat.NotebookNode) -> str:
    """A notebook's Python, without IPython's own lines."""
    own = re.compile(r"^(\s*)[!%](?:.*\\\n)*.*$", flags=re.M)  # to its end, where it is continued
    return "\n".join(own.sub(r"\1pass", cell.source) for cell in notebook.cells
                     if cell.cell_type == "code")


def links_in(notebook: nbformat.NotebookNode) -> dict[str, str]:
    """Documentation that a notebook's text links, by the name in the link: `f(x)` is f."""
    found: dict[str, str] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            for text, url in LINK.findall(cell.source):
                found.setdefault(text.partition("(")[0].lstrip("."), url)
    return found


def documented(name: str, links: dict[str, str]) -> str | None:
    """The address that `links` has for a function, by its full name or by its last part."""
    if name in links:
        return links[name]
    root = name.partition(".")[0]
    url = links.get(name.rpartition(".")[2], "")
    return url if SITES.get(root) and SITES[root] in url else None


def index_page(lessons: dict[str, nbformat.NotebookNode]) -> str:
    """The index: each function, the lessons in which it stands, and which of them introduces it.

    That is the lesson that links its documentation; where none does, the first.
    """
    places: dict[str, set[str]] = defaultdict(set)
    links = {file: links_in(notebook) for file, notebook in lessons.items()}
    for file, notebook in lessons.items():
        for name in functions_in(code_of(notebook)):
            places[name].add(file)
    text = ["# Index of functions", "",
            "Which lesson uses what; in bold the one that introduces it. Terms are in the"
            " [glossary](glossary.md). (Written by `make index`.)"]
    for heading, roots in GROUPS.items():
        rows = sorted((name for name in places if name.partition(".")[0] in roots),
                      key=lambda name: (name.lower(), name))
        text += ["", f"## {heading}", "", "| name | lessons |", "|---|---|"]
        for name in rows:
            shown = re.sub(r"^(array(?=\.)|cuda\.)", "", name)
            urls = {file: url for file in lessons if (url := documented(name, links[file]))}
            files = sorted(places[name] | set(urls))
            main = next(iter(urls), files[0])
            numbers = [f"[{file[:2]}]({file})" for file in files]
            numbers[files.index(main)] = f"**{numbers[files.index(main)]}**"
            text.append(f"| {f'[`{shown}`]({urls[main]})' if urls else f'`{shown}`'} |"
                        f" {', '.join(numbers)} |")
    return "\n".join(text) + "\n"


def glossary_page(terms: list[dict], files: dict[str, str]) -> str:
    """The glossary: each term with its meaning and the lesson that introduces it."""
    text = ["# Glossary", "",
            "Each term as the course uses it, and the lesson that introduces it. Functions are in"
            " the [index](index.md). (Written by `make index` from `helpers/data/glossary.json`.)"]
    letter = ""
    for term in sorted(terms, key=lambda term: term["term"].lower()):
        if term["term"][0].upper() != letter:
            letter = term["term"][0].upper()
            text += ["", f"## {letter}"]
        file = files[term["lesson"]]
        text += ["", f"### {term['term']}", "",
                 f"{term['meaning']} *[Lesson {term['lesson']}]({file})*"]
    return "\n".join(text) + "\n"


def linked_use(source: str, written: str, target: str) -> str | None:
    """`source` with the first bold or else italic use of a term linked to `target`, or None.

    A bold term that is a link to documentation already keeps that link behind it.
    """
    word = re.escape(written)
    for pattern, text in (
        (rf"\[\*\*{word}\*\*\]\((https://[^)]+)\)|\*\*\[{word}\]\((https://[^)]+)\)\*\*",
         f"[**{written}**]({target}) ([documentation](%s))"),
        (rf"(?<![*\[])\*\*{word}\*\*(?!\*)", f"[**{written}**]({target})"),
        (rf"(?<![\w*`\[])\*{word}\*(?![\w*`])", f"[*{written}*]({target})"),
    ):
        if match := re.search(pattern, source):
            url = next((group for group in match.groups() if group), None)
            return source[:match.start()] + (text % url if url else text) + source[match.end():]
    return None


def link_terms(notebook: nbformat.NotebookNode, terms: list[dict]) -> list[str]:
    """Link each term's first use in its lesson to the glossary; the terms that are nowhere."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    lost = []
    for term in terms:
        target = f"glossary.md#{slug(term['term'])}"
        if any(f"]({target})" in cell.source for cell in cells):
            continue
        bold = re.compile(rf"\*\*\[?{re.escape(term['written'])}(\*\*|\]\()")
        for cell in sorted(cells, key=lambda cell: not bold.search(cell.source)):  # bold first
            if source := linked_use(cell.source, term["written"], target):
                cell.source = source
                break
        else:
            lost.append(term["term"])
    return lost


def write_pages(folder: Path, check: bool = False) -> list[str]:
    """Write the glossary's links, `glossary.md` and `index.md` into the lessons' folder.

    Parameters
    ----------
    folder : Path
        The lessons' folder.
    check : bool
        Only find out what would change.

    Returns
    -------
    list of str
        The files changed, or with `check` those that are not up to date; and each term whose
        lesson does not use it.
    """
    lessons = {path.name: nbformat.read(path, as_version=4)
               for path in sorted(folder.glob("*.ipynb"))}
    files = {name[:2]: name for name in lessons}
    terms = load_terms()
    pages, changed = {}, []
    for name, notebook in lessons.items():
        own = [term for term in terms if term["lesson"] == name[:2]]
        changed += [f"{name} does not use {term!r}" for term in link_terms(notebook, own)]
        pages[name] = nbformat.writes(notebook, version=4, indent=1) + "\n"
    pages["glossary.md"] = glossary_page(terms, files)
    pages["index.md"] = index_page(lessons)
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            changed.append(name)
            if not check:
                path.write_text(text, encoding="utf-8")
    return changed
