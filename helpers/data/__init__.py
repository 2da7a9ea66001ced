"""The course's data: handwritten digits, a trained network, and large inputs made from them.

`load_digits` and `load_split` read the 1797 digits, `load_network` the trained weights. `strip` and
`jittered_chunks` make inputs of any size from the digits, from a seed.
Origin, licence, layout and measured accuracy: `README.md` beside this file.
"""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parent
Images, Labels = NDArray[np.float32], NDArray[np.int64]

# The digits of one filled-in form stand together in the file. A form begins where the printed
# sequence 0 1 2 ... 9, 0 1 2 ... 9, 0 1 2 ... 9 begins anew (two of them lost a few digits there).
FORM_STARTS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)

# The split by file order falls between two forms: ten forms to learn from, four to be tested on.
N_TRAIN = FORM_STARTS[10]

# Jittered digits are made in blocks of this many, each from its own random stream, so that the
# result does not depend on how many are asked for at once. One block of images is 1 MiB.
BLOCK = 4096


def load_digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load the 1797 handwritten digits as they are stored, in file order.

    Returns
    -------
    images : uint8, shape (1797, 8, 8)
        Ink per cell, 0 (paper) to 16 (all 16 dots of the scanned cell are black). Unsigned bytes
        wrap around when they are subtracted: convert before you compute.
    labels : int64, shape (1797,)
        The digit, 0 to 9.

    Notes
    -----
    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
    Learning Repository (1998), https://doi.org/10.24432/C50P49, CC BY 4.0.
    """
    arrays = _load("digits.npz")
    return arrays["images"], arrays["labels"].astype(np.int64)


def load_split() -> tuple[Images, Labels, Images, Labels]:
    """Load the digits as the network takes them, split by file order.

    Returns
    -------
    train_images, train_labels : shapes (1287, 8, 8) and (1287,)
        The first ten forms, ink divided by 16: from 0.0 (paper) to 1.0. Sixteenths are exact in
        binary, so squared distances between images are exact in float32 too.
    test_images, test_labels : shapes (510, 8, 8) and (510,)
        The last four forms.
    """
    return *_part("train"), *_part("test")


def strip(n: int, seed: int = 0, *, part: str = "test") -> tuple[Images, Labels]:
    """Make a strip of `n` digits side by side, drawn at random with repetition.

    Parameters
    ----------
    n : int
        Number of digits. A strip takes ``256 * n`` bytes: 65536 digits are 16 MiB.
    seed : int
        Zero or larger. The same seed gives the same strip on every platform; a later NumPy may
        change its random stream (NEP 19).
    part : {"test", "train", "all"}
        Which digits to draw from. The test part holds 510 images, so a long strip repeats them.

    Returns
    -------
    image : float32, shape (8, 8 * n)
        Ink from 0.0 to 1.0, C-contiguous. Digit ``i`` fills columns ``8 * i`` to ``8 * i + 7``;
        ``image.reshape(8, n, 8).swapaxes(0, 1)`` is a view of shape (n, 8, 8).
    labels : int64, shape (n,)

    Raises
    ------
    ValueError
        For another `part`.
    """
    images, labels = _part(part)
    picks = _generator(seed, 0).integers(len(images), size=n)
    return images[picks].swapaxes(0, 1).reshape(8, 8 * n), labels[picks]


def jittered_chunks(n: int, seed: int = 0, *,
                    chunk: int = 65536) -> Iterator[tuple[Images, Labels]]:
    """Make `n` digits of the test part, brighter or dimmer and noisy at random, in chunks.

    Ink is multiplied by a factor between 0.75 and 1.25, a number between -0.1 and 0.1 is added to
    each pixel, and the result is clipped to 0.0 ... 1.0.

    Parameters
    ----------
    n : int
        Number of digits.
    seed : int
        Zero or larger. The same seed gives the same digits, whatever `chunk` is, and a larger `n`
        only adds digits after them. Only integers, uniform numbers, products and sums are used, so
        the bits are the same on every platform; a later NumPy may change its stream (NEP 19).
    chunk : int
        Digits per step; the last step may hold fewer. Memory in use is 264 bytes for each digit of
        a chunk and about 2 MiB besides: 19 MB for the default, however large `n`.

    Yields
    ------
    images, labels
        Shapes (chunk, 8, 8) and (chunk,), new arrays at each step.
    """
    blocks, used = _blocks(seed), BLOCK
    for start in range(0, n, chunk):
        size = min(chunk, n - start)
        images, labels = np.empty((size, 8, 8), np.float32), np.empty(size, np.int64)
        done = 0
        while done < size:
            if used == BLOCK:
                (block_images, block_labels), used = next(blocks), 0
            take = min(size - done, BLOCK - used)
            images[done : done + take] = block_images[used : used + take]
            labels[done : done + take] = block_labels[used : used + take]
            done, used = done + take, used + take
        yield images, labels


def _blocks(seed: int) -> Iterator[tuple[Images, Labels]]:
    """Blocks of BLOCK jittered digits without end."""
    clean, labels = _part("test")
    for number in count():
        random = _generator(seed, 1, number)
        which = random.integers(len(labels), size=BLOCK)
        images = clean[which]
        images *= np.float32(0.75) + random.random((BLOCK, 1, 1), dtype=np.float32) / 2
        grain = random.random((BLOCK, 8, 8), dtype=np.float32)
        images += (grain - np.float32(0.5)) * np.float32(0.2)
        yield images.clip(0, 1, out=images), labels[which]


def load_network() -> dict[str, NDArray[np.float32]]:
    """Load the trained weights of the digit network.

    Returns
    -------
    dict of str to float32 array
        Names, shapes and the formula of each layer are in `README.md` beside this file. The
        arrays are new at each call: change them as you like.
    """
    return _load("network.npz")


def _load(name: str) -> dict[str, np.ndarray]:
    """Read an .npz file of this folder."""
    with np.load(FOLDER / name, allow_pickle=False) as arrays:
        return dict(arrays)


def _part(part: str) -> tuple[Images, Labels]:
    """Images scaled to 0.0 ... 1.0 and labels of one part of the digits."""
    parts = {"train": slice(0, N_TRAIN), "test": slice(N_TRAIN, None), "all": slice(None)}
    if part not in parts:
        raise ValueError(f'part is {part!r}: choose "train", "test" or "all".')
    images, labels = load_digits()
    return images[parts[part]].astype(np.float32) / 16, labels[parts[part]]


def _generator(seed: int, *stream: int) -> np.random.Generator:
    """The generator of one of the independent streams that belong to `seed`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))


def load_claims() -> list[dict]:
    """The claims ledger: what popular articles say, and what is true, one row for each claim.

    Each has `id` (its cell in the appendix), `group`, `topics` (of the articles), `claim`,
    `verdict` (perhaps for a `condition`), `found`, `versions`, `date`, `taught`: where or None.
    """
    return json.loads((FOLDER / "claims.json").read_text(encoding="utf-8"))


def load_gpus() -> list[dict]:
    """GPUs from T4 to H200 as their makers describe them, from the oldest to the newest.

    Rates in 10^12 operations a second, bandwidth in 10^9 bytes a second, memory in 10^9 bytes;
    `tensor16` is float16 with float32 sums, without sparsity. Each has its `source`.
    """
    return json.loads((FOLDER / "gpus.json").read_text())["gpus"]


def load_profile(lesson: str) -> dict:
    """What profilers said of a lesson's kernels, recorded on one GPU: see `recorded/profiles`.

    Its `gpu`, `date` and the tools' versions say where it comes from.

    Raises
    ------
    FileNotFoundError
        Where nothing was recorded.
    """
    return json.loads((FOLDER / "recorded" / "profiles" / f"{lesson}.json").read_text())
