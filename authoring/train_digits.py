"""Make the files of this folder: the digits, the trained network and its record.

Run from the top of the course, with scikit-learn and PyTorch installed (the course itself needs
neither)::

    python -m authoring.train_digits digits      # digits.npz from scikit-learn's copy
    python -m authoring.train_digits compare     # nearest neighbour and a plain perceptron
    python -m authoring.train_digits choose      # settings, judged on the training part alone
    python -m authoring.train_digits train       # network.npz and network.json

Training is repeatable on one machine with one version of PyTorch. Elsewhere the last bits differ
and grow, so a new run gives a network of the same kind, not the same file.
"""

import argparse
import hashlib
import json
import math
from dataclasses import asdict, dataclass

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from torch import nn
from torch.nn import functional as F

from helpers import data

SEEDS = (0, 1, 2, 3, 4)
SHIPPED_SEED = 0  # fixed before the test part was looked at


@dataclass(frozen=True)
class Settings:
    """Everything that was chosen. Angles in radians, shifts in half widths of the image."""

    epochs: int = 120
    batch: int = 64
    learning_rate: float = 3e-3
    weight_decay: float = 0.05
    label_smoothing: float = 0.1
    dropout: float = 0.1
    averaging: float = 0.995
    rotation: float = 0.15
    scale: float = 0.1
    shear: float = 0.1
    shift: float = 0.1
    thickness: float = 0.1
    pruned: float = 0.5


# What `choose` compares.
CANDIDATES = {
    "no jitter": Settings(rotation=0, scale=0, shear=0, shift=0, thickness=0),
    "small jitter": Settings(),
    "large jitter": Settings(rotation=0.25, scale=0.15, shear=0.2, shift=0.15),
    "small jitter, nothing pruned": Settings(pruned=0),
    "small jitter, 75 % pruned": Settings(pruned=0.75),
}

CHANNELS, HEADS, TOKENS, HIDDEN = 32, 2, 16, 64


def main() -> None:
    """Run the command named on the command line."""
    commands = {"digits": write_digits, "compare": compare, "choose": choose,
                "train": train_and_write}
    parser = argparse.ArgumentParser(description="Make the files of helpers/data.")
    parser.add_argument("command", choices=commands)
    commands[parser.parse_args().command]()


def write_digits() -> None:
    """Write digits.npz from the copy that scikit-learn carries."""
    digits = load_digits()
    write_arrays("digits.npz", images=digits.images.astype(np.uint8),
                 labels=digits.target.astype(np.uint8))


def write_arrays(name: str, **arrays: np.ndarray) -> None:
    """Write a file, and print the line that belongs into DIGESTS of tests/helpers/test_data.py."""
    path = data.FOLDER / name
    np.savez_compressed(path, **arrays)
    print(f'    "{name}": "{hashlib.sha256(path.read_bytes()).hexdigest()}",')


def compare() -> None:
    """Print what methods without training tricks reach, on the split by file order and others."""
    images, labels = data.load_digits()
    images = images.reshape(-1, 64) / 16
    order = np.arange(len(labels))
    shuffles = [np.random.default_rng(seed).permutation(order) for seed in range(20)]

    def share_read(model, order):
        train, test = order[:data.N_TRAIN], order[data.N_TRAIN:]
        return model.fit(images[train], labels[train]).score(images[test], labels[test])

    neighbour = KNeighborsClassifier(1, algorithm="brute")
    perceptrons = [MLPClassifier((64,), max_iter=2000, random_state=seed) for seed in range(10)]
    report("nearest neighbour, file order", [share_read(neighbour, order)])
    report("nearest neighbour, 20 random splits", [share_read(neighbour, s) for s in shuffles])
    report("perceptron 64-64-10, file order", [share_read(one, order) for one in perceptrons])
    report("perceptron 64-64-10, 10 random splits",
           [share_read(one, s) for one, s in zip(perceptrons, shuffles)])


def report(name: str, accuracies: list[float]) -> None:
    """Print mean, spread and range of some accuracies in percent."""
    a = 100 * np.array(accuracies)
    print(f"{name}: mean {a.mean():.2f} sd {a.std():.2f} min {a.min():.2f} max {a.max():.2f}")


