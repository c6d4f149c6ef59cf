# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Dicts, lists and tuples of arrays in the place of lists: they are found by name, in any order."""

from types import MappingProxyType

import numpy as np
import pytest
from conftest import run_ranks

import gradstep


def model():
    return {"layers": [{"weight": np.zeros((2, 3)), "bias": np.zeros(3)}, (np.zeros(2),)], "scale": np.zeros(())}


NAMES = ["layers.0.weight", "layers.0.bias", "layers.1.0", "scale"]


def gradients(first=1.0):
    """The names in another order."""
    weight, bias = np.full((2, 3), first), np.full(3, first + 1)
    return {
        "scale": np.full((), first + 3),
        "layers": [{"bias": bias, "weight": weight}, (np.full(2, first + 2),)],
    }


def numbers(params):
    """The first number of each parameter, in the order of NAMES."""
    layer, (other,) = params["layers"]
    return [float(array.flat[0]) for array in (layer["weight"], layer["bias"], other, params["scale"])]


def test_a_step_finds_gradients_by_name():
    params = model()
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    optimizer.step(params, gradients())
    assert numbers(params) == [-1, -2, -3, -4]
    optimizer.step(params, MappingProxyType(gradients()), max_norm=1e9)
    assert numbers(params) == [-2, -4, -6, -8]


def test_groups_and_state_of_a_tree():
    grads = {"scale": np.ones(1), "dense": {"bias": np.ones(3), "weight": np.ones((2, 3))}}
    # docs:begin tree
    params = {"dense": {"weight": np.ones((2, 3)), "bias": np.ones(3)}, "scale": np.ones(1)}
    groups = {"dense": {"weight": 0, "bias": 1}, "scale": 1}
    optimizer = gradstep.AdamW(params, learning_rate=0.1, weight_decay=0.01, groups=groups)
    optimizer.set_value("weight_decay", 0.0, group=1)
    optimizer.step(params, grads)  # trees of the same names, in any order
    momentum = optimizer.state("dense.weight", "exp_avg")
    # docs:end tree
    assert momentum == pytest.approx(0.1)
    assert params["dense"]["bias"] == pytest.approx(0.9) and params["dense"]["weight"][0, 0] < params["scale"][0]


def test_a_step_takes_the_order_of_the_parameters_too():
    params = {"b": np.zeros(2), "a": np.zeros(2)}
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    optimizer.step(list(params.values()), [np.full(2, 1.0), np.full(2, 2.0)])
    assert params["b"][0] == -1 and params["a"][0] == -2


def test_state_and_values_are_asked_for_by_name():
    params = model()
    optimizer = gradstep.Adam(
        params, learning_rate=1.0, groups={"scale": 1, "layers": [{"weight": 0, "bias": 0}, (0,)]}
    )
    optimizer.set_value("learning_rate", 0.0, group=1)
    optimizer.step(params, gradients())
    assert numbers(params)[3] == 0, "its group has a learning rate of 0"
    for i, name in enumerate(NAMES):
        assert np.array_equal(optimizer.state(name, "exp_avg"), optimizer.state(i, "exp_avg"))
        assert optimizer.state_names_of(name) == optimizer.state_names_of(i)
    optimizer.set_state("scale", "exp_avg", np.full((), 7.0))
    assert optimizer.get_state(3, "exp_avg") == 7
    with pytest.raises(
        gradstep.InvalidArgument, match=r"i: 'weight' is no parameter, expected one of layers\.0\.weight"
    ):
        optimizer.state("weight", "exp_avg")


def test_an_update_is_written_to_a_tree():
    params, updates = model(), gradients(0.0)
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    found = optimizer.update(params, gradients(), out=updates)
    assert numbers(updates) == [-1, -2, -3, -4] and numbers(params) == [0, 0, 0, 0]
    assert [float(array.flat[0]) for array in found] == [-1, -2, -3, -4]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda grads: grads.pop("scale"), "grads: has no 'scale', expected one entry for each parameter"),
        (
            lambda grads: grads.update(more=np.zeros(2)),
            "grads: 'more' is no parameter, expected one of layers.0.weight, ",
        ),
        (lambda grads: grads["layers"].pop(), "grads: has no 'layers.1.0'"),
        (lambda grads: grads.update(scale=np.zeros(2)), r"grads\[3\]: shape \(2\), parameter 'scale' has \(\)"),
    ],
)
def test_a_tree_of_other_names_is_refused_and_changes_nothing(change, text):
    params, grads = model(), gradients()
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    change(grads)
    with pytest.raises(gradstep.InvalidArgument, match=text):
        optimizer.step(params, grads)
    assert numbers(params) == [0, 0, 0, 0] and optimizer.step_count == 0


def test_none_is_a_parameter_without_a_gradient():
    params, grads = model(), gradients()
    grads["scale"] = None
    gradstep.SGD(params, learning_rate=1.0).step(params, grads)
    assert numbers(params) == [-1, -2, -3, 0]


