# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Dicts, lists and tuples of arrays in the place of lists: they are found by name, in any order."""

from types import MappingProxyType
from typing import Any, NamedTuple

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
        (lambda grads: grads.update(layer=None), "grads: 'layer' is no parameter"),
        (
            lambda grads: grads.update({"layers.1": {0: np.ones(2)}}),
            r"grads: has two entries 'layers\.1\.0', expected one for each parameter",
        ),
        (lambda grads: grads.update({"layers.0": None}), r"grads: has two entries 'layers\.0\.weight'"),
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


def test_none_in_the_place_of_a_branch_is_no_gradient_for_its_leaves():
    params, grads = model(), gradients()
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    optimizer.step(params, {**grads, "layers": None})
    assert numbers(params) == [0, 0, 0, -4]
    optimizer.step(params, {"scale": None, "layers": [None, grads["layers"][1]]})
    assert numbers(params) == [0, 0, -3, -4]


def test_a_parameter_is_no_branch_of_another_with_a_longer_name():
    params = {"a": np.zeros(1), "ab": np.zeros(1), "a.b": np.zeros(1)}
    gradstep.SGD(params, learning_rate=1.0).step(params, {"a": None, "ab": np.ones(1), "a.b": np.ones(1)})
    assert [params[name][0] for name in params] == [0, -1, -1]


class Layer(NamedTuple):
    weight: Any
    bias: Any


class Reversed(NamedTuple):
    bias: Any
    weight: Any


@pytest.mark.parametrize(
    ("in_tree", "prefix"),
    [(lambda layer: layer, ""), (lambda layer: [layer], "0."), (lambda layer: {"x": layer}, "x.")],
)
def test_a_named_tuple_goes_by_its_fields(in_tree, prefix):
    layer = Layer(np.zeros(2), np.zeros(2))
    optimizer = gradstep.Adam(in_tree(layer), learning_rate=1.0, groups=in_tree(Reversed(bias=1, weight=0)))
    optimizer.set_value("learning_rate", 0.0, group=1)
    optimizer.step(in_tree(layer), in_tree(Reversed(bias=np.full(2, 2.0), weight=np.full(2, 1.0))))
    assert layer.weight == pytest.approx(-1) and not layer.bias.any()
    assert optimizer.state(f"{prefix}bias", "exp_avg") == pytest.approx(0.2)


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
    with pytest.raises(gradstep.InvalidArgument, match=r"'a\.b'"):
        gradstep.SGD({"a.b": np.zeros(2), "a": {"b": np.zeros(2)}}, learning_rate=1.0)


def test_keys_that_are_written_alike_are_one_name():
    params = {0: np.zeros(2)}
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    with pytest.raises(gradstep.InvalidArgument, match="grads: has two entries '0'"):
        optimizer.step(params, {0: np.ones(2), "0": np.ones(2)})
    assert not params[0].any()


def test_a_handle_without_names_takes_no_dict():
    optimizer = gradstep.SGD([np.zeros(2)], learning_rate=1.0)
    tree = {"a": np.zeros(2)}
    with pytest.raises(gradstep.InvalidArgument, match="params: expected a sequence of arrays, found dict"):
        optimizer.step(tree, tree)
    with pytest.raises(gradstep.InvalidArgument, match="params: expected a sequence of arrays, found dict"):
        optimizer.update(tree, tree)
    with pytest.raises(gradstep.InvalidArgument, match="out: expected a sequence of arrays, found mappingproxy"):
        optimizer.average(out=MappingProxyType(tree))
    with pytest.raises(gradstep.InvalidArgument, match="grads: expected a sequence of arrays, found dict"):
        gradstep.Accumulator([np.zeros(2)], steps=1).add(tree)
    with pytest.raises(gradstep.InvalidArgument, match="i: is 'a', expected a number"):
        optimizer.state("a", "momentum_buffer")


def test_parameters_without_names_have_no_dict_of_groups():
    params = [np.zeros(2), np.zeros(2)]
    text = "expected a sequence, found dict: the parameters are given without names"
    with pytest.raises(gradstep.InvalidArgument, match=f"groups: {text}"):
        gradstep.SGD(params, learning_rate=1.0, groups={0: 1, 1: 0})
    with pytest.raises(gradstep.InvalidArgument, match=f"may_be_unused: {text}"):
        gradstep.Accumulator(params, steps=1, may_be_unused={0: True, 1: False})


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


def test_added_sequences_go_on_with_the_indices():
    a, b, c = np.zeros(1), np.zeros(1), np.zeros(1)
    optimizer = gradstep.SGD([{"w": a}], learning_rate=1.0)
    optimizer.add_parameters([{"w": b}])
    optimizer.add_parameters({"scale": c})
    one = np.ones(1)
    optimizer.step([a, b, c], [one, one, one])
    optimizer.step({"scale": c, "0": {"w": a}, "1": {"w": b}}, {"scale": 3 * one, "0": None, "1": {"w": 2 * one}})
    assert [a[0], b[0], c[0]] == [-1, -3, -4]
    optimizer = gradstep.SGD([{"w": a}], learning_rate=1.0)
    optimizer.add_parameters([{"w": b}])
    optimizer.step([{"w": a}, {"w": b}], [{"w": one}, {"w": one}])
    assert [a[0], b[0]] == [-2, -4]


def test_added_names_are_new():
    params = {"a": np.zeros(1)}
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    with pytest.raises(gradstep.InvalidArgument, match="'a'"):
        optimizer.add_parameters({"a": np.zeros(1)})
    optimizer.step(params, {"a": np.ones(1)})
    assert params["a"][0] == -1


def test_an_updater_knows_parameters_that_are_added():
    params = {"a": np.zeros(1)}
    optimizer = gradstep.SGD(params, learning_rate=1.0)
    with gradstep.Updater(optimizer) as updater:
        params["b"] = np.zeros(1)
        optimizer.add_parameters({"b": params["b"]})
        assert updater.push(params, {"b": np.full(1, 2.0), "a": np.ones(1)})
    assert params["a"][0] == -1 and params["b"][0] == -2


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
