"""What a program can say about how it wants to be run."""


def alone(program):
    """Run this program in a process of its own: it may leave a broken CUDA context behind."""
    return program
