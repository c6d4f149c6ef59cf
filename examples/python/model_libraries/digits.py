# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What these programs share: scikit-learn's handwritten digits, in batches."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

BATCH = 64

Images = NDArray[np.float32]
Labels = NDArray[np.int32]


def load() -> tuple[tuple[Images, Labels], tuple[Images, Labels]]:
    """1,437 images of 8 x 8 pixels with their digits to train on, and 360 to test on."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    x, y = (images / 16).astype(np.float32)[order], labels.astype(np.int32)[order]
    return (x[:1437], y[:1437]), (x[1437:], y[1437:])


def batches(steps: int) -> Iterator[tuple[Images, Labels]]:
    x, y = load()[0]
    random = np.random.default_rng(1)
    for _ in range(steps):
        chosen = random.integers(len(y), size=BATCH)
        yield x[chosen], y[chosen]


def report(program: str, logits: Any) -> None:
    """A line for a reader and for the tests: how many of the test images are recognised."""
    right = (np.asarray(logits).argmax(axis=1) == load()[1][1]).mean()
    print(f"{program}: accuracy {right:.3f}")
