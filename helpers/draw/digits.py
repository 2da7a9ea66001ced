"""Handwritten digits, side by side, as a picture and as characters."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle

from .style import INK, show, style

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
