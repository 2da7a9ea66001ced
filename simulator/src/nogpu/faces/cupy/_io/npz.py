"""Arrays in NumPy's files."""

import numpy as np
from cupy import _host, _tables

__all__ = ["load", "save", "savez", "savez_compressed"]


class NpzFile:
    """An opened .npz file; each array is copied to the device when it is asked for."""

    def __init__(self, npz_file):
        self.npz_file = npz_file

    def __enter__(self):
        self.npz_file.__enter__()
        return self

    def __exit__(self, *error):
        self.npz_file.__exit__(*error)

    def __getitem__(self, key):
        value = self.npz_file[key]
        return _host.device(value) if isinstance(value, np.ndarray) else value

    def __getattr__(self, key):
        return getattr(self.npz_file, key)

    def __contains__(self, key):
        return key in self.npz_file

    def __iter__(self):
        return iter(self.npz_file)

    def __len__(self):
        return len(self.npz_file)


def load(file, mmap_mode=None, allow_pickle=None):
    """Load an array from a .npy file, or open an .npz file."""
    found = np.load(file, mmap_mode=mmap_mode, allow_pickle=bool(allow_pickle))
    if isinstance(found, np.ndarray):
        return _host.device(found)
    return NpzFile(found) if isinstance(found, np.lib.npyio.NpzFile) else found


def save(file, arr, allow_pickle=None):
    """Save an array to a .npy file."""
    np.save(file, _host.on_host(arr), allow_pickle=True if allow_pickle is None else allow_pickle)


def _save_several(name):
    function = getattr(np, name)

    def call(file, *args, **kwds):
        named = {key: _host.on_host(x) for key, x in kwds.items()}
        function(file, *map(_host.on_host, args), **named)

    return call


savez, savez_compressed = _tables.functions(globals(), _save_several, """
savez(file, *args, **kwds): Save several arrays to an .npz file.
savez_compressed(file, *args, **kwds): Save several arrays to a compressed .npz file.
""")
