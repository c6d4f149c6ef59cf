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


def test_a_loaded_optimizer_goes_on_with_the_bits_of_the_saved_one(tmp_path, random):
    grads = gradients(random, 8)
    parameters = ones()
    whole = adam(parameters)
    train(whole, parameters, grads[:4])
    at_save = whole.average()
    whole.save(tmp_path / "state.safetensors")
    resumed = [array.copy() for array in parameters]
    loaded = adam(resumed)
    loaded.load(tmp_path / "state.safetensors")
    for mean, want in zip(loaded.average(), at_save, strict=True):
        np.testing.assert_array_equal(mean, want)
    train(whole, parameters, grads[4:])
    train(loaded, resumed, grads[4:])
    for mean, want, before in zip(loaded.average(), whole.average(), at_save, strict=True):
        np.testing.assert_array_equal(mean, want)
        assert (mean != before).any()


def test_every_rank_gets_all_of_a_sharded_state(random):
    grads = gradients(random, 4)
    parameters = ones()
    alone = adam(parameters)
    train(alone, parameters, grads)

    def body(comm):
        mine = ones()
        optimizer = adam(mine)
        optimizer.shard(comm)
        for step in grads:
            optimizer.step(mine, step)
        return optimizer.average()

    for averages in run_ranks(2, body):
        for mean, want in zip(averages, alone.average(), strict=True):
            np.testing.assert_array_equal(mean, want)


def test_averages_are_those_of_torch(random):
    torch = pytest.importorskip("torch")
    swa_utils = pytest.importorskip("torch.optim.swa_utils")
    parameters = ones()
    optimizer = adam(parameters)
    # PyTorch's model has the same parameters after each step: only the averages are compared.
    model = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(shape)) for shape in SHAPES])
    averaged = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(DECAY))
    for step in gradients(random, 10):
        optimizer.step(parameters, step)
        with torch.no_grad():
            for theirs, ours in zip(model, parameters, strict=True):
                theirs.copy_(torch.from_numpy(ours))
        averaged.update_parameters(model)
    # Theirs is a lerp, ours two products and a sum: some roundings of each of ten steps, of values of about 1.
    for mean, theirs in zip(optimizer.average(), averaged.module, strict=True):
        np.testing.assert_allclose(mean, theirs.detach().numpy(), rtol=0, atol=1e-6)
