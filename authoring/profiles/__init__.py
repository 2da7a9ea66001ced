"""Programs that measure the kernels of lessons on a GPU, also with profilers."""
