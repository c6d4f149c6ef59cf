# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Two copies of the parameters, for an optimizer of gradstep.torch and one of torch.optim."""

import numpy as np
import torch

STEPS = 20
# f32: 20 steps of a handful of roundings (6e-8) that torch makes in another order, of parameters of size 1. f64: the
# same with 1e-16; torch's own implementations differ by as much.
TOLERANCE = {torch.float32: 1e-6, torch.float64: 1e-12}


class Twins:
    """Two copies of the parameters, for a gradstep optimizer and a torch one, and gradients for both."""

    def __init__(self, random, shapes, dtype=torch.float32):
        self.random = random
        self.dtype = dtype
        self.ours = [torch.nn.Parameter(self.tensor(shape)) for shape in shapes]
        self.theirs = [torch.nn.Parameter(p.detach().clone()) for p in self.ours]

    def tensor(self, shape):
        return torch.from_numpy(np.array(self.random.standard_normal(shape))).to(self.dtype)

    def backward(self, without=()):
        for i, (a, b) in enumerate(zip(self.ours, self.theirs, strict=True)):
            a.grad = None if i in without else self.tensor(a.shape)
            b.grad = None if i in without else a.grad.clone()

    def error(self):
        """The largest difference between the two, relative to the largest parameter."""
        largest = max(float(b.detach().abs().max()) for b in self.theirs)
        pairs = zip(self.ours, self.theirs, strict=True)
        return max(float((a - b).detach().abs().max()) for a, b in pairs) / largest


def train(optimizer, parameters, grads):
    for step in grads:
        for parameter, grad in zip(parameters, step, strict=True):
            parameter.grad = grad
        optimizer.step()


def bits(parameters):
    return [p.detach().numpy().tobytes() for p in parameters]
