# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers may be NumPy's wherever they may be Python's; what is no number is refused by the argument's name."""

import numpy as np
import pytest

import gradstep

W = [np.zeros(3, np.float32)]
G = [np.ones(3, np.float32)]
ROWS = [np.zeros((3, 2), np.float32)]


def adam(**options):
    return gradstep.Adam(W, **{"learning_rate": 0.1, **options})


def reducer(**options):
    return gradstep.Reducer(gradstep.Communicator.self(), W, **options)


def comm():
    return gradstep.Communicator.self()


# By argument: what is done with a whole number.
WHOLE = {
    "steps": lambda n: gradstep.Accumulator(W, steps=n),
    "warmup_steps": lambda n: gradstep.schedule.cosine(0.1, 10, warmup_steps=n),
    "decay_steps": lambda n: gradstep.schedule.cosine(0.1, n),
    "step": lambda n: gradstep.schedule.cosine(0.1, 10).value(n),
    "step_count": lambda n: setattr(adam(), "step_count", n),
    "num_threads": lambda n: gradstep.Context(n),
    "background_threads": lambda n: gradstep.Context(background_threads=n),
    "seed": lambda n: adam(seed=n),
    "block_size": lambda n: gradstep.Shampoo(ROWS, learning_rate=0.1, block_size=n),
    "group": lambda n: gradstep.Adam([*W, *W], groups=[0, int(n)], learning_rate=0.1).set_value("beta1", 0.5, n),
    "rank": lambda n: reducer(mode="powersgd", rank=n),
    "fuse_threshold": lambda n: reducer(fuse_threshold=n),
    "sync_steps": lambda n: gradstep.Updater(adam(), sync_steps=n),
    "world_size": lambda n: gradstep.Communicator.local(n),
    "color": lambda n: comm().split(n),
    "key": lambda n: comm().split(0, n),
}
INDICES = {
    "state": lambda i: adam().state(i, "exp_avg"),
    "state_names_of": lambda i: gradstep.Shampoo(ROWS, learning_rate=0.1).state_names_of(i),
    "get_state": lambda i: adam().get_state(i, "exp_avg"),
    "set_state": lambda i: adam().set_state(i, "exp_avg", G[0]),
    "push": lambda i: reducer().push(i, G[0]),
    "residual": lambda i: reducer(mode="sparse_topk", sparsity=0.5).residual(i),
    "add_sparse": lambda i: gradstep.Accumulator(ROWS, steps=1).add_sparse(i, np.array([0]), np.ones((1, 2), "f4")),
}
REAL = {
    "learning_rate": lambda x: adam(learning_rate=x),
    "value": lambda x: adam().set_value("beta1", x),
    "init_value": lambda x: gradstep.schedule.constant(x),
    "min_weight": lambda x: gradstep.Accumulator(W, min_weight=x, mode="sum"),
    "weight": lambda x: gradstep.Accumulator(W, steps=1, mode="weighted").add(G, x),
    "grad_scale": lambda x: adam().step(W, G, grad_scale=x),
    "max_norm": lambda x: adam().step(W, G, max_norm=x),
    "clip_value": lambda x: adam().step(W, G, clip_value=x),
    "timeout": lambda x: gradstep.Communicator.local(1, timeout=x),
}


@pytest.mark.parametrize("kind", [int, bool, np.int64, np.uint8, np.bool_, lambda n: np.array(n)])
@pytest.mark.parametrize("argument", WHOLE)
def test_whole_numbers_may_be_of_any_kind(argument, kind):
    WHOLE[argument](kind(1))


@pytest.mark.parametrize("argument", WHOLE)
def test_what_is_no_whole_number_is_refused_by_name(argument):
    for wrong in (2.0, "2", None):
        if argument in ("steps",) and wrong is None:
            continue
        with pytest.raises(TypeError, match=rf"\b{argument}:? cannot be {wrong!r}"):
            # The group's index comes first among the parameters.
            WHOLE[argument](wrong) if argument != "group" else adam().set_value("beta1", 0.5, wrong)


@pytest.mark.parametrize("call", INDICES)
def test_indices_may_be_of_any_kind_and_are_refused_by_name(call):
    INDICES[call](np.int64(0))
    with pytest.raises(TypeError, match=r"^i: cannot be 0\.0, expected a whole number"):
        INDICES[call](0.0)
    with pytest.raises(gradstep.InvalidArgument, match=r"^(i|index): is -1, "):
        INDICES[call](-1)


@pytest.mark.parametrize("argument", REAL)
def test_numbers_may_be_of_any_kind_and_are_refused_by_name(argument):
    # A beta is below 1.
    for kind in (np.float32, np.float64, np.float16, lambda x: np.array(x), lambda x: np.int64(1) if x else 0):
        REAL[argument](kind(0.5) if argument != "value" or isinstance(kind, type) else 0)
    with pytest.raises(TypeError, match=rf"\b{argument}:? cannot be '0.5'"):
        REAL[argument]("0.5")


def test_flags_may_be_numpys():
    optimizer = gradstep.SGD(W, learning_rate=0.1, momentum=0.9, nesterov=np.True_)
    optimizer.step(W, G, skip_nonfinite=np.True_)
    window = gradstep.Accumulator(W, steps=1, may_be_unused=np.True_, keep_sums=np.True_)
    assert window.add([None])
    assert adam(amsgrad=np.True_).state(0, "max_exp_avg_sq").shape == (3,)


def test_a_seed_is_any_of_64_bits():
    def rounded(seed):
        parameters = [np.ones(64, np.float16)]
        optimizer = gradstep.SGD(parameters, learning_rate=1e-4, stochastic_rounding=True, seed=seed)
        optimizer.step(parameters, [np.ones(64, np.float16)])
        return parameters[0].tobytes()

    assert rounded(2**64 - 1) == rounded(-1) == rounded(np.uint64(2**64 - 1)) != rounded(1)
    assert rounded(2**63) == rounded(-(2**63))
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(gradstep.InvalidArgument, match=f"seed: is {wrong}, expected a whole number of 64 bits"):
            rounded(wrong)
