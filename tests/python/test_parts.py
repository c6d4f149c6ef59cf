# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers of what each rank has of parameters that the host has spread."""

import numpy as np
import pytest
from conftest import run_ranks

import gradstep

WHOLE = (6, 5)
STEPS = 3


def gradient(step):
    return np.random.default_rng(step).standard_normal(WHOLE).astype(np.float32)


def rows_of(comm):
    return slice(6 * comm.rank // comm.world_size, 6 * (comm.rank + 1) // comm.world_size)


def of_rows(comm, rule=gradstep.Adam, **options):
    rows = rows_of(comm)
    shard = np.ones(WHOLE, np.float32)[rows].copy()
    return shard, rule.of_parts([shard], [(WHOLE, (rows.start, 0))], names=["w"], learning_rate=0.1, **options)


def trained_whole(rule=gradstep.Adam):
    parameter = np.ones(WHOLE, np.float32)
    optimizer = rule([parameter], names=["w"], learning_rate=0.1)
    for step in range(STEPS):
        optimizer.step([parameter], [gradient(step)])
    return parameter, optimizer


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_parts_have_the_bits_of_the_whole_and_are_saved_as_the_whole(world_size, tmp_path):
    path = tmp_path / "parts.safetensors"
    expected, whole = trained_whole()

    def train(comm):
        shard, optimizer = of_rows(comm)
        optimizer.attach_shards(comm)
        for step in range(STEPS):
            optimizer.step([shard], [gradient(step)[rows_of(comm)].copy()])
        optimizer.save(path if comm.rank == 0 else None)
        assert np.array_equal(optimizer.get_state(0, "exp_avg"), whole.get_state(0, "exp_avg")[rows_of(comm)])
        return shard

    assert np.array_equal(np.concatenate(run_ranks(world_size, train)), expected)
    _, loaded = trained_whole()
    loaded.step_count = 0
    loaded.load(path)
    assert loaded.step_count == STEPS
    assert np.array_equal(loaded.get_state(0, "exp_avg"), whole.get_state(0, "exp_avg"))


@pytest.mark.parametrize("world_size", [1, 2, 4])
def test_a_rule_of_whole_tensors_steps_them_at_owners(world_size):
    expected, whole = trained_whole(gradstep.Muon)

    def train(comm):
        shard, optimizer = of_rows(comm, gradstep.Muon)
        optimizer.attach_shards(comm)
        for step in range(STEPS):
            optimizer.step([shard], [gradient(step)[rows_of(comm)].copy()])
        momentum = optimizer.get_state(0, "momentum_buffer", shape=WHOLE)
        assert np.array_equal(momentum, whole.get_state(0, "momentum_buffer"))
        return shard

    assert np.array_equal(np.concatenate(run_ranks(world_size, train)), expected)


def test_parts_are_stepped_while_they_are_attached():
    def train(comm):
        shard, optimizer = of_rows(comm)
        with pytest.raises(gradstep.InvalidState, match=r"parameter 'w': is a part of \(6,5\)"):
            optimizer.step([shard], [shard.copy()])
        optimizer.attach_shards(comm)
        assert optimizer.step([shard], [gradient(0)[rows_of(comm)].copy()], max_norm=1.0).applied
        optimizer.attach_shards(None)
        with pytest.raises(gradstep.InvalidState, match="is a part of"):
            optimizer.step([shard], [shard.copy()])

    run_ranks(2, train)


@pytest.mark.parametrize(
    ("part", "error", "text"),
    [
        (((6, 5), (5, 0)), gradstep.InvalidArgument, r"a part of shape \(3,5\) at offset \(5,0\) is not inside"),
        (((6,), (0, 0)), gradstep.InvalidArgument, r"parts\[0\]\[0\]: 1 entries, expected 2"),
        (((6, 5),), gradstep.InvalidArgument, r"parts\[0\]: 1 entries, expected 2"),
        (((6, "a"), (0, 0)), gradstep.InvalidArgument, r"parts\[0\]"),
    ],
)
def test_parts_that_are_none_are_named(part, error, text):
    with pytest.raises(error, match=text):
        gradstep.Adam.of_parts([np.ones((3, 5), np.float32)], [part], learning_rate=0.1)


def test_shampoo_refuses_parts():
    def attach(comm):
        _, optimizer = of_rows(comm, gradstep.Shampoo)
        with pytest.raises(gradstep.Unsupported, match="parameter 'w': shampoo steps whole tensors on every rank"):
            optimizer.attach_shards(comm)

    run_ranks(2, attach)
