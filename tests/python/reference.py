# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The update rules once more, in NumPy and f64, written from their papers' formulas."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


@dataclass
class SGD:
    learning_rate: float
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False
    first_step: str = "dampen"
    maximize: bool = False

    def __post_init__(self) -> None:
        self.buffers: dict[int, Doubles] = {}

    def step(self, parameters: list[Doubles], grads: list[Doubles | None]) -> None:
        for i, (p, grad) in enumerate(zip(parameters, grads, strict=True)):
            if grad is None:
                continue
            g = (-grad if self.maximize else grad) + self.weight_decay * p
            if self.momentum:
                first = i not in self.buffers
                b = np.zeros_like(p) if first else self.buffers[i]
                copied = first and self.first_step == "copy"
                b = g.copy() if copied else self.momentum * b + (1 - self.dampening) * g
                self.buffers[i] = b
                g = g + self.momentum * b if self.nesterov else b
            p -= self.learning_rate * g


@dataclass
class Adam:
    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    decoupled_weight_decay: bool = False
    bias_correction: str = "standard"
    maximize: bool = False
    amsgrad: bool = False

    def __post_init__(self) -> None:
        self.t = 0
        self.moments: dict[int, tuple[Any, Any, Any]] = {}

    def step(self, parameters: list[Doubles], grads: list[Doubles | None]) -> None:
        self.t += 1
        c1, c2 = 1 - self.beta1**self.t, 1 - self.beta2**self.t
        for i, (p, grad) in enumerate(zip(parameters, grads, strict=True)):
            if grad is None:
                continue
            g = -grad if self.maximize else grad
            if self.decoupled_weight_decay:
                p -= self.learning_rate * self.weight_decay * p
            else:
                g = g + self.weight_decay * p
            m, v, largest = self.moments.get(i, (0.0, 0.0, 0.0))
            m = self.beta1 * m + (1 - self.beta1) * g
            v = self.beta2 * v + (1 - self.beta2) * g * g
            largest = np.maximum(largest, v)
            self.moments[i] = m, v, largest
            if self.amsgrad:
                v = largest
            if self.bias_correction == "standard":
                p -= self.learning_rate * (m / c1) / (np.sqrt(v / c2) + self.epsilon)
            else:
                p -= self.learning_rate * np.sqrt(c2) / c1 * m / (np.sqrt(v) + self.epsilon)


@dataclass
class RMSProp:
    learning_rate: float
    rho: float = 0.9
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False
    epsilon_placement: str = "inside"
    maximize: bool = False

    def __post_init__(self) -> None:
        self.averages: dict[int, tuple[Any, Any, Any]] = {}

    def step(self, parameters: list[Doubles], grads: list[Doubles | None]) -> None:
        for i, (p, grad) in enumerate(zip(parameters, grads, strict=True)):
            if grad is None:
                continue
            g = (-grad if self.maximize else grad) + self.weight_decay * p
            square, mean, b = self.averages.get(i, (0.0, 0.0, 0.0))
            square = self.rho * square + (1 - self.rho) * g * g
            mean = self.rho * mean + (1 - self.rho) * g
            b = self.momentum * b + divided(
                g, square - mean * mean if self.centered else square, self.epsilon, self.epsilon_placement
            )
            self.averages[i] = square, mean, b
            p -= self.learning_rate * b


@dataclass
class AdaGrad:
    learning_rate: float
    epsilon: float = 1e-8
    weight_decay: float = 0.0
    lr_decay: float = 0.0
    initial_accumulator: float = 0.0
    epsilon_placement: str = "inside"
    maximize: bool = False

    def __post_init__(self) -> None:
        self.t = 0
        self.sums: dict[int, Any] = {}

    def step(self, parameters: list[Doubles], grads: list[Doubles | None]) -> None:
        rate = self.learning_rate / (1 + self.t * self.lr_decay)
        self.t += 1
        for i, (p, grad) in enumerate(zip(parameters, grads, strict=True)):
            if grad is None:
                continue
            g = (-grad if self.maximize else grad) + self.weight_decay * p
            self.sums[i] = self.sums.get(i, self.initial_accumulator) + g * g
            p -= rate * divided(g, self.sums[i], self.epsilon, self.epsilon_placement)


