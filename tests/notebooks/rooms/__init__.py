"""Whole rooms of learners, tried out: not part of `make test`."""
