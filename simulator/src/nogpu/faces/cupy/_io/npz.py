"""Arrays in NumPy's files."""

from __future__ import annotations

import numpy as np
from cupy import _host


def _values(x):
    return _host.look(x) if _host.is_array(x) else np.asarray(x)


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

    def keys(self):
        """Return the names of the arrays."""
        return self.npz_file.keys()

    def close(self):
        """Close the file."""
        self.npz_file.close()


def load(file, mmap_mode=None, allow_pickle=None):
    """Load an array from a .npy file, or open an .npz file."""
    found = np.load(file, mmap_mode=mmap_mode, allow_pickle=bool(allow_pickle))
    if isinstance(found, np.ndarray):
        return _host.device(found)
    return NpzFile(found) if isinstance(found, np.lib.npyio.NpzFile) else found


def save(file, arr, allow_pickle=None):
    """Save an array to a .npy file."""
    np.save(file, _values(arr), allow_pickle=True if allow_pickle is None else allow_pickle)


def savez(file, *args, **kwds):
    """Save several arrays to an .npz file."""
    np.savez(file, *map(_values, args), **{name: _values(x) for name, x in kwds.items()})


def savez_compressed(file, *args, **kwds):
    """Save several arrays to a compressed .npz file."""
    np.savez_compressed(
        file, *map(_values, args), **{name: _values(x) for name, x in kwds.items()})