def divided(g: Doubles, square: Doubles, epsilon: float, placement: str) -> Doubles:
    """g over the root of a mean or sum of squares."""
    return g / np.sqrt(square + epsilon) if placement == "inside" else g / (np.sqrt(square) + epsilon)


@dataclass
class Shampoo:
    """Steps matrices, with RMSProp grafting, without Nesterov's term: Anil et al. 2020, Gupta et al. 2018."""

    learning_rate: float
    block_size: int
    beta1: float = 0.9
    beta2: float = 0.999
    diagonal_epsilon: float = 1e-10
    matrix_epsilon: float = 1e-6
    weight_decay: float = 0.0
    start_preconditioning_step: int = 5
    statistics: str = "gradients"  # or "kl", "kl_mean": Lin et al. 2025
    ridge: str = "relative"
    exponent_override: int = 4

    def __post_init__(self) -> None:
        self.t = 0
        self.roots: dict[tuple[int, int, int], tuple[Doubles, Doubles]] = {}
        self.second_moments: dict[int, Doubles] = {}
        self.momenta: dict[tuple[int, str], Doubles] = {}
        self.matrices: dict[tuple[int, int, int], tuple[Doubles, Doubles]] = {}

    def step(self, parameters: list[Doubles], grads: list[Doubles]) -> None:
        for i, (p, g) in enumerate(zip(parameters, grads, strict=True)):
            v = self.beta2 * self.second_moments.get(i, 0.0) + (1 - self.beta2) * g * g
            self.second_moments[i] = v
            grafted = g / (np.sqrt(v) + self.diagonal_epsilon)
            direction = np.zeros_like(p)
            for row in range(0, p.shape[0], self.block_size):
                for column in range(0, p.shape[1], self.block_size):
                    block = np.s_[row : row + self.block_size, column : column + self.block_size]
                    direction[block] = self._precondition(i, row, column, g[block])
            shampoo = direction * np.linalg.norm(grafted) / np.linalg.norm(direction)
            after = {}
            for name, update in (("shampoo", shampoo), ("grafted", grafted)):
                after[name] = self.beta1 * self.momenta.get((i, name), 0.0) + update + self.weight_decay * p
                self.momenta[i, name] = after[name]
            p -= self.learning_rate * after["shampoo" if self.t >= self.start_preconditioning_step else "grafted"]
        self.t += 1

    def _precondition(self, i: int, row: int, column: int, g: Doubles) -> Doubles:
        start = tuple(self.matrix_epsilon * np.eye(extent) for extent in g.shape)
        left, right = self.matrices.get((i, row, column), start)
        of_left = of_right = g
        if self.statistics != "gradients":
            root_of_left, root_of_right = self.roots.get((i, row, column), tuple(np.eye(n) for n in g.shape))
            of_left, of_right = g @ root_of_right, root_of_left @ g
        rows, columns = g.shape if self.statistics == "kl_mean" else (1, 1)
        left = self.beta2 * left + (1 - self.beta2) / columns * of_left @ of_left.T
        right = self.beta2 * right + (1 - self.beta2) / rows * of_right.T @ of_right
        self.matrices[i, row, column] = left, right
        roots = tuple(
            inverse_root(s, self.exponent_override, self.matrix_epsilon, self.ridge == "absolute")
            for s in (left, right)
        )
        self.roots[i, row, column] = roots
        return roots[0] @ g @ roots[1]


def inverse_root(statistic: Doubles, p: int, epsilon: float, absolute: bool = False) -> Doubles:
    """(S + ridge I)^(-1/p), the ridge epsilon or in proportion to the largest eigenvalue."""
    values, vectors = np.linalg.eigh(statistic)
    ridge = epsilon if absolute else epsilon * max(values[-1], 1e-6)
    return (vectors * np.maximum(values + ridge, ridge) ** (-1 / p)) @ vectors.T
