"""Random numbers, drawn by kernels with the generators of `curand_kernel.h`.

A generator has as many states as the simulator's device runs threads: what one seed gives depends
on the device, here as on a GPU. The numbers of `rand` are not PyCUDA's.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable

import numpy as np

from nogpu.faces import missing as _missing
from nogpu.faces import table

from . import _driver
from . import driver as drv
from . import gpuarray as array
from .compiler import SourceModule
from .tools import context_dependent_memoize

get_curand_version = _driver.get_curand_version


def rand(shape, dtype=np.float32, stream=None):
    """Numbers from 0 to 1, or whole numbers of 32 bits, by NumPy's seed (``np.random.seed``)."""
    if dtype not in (np.float32, np.float64, np.int32, np.uint32):
        raise NotImplementedError
    result = array.GPUArray(shape, dtype)
    seed = np.random.randint(2**31 - 1)  # noqa: NPY002 -- as PyCUDA, by np.random.seed
    draw = np.random.Generator(np.random.Philox(seed))
    numbers = functools.partial(draw.integers, 2**32, size=result.size, dtype=np.uint32)
    if result.dtype.kind == "f":
        numbers = functools.partial(draw.random, result.size, result.dtype)
    return array._run(result, lambda: numbers().view(result.dtype), stream)


def seed_getter_uniform(n):
    """``n`` equal seeds."""
    return array.empty([n], np.int32).fill(random.randint(0, 2**31 - 1))


def seed_getter_unique(n):
    """``n`` seeds, drawn by NumPy."""
    return array.to_gpu(np.random.randint(0, 2**31 - 1, n).astype(np.int32))  # noqa: NPY002


@context_dependent_memoize
def _kernel(state: str, parameters: str, statement: str, letters: str) -> drv.Function:
    """A kernel of states ``s``, one for each thread, and ``n``."""
    module = SourceModule(f"""
        #include <curand_kernel.h>
        extern "C" __global__ void kernel({state}* states, size_t n, {parameters}) {{
            const size_t first = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
            {state}* s = states + first;
            {statement}
        }}""", no_extern_c=True)
    return module.get_function("kernel").prepare(letters)


_TYPES = {"float32": "float", "float64": "double", "int32": "unsigned", "uint32": "unsigned"}


