# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A recipe for AdamW, stepped by AdamW, by Shampoo and by SOAP: a matrix factorisation, 200 steps each."""

import numpy as np

import gradstep

SHAPE, STEPS = (48, 32), 200
RANDOM = np.random.default_rng(0)
LEFT, RIGHT = (RANDOM.standard_normal((side, 8)).astype(np.float32) for side in SHAPE)
TARGET = LEFT @ np.diag(np.logspace(0, -2, 8)).astype(np.float32) @ RIGHT.T
# docs:begin recipe
RECIPE = {"learning_rate": 0.02, "beta1": 0.9, "beta2": 0.99, "epsilon": 1e-8, "weight_decay": 1e-4}
# docs:end recipe


def train(make) -> float:
    random = np.random.default_rng(1)
    parameters = [random.standard_normal((side, 8)).astype(np.float32) * 0.3 for side in SHAPE]
    optimizer = make(parameters)
    for _ in range(STEPS):
        error = parameters[0] @ parameters[1].T - TARGET
        optimizer.step(parameters, [error @ parameters[1], error.T @ parameters[0]])
    return float(np.mean((parameters[0] @ parameters[1].T - TARGET) ** 2))


def main() -> None:
    # docs:begin optimizers
    def adamw(parameters):
        return gradstep.AdamW(parameters, **RECIPE)

    def shampoo(parameters):
        return gradstep.Shampoo.from_adamw(parameters, **RECIPE, preconditioning_compute_steps=10)

    def soap(parameters):
        return gradstep.Shampoo.from_adamw(parameters, **RECIPE, eigenvalue_corrected=True)

    # docs:end optimizers
    for name, make in (("AdamW", adamw), ("Shampoo", shampoo), ("SOAP", soap)):
        loss = train(make)
        print(f"{name:8} mean square after {STEPS} steps: {loss:.1e}")
        assert loss < 0.05 * float(np.mean(TARGET**2)), "each of them learns"


if __name__ == "__main__":
    main()
