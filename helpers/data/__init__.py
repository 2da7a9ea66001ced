"""The course's data: handwritten digits, a trained network, and large inputs made from them.

`load_digits` and `load_split` read the 1797 digits, `load_network` the trained weights. Both check
the file's SHA-256 digest first, so a truncated download is told apart from a bug in your code.
`strip`, `jittered` and `jittered_chunks` make inputs of any size from the digits, from a seed.
Origin, licence, layout and measured accuracy: `README.md` beside this file.
"""

import hashlib
import io
import json
from collections.abc import Iterator
from operator import index
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FORM_STARTS",
    "N_TRAIN",
    "DataFileError",
    "jittered",
    "jittered_chunks",
    "load_claims",
    "load_digits",
    "load_gpus",
    "load_network",
    "load_profile",
    "load_split",
    "strip",
]

FOLDER = Path(__file__).parent

# SHA-256 of each file. `train_digits.py` prints the line to put here when it writes a file.
DIGESTS = {
    "digits.npz": "b2dab7b501728c22e9119ad76740b2e17c77a231e42d1e592380d90886f1a05e",
    "network.npz": "5d5ebbe43ad7f4f73a4d0d94fda475d840b01e412a7a199678c26f7af35cbfeb",
}

# The digits of one filled-in form stand together in the file. A form begins where the printed
# sequence 0 1 2 ... 9, 0 1 2 ... 9, 0 1 2 ... 9 begins anew (two of them lost a few digits there).
FORM_STARTS = (0, 130, 256, 386, 516, 646, 776, 906, 1029, 1157, 1287, 1415, 1545, 1667)

# The split by file order falls between two forms: ten forms to learn from, four to be tested on.
N_TRAIN = FORM_STARTS[10]

# Jittered digits are made in blocks of this many, each from its own random stream, so that the
# result does not depend on how many are asked for at once. One block of images is 1 MiB.
BLOCK = 4096
LARGEST_SHIFT = 4


class DataFileError(RuntimeError):
    """A data file of the course is missing or its content is not what was published."""


def load_digits() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Load the 1797 handwritten digits as they are stored, in file order.

    Returns
    -------
    images : uint8, shape (1797, 8, 8)
        Ink per cell, 0 (paper) to 16 (all 16 dots of the scanned cell are black). Unsigned bytes
        wrap around when they are subtracted: convert before you compute.
    labels : int64, shape (1797,)
        The digit, 0 to 9.

    Raises
    ------
    DataFileError
        If the file is missing or damaged.

    Notes
    -----
    Source: E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine
    Learning Repository (1998), https://doi.org/10.24432/C50P49, CC BY 4.0.
    """
    arrays = _load("digits.npz")
    return arrays["images"], arrays["labels"].astype(np.int64)


def load_split() -> tuple[
    NDArray[np.float32], NDArray[np.int64], NDArray[np.float32], NDArray[np.int64]
]:
    """Load the digits as the network takes them, split by file order.

    Returns
    -------
    train_images : float32, shape (1287, 8, 8)
        The first ten forms, ink divided by 16: from 0.0 (paper) to 1.0. Sixteenths are exact in
        binary, so squared distances between images are exact in float32 too.
    train_labels : int64, shape (1287,)
    test_images : float32, shape (510, 8, 8)
        The last four forms.
    test_labels : int64, shape (510,)

    Raises
    ------
    DataFileError
        If the file is missing or damaged.
    """
    train_images, train_labels = _part("train")
    test_images, test_labels = _part("test")
    return train_images, train_labels, test_images, test_labels


def strip(
    n: int, seed: int = 0, *, part: str = "test"
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Make a strip of `n` digits side by side, drawn at random with repetition.

    Parameters
    ----------
    n : int
        Number of digits, at least 1. A strip takes ``256 * n`` bytes: 65536 digits are 16 MiB.
    seed : int
        Zero or larger. The same seed gives the same strip (see Notes).
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
        If `n`, `seed` or `part` is out of range.
    DataFileError
        If the file of digits is missing or damaged.

    Notes
    -----
    Integers from NumPy's default generator are the same on every platform; a later NumPy may
    change them (NEP 19).
    """
    n, seed = _at_least("n", n, 1), _at_least("seed", seed, 0)
    images, labels = _part(part)
    picks = _generator(seed, 0).integers(len(images), size=n)
    return images[picks].swapaxes(0, 1).reshape(8, 8 * n), labels[picks]


