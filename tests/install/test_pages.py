"""The page that JupyterLab makes of a notebook, for "Print" and "Export as HTML"."""

from pathlib import Path

import nbformat
import pytest

TEMPLATES = Path(__file__).resolve().parents[2] / "install" / "pages"


@pytest.fixture(scope="module")
def export():
    nbconvert = pytest.importorskip("nbconvert")
    exporter = nbconvert.HTMLExporter(
        template_name="course", extra_template_basedirs=[str(TEMPLATES)])
    return lambda *cells: exporter.from_notebook_node(
        nbformat.v4.new_notebook(cells=list(cells)))[0]


def picture(metadata):
    shown = nbformat.v4.new_output("display_data", {"image/png": "iVBORw0KGgo="}, metadata=metadata)
    return nbformat.v4.new_code_cell("draw()", outputs=[shown])


def test_a_picture_has_its_alternative_text(export):
    page = export(picture({"image/png": {"alt": 'A "line"\nfrom 1 < 2'}}))
    assert 'alt="A &quot;line&quot;\nfrom 1 &lt; 2"' in page or (
        "alt='A \"line\"\nfrom 1 &lt; 2'" in page)
    assert "iVBORw0KGgo=" in page
    assert 'alt="A picture without a description"' in export(picture({}))


def test_code_wraps_on_paper(export):
    page = export(nbformat.v4.new_code_cell("x = 1"))
    rule = page.index(".jp-InputArea-editor pre, .jp-OutputArea-output pre")
    assert "@media print" in page[rule - 40:rule] and "pre-wrap" in page[rule:rule + 120]
