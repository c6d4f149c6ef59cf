# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizer.average(): the averages of the weights, as NumPy and PyTorch make them; sharded, saved and loaded."""

import numpy as np
import pytest
from conftest import run_ranks

import gradstep

DECAY = 0.9
SHAPES = [(4, 3), (300,), ()]


def adam(parameters, **options):
    return gradstep.make_optimizer("adam", parameters, **{"learning_rate": 0.03, "average_decay": DECAY, **options})


def ones(dtype=np.float32):
    return [np.ones(shape, dtype) for shape in SHAPES]


def gradients(random, steps, dtype=np.float32):
    return [[random.standard_normal(shape).astype(dtype) for shape in SHAPES] for _ in range(steps)]


def train(optimizer, parameters, grads):
    """Steps, and returns what NumPy makes of the parameters after each."""
    averages = None
    for step in grads:
        optimizer.step(parameters, step)
        values = [array.astype(np.float64) for array in parameters]
        before = averages or values
        averages = [DECAY * mean + (1 - DECAY) * value for mean, value in zip(before, values, strict=True)]
    return averages


# A rounding of each of ten steps, of values of about 1.
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-14)])
def test_averages_are_those_of_numpy(dtype, tolerance, random):
    parameters = ones(dtype)
    optimizer = adam(parameters)
    expected = train(optimizer, parameters, gradients(random, 10, dtype))
    for mean, want, array in zip(optimizer.average(), expected, parameters, strict=True):
        assert mean.dtype == dtype
        assert mean.shape == array.shape
        np.testing.assert_allclose(mean, want, rtol=0, atol=tolerance)


def test_given_arrays_take_them_in_their_dtype_and_none_is_not_wanted(random):
    parameters = ones()
    optimizer = adam(parameters)
    train(optimizer, parameters, gradients(random, 3))
    fresh = optimizer.average()
    wide = np.full(SHAPES[1], np.nan)
    narrow = np.full(SHAPES[2], np.nan, np.float16)
    found = optimizer.average([None, wide, narrow])
    assert found[0] is None
    assert found[1] is wide
    assert found[2] is narrow
    np.testing.assert_array_equal(wide, fresh[1])
    np.testing.assert_array_equal(narrow, fresh[2].astype(np.float16))
    # It is a copy: what is written into it changes no state.
    fresh[1][:] = 7
    np.testing.assert_array_equal(optimizer.average()[1], wide)


def test_arrays_that_do_not_fit_change_nothing(random):
    parameters = ones()
    optimizer = adam(parameters)
    train(optimizer, parameters, gradients(random, 1))
    into = [np.zeros(SHAPES[0], np.float32), np.zeros(299, np.float32), None]
    with pytest.raises(gradstep.InvalidArgument, match=r"\[1\]"):
        optimizer.average(into)
    assert not into[0].any()
    with pytest.raises(gradstep.InvalidArgument):
        optimizer.average([None])
    frozen = np.zeros(SHAPES[0], np.float32)
    frozen.flags.writeable = False
    with pytest.raises((gradstep.InvalidArgument, ValueError, TypeError)):
        optimizer.average([frozen, None, None])
    assert not frozen.any()


def test_there_is_none_before_the_first_step_and_without_the_option(random):
    parameters = ones()
    optimizer = adam(parameters)
    into = ones()
    with pytest.raises(gradstep.InvalidState, match="has no average yet"):
        optimizer.average(into)
    for array in into:
        np.testing.assert_array_equal(array, 1)
    plain = gradstep.make_optimizer("adam", parameters, learning_rate=0.03)
    plain.step(parameters, gradients(random, 1)[0])
    with pytest.raises(gradstep.InvalidState, match="average"):
        plain.average()


def make(rule, parameters, options):
    if rule == "adam":
        return gradstep.make_optimizer("adam", parameters, learning_rate=0.03, **options)
    return gradstep.Shampoo(
        parameters, learning_rate=0.03, start_preconditioning_step=1, eigenvalue_corrected=rule == "soap", **options
    )


def warmed_up(mean, value, count):
    decay = min(DECAY, float((1 + count) / (10 + count)))
    return decay * mean + (1 - decay) * value


# What AveragedModel is to be given for the same averages.
KINDS = {
    "ema": ({"average_decay": DECAY}, lambda utils: {"multi_avg_fn": utils.get_ema_multi_avg_fn(DECAY)}),
    "warmup": ({"average_decay": DECAY, "average_warmup": True}, lambda utils: {"avg_fn": warmed_up}),
    "swa": ({"average_equal": True}, lambda utils: {}),
}
WHEN = [(0, 1), (3, 1), (2, 3)]
by_rule = pytest.mark.parametrize("rule", ["adam", "shampoo", "soap"])
by_kind = pytest.mark.parametrize("kind", KINDS)


