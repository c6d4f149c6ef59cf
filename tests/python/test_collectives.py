# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Collectives whose ranks give or get parts: all_gather_v and reduce_scatter."""

import numpy as np
import pytest
from conftest import run_ranks

import gradstep


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.float16])
def test_all_gather_v_joins_arrays_of_different_lengths(dtype):
    counts = [3, 0, 1, 4]
    given = [np.arange(count, dtype=dtype) + 10 * rank for rank, count in enumerate(counts)]
    for gathered in run_ranks(4, lambda comm: comm.all_gather_v(given[comm.rank], counts)):
        assert gathered.dtype == dtype and np.array_equal(gathered, np.concatenate(given))


@pytest.mark.parametrize(("op", "reduce"), [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_reduce_scatter_gives_each_rank_its_part(op, reduce, random):
    given = random.integers(-100, 100, (3, 6, 5)).astype(np.float64)  # small whole numbers: sums are exact
    expected = reduce(given, axis=0)
    for rank, part in enumerate(run_ranks(3, lambda comm: comm.reduce_scatter(given[comm.rank], op))):
        assert part.shape == (2, 5) and np.array_equal(part, expected[2 * rank : 2 * rank + 2])


def test_reduce_scatter_has_the_bits_of_all_reduce(random):
    given = random.standard_normal((4, 8, 100)).astype(np.float32)

    def body(comm):
        whole = given[comm.rank].copy()
        comm.all_reduce(whole)
        return whole[2 * comm.rank : 2 * comm.rank + 2], comm.reduce_scatter(given[comm.rank])

    for whole, part in run_ranks(4, body):
        assert whole.tobytes() == part.tobytes()


def test_parts_that_do_not_fit_are_refused():
    def body(comm):
        x = np.ones(4)
        with pytest.raises(gradstep.InvalidArgument, match="counts: 1 entries, expected 2"):
            comm.all_gather_v(x, [4])
        for counts in ([4, -1], [3, 3]):
            with pytest.raises(gradstep.InvalidArgument, match=r"counts|input|output"):
                comm.all_gather_v(x, counts)
        for bad in (np.ones(3), np.ones(())):
            with pytest.raises(gradstep.InvalidArgument, match=r"x: has shape .*, expected a first axis of a multiple"):
                comm.reduce_scatter(bad)
        with pytest.raises(gradstep.InvalidArgument, match="op: 'mean' is unknown; known: sum, "):
            comm.reduce_scatter(x, "mean")
        return comm.all_gather_v(x, [4, 4]).sum() + comm.reduce_scatter(x).sum()

    assert run_ranks(2, body) == [12, 12], "and the communicator goes on"
