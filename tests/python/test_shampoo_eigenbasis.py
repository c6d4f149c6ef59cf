# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Shampoo's eigenvalue-corrected mode beside a reading of SOAP (nikhilvyas/SOAP, f42d296) in NumPy's float64."""

import numpy as np
import pytest
from conftest import relative

import gradstep

# Statistics of full rank from the first gradient on, or short of it by one: the basis of a larger null space is
# whatever an eigensolver makes of it.
SHAPES = [(6, 6), (5, 6), (3, 4, 4), (7,), ()]


def along(tensor, matrix, axis):
    """The tensor with `axis` contracted with the rows of a matrix."""
    return np.moveaxis(np.tensordot(tensor, matrix, (axis, 0)), -1, axis)


class Soap:
    def __init__(self, learning_rate, beta1, beta2, epsilon, weight_decay, frequency):
        self.rate, self.beta1, self.beta2 = learning_rate, beta1, beta2
        self.epsilon, self.weight_decay, self.frequency = epsilon, weight_decay, frequency
        self.bases, self.statistics, self.mean, self.square = {}, {}, {}, {}
        self.steps = 0

    def rotate(self, i, tensor, back=False):
        for axis, basis in enumerate(self.bases[i]):
            tensor = along(tensor, basis.T if back else basis, axis)
        return tensor

    def add_statistics(self, i, gradient):
        for axis, statistic in enumerate(self.statistics[i]):
            others = [k for k in range(gradient.ndim) if k != axis]
            statistic += (1 - self.beta2) * (np.tensordot(gradient, gradient, (others, others)) - statistic)

    def refresh(self, i):
        for axis, statistic in enumerate(self.statistics[i]):
            product = statistic @ self.bases[i][axis]
            order = np.argsort(-np.sum(self.bases[i][axis] * product, axis=0), kind="stable")
            self.square[i] = np.take(self.square[i], order, axis)
            self.bases[i][axis] = np.linalg.qr(product[:, order])[0]

    def step(self, parameters, gradients):
        for i, (p, g) in enumerate(zip(parameters, gradients, strict=True)):
            if i not in self.mean:
                self.mean[i], self.square[i] = np.zeros_like(g), np.zeros_like(g)
                self.statistics[i] = [np.zeros((n, n)) for n in g.shape] if g.ndim > 1 else []
                self.add_statistics(i, g)
                self.bases[i] = [np.linalg.eigh(s)[1][:, ::-1] for s in self.statistics[i]]
                continue
            # The first moment is kept outside the basis, where refreshing it changes nothing.
            self.mean[i] = self.beta1 * self.mean[i] + (1 - self.beta1) * g
            self.square[i] = self.beta2 * self.square[i] + (1 - self.beta2) * self.rotate(i, g) ** 2
            direction = self.rotate(i, self.mean[i]) / (np.sqrt(self.square[i]) + self.epsilon)
            correction = np.sqrt(1 - self.beta2**self.steps) / (1 - self.beta1**self.steps)
            p -= self.rate * correction * self.rotate(i, direction, back=True)
            p -= self.rate * self.weight_decay * p
            self.add_statistics(i, g)
            if self.steps % self.frequency == 0:
                self.refresh(i)
        self.steps += 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("frequency", [1, 5])
def test_it_is_soap(frequency, dtype, random):
    tolerance = 1e-5 if dtype == np.float32 else 1e-10
    recipe = {"learning_rate": 3e-3, "beta1": 0.95, "beta2": 0.95, "weight_decay": 0.01}
    parameters = [np.asarray(random.standard_normal(shape), dtype) for shape in SHAPES]
    optimizer = gradstep.Shampoo(
        parameters,
        eigenvalue_corrected=True,
        diagonal_epsilon=1e-8,
        preconditioning_compute_steps=frequency,
        best_effort_shape_interpretation=False,
        **recipe,
    )
    soap = Soap(epsilon=1e-8, frequency=frequency, **recipe)
    for step in range(20):
        gradients = [np.asarray(random.standard_normal(shape), dtype) for shape in SHAPES]
        expected = [p.astype(np.float64) for p in parameters]
        before = [p.copy() for p in expected]
        updates = optimizer.update(parameters, gradients)
        soap.step(expected, [g.astype(np.float64) for g in gradients])
        for i, (update, after) in enumerate(zip(updates, expected, strict=True)):
            if step == 0:
                assert not update.any()
            else:
                assert relative(update, after - before[i]) <= tolerance, (step, SHAPES[i])
            parameters[i][...] += update
