"""Where an array's memory begins and ends."""


def byte_bounds(a):
    """Return the first address of an array and the one past its last byte."""
    low = high = a.data.ptr
    for size, stride in zip(a.shape, a.strides):
        if size == 0:
            return a.data.ptr, a.data.ptr + a.itemsize
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + a.itemsize
