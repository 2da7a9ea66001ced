"""Logic routines."""
