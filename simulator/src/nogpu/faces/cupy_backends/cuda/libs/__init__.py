"""Libraries that come with CUDA."""
