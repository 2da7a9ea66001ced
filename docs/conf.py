"""Sphinx's settings for the course as a site: `make site`, which writes what they are applied to.

The pages need nothing from another host: no settings for MathJax, fonts or widgets are made here.
"""

import re

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import String

STRING = re.compile(r'([rf]*""")(.*?)(""")', re.S)
KERNEL = re.compile(r"[;{]\s*(//.*)?$|// YOUR CODE HERE", re.M)  # a line that Python does not have

include_patterns = ["README.md", "README.zh.md", "AGENTS.md", "CONTRIBUTING.md", "kernels.md",
                    "docs/*.md", "notebooks/*", "exercises/*", "simulator/README.md",
                    "helpers/data/README.md"]
root_doc = "README"
# A cell that calls the shell is no Python.
suppress_warnings = ["misc.highlighting_failure"]
project = html_title = "Strides to Streams"
html_show_copyright = False
html_favicon = "icon.svg"
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_use_index = False
html_context = {"default_mode": "auto"}  # dark where the reader's system is dark
extensions = ["myst_nb", "sphinx_copybutton"]
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 4
html_theme = "sphinx_book_theme"
html_theme_options = {
    "repository_branch": "published",  # what make publish makes
    "use_repository_button": True,
    "launch_buttons": {"colab_url": "https://colab.research.google.com",
                       "binderhub_url": "https://mybinder.org", "notebook_interface": "jupyterlab"},
    "navbar_persistent": [],  # the search stands in the sidebar
}


class PythonWithKernels(Lexer):
    """Python whose strings of CUDA C++ are coloured as CUDA C++."""

    def get_tokens_unprocessed(self, text):
        """The tokens of a text: (position, kind, text)."""
        python, cuda, end = get_lexer_by_name("ipython3"), get_lexer_by_name("cuda"), 0

        def tokens(lexer, begin, end):
            for place, kind, value in lexer.get_tokens_unprocessed(text[begin:end]):
                yield begin + place, kind, value

        for found in STRING.finditer(text):
            if not KERNEL.search(found[2]):
                continue
            yield from tokens(python, end, found.start())
            yield found.start(1), String, found[1]
            yield from tokens(cuda, found.start(2), found.end(2))
            yield found.start(3), String, found[3]
            end = found.end()
        yield from tokens(python, end, len(text))


def setup(app):
    """Read every Python text with the lexer above."""
    for name in ("python", "ipython3"):
        app.add_lexer(name, PythonWithKernels)
