# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What these programs share: scikit-learn's handwritten digits as tensors, and a small network that learns them."""

import hashlib
import sys
from collections.abc import Iterator

import torch
from sklearn.datasets import load_digits

BATCH = 64


def make_model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))


def load() -> tuple[torch.utils.data.TensorDataset, torch.utils.data.TensorDataset]:
    """1,437 images of 8 x 8 pixels with their digits to train on, and 360 to test on."""
    images, labels = load_digits(return_X_y=True)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    x, y = torch.tensor(images / 16, dtype=torch.float32)[order], torch.tensor(labels)[order]
    data = torch.utils.data.TensorDataset
    return data(x[:1437], y[:1437]), data(x[1437:], y[1437:])


def batches(steps: int, rank: int = 0, world_size: int = 1) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """This rank's part of each batch of 64."""
    x, y = load()[0].tensors
    random = torch.Generator().manual_seed(1)
    for _ in range(steps):
        mine = torch.randint(len(y), (BATCH,), generator=random)[rank::world_size]
        yield x[mine], y[mine]


def accuracy(model: torch.nn.Module) -> float:
    x, y = load()[1].tensors
    with torch.no_grad():
        return float((model(x).argmax(dim=1) == y).float().mean())


def digest(model: torch.nn.Module) -> str:
    """Equal for models of the same bits."""
    found = hashlib.sha256()
    for parameter in model.parameters():
        found.update(parameter.detach().numpy().tobytes())
    return found.hexdigest()[:8]


def report(rank: int, world_size: int, model: torch.nn.Module, text: str = "") -> None:
    """A line of each rank, for a reader and for the tests, which want one digest and an accuracy of 0.9."""
    line = f"rank {rank} of {world_size}: accuracy {accuracy(model):.3f}, digest {digest(model)}{text}\n"
    sys.stdout.write(line)  # one call, so that the lines of the ranks do not mix
