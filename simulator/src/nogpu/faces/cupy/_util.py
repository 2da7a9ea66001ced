"""Warnings of the library's own."""


class PerformanceWarning(RuntimeWarning):
    """Something is slower than it could be."""
