# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Optimizers by the name of their rule."""

import math

import numpy as np
import pytest

import gradstep

OF_LIBRARY = gradstep.describe_rules()  # before tests write others


def test_rules_describe_themselves_and_their_options():
    rules = OF_LIBRARY
    assert {"sgd", "rmsprop", "adagrad", "adam", "lion"} <= set(rules)
    for name, rule in rules.items():
        assert rule.name == name
        assert rule.source
        assert rule.formula
        assert rule.options["learning_rate"].default is None
        for option in rule.options.values():
            assert option.meaning
            assert option.kind != "choice" or option.default in option.choices
    adam = rules["adam"]
    assert adam.states == ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    assert adam.options["beta2"] == (
        "beta2",
        "hyper_parameter",
        "share of the mean square that a step keeps",
        0.999,
        (),
        0.0,
        1.0,
    )
    assert adam.options["bias_correction"].choices == ("standard", "tf")
    assert adam.options["amsgrad"].default is False
    assert adam.options["seed"].default == 0


@pytest.mark.parametrize("rule", ["sgd", "rmsprop", "adagrad", "adam"])
def test_options_by_name_are_those_of_the_c_struct(rule):
    described = gradstep.describe_rules()[rule].options
    struct = getattr(gradstep._native, f"{rule}_options")()
    own = set(gradstep._options.option_names(type(struct)))
    by_name_alone = {"step_counting", "average_decay", "decay_mode", "peak_learning_rate", "trust_ratio"}
    by_name_alone |= {"cautious_update", "cautious_decay", "center_gradients"}
    by_name_alone |= {"adaptive_clip", "adaptive_clip_epsilon", "adaptive_clip_units"}
    by_name_alone |= {"average_warmup", "average_equal", "average_start", "average_every"}
    assert set(described) == own | by_name_alone
    for option in (described[name] for name in own):
        value = getattr(struct, option.name)
        if option.kind == "choice":
            assert option.choices[value] == option.default
        else:
            assert (math.isnan(value) and option.default is None) or value == option.default


def test_names_of_rules_with_a_class_give_that_class():
    parameters = [np.zeros(3, np.float32)]
    assert type(gradstep.make_optimizer("adam", parameters, learning_rate=0.1)) is gradstep.Adam
    assert type(gradstep.make_optimizer("shampoo", parameters, learning_rate=0.1)) is gradstep.Shampoo
    assert gradstep.optimizer_class("lion") is gradstep.Lion


