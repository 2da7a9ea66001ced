"""A list of arrays."""

from cupy import _host


def who(vardict=None):
    """Print name, shape, bytes and type of the device arrays of a dictionary."""
    if vardict is None:
        import inspect

        vardict = inspect.currentframe().f_back.f_globals
    seen, rows, total = {}, [], 0
    for name, value in vardict.items():
        if not _host.is_array(value):
            continue
        first = seen.setdefault(value.data.ptr, name)
        total += value.nbytes if first == name else 0
        shape = " x ".join(map(str, value.shape))
        rows.append((name, shape, str(value.nbytes), str(value.dtype)))
    head = ("Name", "Shape", "Bytes", "Type")
    widths = [max(len(row[i]) for row in (head, *rows)) + 5 for i in range(4)]
    print("".join(text.ljust(width) for text, width in zip(head, widths)))
    print("=" * sum(widths))
    for row in rows:
        print("".join(text.ljust(width) for text, width in zip(row, widths)))
    print(f"\nUpper bound on total bytes  =       {total}")
