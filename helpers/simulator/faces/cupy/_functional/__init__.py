"""Functions that make functions."""
