# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients over ranks: averages, buckets, order of pushes, and errors that leave gradients alone."""

import threading
import time
from typing import ClassVar

import numpy as np
import pytest
from conftest import relative, run_ranks
from host_collectives import Everything, Exchange

import gradstep

SHAPES = [(40, 30), (30,), (7, 5), ()]


def gradients(rank, dtype=np.float32):
    random = np.random.default_rng(rank)
    return [random.standard_normal(shape).astype(dtype) for shape in SHAPES]


def parameters(dtype=np.float32):
    return [np.zeros(shape, dtype) for shape in SHAPES]


def expected(world_size, weights=None, total=None):
    weights = weights or [1.0] * world_size
    return [
        sum(w * gradients(rank)[i].astype(np.float64) for rank, w in enumerate(weights)) / (total or sum(weights))
        for i in range(len(SHAPES))
    ]


@pytest.mark.parametrize(
    ("average", "weights", "total"),
    [("mean", None, None), ("sum", None, 1.0), ("weighted", [1.0, 3.0, 0.5], None)],
)
def test_average(average, weights, total):
    def reduce(comm):
        reducer = gradstep.Reducer(comm, parameters(), average=average)
        grads = gradients(comm.rank)
        reducer.reduce(grads, weights[comm.rank] if weights else 1.0)
        for view, written in zip(reducer.gradients(), grads, strict=True):
            assert np.array_equal(view, written)
        norm = np.sqrt(sum(float((g.astype(np.float64) ** 2).sum()) for g in grads))
        assert reducer.norm == pytest.approx(norm, rel=1e-6)
        return grads

    results = run_ranks(3, reduce)
    # f32 sums of three: a few roundings.
    for got, want in zip(results[0], expected(3, weights, total), strict=True):
        assert relative(got, want) <= 1e-6
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other, strict=True))


def test_results_do_not_depend_on_buckets_or_the_order_of_pushes():
    def reduce(comm):
        outcomes = []
        for threshold in (1, 100, 2097152):
            reducer = gradstep.Reducer(comm, parameters(), fuse_threshold=threshold)
            order = np.random.default_rng(10 * threshold + comm.rank).permutation(len(SHAPES))
            grads = gradients(comm.rank)
            for i in order:
                reducer.push(int(i), grads[i])
            results = parameters()
            reducer.wait(results)
            assert all(np.array_equal(v, r) for v, r in zip(reducer.gradients(), results, strict=True))
            outcomes.append(b"".join(result.tobytes() for result in results))
            buckets = reducer.bucket_statistics()
            assert reducer.comm_statistics().all_reduces >= len(buckets)
            assert sum(bucket.parameters for bucket in buckets) == len(SHAPES)
            assert all(bucket.exchanges == 1 for bucket in buckets)
        assert len(set(outcomes)) == 1
        return outcomes[0]

    assert len(set(run_ranks(2, reduce))) == 1


@pytest.mark.parametrize(
    ("mode", "number"), [("int8", 9), ("int4", 10), ("fp8_e4m3", 11), ("fp8_e5m2", 12), ("powersgd", 7), ("half", 1)]
)
def test_auto_takes_the_candidates_that_are_asked_for(mode, number):
    def reduce(comm):
        results = []
        for options in ({"mode": "auto", "candidates": 1 << number}, {"mode": mode}):
            reducer = gradstep.Reducer(comm, parameters(), **options)
            grads = gradients(comm.rank)
            reducer.reduce(grads)
            results.append(grads)
            (bucket,) = reducer.bucket_statistics()
            assert bucket.mode == number and not bucket.by_hosts
            predicted = [
                getattr(bucket, f"predicted_{name}_nanoseconds") > 0 for name in ("int8", "int4", "fp8", "powersgd")
            ]
            candidates = [number == 9, number == 10, number in (11, 12), number == 7]
            assert predicted == (candidates if options["mode"] == "auto" else [False] * 4)
        return results

    for chosen, asked in run_ranks(2, reduce):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(chosen, asked, strict=True))


def test_candidates_of_auto_are_checked():
    def reduce(comm):
        with pytest.raises(gradstep.InvalidArgument, match=r"candidates: is 0x20, expected bits of dense, half"):
            gradstep.Reducer(comm, parameters(), mode="auto", candidates=1 << 5)
        with pytest.raises(
            gradstep.InvalidArgument, match=r"candidates: has the flag hosts .* comm of reduction_order"
        ):
            gradstep.Reducer(comm, parameters(), mode="auto", candidates=1 | 2**30)

    run_ranks(2, reduce)


def test_ranks_may_lack_gradients():
    def reduce(comm):
        reducer = gradstep.Reducer(comm, parameters(), may_be_unused=[True, True, False, False])
        grads = gradients(comm.rank)
        grads[0] = None
        if comm.rank == 0:
            grads[1] = None
        reducer.reduce(grads)
        assert grads[0] is None
        views = reducer.gradients()
        assert views[0] is None, "no rank had it"
        assert relative(views[1], gradients(1)[1] / 2) <= 1e-6, "the other rank counts as zero"

    run_ranks(2, reduce)