@by_rule
@by_kind
@pytest.mark.parametrize(("start", "every"), WHEN)
def test_averages_are_those_of_torch(rule, kind, start, every, random):
    torch = pytest.importorskip("torch")
    swa_utils = pytest.importorskip("torch.optim.swa_utils")
    options, arguments = KINDS[kind]
    parameters = ones()
    optimizer = make(rule, parameters, {**options, "average_start": start, "average_every": every})
    # PyTorch's model has the same parameters after each step: only the averages are compared.
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(shape)) for shape in SHAPES])
    averaged = swa_utils.AveragedModel(model, **arguments(swa_utils))
    for t, step in enumerate(gradients(random, 12)):
        optimizer.step(parameters, step)
        with torch.no_grad():
            for theirs, ours in zip(model, parameters, strict=True):
                theirs.copy_(torch.from_numpy(ours))
        if t < start:
            expected = [array.copy() for array in parameters]
        else:
            if (t - start) % every == 0:
                averaged.update_parameters(model)
            expected = [theirs.detach().numpy() for theirs in averaged.module]
        # Theirs is a lerp or a mean's step, ours two products and a sum: some roundings of each step, of values of
        # about 1.
        for mean, want in zip(optimizer.average(), expected, strict=True):
            np.testing.assert_allclose(mean, want, rtol=0, atol=2e-6)


OFTEN = {"average_start": 2, "average_every": 2}


@by_rule
@by_kind
@pytest.mark.parametrize("more", [{}, OFTEN], ids=["all", "some"])
def test_a_loaded_optimizer_goes_on_with_the_bits_of_the_saved_one(rule, kind, more, tmp_path, random):
    options = KINDS[kind][0] | more
    grads = gradients(random, 9)
    parameters = ones()
    whole = make(rule, parameters, options)
    for step in grads[:5]:
        whole.step(parameters, step)
    at_save = whole.average()
    whole.save(tmp_path / "state.safetensors")
    resumed = [array.copy() for array in parameters]
    loaded = make(rule, resumed, options)
    loaded.load(tmp_path / "state.safetensors")
    for mean, want in zip(loaded.average(), at_save, strict=True):
        np.testing.assert_array_equal(mean, want)
    for step in grads[5:]:
        whole.step(parameters, step)
        loaded.step(resumed, step)
    for mean, want, before in zip(loaded.average(), whole.average(), at_save, strict=True):
        np.testing.assert_array_equal(mean, want)
        assert (mean != before).any()


@by_rule
@by_kind
@pytest.mark.parametrize("more", [{}, OFTEN], ids=["all", "some"])
def test_every_rank_gets_all_of_a_sharded_state(rule, kind, more, random):
    options = KINDS[kind][0] | more
    grads = gradients(random, 5)
    parameters = ones()
    alone = make(rule, parameters, options)
    for step in grads:
        alone.step(parameters, step)

    def body(comm, preconditioners):
        mine = ones()
        optimizer = make(rule, mine, options)
        optimizer.shard(comm, preconditioners=preconditioners)
        for step in grads:
            optimizer.step(mine, step)
        return optimizer.average()

    for preconditioners in ("replicated", "owned") if rule == "shampoo" else ("replicated",):
        for averages in run_ranks(2, lambda comm, dealt=preconditioners: body(comm, dealt)):
            for mean, want in zip(averages, alone.average(), strict=True):
                np.testing.assert_array_equal(mean, want)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"average_equal": True, "average_decay": 0.5}, "average_equal: does not go with average_decay, which is 0.5"),
        ({"average_equal": True, "average_warmup": True}, "average_warmup: needs average_decay, which is 0"),
        ({"average_warmup": True}, "average_warmup: needs average_decay, which is 0"),
        ({"average_start": 1}, "average_start: is 1, and neither average_decay nor average_equal asks for an average"),
        ({"average_every": 2}, "average_every: is 2, and neither average_decay nor average_equal asks for an average"),
        ({"average_decay": 1.0}, "average_decay"),
        ({"average_decay": 0.5, "average_start": -1}, "average_start"),
        ({"average_decay": 0.5, "average_every": -1}, "average_every"),
    ],
)
@pytest.mark.parametrize("rule", ["adam", "shampoo"])
def test_options_that_make_no_average_are_refused(rule, options, text):
    with pytest.raises(gradstep.InvalidArgument, match=text):
        make(rule, ones(), options)
