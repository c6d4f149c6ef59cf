# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The chain: windows over ranks equal one big batch, one exchange per window, retries and recovery."""

import numpy as np
import pytest
from conftest import relative, run_ranks

import gradstep

SHAPES = [(20, 10), (10,)]
STEPS = 4
RULES = [(gradstep.SGD, {"learning_rate": 0.1, "momentum": 0.9}), (gradstep.Adam, {"learning_rate": 0.01})]


def parameters():
    random = np.random.default_rng(99)
    return [random.standard_normal(shape) for shape in SHAPES]


def gradient(rank, window, micro_batch):
    random = np.random.default_rng([rank, window, micro_batch])
    return [random.standard_normal(shape) for shape in SHAPES]


def chain(comm, rule, options, **keywords):
    values = parameters()
    return values, gradstep.Updater(
        rule(values, **options),
        gradstep.Accumulator(values, steps=STEPS),
        gradstep.Reducer(comm, values) if comm is not None else None,
        **keywords,
    )


@pytest.mark.parametrize(("rule", "options"), RULES)
def test_windows_over_ranks_equal_one_big_batch(rule, options):
    def train(comm):
        values, updater = chain(comm, rule, options)
        for window in range(3):
            applied = [updater.push(values, gradient(comm.rank, window, k)) for k in range(STEPS)]
            assert applied == [False] * (STEPS - 1) + [True]
        stats = updater.statistics()
        assert (stats.pushes, stats.windows, stats.steps, stats.skipped_steps) == (3 * STEPS, 3, 3, 0)
        return values

    results = run_ranks(2, train)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True))
    alone = parameters()
    optimizer = rule(alone, **options)
    for window in range(3):
        batch = [gradient(rank, window, k) for rank in range(2) for k in range(STEPS)]
        optimizer.step(alone, [np.mean(grads, axis=0) for grads in zip(*batch, strict=True)])
    # f64: sums in another order.
    assert max(relative(a, b) for a, b in zip(results[0], alone, strict=True)) <= 1e-12


def test_only_the_last_push_of_a_window_touches_the_network():
    def train(comm):
        values = parameters()
        reducer = gradstep.Reducer(comm, values)
        updater = gradstep.Updater(
            gradstep.SGD(values, learning_rate=0.1), gradstep.Accumulator(values, steps=STEPS), reducer
        )
        before = reducer.comm_statistics()
        for k in range(STEPS - 1):
            updater.push(values, gradient(comm.rank, 0, k))
            assert reducer.comm_statistics() == before
        updater.push(values, gradient(comm.rank, 0, STEPS - 1))
        after = reducer.comm_statistics()
        assert after.all_reduces - before.all_reduces == len(reducer.bucket_statistics())

    run_ranks(2, train)


def test_options_act_on_the_reduced_gradients():
    values, updater = chain(None, gradstep.SGD, {"learning_rate": 1.0}, max_norm=1e-3)
    before = [v.copy() for v in values]
    for k in range(STEPS):
        updater.push(values, gradient(0, 0, k))
    moved = np.sqrt(sum(float(((a - b) ** 2).sum()) for a, b in zip(values, before, strict=True)))
    assert moved == pytest.approx(1e-3, rel=1e-5)
    bad = [np.full(shape, np.nan) for shape in SHAPES]
    values, updater = chain(None, gradstep.SGD, {"learning_rate": 1.0}, skip_nonfinite=True)
    assert not any(updater.push(values, bad) for _ in range(STEPS))
    assert updater.statistics().skipped_steps == 1 and np.array_equal(values[0], before[0])


def test_partial_windows_are_flushed():
    values, updater = chain(None, gradstep.SGD, {"learning_rate": 1.0})
    assert not updater.flush(values), "an empty window applies nothing"
    before = values[0].copy()
    updater.push(values, gradient(0, 0, 0))
    assert updater.flush(values)
    assert relative(before - values[0], gradient(0, 0, 0)[0]) <= 1e-12


def test_without_accumulator_every_push_steps():
    values = parameters()
    updater = gradstep.Updater(gradstep.SGD(values, learning_rate=1.0))
    assert updater.push(values, gradient(0, 0, 0)) and updater.push(values, gradient(0, 0, 1))


def test_survivors_recover_and_go_on():
    """Rank 1 leaves before the exchange. Rank 0 gets an error with nothing changed, and goes on alone."""

    def train(comm):
        values, updater = chain(comm, gradstep.SGD, {"learning_rate": 1.0})
        for k in range(STEPS - 1):
            updater.push(values, gradient(comm.rank, 0, k))
        if comm.rank == 1:
            return
        before = [v.copy() for v in values]
        with pytest.raises((gradstep.Timeout, gradstep.PeerLost)):
            updater.push(values, gradient(0, 0, STEPS - 1))
        assert all(np.array_equal(a, b) for a, b in zip(values, before, strict=True))
        with pytest.raises(gradstep.InvalidState):
            updater.push(values, gradient(0, 1, 0))
        updater.recover(gradstep.Communicator.self(), values)
        assert updater.flush(values)
        mean = np.mean([gradient(0, 0, k)[0] for k in range(STEPS)], axis=0)
        assert relative(before[0] - values[0], mean) <= 1e-12

    run_ranks(2, train, timeout=1.0)


def test_chains_that_do_not_fit_are_refused():
    values = parameters()
    optimizer = gradstep.SGD(values, learning_rate=1.0)
    with pytest.raises(gradstep.Mismatch, match=r"param\.1"):
        gradstep.Updater(optimizer, gradstep.Accumulator([values[0], values[0]], steps=2))
    with pytest.raises(gradstep.InvalidArgument, match="known: gradients"):
        gradstep.Updater(optimizer, sync="telepathy")
    with pytest.raises(TypeError, match=r"known: .*max_norm"):
        gradstep.Updater(optimizer, norm=1.0)
    with pytest.raises(gradstep.InvalidArgument, match="max_norm"):
        gradstep.Updater(optimizer, max_norm=-1.0)
    frozen = parameters()
    frozen[1].flags.writeable = False
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[1\]: ndarray is read-only"):
        gradstep.Updater(optimizer).push(frozen, gradient(0, 0, 0))