def choose() -> None:
    """Compare settings by cross-validation over pairs of forms of the training part.

    The last four forms, the test part, are not touched.
    """
    images, labels, _, _ = data.load_split()
    form = np.searchsorted(data.FORM_STARTS, np.arange(data.N_TRAIN), side="right") - 1
    for name, settings in CANDIDATES.items():
        wrong = []
        for first in range(0, 10, 2):
            held = (form == first) | (form == first + 1)
            model = train(images[~held], labels[~held], 0, settings)
            wrong.append(int((outputs(model, images[held]).argmax(1) != labels[held]).sum()))
        print(f"{name}: {sum(wrong)} of {data.N_TRAIN} wrong, by fold {wrong}", flush=True)


def train_and_write() -> None:
    """Train once per seed, look at the test part once, write the network of SHIPPED_SEED."""
    images, labels, test_images, test_labels = data.load_split()
    accuracies = {}
    for seed in SEEDS:
        model = train(images, labels, seed, Settings())
        logits = outputs(model, test_images)
        accuracies[seed] = float((logits.argmax(1) == test_labels).mean())
        print(f"seed {seed}: {100 * accuracies[seed]:.2f} percent of the test part", flush=True)
        if seed == SHIPPED_SEED:
            weights, shipped_logits = export(model), logits
    report("network", list(accuracies.values()))

    record = {
        "seed": SHIPPED_SEED,
        "settings": asdict(Settings()),
        "test_accuracy_by_seed": accuracies,
        "test_wrong": np.flatnonzero(shipped_logits.argmax(1) != test_labels).tolist(),
        "logits_of_first_test_images": shipped_logits[:5].round(6).tolist(),
    }
    (data.FOLDER / "network.json").write_text(json.dumps(record, indent=1) + "\n")
    write_arrays("network.npz", **weights)


gelu = nn.GELU(approximate="tanh")