def jittered(
    n: int,
    seed: int = 0,
    *,
    shift: int = 1,
    brightness: float = 0.25,
    noise: float = 0.1,
    part: str = "test",
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Make `n` digits, each shifted, brightened or dimmed, and noisy, at random.

    Parameters
    ----------
    n : int
        Number of digits, at least 1. The result takes 264 bytes a digit: 264 MB for a million.
        To hold fewer at a time use `jittered_chunks`.
    seed : int
        Zero or larger. The same seed gives the same digits, and a larger `n` only adds digits
        after them.
    shift : int
        Largest shift along each axis, in pixels, 0 to 4: each of the ``(2 * shift + 1) ** 2``
        shifts is equally likely. What leaves the frame is lost, paper (0.0) comes in.
    brightness : float
        Ink is multiplied by a factor drawn between ``1 - brightness`` and ``1 + brightness``;
        0 to 1.
    noise : float
        A number drawn between ``-noise`` and ``noise`` is added to each pixel; 0 to 1. The result
        is clipped to 0.0 ... 1.0.
    part : {"test", "train", "all"}
        Which digits to draw from.

    Returns
    -------
    images : float32, shape (n, 8, 8)
        C-contiguous.
    labels : int64, shape (n,)

    Raises
    ------
    ValueError
        If an argument is out of range.
    DataFileError
        If the file of digits is missing or damaged.

    Notes
    -----
    Only integers, uniform numbers, products and sums are used, no logarithm or sine, so the bits
    are the same on every platform; a later NumPy may change its random stream (NEP 19).
    """
    return next(
        jittered_chunks(
            n, seed, chunk=n, shift=shift, brightness=brightness, noise=noise, part=part
        )
    )


def jittered_chunks(
    n: int,
    seed: int = 0,
    *,
    chunk: int = 65536,
    shift: int = 1,
    brightness: float = 0.25,
    noise: float = 0.1,
    part: str = "test",
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Make the digits of `jittered`, handing them out `chunk` at a time.

    Parameters
    ----------
    n, seed, shift, brightness, noise, part
        As in `jittered`.
    chunk : int
        Digits per step, at least 1; the last step may hold fewer. Memory in use is 264 bytes for
        each digit of a chunk and about 2 MiB besides: 19 MB for the default, however large `n`.

    Returns
    -------
    iterator of (images, labels)
        float32 of shape (chunk, 8, 8) and int64 of shape (chunk,), new arrays at each step. Put
        together they are ``jittered(n, seed)`` for every `chunk`.

    Raises
    ------
    ValueError
        At the call, not at the first step, if an argument is out of range.
    DataFileError
        If the file of digits is missing or damaged.
    """
    n, seed, chunk = _at_least("n", n, 1), _at_least("seed", seed, 0), _at_least("chunk", chunk, 1)
    shift = _at_least("shift", shift, 0)
    if shift > LARGEST_SHIFT:
        raise ValueError(
            f"shift is {shift} pixels, but a digit is 8 pixels wide: choose 0 to {LARGEST_SHIFT}."
        )
    for name, value in (("brightness", brightness), ("noise", noise)):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} is {value}: choose a number from 0 to 1.")
    images, labels = _part(part)
    shifted = _all_shifts(images, shift)
    return _rechunk(n, chunk, _blocks(shifted, labels, seed, brightness, noise))


def load_network() -> dict[str, NDArray[np.float32]]:
    """Load the trained weights of the digit network.

    Returns
    -------
    dict of str to float32 array
        Names, shapes and the formula of each layer are in `README.md` beside this file. The
        arrays are new at each call: change them as you like.

    Raises
    ------
    DataFileError
        If the file is missing or damaged.
    """
    return _load("network.npz")


