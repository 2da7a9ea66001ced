"""Mutation of checks: each solution is taken apart by rule, and every piece goes to its check.

`make mutants` (`LESSON=06` for one lesson) judges all mutants and writes `tests/checks/mutants/`, a
report for each lesson. A mutant that a check calls right is a survivor: a hole in the check, or
equivalent to the solution. A report gives a reason for every survivor, and how many random inputs
could not tell it from the solution.
"""