def test_a_sequence_of_others_is_a_tree_too():
    params = [(np.zeros(2), np.zeros(3)), [np.zeros(1)]]
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    optimizer.step(params, [(np.ones(2), np.ones(3)), [np.ones(1)]])
    optimizer.step([*params[0], *params[1]], [np.ones(2), np.ones(3), np.ones(1)])
    assert params[0][1][0] == -2 and params[1][0][0] == -2
    assert optimizer.state_names_of("0.1") == optimizer.state_names


def test_names_are_given_once():
    with pytest.raises(gradstep.InvalidArgument, match="names: are given by the keys of the parameters"):
        gradstep.SGD({"a": np.zeros(2)}, learning_rate=1.0, names=["b"])


def test_a_handle_without_names_takes_no_dict():
    optimizer = gradstep.SGD([np.zeros(2)], learning_rate=1.0)
    with pytest.raises(gradstep.InvalidArgument, match="params: expected a sequence of arrays, found dict"):
        optimizer.step({"a": np.zeros(2)}, {"a": np.zeros(2)})
    with pytest.raises(gradstep.InvalidArgument, match="i: is 'a', expected a number"):
        optimizer.state("a", "momentum_buffer")


def test_names_that_were_given_find_arrays_too():
    params = [np.zeros(2), np.zeros(2)]
    optimizer = gradstep.SGD(params, learning_rate=1.0, names=["a", "b"])
    optimizer.step({"b": params[1], "a": params[0]}, {"b": np.full(2, 2.0), "a": np.full(2, 1.0)})
    assert params[0][0] == -1 and params[1][0] == -2


def test_parameters_are_added_by_name():
    params = {"a": np.zeros(2)}
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    params["b"] = np.zeros(3)
    optimizer.add_parameters({"b": params["b"]})
    optimizer.step(params, {"b": np.ones(3), "a": np.ones(2)})
    assert params["b"][0] == -1
    unnamed = [np.zeros(1)]
    optimizer = gradstep.SGD(unnamed, learning_rate=1.0)
    optimizer.add_parameters({"b": params["b"]})
    optimizer.step({"b": params["b"], "param.0": unnamed[0]}, {"b": np.ones(3), "param.0": np.ones(1)})
    assert params["b"][0] == -2 and unnamed[0][0] == -1


def test_an_accumulator_and_an_updater_go_by_names():
    params = model()
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    accumulator = gradstep.Accumulator(params, steps=2)
    with gradstep.Updater(optimizer, accumulator) as updater:
        assert not updater.push(params, gradients())
        assert updater.push(params, gradients(3.0))
        assert numbers(params) == [-2, -3, -4, -5]
        updater.push(params, gradients())
        assert updater.flush(params)
    assert not accumulator.add(gradients()) and accumulator.add(gradients())
    assert [float(mean.flat[0]) for mean in accumulator.gradients()] == [1, 2, 3, 4]
    accumulator.add_sparse("layers.0.weight", np.array([1]), np.ones((1, 3)))
    accumulator.add(None)
    accumulator.flush()
    assert np.array_equal(accumulator.gradients()[0], [[0, 0, 0], [1, 1, 1]])


def test_what_an_updater_drives_has_one_order():
    params = {"a": np.zeros(2), "b": np.zeros(2)}
    other = gradstep.Accumulator({"b": np.zeros(2), "a": np.zeros(2)}, steps=2)
    text = "accumulator: parameter 0 is 'b', expected 'a', as in optimizer"
    with pytest.raises(gradstep.InvalidArgument, match=text):
        gradstep.Updater(gradstep.SGD(params, learning_rate=1.0), other)


def test_a_reducer_goes_by_names():
    def body(comm):
        grads = gradients(float(comm.rank))
        reducer = gradstep.Reducer(comm, model())
        reducer.reduce(grads)
        for name, value in (("scale", 1.0), ("layers.0.bias", 2.0), ("layers.1.0", 3.0)):
            reducer.push(name, np.full({"scale": (), "layers.0.bias": 3, "layers.1.0": 2}[name], value))
        reducer.push(0, np.zeros((2, 3)))
        results = gradients()
        reducer.wait(results)
        return numbers(grads), numbers(results)

    for reduced, pushed in run_ranks(2, body):
        assert reduced == [0.5, 1.5, 2.5, 3.5]
        assert pushed == [0, 2, 3, 1]


def test_bytes_are_those_of_the_leaves():
    params = model()
    flat = [np.zeros((2, 3)), np.zeros(3), np.zeros(2), np.zeros(())]
    for rule in (gradstep.Adam, gradstep.Shampoo):
        assert rule.state_bytes(params, learning_rate=1.0) == rule.state_bytes(flat, learning_rate=1.0) > 0
    left_out = {
        "groups": {"layers": [{"weight": 0, "bias": 1}, (1,)], "scale": 1},
        "unpreconditioned": [1],
        "learning_rate": 1.0,
    }
    assert gradstep.Shampoo.state_bytes(params, **left_out) == gradstep.Shampoo.state_bytes(
        flat, groups=[0, 1, 1, 1], unpreconditioned=[1], learning_rate=1.0
    )
