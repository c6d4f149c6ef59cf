# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers whose state is spread over the ranks: less memory on each, the same bits on all."""

import sys

import numpy as np
import pytest
from conftest import relative, run_ranks

import gradstep

# More than one chunk of 16384 elements for every rank, and small tensors that share one.
SHAPES = [(300, 200), (70000,), (3,), ()]
STEPS = 5

RULES = [
    (gradstep.SGD, {"momentum": 0.9}),
    (gradstep.RMSProp, {"centered": True}),
    (gradstep.AdaGrad, {"initial_accumulator": 0.1}),
    (gradstep.Adam, {"amsgrad": True, "weight_decay": 0.01}),
    (gradstep.Adam, {"state_dtype": "int8"}),
    (gradstep.Adam, {"state_dtype": "bf16", "stochastic_rounding": True, "seed": 3}),
]
SHAMPOO = {"graft_type": "adam", "block_size": 64, "start_preconditioning_step": 1}


def start():
    return [np.full(shape, 0.5, np.float32) for shape in SHAPES]


def gradients(rank, step):
    random = np.random.default_rng([rank, step])
    return [random.standard_normal(shape).astype(np.float32) for shape in SHAPES]


def bits(arrays):
    return [array.tobytes() for array in arrays]


@pytest.mark.parametrize("world_size", [1, 2, 3])
@pytest.mark.parametrize(
    ("rule", "options"), RULES, ids=lambda value: "-".join(value) if isinstance(value, dict) else value.__name__
)
@pytest.mark.parametrize("max_norm", [None, 1.0])
def test_a_sharded_step_has_the_bits_of_an_unsharded_one(rule, options, world_size, max_norm):
    def unsharded(comm):
        parameters = start()
        optimizer = rule(parameters, learning_rate=0.05, **options)
        reducer = gradstep.Reducer(comm, parameters)
        for step in range(STEPS):
            grads = gradients(comm.rank, step)
            reducer.reduce(grads)
            optimizer.step(parameters, grads, max_norm=max_norm)
        return bits(parameters)

    def sharded(comm):
        parameters = start()
        optimizer = rule(parameters, learning_rate=0.05, **options)
        optimizer.shard(comm)
        for step in range(STEPS):
            optimizer.step(parameters, gradients(comm.rank, step), max_norm=max_norm)
        return bits(parameters)

    expected = run_ranks(world_size, unsharded)
    assert all(result == expected[0] for result in expected + run_ranks(world_size, sharded))


@pytest.mark.parametrize("mode", ["dense", "half", "int8"])
def test_a_reducer_brings_each_rank_its_share_while_gradients_are_pushed(mode):
    def train(comm, is_sharded):
        parameters = start()
        optimizer = gradstep.Adam(parameters, learning_rate=0.05)
        reducer = gradstep.Reducer(comm, parameters, mode=mode, fuse_threshold=1000)
        if is_sharded:
            optimizer.shard(reducer)
        updater = gradstep.Updater(optimizer, reducer=reducer, max_norm=1.0)
        for step in range(STEPS):
            grads = gradients(comm.rank, step)
            references = [sys.getrefcount(grad) for grad in grads]
            for i in reversed(range(len(grads))):
                reducer.push(i, grads[i])
            assert [sys.getrefcount(grad) for grad in grads] == references, "pushed ones are the caller's alone"
            assert updater.flush(parameters)
        if is_sharded:
            with pytest.raises(gradstep.Unsupported):
                reducer.gradients()
        return bits(parameters)

    expected = run_ranks(2, lambda comm: train(comm, False))
    assert all(result == expected[0] for result in expected + run_ranks(2, lambda comm: train(comm, True)))


@pytest.mark.parametrize("world_size", [2, 3])
@pytest.mark.parametrize("preconditioners", ["replicated", "owned"])
def test_ranks_that_share_shampoos_work_have_the_bits_of_one_that_does_it_all(preconditioners, world_size):
    def whole(comm):
        parameters = start()
        optimizer = gradstep.Shampoo(parameters, learning_rate=0.05, **SHAMPOO)
        reducer = gradstep.Reducer(comm, parameters)
        for step in range(STEPS):
            grads = gradients(comm.rank, step)
            reducer.reduce(grads)
            optimizer.step(parameters, grads)
        return bits(parameters), bits([optimizer.state(0, name) for name in ("statistics.19.1", "preconditioners.3.0")])

    def shared(comm):
        parameters = start()
        optimizer = gradstep.Shampoo(parameters, learning_rate=0.05, **SHAMPOO)
        memory = optimizer.memory().state_bytes
        optimizer.shard(comm, preconditioners=preconditioners)
        for step in range(STEPS):
            optimizer.step(parameters, gradients(comm.rank, step))
        assert (optimizer.memory().state_bytes < 0.9 * memory) == (preconditioners == "owned")
        assert not optimizer.state(0, "statistics.19.1").flags.writeable, "a copy"
        return bits(parameters), bits([optimizer.state(0, name) for name in ("statistics.19.1", "preconditioners.3.0")])

    expected = run_ranks(world_size, whole)
    assert all(result == expected[0] for result in expected + run_ranks(world_size, shared))