class Network(nn.Module):
    """The network of helpers/data/README.md, untrained."""

    def __init__(self, dropout: float):
        super().__init__()
        self.dropout = dropout
        self.conv1 = nn.Conv2d(1, CHANNELS, 3, padding=1)
        self.conv2 = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.position = nn.Parameter(0.02 * torch.randn(TOKENS, CHANNELS))
        self.norm1 = nn.LayerNorm(CHANNELS)
        for name in ("query", "key", "value", "out"):
            setattr(self, name, nn.Linear(CHANNELS, CHANNELS))
        self.norm2 = nn.LayerNorm(CHANNELS)
        self.mlp1 = nn.Linear(CHANNELS, HIDDEN)
        self.mlp2 = nn.Linear(HIDDEN, CHANNELS)
        self.norm3 = nn.LayerNorm(CHANNELS)
        self.head = nn.Linear(CHANNELS, 10)

    def attention(self, x):
        def heads(y):  # (n, tokens, channels) -> (n, heads, tokens, channels of one head)
            return y.unflatten(-1, (HEADS, -1)).transpose(1, 2)

        q, k, v = heads(self.query(x)), heads(self.key(x)), heads(self.value(x))
        weights = (q @ k.transpose(-1, -2) / math.sqrt(CHANNELS // HEADS)).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

    def forward(self, images):  # (n, 8, 8) -> (n, 10)
        x = gelu(self.conv1(images[:, None]))
        x = F.max_pool2d(gelu(self.conv2(x)), 2)
        x = x.flatten(2).transpose(1, 2) + self.position
        x = x + self.attention(self.norm1(x))
        hidden = gelu(self.mlp1(self.norm2(x)))
        x = x + self.mlp2(F.dropout(hidden, self.dropout, self.training))
        return self.head(self.norm3(x.mean(1)))


def enlarge(images):
    """Enlarge images of shape (n, 8, 8) to (n, 32, 32), the size of the original scans.

    Interpolation blurs. Adding what is missing a few times makes the 4x4 cells average to the
    images again; without it the network learns from images softer than those it will read.
    """
    scans = F.interpolate(images[:, None], scale_factor=4, mode="bicubic").clamp(0, 1)
    for _ in range(3):
        missing = images[:, None] - F.avg_pool2d(scans, 4)
        scans = scans + F.interpolate(missing, scale_factor=4, mode="bicubic")
    return scans[:, 0]


def jitter(scans, settings: Settings, random):
    """Turn, scale, shear, shift, thicken or thin `scans` (n, 32, 32); return (n, 8, 8).

    The warp works on enlarged images and each 4x4 cell is averaged afterwards, as the cells of
    the original scans were counted.
    """
    n = len(scans)

    def uniform(largest):
        return (2 * torch.rand(n, generator=random) - 1) * largest

    angle, shear = uniform(settings.rotation), uniform(settings.shear)
    wide, high = uniform(settings.scale).exp(), uniform(settings.scale).exp()
    cos, sin = angle.cos(), angle.sin()
    rows = [cos * wide, (shear * cos - sin) * high, uniform(settings.shift),
            sin * wide, (shear * sin + cos) * high, uniform(settings.shift)]
    grid = F.affine_grid(torch.stack(rows, 1).view(n, 2, 3), (n, 1, 32, 32), align_corners=False)
    warped = F.grid_sample(scans[:, None], grid, align_corners=False)[:, 0].clamp(0, 1)
    thickened = warped ** uniform(settings.thickness).exp()[:, None, None]
    return F.avg_pool2d(thickened, 4)


def train(images: np.ndarray, labels: np.ndarray, seed: int, settings: Settings):
    """Train one network; return it with averaged weights and conv2 pruned.

    Pruning follows M. Zhu and S. Gupta, To prune, or not to prune (2017),
    https://arxiv.org/abs/1710.01878: the share of zeros grows as 1 - (1 - t)^3 while t goes from
    0 to 1, here between one fifth and three fifths of the training; the rest is fine-tuning.
    """
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    random = torch.Generator().manual_seed(seed + 1000)
    model = Network(settings.dropout).train()
    scans, targets = enlarge(torch.tensor(images)), torch.tensor(labels)
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if p.ndim > 1]},
              {"params": [p for p in parameters if p.ndim == 1], "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=settings.learning_rate,
                                  weight_decay=settings.weight_decay)
    steps = math.ceil(len(images) / settings.batch) * settings.epochs
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.learning_rate,
                                                   total_steps=steps, pct_start=0.1)
    averages = [p.detach().clone() for p in parameters]
    pruned = model.conv2.weight
    keep = torch.ones_like(pruned)
    for epoch in range(settings.epochs):
        for batch in torch.randperm(len(images), generator=random).split(settings.batch):
            logits = model(jitter(scans[batch], settings, random))
            loss = F.cross_entropy(logits, targets[batch], label_smoothing=settings.label_smoothing)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                pruned.mul_(keep)
                torch._foreach_lerp_(averages, parameters, 1 - settings.averaging)
        t = min(max(((epoch + 1) / settings.epochs - 0.2) / 0.4, 0), 1)
        zeros = int(settings.pruned * (1 - (1 - t) ** 3) * pruned.numel())
        if zeros > (keep == 0).sum():
            smallest = pruned.detach().abs().flatten().argsort(stable=True)[:zeros]
            keep.view(-1)[smallest] = 0
    with torch.no_grad():
        torch._foreach_copy_(parameters, averages)
        pruned.mul_(keep)
    return model.eval()


def outputs(model, images: np.ndarray) -> np.ndarray:
    """Return the network's ten outputs for images of shape (n, 8, 8)."""
    with torch.no_grad():
        return model(torch.tensor(images)).numpy()


def export(model) -> dict[str, np.ndarray]:
    """Return the weights by name; matrices of linear layers as (inputs, outputs), for ``x @ w``."""
    weights = {}
    for name, parameter in model.named_parameters():
        array = parameter.detach().numpy()
        weights[name] = np.ascontiguousarray(array.T if array.ndim == 2 and "." in name else array)
    return weights


if __name__ == "__main__":
    main()
