# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the pages of docs/how_to quote, where there is no program in examples/python."""

import numpy as np
from conftest import run_ranks

import gradstep


def test_an_overflow_skips_the_step_and_halves_the_scale():
    parameters = [np.full(4, 5, np.float32)]
    optimizer = gradstep.SGD(parameters, learning_rate=1)
    scale = 1024.0
    for last, expected in ((0, 1024), (np.inf, 512)):
        gradients = [np.array([1024, 2048, 0, last], np.float32)]  # of the scaled loss
        # docs:begin scaler
        result = optimizer.step(parameters, gradients, skip_nonfinite=True, grad_scale=1 / scale, max_norm=100)
        if not result.applied:
            scale /= 2  # an overflow: nothing has changed
        # docs:end scaler
        assert scale == expected
        assert parameters[0].tolist() == [4, 3, 5, 5]


def test_each_rank_keeps_a_share_of_the_state():
    def train(comm):
        parameters = [np.full(4, 5, np.float32)]
        gradients = [np.full(4, 1 + 2 * comm.rank, np.float32)]
        # docs:begin shard
        optimizer = gradstep.Adam(parameters, learning_rate=1)
        optimizer.shard(comm)  # this rank's share of the state, from here on
        optimizer.step(parameters, gradients)  # collective: averages, steps, and gathers the parameters
        # docs:end shard
        return parameters[0]

    for weight in run_ranks(2, train):
        np.testing.assert_allclose(weight, 4, rtol=1e-6)
