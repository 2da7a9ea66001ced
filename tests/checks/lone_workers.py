"""Kernels that do no parallel work: for the wrong answers of all lessons."""


def alone(source: str, who: str = "blockIdx.x + threadIdx.x") -> str:
    """The kernel in `source`, whose first thread ("blockIdx.x": first block) does all the work.

    The kernel's loops must begin at the thread's number in the grid, and go on by their number.
    """
    body = source.index("{", source.index("__global__")) + 1
    rest = source[body:].replace("blockIdx.x", "0").replace("gridDim.x", "1")
    if "threadIdx" in who:
        rest = rest.replace("threadIdx.x", "0").replace("blockDim.x", "1")
    return f"{source[:body]}\n    if ({who} > 0) return;{rest}"
