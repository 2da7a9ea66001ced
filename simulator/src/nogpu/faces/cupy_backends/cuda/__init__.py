"""Bindings to CUDA: here, to the engine."""
