"""Checks of the exercises: one module per lesson, each task an object to call with an answer.

>>> from checks import strided_views
>>> strided_views.tiles(tiles)  # doctest: +SKIP
[ok] tiles: right in all 7 cases
"""
