"""Profiles of the kernels of lessons, recorded on a GPU machine."""
