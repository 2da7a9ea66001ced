"""How Dask's processes send arrays to each other here: by the host.

It stands for Dask's own module `distributed.protocol.cupy`, which asks for numba.cuda or RMM, and
so for a GPU.
"""

import cupy
from distributed.protocol.numpy import deserialize_numpy_ndarray, serialize_numpy_ndarray
from distributed.protocol.serialize import dask_deserialize, dask_serialize


@dask_serialize.register(cupy.ndarray)
def _serialize(array: cupy.ndarray) -> tuple[dict, list]:
    return serialize_numpy_ndarray(array.get(order="A"))


@dask_deserialize.register(cupy.ndarray)
def _deserialize(header: dict, frames: list) -> cupy.ndarray:
    return cupy.asarray(deserialize_numpy_ndarray(header, frames))
