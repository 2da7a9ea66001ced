"""Checks of the exercises: one module per lesson, each task an object to call with an answer.

>>> from helpers.check import lesson01
>>> lesson01.tiles(tiles)  # doctest: +SKIP
[ok] tiles: right in all 7 cases
"""
