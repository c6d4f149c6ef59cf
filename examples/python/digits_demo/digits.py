# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""scikit-learn's bundled handwritten digits, and a multi-layer perceptron in plain NumPy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Digits:
    train_images: Floats
    train_labels: Integers
    test_images: Floats
    test_labels: Integers


def load() -> Digits:
    """1,797 images of 8 x 8 pixels: 1,437 to train on and 360 to test on, always the same ones."""
    from sklearn.datasets import load_digits  # here, because the workers are handed the images and start faster without

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(labels))
    images = (images[order] / 16.0).astype(np.float32)
    labels = labels[order].astype(np.int64)
    split = 1437
    return Digits(images[:split], labels[:split], images[split:], labels[split:])


def big_batches(size: int, examples: int, updates: int) -> list[Integers]:
    """The examples of each update: a new permutation in every epoch, the remainder of an epoch left out."""
    random = np.random.default_rng(1)
    batches: list[Integers] = []
    while len(batches) < updates:
        order = random.permutation(examples)
        batches += [order[start : start + size] for start in range(0, examples - size + 1, size)]
    return batches[:updates]


class Perceptron:
    """64 - 128 - 64 - 10 with rectifiers and cross-entropy; parameters are f32 arrays that gradstep steps in place."""

    SIZES = (64, 128, 64, 10)

    def __init__(self, seed: int = 2) -> None:
        random = np.random.default_rng(seed)
        self.names: list[str] = []
        self.parameters: list[Floats] = []
        for layer, (inputs, outputs) in enumerate(zip(self.SIZES, self.SIZES[1:], strict=False)):
            scale = np.sqrt(2.0 / inputs)
            self.names += [f"layer{layer}.weight", f"layer{layer}.bias"]
            self.parameters += [
                (random.standard_normal((inputs, outputs)) * scale).astype(np.float32),
                np.zeros(outputs, np.float32),
            ]

    def logits(self, images: Floats) -> Floats:
        return self._forward(images)[-1]

    def accuracy(self, images: Floats, labels: Integers) -> float:
        return float(np.mean(self.logits(images).argmax(axis=1) == labels))

    def loss_and_gradients(self, images: Floats, labels: Integers) -> tuple[float, list[Floats]]:
        """The mean cross-entropy over the batch and its gradient for every parameter."""
        activations = self._forward(images)
        rows = np.arange(len(labels))
        shifted = activations[-1] - activations[-1].max(axis=1, keepdims=True)
        exponentials = np.exp(shifted)
        sums = exponentials.sum(axis=1, keepdims=True)
        loss = float(np.mean(np.log(sums[:, 0]) - shifted[rows, labels]))

        error = exponentials / sums
        error[rows, labels] -= 1.0
        error /= np.float32(len(labels))
        gradients: list[Floats] = []
        for layer in reversed(range(len(self.SIZES) - 1)):
            gradients = [activations[layer].T @ error, error.sum(axis=0), *gradients]
            if layer > 0:
                error = (error @ self.parameters[2 * layer].T) * (activations[layer] > 0)
        return loss, gradients

    def _forward(self, images: Floats) -> list[Floats]:
        activations = [images]
        layers = len(self.SIZES) - 1
        for layer in range(layers):
            weight, bias = self.parameters[2 * layer : 2 * layer + 2]
            output = activations[-1] @ weight + bias
            activations.append(np.maximum(output, 0.0) if layer < layers - 1 else output)
        return activations
