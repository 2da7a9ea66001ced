"""The digit reader in one kernel, as lesson 17 builds it: packs the weights, and launches it."""

import numpy as np

from . import backend, kernels
from .generate import render
from .ladder import Array, Reader

# The fields of the kernels' `Vectors` and `Layers`, in their order.
VECTORS = ("position conv2.bias norm1.weight norm1.bias qkv.bias out.bias norm2.weight norm2.bias"
           " mlp1.bias mlp2.bias norm3.weight norm3.bias head.weight head.bias").split()
LAYERS = "qkv.weight out.weight mlp1.weight mlp2.weight".split()


def float32_source(w: dict[str, Array], digits: int = 4, blocks: int = 3) -> str:
    """The float32 kernel for `digits` of a block, `blocks` of a multiprocessor at once."""
    return render(kernels.template("reader_float32"), w=w, digits=digits, blocks=blocks)


def float32(w: dict[str, Array], digits: int = 4, blocks: int = 3, *,
            in_bytes: bool = False) -> Reader:
    """From CuPy's float32 images (n, 8, 8), n at least 1, to logits (n, 10).

    `w` is as load_network returns it; a block has `digits`, a multiprocessor `blocks` of them.
    With `in_bytes`, from uint8 images of 0 to 255 to digits (n,), uint8.
    """
    w = _with_qkv(w)
    return _reader(float32_source(w, digits, blocks), digits, 64 * digits, 14_848 * digits, w,
                   [w[name] for name in LAYERS], in_bytes)


def tensor_cores(w: dict[str, Array], fast: bool = True, *, in_bytes: bool = False) -> Reader:
    """The same with products in float16. On a GPU, `fast` computes tanh in one instruction."""
    w, cp = _with_qkv(w), backend.find_cupy()
    conv1 = np.vstack([w["conv1.weight"].reshape(32, 9).T, w["conv1.bias"], np.zeros((6, 32))])
    conv2 = w["conv2.weight"].transpose(2, 3, 1, 0).reshape(288, 32)
    padded = [np.pad(matrix, ((0, 0), (0, 8))).astype(np.float16)
              for matrix in (conv2, *(w[name] for name in LAYERS), conv1)]
    options = (() if backend.is_simulated(cp) else  # CuPy's own folder may lack parts of mma.h
               ("-I/usr/local/cuda/include", f"-I{cp.cuda.get_cuda_path()}/include",
                *["-DFAST"] * fast))
    return _reader(kernels.source("reader_tensor_cores"), 16, 256, 115_200, w, padded, in_bytes,
                   options)


def _with_qkv(w: dict[str, Array]) -> dict[str, Array]:
    """The weights, and query (divided by 4, for its scores), key and value in one matrix."""
    parts = {kind: (w[f"query.{kind}"] / 4, w[f"key.{kind}"], w[f"value.{kind}"])
             for kind in ("weight", "bias")}
    return {**w, **{f"qkv.{kind}": np.concatenate(part, -1) for kind, part in parts.items()}}


def _reader(source: str, digits: int, threads: int, shared: int, w: dict[str, Array],
            matrices: list[Array], in_bytes: bool, options: tuple[str, ...] = ()) -> Reader:
    """Compile, pack; a block has `digits`, `threads` and `shared` bytes of shared memory."""
    cp = backend.find_cupy()
    module = cp.RawModule(code=source, options=(*options, *["-DBYTES"] * in_bytes))
    layers, vectors = (cp.asarray(np.concatenate([array.ravel() for array in arrays]))
                       for arrays in (matrices, [w[name] for name in VECTORS]))
    constant = {"same": vectors} if "__constant__ Vectors same" in source else None
    if constant:
        cp.ndarray(vectors.shape, vectors.dtype, module.get_global("same"))[:] = vectors
    kernel = module.get_function("reader")
    kernel.max_dynamic_shared_size_bytes = shared

    def launch(images: Array) -> tuple:
        """Kernel, grid, block, arguments, bytes of shared memory, variables: as for `inspect`."""
        n = len(images)
        answers = cp.empty(n, cp.uint8) if in_bytes else cp.empty((n, 10), cp.float32)
        arguments = images, layers, vectors, answers, np.int32(n)
        return kernel, (-(-n // digits),), (threads,), arguments, shared, constant

    def read(images: Array) -> Array:
        _, grid, block, arguments, *_ = launch(images)
        kernel(grid, block, arguments, shared_mem=shared)
        return arguments[3]

    read.launch = launch
    return read
