"""For authors and CI: nothing in here is imported by a notebook."""
