"""Creation routines."""
