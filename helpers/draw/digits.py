"""Handwritten digits, and attention's weights over the positions of one of them."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from .style import INK, box, ink_on, show, style, text_at

MAX_IMAGES = 60
PER_ROW = 10
RAMP = " .:+#@"  # from paper to full ink, for the text


def digits(images: np.ndarray, captions: Sequence[object] | None = None, title: str = "") -> None:
    """Draw small images side by side, dark where there is ink, and print them as characters.

    Parameters
    ----------
    images : numpy.ndarray
        Shape (n, height, width) or (height, width), from 0 (paper) to 1 (ink), at most 60 of them.
    captions : sequence, optional
        One for each image, shown above it; a caption may have two lines.
    title : str
        Shown above the picture and the text.

    Raises
    ------
    TypeError, ValueError
        For anything that is no stack of images, or another number of captions than of images.
    """
    images = _as_images(images)
    texts = [""] * len(images) if captions is None else [str(caption) for caption in captions]
    if len(texts) != len(images):
        raise ValueError(f"draw.digits() got {len(images)} images along axis 0 and {len(texts)}"
                         " captions; each image needs one.")
    across = min(PER_ROW, len(images))
    down = -(-len(images) // across)
    above = 0.2 + 0.15 * max(text.count("\n") for text in texts)
    with style():
        size = (round(max(0.85 * across, 3.0), 1),
                round((0.75 + above) * down + (0.45 if title else 0.1), 1))
        figure, axes = plt.subplots(down, across, figsize=size, squeeze=False,
                                    layout="constrained")
        if title:
            figure.suptitle(title, x=0.01, ha="left", fontsize=10)
        for place in axes.flat:
            place.set_axis_off()
        for place, image, text in zip(axes.flat, images, texts):
            place.imshow(image, cmap="gray_r", vmin=0, vmax=1)
            place.add_patch(Rectangle((0, 0), 1, 1, transform=place.transAxes, fill=False,
                                      edgecolor=INK, linewidth=0.8))
            place.set_title(text, fontsize=8, loc="center")
        show("Images of digits", _digits_text(images, texts, title, across))


def _as_images(images: object) -> np.ndarray:
    if not isinstance(images, np.ndarray):
        raise TypeError(f"draw.digits() draws a NumPy array of images, not"
                        f" {type(images).__name__}.")
    stack = images[None] if images.ndim == 2 else images
    if stack.ndim != 3 or 0 in stack.shape:
        raise ValueError(f"draw.digits() draws images of shape (n, height, width), not"
                         f" {images.shape}.")
    if len(stack) > MAX_IMAGES:
        raise ValueError(f"draw.digits() draws at most {MAX_IMAGES} images, and axis 0 has"
                         f" {len(stack)}. Take some of them, such as images[:{MAX_IMAGES}].")
    return stack


def _digits_text(images: np.ndarray, texts: Sequence[str], title: str, across: int) -> str:
    lines = [title] if title else []
    levels = np.clip(images * (len(RAMP) - 1) + 0.5, 0, len(RAMP) - 1).astype(int)
    captions = [text.split("\n") for text in texts]
    width = max(images.shape[2], *(len(line) for caption in captions for line in caption))
    tall = max(map(len, captions))
    for first in range(0, len(images), across):
        row = slice(first, first + across)
        block = [caption + [""] * (tall - len(caption)) for caption in captions[row]]
        for line in range(tall):
            lines.append(" ".join(caption[line].ljust(width) for caption in block).rstrip())
        for y in range(images.shape[1]):
            lines.append(" ".join("".join(RAMP[level] for level in image[y]).ljust(width)
                                  for image in levels[row]).rstrip())
    return "\n".join(lines)


def attention(weights: np.ndarray, image: np.ndarray, query: int) -> None:
    """Draw the attention weights of one position, head by head, and print them in percent.

    Parameters
    ----------
    weights : numpy.ndarray
        Attention weights of shape (heads, queries, keys) or (queries, keys); positions are counted
        row by row over a grid that divides the image evenly. Each row sums to one.
    image : numpy.ndarray
        Shape (height, width), from 0 (paper) to 1 (ink).
    query : int
        Whose row of the weights to draw.

    Raises
    ------
    TypeError, ValueError
        When the positions do not make a grid over the image, or a row does not sum to one.
    """
    heads, grid = _as_heads(weights, image, query)
    rows, columns = grid
    with style():
        figure, axes = plt.subplots(1, 1 + len(heads), layout="constrained",
                                    figsize=(round(2.6 * (1 + len(heads)), 1), 3.0))
        extent = (-0.5, columns - 0.5, rows - 0.5, -0.5)
        axes[0].imshow(image, cmap="gray_r", vmin=0, vmax=1, extent=extent)
        axes[0].set_title(f"position {query} asks", fontsize=9)
        for number, (place, head) in enumerate(zip(axes[1:], heads)):
            percent = 100 * head.reshape(grid)
            colours, most = plt.get_cmap("Blues"), max(percent.max(), 1)
            place.imshow(percent, cmap=colours, vmin=0, vmax=most, extent=extent)
            for (y, x), value in np.ndenumerate(percent):
                text_at(place, x, y, f"{value:.0f}", 7, color=ink_on(colours(value / most)))
            place.set_title(f"head {number}: shares in percent", fontsize=9)
        for place in axes:
            place.set_xticks(range(columns))
            place.set_yticks(range(rows))
            place.tick_params(length=0, labelsize=7)
            for colour, width, line in (("white", 4, "-"), (INK, 2, "--")):
                box(place, query % columns - 0.5, query // columns - 0.5, 1, fill="none",
                    edgecolor=colour, linewidth=width, linestyle=line)
        show("An image, and what one of its places attends to",
             _attention_text(heads, grid, query))


def _as_heads(weights: object, image: object, query: int) -> tuple[np.ndarray, tuple[int, int]]:
    for what, given, axes in (("weights", weights, (2, 3)), ("image", image, (2,))):
        if not isinstance(given, np.ndarray):
            raise TypeError(f"draw.attention() needs NumPy arrays; its {what} are a"
                            f" {type(given).__name__}.")
        if given.ndim not in axes:
            shapes = {"weights": "(heads, queries, keys)", "image": "(height, width)"}
            raise ValueError(f"draw.attention() takes {what} of shape {shapes[what]}, not"
                             f" {given.shape}. One image at a time.")
    heads = weights if weights.ndim == 3 else weights[None]
    keys = heads.shape[2]
    height, width = image.shape
    step = round((height * width / max(keys, 1)) ** 0.5)
    if not step or height % step or width % step or keys * step**2 != height * width:
        raise ValueError(f"The last axis of the weights has {keys} keys, and they make no grid over"
                         f" an image of {height} x {width}: 64 keys over 8 x 8 do, and 16.")
    if not 0 <= query < heads.shape[1]:
        raise ValueError(f"query is {query}, but axis {weights.ndim - 2} of the weights has"
                         f" {heads.shape[1]} queries.")
    chosen = heads[:, query]
    if not np.allclose(chosen.sum(axis=1), 1, atol=1e-3):
        sums = ", ".join(f"{total:.3g}" for total in chosen.sum(axis=1))
        raise ValueError(f"Attention weights sum to one over the keys, the last axis; these sum to"
                         f" {sums}. Are they scores that have not been through softmax?")
    return chosen, (height // step, width // step)


def _attention_text(heads: np.ndarray, grid: tuple[int, int], query: int) -> str:
    rows, columns = grid
    lines = [f"position {query} is row {query // columns}, column {query % columns} of"
             f" {rows} x {columns}; shares in percent"]
    titles = [f"head {number}".ljust(4 * columns) for number in range(len(heads))]
    lines.append("   ".join(titles).rstrip())
    for y in range(rows):
        lines.append("   ".join(
            "".join(f"{100 * value:4.0f}" for value in head.reshape(grid)[y]) for head in heads))
    return "\n".join(lines)