def lion(p, m, g, rate, beta1, beta2, decay):
    u = np.sign(beta1 * m + (1 - beta1) * g)
    return p - rate * (u + decay * p), beta2 * m + (1 - beta2) * g


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_lion_follows_its_formula(decay):
    rng = np.random.default_rng(1)
    p = rng.standard_normal((7, 5))
    expected, m = p.copy(), np.zeros_like(p)
    schedule = gradstep.schedule.cosine(0.1, decay_steps=30)
    optimizer = gradstep.make_optimizer("lion", [p], learning_rate=schedule, beta1=0.8, weight_decay=decay)
    for t in range(20):
        g = rng.standard_normal(p.shape)
        g[0] = 0
        optimizer.step([p], [g])
        expected, m = lion(expected, m, g, schedule.value(t), 0.8, 0.99, decay)
    np.testing.assert_allclose(p, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(optimizer.state(0, "exp_avg"), m, rtol=1e-12)


def test_lion_has_what_all_rules_have(tmp_path):
    parameters = [np.ones((300, 3), np.float32), np.ones(5, np.float32)]
    options = {"learning_rate": 0.1, "state_dtype": "int8", "maximize": True, "seed": 2**64 - 1}
    optimizer = gradstep.make_optimizer("lion", parameters, names=["a", "b"], groups=[0, 1], **options)
    optimizer.set_value("learning_rate", 0.5, group=1)
    optimizer.step(parameters, [np.ones_like(array) for array in parameters])
    assert parameters[0][0, 0] == np.float32(1.1)
    assert parameters[1][0] == 1.5
    lion_class = gradstep.optimizer_class("lion")
    assert optimizer.memory().state_bytes == lion_class.state_bytes(parameters, **options)
    assert "Lion" in repr(optimizer)
    assert "sign(beta1" in lion_class.__doc__
    optimizer.save(tmp_path / "state")
    other = gradstep.make_optimizer("lion", parameters, names=["a", "b"], groups=[0, 1], **options)
    other.load(tmp_path / "state")
    assert other.step_count == 1
    np.testing.assert_array_equal(other.get_state(0, "exp_avg"), optimizer.get_state(0, "exp_avg"))


def test_what_is_wrong_is_named():
    parameters = [np.zeros(3, np.float32)]

    def make(rule="lion", **options):
        return gradstep.make_optimizer(rule, parameters, **options)

    with pytest.raises(gradstep.InvalidArgument, match=r"rule: 'sm3' is not known, expected one of .*adagrad, adam, "):
        make("sm3", learning_rate=0.1)
    with pytest.raises(TypeError, match=r"Lion: unknown option 'lr'; known: .*did you mean learning_rate"):
        make(lr=0.1)
    with pytest.raises(gradstep.InvalidArgument, match="options: learning_rate is not there"):
        make()
    with pytest.raises(gradstep.InvalidArgument, match=r"^beta1: is 1, expected in \[0, 1\)"):
        make(learning_rate=0.1, beta1=1)
    with pytest.raises(TypeError, match="beta1: cannot be 'x', expected a number"):
        make(learning_rate=0.1, beta1="x")
    with pytest.raises(gradstep.InvalidArgument, match="is 'f16', expected one of native, bf16, int8"):
        make(learning_rate=0.1, state_dtype="f16")
    with pytest.raises(TypeError, match="state_dtype: cannot be 1, expected one of"):
        make(learning_rate=0.1, state_dtype=1)
    with pytest.raises(TypeError, match="maximize: cannot be 'yes', expected True or False"):
        make(learning_rate=0.1, maximize="yes")
    with pytest.raises(gradstep.InvalidArgument, match="seed: is 18446744073709551616"):
        make(learning_rate=0.1, seed=2**64)


def test_groups_have_rules_of_their_own(tmp_path):
    a, b = np.ones(3, np.float32), np.ones((2, 2), np.float32)
    rules = [
        ("lion", {"learning_rate": 0.25}),
        ("adam", {"learning_rate": lambda t: 0.1 * (t + 1), "state_dtype": "bf16"}),
    ]
    optimizer = gradstep.make_optimizer(rules, [a, b], groups=[0, 1])
    alone = [a.copy(), b.copy()]
    single = [gradstep.make_optimizer(rule, [array], **own) for (rule, own), array in zip(rules, alone, strict=True)]
    for t in range(4):
        grads = [np.full(array.shape, 0.5 - t, np.float32) for array in (a, b)]
        optimizer.step([a, b], grads)
        for one, array, grad in zip(single, alone, grads, strict=True):
            one.step([array], [grad])
    np.testing.assert_array_equal(a, alone[0])
    np.testing.assert_array_equal(b, alone[1])
    assert optimizer.get_value("beta2", 0) == 0.99
    assert optimizer.get_value("beta2", 1) == 0.999
    optimizer.set_value("learning_rate", 0.5, 0)
    before = [a.copy(), b.copy()]
    optimizer.save(tmp_path / "state")
    other = gradstep.make_optimizer(rules, [a, b], groups=[0, 1])
    other.load(tmp_path / "state")
    other.set_value("learning_rate", 0.5, 0)
    ones = [np.ones_like(a), np.ones_like(b)]
    optimizer.step([a, b], ones)
    other.step(before, ones)
    np.testing.assert_array_equal(before[0], a)
    np.testing.assert_array_equal(before[1], b)
    with pytest.raises(gradstep.InvalidArgument, match=r"rule\[1\]: 'sm3' is not known"):
        gradstep.make_optimizer([rules[0], ("sm3", {})], [a, b])
    with pytest.raises(TypeError, match=r"rule\[0\] \(lion\): unknown option 'lr'"):
        gradstep.make_optimizer([("lion", {"lr": 1})], [a])
    with pytest.raises(gradstep.InvalidArgument, match=r"its group is 2, and there are rules for groups 0 to 1"):
        gradstep.make_optimizer(rules, [a, b], groups=[0, 2])
    with pytest.raises(gradstep.InvalidArgument, match=r"^rule\[0\]: beta1: is 1, expected in"):
        gradstep.make_optimizer([("lion", {"learning_rate": 1, "beta1": 1})], [a])
    with pytest.raises(TypeError, match=r"rule\[1\]: is \('sgd',\), expected a tuple of a name and a dict of options"):
        gradstep.make_optimizer([rules[0], ("sgd",)], [a])
    lone = [np.zeros(1, np.float32), np.zeros(1, np.float32)]
    scheduled = gradstep.make_optimizer([("sgd", {"learning_rate": lambda t: 1.0 + t})], lone, groups=[0, 1])
    for _ in range(2):
        scheduled.step(lone, [np.ones(1, np.float32)] * 2)
    assert [array.item() for array in lone] == [-3, -3]
    with pytest.raises(TypeError, match="stand beside each rule"):
        gradstep.make_optimizer(rules, [a, b], learning_rate=1)


def test_steps_are_counted_for_each_parameter_as_by_torch():
    torch = pytest.importorskip("torch")
    ours = [np.ones(3, np.float32), np.ones(2, np.float32)]
    theirs = [torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(2))]
    optimizer = gradstep.make_optimizer("adam", ours, learning_rate=0.1, step_counting="parameter")
    reference = torch.optim.Adam(theirs, lr=0.1)
    for t in range(6):
        grads = [np.full(3, 0.3 + t, np.float32), np.full(2, 1.0 - t, np.float32) if t >= 3 else None]
        optimizer.step(ours, grads)
        for parameter, grad in zip(theirs, grads, strict=True):
            parameter.grad = None if grad is None else torch.from_numpy(grad)
        reference.step()
    for mine, parameter in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, parameter.detach().numpy(), rtol=1e-6)
    assert [optimizer.get_state(i, "step").item() for i in range(2)] == [6, 3]