def _load(name: str) -> dict[str, np.ndarray]:
    """Read an .npz file of this folder after checking its digest."""
    restore = "restore it with `git checkout -- helpers/data`, or fetch the course again"
    try:
        content = (FOLDER / name).read_bytes()
    except OSError as error:
        raise DataFileError(
            f"The data file helpers/data/{name} is missing or cannot be read: {restore}."
        ) from error
    found = hashlib.sha256(content).hexdigest()
    if found != DIGESTS[name]:
        raise DataFileError(
            f"The data file helpers/data/{name} is damaged ({len(content)} bytes, SHA-256 "
            f"{found[:8]}... where {DIGESTS[name][:8]}... was published): {restore}."
        )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return dict(arrays)


def _part(part: str) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return images scaled to 0.0 ... 1.0 and labels of one part of the digits."""
    parts = {"train": slice(0, N_TRAIN), "test": slice(N_TRAIN, None), "all": slice(None)}
    if part not in parts:
        raise ValueError(f'part is {part!r}: choose "train", "test" or "all".')
    images, labels = load_digits()
    return images[parts[part]].astype(np.float32) / 16, labels[parts[part]]


def _at_least(name: str, value: int, least: int) -> int:
    """Return `value` as an int, or say what is wrong with it."""
    try:
        value = index(value)
    except TypeError:
        raise ValueError(f"{name} is {value!r}: give a whole number, such as {least}.") from None
    if value < least:
        raise ValueError(f"{name} is {value}: give a whole number, {least} or larger.")
    return value


def _generator(seed: int, *stream: int) -> np.random.Generator:
    """Return the generator of one of the independent streams that belong to `seed`."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))


def _all_shifts(images: NDArray[np.float32], shift: int) -> NDArray[np.float32]:
    """Return every image at every shift, shape ((2 * shift + 1) ** 2, len(images), 8, 8).

    With this table a shifted digit is one contiguous copy of 256 bytes, which is several times
    faster than gathering its 64 pixels one by one.
    """
    padded = np.pad(images, ((0, 0), (shift, shift), (shift, shift)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (8, 8), axis=(1, 2))
    return np.moveaxis(windows, 0, 2).reshape(-1, len(images), 8, 8)


def _blocks(
    shifted: NDArray[np.float32],
    labels: NDArray[np.int64],
    seed: int,
    brightness: float,
    noise: float,
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Yield blocks of BLOCK jittered digits without end."""
    number = 0
    while True:
        random = _generator(seed, 1, number)
        which_shift = random.integers(len(shifted), size=BLOCK)
        which_digit = random.integers(len(labels), size=BLOCK)
        factor = random.random((BLOCK, 1, 1), dtype=np.float32)
        grain = random.random((BLOCK, 8, 8), dtype=np.float32)
        images = shifted[which_shift, which_digit]
        images *= np.float32(1 - brightness) + factor * np.float32(2 * brightness)
        grain -= np.float32(0.5)
        grain *= np.float32(2 * noise)
        images += grain
        yield images.clip(0, 1, out=images), labels[which_digit]
        number += 1


def _rechunk(
    n: int, chunk: int, blocks: Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Hand out the first `n` digits of `blocks`, `chunk` at a time."""
    used = BLOCK
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


def load_claims() -> list[dict]:
    """The claims ledger: what popular articles say, and what is true, one row for each claim.

    Returns
    -------
    list of dict
        `id` (the heading and the cell of lesson 19 that shows it), `group`, `topics` (of the
        articles that say it), `claim`, `verdict`, `versions`, `date`, and `taught`: the subject
        of the lesson and the cell that teach it, or None.
    """
    return json.loads((FOLDER / "claims.json").read_text(encoding="utf-8"))


def load_gpus() -> list[dict]:
    """GPUs from T4 to H200 as their makers describe them, from the oldest to the newest.

    Returns
    -------
    list of dict
        Rates in 10^12 operations a second, bandwidth in 10^9 bytes a second, memory in 10^9 bytes;
        `tensor16` is float16 with float32 sums, without sparsity. Each has its `source`.
    """
    return json.loads((FOLDER / "gpus.json").read_text())["gpus"]


def load_profile(lesson: str) -> dict:
    """What profilers measured of a lesson's kernels on one GPU, as `load_profile("fast_kernels")`.

    Returns
    -------
    dict
        `gpu`, `date` and the tools' versions say where it comes from.

    Raises
    ------
    FileNotFoundError
        Where nothing was recorded.
    """
    return json.loads((FOLDER / "recorded" / "profiles" / f"{lesson}.json").read_text())
