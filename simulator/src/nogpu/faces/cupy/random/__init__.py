"""Random numbers. They repeat by seed, but are not those of the real library."""

from cupy.random import _distributions, _generator
from cupy.random._bit_generator import XORWOW, BitGenerator, MRG32k3a, Philox4x3210
from cupy.random._distributions import bytes, multinomial, random_integers  # noqa: A004
from cupy.random._generator import RandomState
from cupy.random._generator_api import Generator, default_rng

from nogpu.faces import table as _table

globals().update(_table.functions_of(_generator))
globals().update({_name: getattr(_distributions, _name) for _name in _distributions.NAMES})
random = ranf = sample = _distributions.random_sample

__all__ = [
    "BitGenerator", "Generator", "MRG32k3a", "Philox4x3210", "RandomState", "XORWOW", "bytes",
    "default_rng", "get_random_state", "multinomial", "random", "random_integers", "ranf",
    "reset_states", "sample", "seed", "set_random_state", *_distributions.NAMES,
]