class _Generator:
    """A state for each thread of a launch, and the kernels that draw from it."""

    generator_bits = 32

    def __init__(self, seed_getter=None, offset=0):
        device = drv.Context.get_device()
        self.block_count = device.multiprocessor_count
        self.generators_per_block = device.max_threads_per_block
        count = self._count = self.block_count * self.generators_per_block
        seed = (seed_getter or seed_getter_unique)(count)
        if not (isinstance(seed, array.GPUArray) and seed.dtype == np.int32 and seed.size == count):
            raise TypeError("seed must be GPUArray of integers of right length")
        self.state = drv.mem_alloc(count * 48)
        self._launch("const unsigned int* seeds, size_t offset", "PnPn",
                     "if (first < n) curand_init(seeds[first], first, offset, s);",
                     None, count, seed.gpudata, offset)  # fmt: skip

    def _launch(self, parameters, letters, statement, stream, n, *values):
        kernel = _kernel(self.state_type, parameters, statement, letters)
        block = (self.generators_per_block, 1, 1)
        kernel.prepared_async_call((self.block_count, 1), block, stream, self.state, n, *values)

    def _fill(self, what, data, stream, allowed, numbers="", *values, pairs=False):
        """Fill with ``curand`` and its endings; ``numbers`` names more arguments."""
        if data.dtype.name not in allowed.split():
            raise NotImplementedError
        kind, letter = _TYPES[data.dtype.name], "d" if what == "_poisson" else data.dtype.char
        pairs = pairs and data.size % 2 == 0
        what += "2" * pairs + "_double" * (letter == "d" and what != "_poisson")
        given = [f", {'float' if letter == 'f' else 'double'} {one}" for one in numbers.split()]
        passed = "".join(f", {one}" for one in numbers.split())
        if what == "_poisson" and not numbers:
            passed = ", out[i]"
        self._launch(
            f"{kind}{'2' * pairs}* out{''.join(given)}", f"PnP{letter * len(given)}",
            "for (size_t i = first; i < n; i += (size_t)blockDim.x * gridDim.x)"
            f" out[i] = curand{what}(s{passed});",
            stream, data.size // (1 + pairs), data.gpudata, *values)

    def fill_uniform(self, data, stream=None):
        """Fill an array with numbers above 0 and up to 1, or whole numbers of 32 bits."""
        kinds = ("float32 float64", "int32 uint32")[data.dtype.kind in "iu"]
        self._fill("" if data.dtype.kind in "iu" else "_uniform", data, stream, kinds)

    def fill_normal(self, data, stream=None):
        """Fill an array with normal numbers."""
        self._fill("_normal", data, stream, "float32 float64", pairs=True)

    def fill_log_normal(self, data, mean, stddev, stream=None):
        """Fill an array with numbers whose logarithms are normal."""
        self._fill("_log_normal", data, stream, "float32 float64", "mean deviation", mean, stddev,
                   pairs=True)  # fmt: skip

    def fill_poisson(self, data, lambda_value=None, stream=None):
        """Fill an array with Poisson's numbers; their mean is given, or what it holds so far."""
        if lambda_value is None:
            self._fill("_poisson", data, stream, "float32 float64 uint32")
        else:
            self._fill("_poisson", data, stream, "uint32", "rate", lambda_value)


def _new(name: str) -> Callable:
    fill = getattr(_Generator, name.replace("gen_", "fill_"))

    def draw(self: _Generator, shape: object, dtype: object, *how: object) -> array.GPUArray:
        result = array.empty(shape, dtype)
        fill(self, result, *how)
        return result

    return draw


def _skip(name: str) -> Callable:
    by_array = name.endswith("_array")
    call = name.removeprefix("call_").removesuffix("_array").replace("skip_ahead", "skipahead")

    def skip(self: _Generator, i: object, stream: object) -> None:
        # As in PyCUDA, `skip_ahead` reaches the states of the first block only.
        count = self.generators_per_block if call == "skipahead" else self._count
        self._launch(f"{'const unsigned long long*' if by_array else 'unsigned long long'} by",
                     "PnP" if by_array else "PnQ",
                     f"if (first < n) {call}(by{'[first]' * by_array}, s);",
                     stream, count, i.gpudata if by_array else i)  # fmt: skip

    return skip


table.methods(_Generator, _new, """
gen_uniform(self, shape, dtype, stream=None): Return a new array, filled by `fill_uniform`.
gen_normal(self, shape, dtype, stream=None): Return a new array, filled by `fill_normal`.
gen_log_normal(self, shape, dtype, mean, stddev, stream=None):
    Return a new array, filled by `fill_log_normal`.
gen_poisson(self, shape, dtype, lambda_value, stream=None):
    Return a new array, filled by `fill_poisson`.
""")
table.methods(_Generator, _skip, """
call_skip_ahead(self, i, stream=None): Leave out numbers, as many for each state.
call_skip_ahead_array(self, i, stream=None): Leave out numbers, an array says how many.
call_skip_ahead_sequence(self, i, stream=None): Leave out whole sequences.
call_skip_ahead_sequence_array(self, i, stream=None): Leave out whole sequences, by an array.
""")


class XORWOWRandomNumberGenerator(_Generator):
    """cuRAND's XORWOW."""

    state_type = "curandStateXORWOW"


class MRG32k3aRandomNumberGenerator(_Generator):
    """cuRAND's MRG32k3a."""

    state_type = "curandStateMRG32k3a"


table.methods(MRG32k3aRandomNumberGenerator, _skip, """
call_skip_ahead_subsequence(self, i, stream=None): Leave out subsequences.
call_skip_ahead_subsequence_array(self, i, stream=None): Leave out subsequences, by an array.
""")


table.functions(globals(), _missing.refused("pycuda.curandom"), """
Sobol32RandomNumberGenerator(*arguments, **keywords): Not here: cuRAND's tables are lacking.
Sobol64RandomNumberGenerator(*arguments, **keywords): Not here, either.
ScrambledSobol32RandomNumberGenerator(*arguments, **keywords): Not here, either.
ScrambledSobol64RandomNumberGenerator(*arguments, **keywords): Not here, either.
generate_direction_vectors(count, direction=None): Not here, either.
generate_scramble_constants32(count): Not here, either.
generate_scramble_constants64(count): Not here, either.
""")
