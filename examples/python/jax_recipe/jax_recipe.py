# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Accumulating 16 chunks of 4 equals the full batch of 64, in NumPy and, where it is installed, in JAX."""

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gradstep

FEATURES = 512
BATCH = 64
CHUNK = 4
CHUNKS = BATCH // CHUNK
ITERATIONS = 50
TOLERANCE = 1e-5

Floats = NDArray[np.float32]
Gradient = Callable[[Floats, Floats, Floats], Any]


def numpy_gradient(weights: Floats, inputs: Floats, targets: Floats) -> Floats:
    """The gradient of sum((inputs @ weights - targets) ** 2)."""
    return 2.0 * inputs.T @ (inputs @ weights - targets)


def jax_gradient() -> Gradient:
    """JAX's gradient; it returns JAX arrays."""
    import jax

    def loss(weights: Any, inputs: Any, targets: Any) -> Any:
        return ((inputs @ weights - targets) ** 2).sum()

    return jax.jit(jax.grad(loss))


def run(gradient: Gradient) -> float:
    """Trains both ways. Returns the largest difference between the two models after any iteration."""
    random = np.random.default_rng(0)
    inputs = random.standard_normal((BATCH, FEATURES)).astype(np.float32)
    targets = random.integers(0, 2, BATCH).astype(np.float32)
    chunked = (0.01 * random.standard_normal(FEATURES)).astype(np.float32)
    full = chunked.copy()

    accumulator = gradstep.Accumulator([chunked], steps=CHUNKS, mode="mean_each")
    adam = gradstep.Adam([chunked], learning_rate=0.001)
    reference = gradstep.Adam([full], learning_rate=0.001)
    worst = 0.0
    for _ in range(ITERATIONS):
        for start in range(0, BATCH, CHUNK):
            chunk = slice(start, start + CHUNK)
            ready = accumulator.add([gradient(chunked, inputs[chunk], targets[chunk])])
        assert ready
        adam.step([chunked], accumulator.gradients())
        reference.step([full], [gradient(full, inputs, targets)], grad_scale=1 / CHUNKS)
        worst = max(worst, float(np.abs(chunked - full).max()))
    return worst


def main() -> None:
    gradients: dict[str, Gradient] = {"NumPy": numpy_gradient}
    if importlib.util.find_spec("jax") is not None:
        gradients["JAX"] = jax_gradient()
    for name, gradient in gradients.items():
        worst = run(gradient)
        print(f"{name}: largest difference in {ITERATIONS} iterations {worst:.1e}, allowed {TOLERANCE:g}")
        if not worst <= TOLERANCE:
            raise SystemExit(f"{name}: chunks and full batch disagree")


if __name__ == "__main__":
    main()
