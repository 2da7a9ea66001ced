"""A specification by recording: small programs and what the real libraries answered.

`programs/cupy/` and `programs/pycuda/` hold the programs, `recorded/` the answers of a real GPU
machine. There, `python -m tests.behaviour.record` writes them; everywhere else
`test_behaviour.py` holds the simulator to them.
"""
