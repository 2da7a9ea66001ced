"""The digit network's forward pass, as lesson 04 builds it, for NumPy or any library like it.

The lessons after 04 need the whole network again and import it from here. It is written for `xp`,
NumPy or CuPy, with functions that both have. The weights are those of
`helpers.data.load_network`, moved to the device first where there is one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import numpy as np

HEADS = 2
Array = Any  # numpy.ndarray or cupy.ndarray


def gelu(x: Array, xp: ModuleType = np) -> Array:
    """The activation function GELU (Hendrycks and Gimpel, arXiv 1606.08415, section 2)."""
    return 0.5 * x * (1 + xp.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def patches(x: Array, rows: int, columns: int, xp: ModuleType = np) -> Array:
    """The neighbourhoods that a convolution multiplies, with zeros around the edge.

    `x` of shape (n, height, width, channels) to (n, height, width, channels * rows * columns). The
    lesson uses `sliding_window_view`; CuPy's waits for the GPU at every call, slices do not.
    """
    n, height, width, _ = x.shape
    padded = xp.pad(x, ((0, 0), (rows // 2, rows // 2), (columns // 2, columns // 2), (0, 0)))
    return xp.stack([padded[:, i:i + height, j:j + width]
                     for i in range(rows) for j in range(columns)],
                    axis=-1).reshape(n, height, width, -1)


def matrix(weight: Array) -> Array:
    """The matrix (inputs, outputs) of a layer; that of a convolution multiplies `patches`."""
    return weight.reshape(len(weight), -1).T if weight.ndim == 4 else weight


def max_pool(x: Array) -> Array:
    """The largest of each 2 x 2 tile: (n, height, width, channels) to half the height and width."""
    n, height, width, channels = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


def layer_norm(x: Array, scale: Array, shift: Array, xp: ModuleType = np) -> Array:
    """Mean 0 and variance 1 along the last axis, then scaled and shifted (arXiv 1607.06450)."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / xp.sqrt(variance + 1e-5) * scale + shift


def softmax(x: Array, xp: ModuleType = np) -> Array:
    """Positive numbers that sum to 1 along the last axis."""
    powers = xp.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention(x: Array, w: Mapping[str, Array], xp: ModuleType = np,
              row_softmax: Callable[[Array], Array] | None = None,
              product: Callable[[Array, str], Array] | None = None,
              attend: Callable[[Array, Array, Array], Array] | None = None,
              ) -> tuple[Array, Array | None]:
    """Multi-head self-attention of `x` (n, positions, features), and its weights.

    The weights are (n, heads, queries, keys) and sum to 1 over the keys (arXiv 1706.03762); they
    are None where `attend` computes the answer. The callables are those of `forward`.
    """
    n, positions, features = x.shape
    product = product or (lambda x, name: x @ w[name])

    def heads(name: str) -> Array:
        projected = product(x, f"{name}.weight") + w[f"{name}.bias"]
        return projected.reshape(n, positions, HEADS, -1).swapaxes(1, 2)

    q, k, v = heads("query"), heads("key"), heads("value")
    if attend:
        weights, answers = None, attend(q, k, v)
    else:
        scores = q @ k.swapaxes(-1, -2) / math.sqrt(features // HEADS)
        weights = row_softmax(scores) if row_softmax else softmax(scores, xp)
        answers = weights @ v
    merged = answers.swapaxes(1, 2).reshape(n, positions, features)
    return product(merged, "out.weight") + w["out.bias"], weights


def forward(images: Array, w: Mapping[str, Array], xp: ModuleType = np,
            bias_gelu: Callable[[Array, Array], Array] | None = None,
            row_softmax: Callable[[Array], Array] | None = None,
            product: Callable[[Array, str], Array] | None = None,
            attend: Callable[[Array, Array, Array], Array] | None = None,
            convolve: Callable[[Array, str], Array] | None = None,
            norm: Callable[[Array, str], Array] | None = None) -> Array:
    """Ten logits for each image: the largest says which digit the network reads.

    Parameters
    ----------
    images : array
        Shape (n, 8, 8), ink from 0 to 1. Give it the dtype of the weights; else NumPy and CuPy
        compute in the wider of the two.
    w : mapping of str to array
        As `helpers.data.load_network` returns them, where `images` are.
    xp : module
        The library that made both: `numpy` or `cupy`.
    bias_gelu, row_softmax, product, attend, convolve, norm : callable, optional
        Replace a part: `bias_gelu(x, bias)` is `gelu(x + bias)`; `row_softmax(scores)` is softmax
        along the last axis; `product(x, name)` is `x @ matrix(w[name])`, for all matrices;
        `attend(q, k, v)`, all of shape (n, heads, positions, features of a head), is all of
        attention between its linear layers; `convolve(x, name)` is a convolution without its bias;
        `norm(x, name)` is a layer norm with the scale and shift of that name.

    Returns
    -------
    array
        Shape (n, 10). `logits.argmax(axis=1)` are the digits.
    """
    activate = bias_gelu or (lambda x, bias: gelu(x + bias, xp))
    product = product or (lambda x, name: x @ matrix(w[name]))
    convolve = convolve or (lambda x, name: product(patches(x, *w[name].shape[2:], xp), name))
    norm = norm or (lambda x, name: layer_norm(x, w[f"{name}.weight"], w[f"{name}.bias"], xp))
    x = activate(convolve(images[..., None], "conv1.weight"), w["conv1.bias"])
    x = max_pool(activate(convolve(x, "conv2.weight"), w["conv2.bias"]))
    x = x.reshape(len(x), -1, x.shape[-1]) + w["position"]
    x = x + attention(norm(x, "norm1"), w, xp, row_softmax, product, attend)[0]
    y = activate(product(norm(x, "norm2"), "mlp1.weight"), w["mlp1.bias"])
    x = x + product(y, "mlp2.weight") + w["mlp2.bias"]
    return product(norm(x.mean(axis=1), "norm3"), "head.weight") + w["head.bias"]