def test_gradients_that_must_not_be_written_are_reduced_into_views():
    def reduce(comm):
        grads = gradients(comm.rank)
        for grad in grads:
            grad.flags.writeable = False
        reducer = gradstep.Reducer(comm, parameters())
        with pytest.raises(gradstep.InvalidArgument, match=r"results\[0\]: ndarray is read-only"):
            reducer.reduce(grads)
        reducer.reduce(grads, in_place=False)
        return relative(reducer.gradients()[0], expected(2)[0])

    assert max(run_ranks(2, reduce)) <= 1e-6


def test_ranks_that_disagree_on_the_plan_all_hear_of_it():
    def create(comm):
        shapes = SHAPES if comm.rank == 0 else [*SHAPES[:-1], (2,)]
        with pytest.raises(gradstep.Mismatch):
            gradstep.Reducer(comm, [np.zeros(shape, np.float32) for shape in shapes])

    run_ranks(2, create)


def test_pushes_out_of_turn_are_refused_and_cancelled():
    comm = gradstep.Communicator.self()
    reducer = gradstep.Reducer(comm, parameters(), fuse_threshold=10**9)
    with pytest.raises(gradstep.InvalidState):
        reducer.gradients()
    reducer.begin(weight=2.0)
    with pytest.raises(gradstep.InvalidState):
        reducer.begin()
    reducer.push(3, gradients(0)[3])
    with pytest.raises(gradstep.InvalidState):
        reducer.push(3, gradients(0)[3])
    with pytest.raises(gradstep.InvalidState):
        reducer.reduce(gradients(0))
    with pytest.raises(gradstep.InvalidArgument, match="shape"):
        reducer.push(2, gradients(0)[1])
    reducer.cancel()
    reducer.reduce(gradients(0))
    with pytest.raises(TypeError, match=r"known: .*fuse_threshold"):
        gradstep.Reducer(comm, parameters(), bucket_size=3)
    with pytest.raises(gradstep.InvalidArgument, match="known: dense"):
        gradstep.Reducer(comm, parameters(), mode="sparse")
    with pytest.raises(gradstep.InvalidArgument, match="fuse_threshold"):
        gradstep.Reducer(comm, parameters(), fuse_threshold=0)


def test_a_failed_exchange_leaves_the_gradients_alone():
    def reduce(comm):
        reducer = gradstep.Reducer(comm, parameters())
        if comm.rank == 1:
            return
        grads = gradients(0)
        begin = time.monotonic()
        with pytest.raises((gradstep.Timeout, gradstep.PeerLost)):
            reducer.reduce(grads)
        assert time.monotonic() - begin <= 1.0 + 1.0, "timeout and a second"
        assert all(np.array_equal(a, b) for a, b in zip(grads, gradients(0), strict=True))

    run_ranks(2, reduce, timeout=1.0)


class OnAnyThread(Everything):
    """Remembers the threads of its sums, or raises `error` instead."""

    any_thread = True
    threads: ClassVar[set[int]] = set()
    error: Exception | None = None

    def all_reduce(self, data, op, timeout):
        if OnAnyThread.error is not None:
            raise OnAnyThread.error
        OnAnyThread.threads.add(threading.get_ident())
        super().all_reduce(data, op, timeout)


def test_a_full_bucket_is_exchanged_behind_the_caller():
    exchange = Exchange(2)
    pushed = threading.Event()

    def reduce(end):
        comm = gradstep.Communicator.host(OnAnyThread(exchange, end.rank))
        reducer = gradstep.Reducer(comm, parameters(), average="sum", fuse_threshold=1)
        grads = gradients(end.rank)
        if end.rank == 1:
            assert pushed.wait(20)  # the other rank's push has returned without this one's
        for i in reversed(range(len(SHAPES))):
            reducer.push(i, grads[i])
            grads[i][...] = 0
            pushed.set()
        results = parameters()
        reducer.wait(results)
        for got, want in zip(results, expected(2, total=1.0), strict=True):
            assert relative(got, want) <= 1e-6
        assert all(bucket.exchanges == 1 for bucket in reducer.bucket_statistics())
        return threading.get_ident()

    OnAnyThread.threads.clear()
    callers = run_ranks(2, reduce)
    assert OnAnyThread.threads - set(callers), "a thread of gradstep's own"


def test_an_exception_behind_the_caller_comes_out_of_wait():
    exchange = Exchange(2)
    created = threading.Barrier(2)
    OnAnyThread.error = LookupError("the host's own")

    def fail(end):
        comm = gradstep.Communicator.host(OnAnyThread(exchange, end.rank))
        reducer = gradstep.Reducer(comm, parameters(), fuse_threshold=1)
        created.wait(20)  # the failure of one rank aborts what the other is still leaving
        reducer.push(len(SHAPES) - 1, gradients(end.rank)[-1])
        with pytest.raises(LookupError) as caught:
            reducer.wait()
        assert caught.value is OnAnyThread.error

    try:
        run_ranks(2, fail)
    finally:
        OnAnyThread.error = None
