"""CUDA's two interfaces."""
