"""Python imports this module at its start where PYTHONPATH names this folder; see children.py.

It installs nogpu, then gives way to the `sitecustomize` that Python would have imported without
it. A Python older than 3.10 may come here, too: the text is Python 2's as well as Python 3's.
"""

import os
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))


def install_nogpu():
    """Load the package around this folder, whatever this Python's path has, and install it."""
    import importlib.util

    package = os.path.dirname(FOLDER)
    spec = importlib.util.spec_from_file_location(
        "nogpu", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    nogpu = sys.modules["nogpu"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(nogpu)
    nogpu.install()


def import_next():
    """Import the `sitecustomize` behind this folder on the path, if there is one."""
    sys.path[:] = [folder for folder in sys.path if folder != FOLDER]
    this = sys.modules.pop("sitecustomize")
    try:
        import sitecustomize  # noqa: F401 -- by now another one
    except ImportError as error:
        if "sitecustomize" not in str(error):  # the other one exists and lacks something itself
            raise
    finally:
        sys.modules.setdefault("sitecustomize", this)


try:
    if sys.version_info >= (3, 10):  # noqa: UP036 -- see above
        install_nogpu()
finally:
    import_next()