def test_muon_steps_matrices_and_adam_the_rest():
    arrays = [np.ones((4, 6), np.float32), np.ones(6, np.float32)]
    # docs:begin muon
    rules = [("muon", {"learning_rate": 0.02}), ("adam", {"learning_rate": 3e-4})]
    groups = [0 if array.ndim > 1 else 1 for array in arrays]
    optimizer = gradstep.make_optimizer(rules, arrays, groups=groups)
    # docs:end muon
    optimizer.step(arrays, [np.eye(4, 6, dtype=np.float32), np.full(6, 2, np.float32)])
    assert arrays[1] == pytest.approx(1 - 3e-4)
    # Singular values of an orthogonalized matrix are nearly 1.
    assert np.linalg.svd((1 - arrays[0]) / 0.02)[1] == pytest.approx(np.ones(4), abs=0.35)


def test_a_vector_names_itself_where_muon_needs_a_matrix():
    with pytest.raises(gradstep.InvalidArgument, match="'bias': has 1 axes, muon needs 2 or more"):
        gradstep.make_optimizer("muon", [np.ones(3, np.float32)], names=["bias"], learning_rate=0.1)


def test_adamw_is_adam_with_decoupled_decay_by_every_name():
    numbers = {"learning_rate": 0.1, "weight_decay": 0.5}

    def stepped(make):
        array = np.ones((2, 3))
        optimizer = make([array])
        for i in range(3):
            optimizer.step([array], [np.full((2, 3), i - 0.5)])
        return array.tobytes(), optimizer.state_names

    ways = (
        lambda arrays: gradstep.Adam(arrays, decoupled_weight_decay=True, **numbers),
        lambda arrays: gradstep.AdamW(arrays, **numbers),
        lambda arrays: gradstep.make_optimizer("adamw", arrays, **numbers),
        lambda arrays: gradstep.make_optimizer([("adamw", numbers)], arrays),
    )
    assert len({str(stepped(make)) for make in ways}) == 1
    coupled = (
        gradstep.AdamW([np.ones(2)], decoupled_weight_decay=False, **numbers),
        gradstep.Adam([np.ones(2)], **numbers),
    )
    arrays = [np.ones(2), np.ones(2)]
    for array, optimizer in zip(arrays, coupled, strict=True):
        optimizer.step([array], [np.array([1.0, -2.0])])
    assert np.array_equal(*arrays)
    assert gradstep.AdamW.state_bytes(arrays, learning_rate=0.1) == 64
    assert gradstep.optimizer_class("adamw") is gradstep.AdamW
    with pytest.raises(gradstep.InvalidArgument, match="adamw"):
        gradstep.define_rule("rule adamw\np = p")