def test_gradients_may_be_reduced_already_or_summed():
    def body(comm):
        parameters, reduced, summed = start(), start(), start()
        optimizers = [gradstep.SGD(p, learning_rate=0.05) for p in (parameters, reduced, summed)]
        optimizers[1].shard(comm, gradients="reduced")
        optimizers[2].shard(comm, average="sum")
        grads = gradients(0, 0)
        optimizers[0].step(parameters, grads)
        optimizers[1].step(reduced, grads)
        assert bits(parameters) == bits(reduced)
        optimizers[2].step(summed, grads, grad_scale=0.5)
        assert all(relative(a, b) <= 1e-6 for a, b in zip(summed, parameters, strict=True))

    run_ranks(2, body)


def test_each_rank_keeps_its_share_and_none_ends_it():
    world_size = 3

    def body(comm):
        parameters = start()
        optimizer = gradstep.Adam(parameters, learning_rate=0.05)
        whole = optimizer.memory().state_bytes
        optimizer.shard(comm)
        share = optimizer.memory().state_bytes
        optimizer.step(parameters, gradients(comm.rank, 0))
        # Copies are collective now; every rank asks for the same.
        seen = optimizer.state(1, "exp_avg")
        assert not seen.flags.writeable and seen.shape == (70000,)
        optimizer.set_state(2, "exp_avg", np.full(3, 2.0, np.float32))
        optimizer.unshard()
        assert optimizer.memory().state_bytes == whole
        view = optimizer.state(1, "exp_avg")
        assert view.flags.writeable and view.tobytes() == seen.tobytes()
        assert optimizer.state(2, "exp_avg").tolist() == [2.0] * 3
        return share, whole

    shares = run_ranks(world_size, body)
    total, whole = sum(share for share, _ in shares), shares[0][1]
    assert total <= whole * 1.01
    assert max(share for share, _ in shares) <= whole / world_size + 2 * 4 * 16384


def test_ranks_that_differ_are_told_and_unchanged():
    def body(comm):
        parameters = start()
        optimizer = gradstep.Adam(parameters, learning_rate=0.05)
        if comm.rank == 1:
            optimizer.step(parameters, gradients(0, 0))
        with pytest.raises(gradstep.Mismatch):
            optimizer.shard(comm)
        optimizer.step(parameters, gradients(0, 0))
        assert optimizer.step_count == 1 + comm.rank

    run_ranks(2, body)


def test_unknown_words_are_refused_by_name():
    optimizer = gradstep.SGD(start(), learning_rate=0.1)
    with pytest.raises(gradstep.InvalidArgument, match="gradients: 'mine' is unknown; known: local, reduced"):
        optimizer.shard(gradstep.Communicator.self(), gradients="mine")
    with pytest.raises(gradstep.InvalidArgument, match="average: 'median' is unknown"):
        optimizer.shard(gradstep.Communicator.self(), average="median")


@pytest.mark.parametrize("make_alias", [lambda v: v, lambda v: v[1:], lambda v: memoryview(v), lambda v: [v.T]])
def test_state_is_not_sharded_under_views_of_it(make_alias):
    parameters = start()
    optimizer = gradstep.Adam(parameters, learning_rate=0.05)
    optimizer.step(parameters, gradients(0, 0))
    alias = make_alias(optimizer.state(0, "exp_avg"))
    before = optimizer.get_state(0, "exp_avg")
    with pytest.raises(gradstep.InvalidState, match=r"shard: there are views of the state, .*: state\(0, 'exp_avg'\);"):
        optimizer.shard(gradstep.Communicator.self())
    assert np.array_equal(optimizer.state(0, "exp_avg"), before), "nothing has changed"
    optimizer.unshard()
    del alias
    optimizer.shard(gradstep.Communicator.self())
    assert np.array_equal(optimizer.state(0, "exp_avg"), before)
    copy = optimizer.state(0, "exp_avg")
    optimizer.shard(gradstep.Communicator.self())
    optimizer.unshard()
    assert np.array_equal(copy, optimizer.state(0, "exp_avg"))


def test_views_that_nobody_can_reach_are_no_obstacle():
    optimizer = gradstep.Adam(start(), learning_rate=0.05)
    cycle = [optimizer.state(0, "exp_avg")]
    cycle.append(cycle)
    del cycle
    optimizer.shard(gradstep.Communicator.self())
