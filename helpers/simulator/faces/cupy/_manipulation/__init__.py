"""Manipulation routines."""
