"""C++'s names for dtypes."""

from nogpu.engine.translate import typename as get_typename  # noqa: F401
