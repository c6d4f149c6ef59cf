# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""An old name warns of itself, and does what the new one does."""

import functools
import re

import numpy as np
import pytest

import gradstep
import gradstep.plan

ARRAY = [np.zeros(2)]


def optimizer(**shards):
    made = gradstep.AdamW(ARRAY, learning_rate=0.1)
    if shards:
        made.shard(**shards)
    return made


@functools.cache
def reducer():
    return gradstep.Reducer(gradstep.Communicator.self(), ARRAY)


def value_after(change):
    made = optimizer()
    change(made)
    return made.get_value("learning_rate")


def owns_all_after(end):
    """Whether a view of the state can be had, which a sharded one does not give."""
    made = optimizer(comm=gradstep.Communicator.self())
    end(made)
    return made.state(0, "exp_avg").flags.writeable


# An old call, the new one, and what the warning says of them.
RENAMED = {
    "comm": (
        lambda: gradstep.Communicator.self().stats(),
        lambda: gradstep.Communicator.self().statistics(),
        "Communicator.stats() is deprecated, use Communicator.statistics() instead",
    ),
    "reducer": (
        lambda: (lambda stats: (stats.buckets, stats.communicator))(reducer().stats()),
        lambda: (lambda made: (made.bucket_statistics(), made.comm_statistics()))(reducer()),
        "Reducer.stats() is deprecated, use Reducer.bucket_statistics() and comm_statistics() instead",
    ),
    "updater": (
        lambda: gradstep.Updater(optimizer()).stats(),
        lambda: gradstep.Updater(optimizer()).statistics(),
        "Updater.stats() is deprecated, use Updater.statistics() instead",
    ),
    "tensor": (
        lambda: value_after(lambda made: made.set_array("learning_rate", np.array([0.5]))),
        lambda: value_after(lambda made: made.set_tensor("learning_rate", np.array([0.5]))),
        "Optimizer.set_array() is deprecated, use Optimizer.set_tensor() instead",
    ),
    "shard": (
        lambda: owns_all_after(lambda made: made.shard(None)),
        lambda: owns_all_after(lambda made: made.unshard()),
        "Optimizer.shard(None) is deprecated, use Optimizer.unshard() instead",
    ),
    "costs": (
        lambda: gradstep.plan.measure_processor().keys(),
        lambda: gradstep.plan.measure_costs().keys(),
        "measure_processor() is deprecated, use plan.measure_costs() instead",
    ),
}


@pytest.mark.parametrize("old, new, says", RENAMED.values(), ids=RENAMED)
def test_an_old_name_warns_and_does_what_the_new_one_does(old, new, says):
    with pytest.warns(DeprecationWarning, match=f"^{re.escape(says)}$") as warnings:
        found = old()
    assert found == new()
    assert [warning.filename for warning in warnings] == [__file__]
