"""The simulator: a stand-in for a CUDA device on machines without one."""
