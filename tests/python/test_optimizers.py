# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Update rules: against f64 references over their options, and the machinery that all rules share."""

import gc
import itertools
import math
import weakref

import numpy as np
import pytest
import reference
from conftest import relative

import gradstep

SHAPES = [(5, 7), (33,), (), (2, 3, 4)]

SGD_OPTIONS = [
    {"momentum": momentum, "dampening": dampening, "weight_decay": decay, "first_step": first, "maximize": maximize}
    for momentum, dampening, decay, first, maximize in itertools.product(
        (0.0, 0.9), (0.0, 0.3), (0.0, 0.01), ("dampen", "copy"), (False, True)
    )
] + [{"momentum": 0.9, "nesterov": True, "weight_decay": decay} for decay in (0.0, 0.01)]

ADAM_OPTIONS = [
    {"weight_decay": decay, "decoupled_weight_decay": decoupled, "bias_correction": correction, "maximize": maximize}
    for decay, decoupled, correction, maximize in itertools.product(
        (0.0, 0.05), (False, True), ("standard", "tf"), (False, True)
    )
] + [{"beta1": 0.0, "beta2": 0.5, "epsilon": 1e-3}, {"amsgrad": True}, {"amsgrad": True, "bias_correction": "tf"}]

# A mean square minus a squared mean loses digits where the two are close: an epsilon keeps the divisor away from 0.
RMSPROP_OPTIONS = [
    {"epsilon_placement": placement, "centered": centered, "momentum": momentum, "weight_decay": decay, "epsilon": 1e-2}
    for placement, centered, momentum, decay in itertools.product(
        ("inside", "outside"), (False, True), (0.0, 0.9), (0.0, 0.01)
    )
] + [{}, {"maximize": True, "rho": 0.5}]

ADAGRAD_OPTIONS = [
    {"epsilon_placement": placement, "lr_decay": decay, "initial_accumulator": start, "weight_decay": 10 * decay}
    for placement, decay, start in itertools.product(("inside", "outside"), (0.0, 0.01), (0.0, 0.1))
] + [{"maximize": True, "epsilon": 1e-3}]

RULES = [
    (getattr(gradstep, name), getattr(reference, name), options)
    for name, all_options in (
        ("SGD", SGD_OPTIONS),
        ("RMSProp", RMSPROP_OPTIONS),
        ("AdaGrad", ADAGRAD_OPTIONS),
        ("Adam", ADAM_OPTIONS),
    )
    for options in all_options
]


def identify(value):
    return "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else value.__name__


@pytest.mark.parametrize(("rule", "expected_rule", "options"), RULES, ids=identify)
def test_rule_follows_its_formula_in_f32_and_f64(rule, expected_rule, options, random):
    # f64: both sides round differently in the last place, 12 times. f32: 12 steps of a handful of roundings (6e-8).
    start = [random.standard_normal(shape) for shape in SHAPES]
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 2e-6)):
        parameters = [np.array(p, dtype) for p in start]
        expected = [np.array(p, dtype).astype(np.float64) for p in start]
        optimizer = rule(parameters, learning_rate=0.05, **options)
        rule_in_f64 = expected_rule(learning_rate=0.05, **options)
        for step in range(12):
            grads = [random.standard_normal(shape).astype(dtype) for shape in SHAPES]
            if step == 5:
                grads[1] = None
            assert optimizer.step(parameters, grads).applied
            rule_in_f64.step(expected, [None if g is None else g.astype(np.float64) for g in grads])
        for got, want in zip(parameters, expected, strict=True):
            assert relative(got, want) <= tolerance
        assert optimizer.step_count == 12


@pytest.mark.parametrize(("rule", "expected_rule", "options"), [RULES[-1], RULES[5]], ids=identify)
def test_update_is_what_a_step_would_add(rule, expected_rule, options, random):
    parameters = [random.standard_normal(shape) for shape in SHAPES]
    grads = [random.standard_normal(shape) for shape in SHAPES]
    grads[2] = None
    before = [p.copy() for p in parameters]
    stepping = rule(parameters, learning_rate=0.05, **options)
    updating = rule(parameters, learning_rate=0.05, **options)
    updates = updating.update(parameters, grads)
    assert all((p == b).all() for p, b in zip(parameters, before, strict=True)), "update leaves parameters alone"
    assert (updates[2] == 0).all()
    stepping.step(parameters, grads)
    for p, b, u in zip(parameters, before, updates, strict=True):
        assert np.abs(p - (b + u)).max(initial=0) <= 1e-15


def test_update_takes_read_only_parameters_and_an_out_argument(random):
    parameters = [random.standard_normal(4).astype(np.float32)]
    parameters[0].flags.writeable = False
    grads = [np.ones(4, np.float32)]
    optimizer = gradstep.SGD(parameters, learning_rate=0.5)
    assert (optimizer.update(parameters, grads)[0] == np.float32(-0.5)).all()
    # updates may be the gradients themselves
    optimizer.update(parameters, grads, out=grads)
    assert (grads[0] == np.float32(-0.5)).all()


def test_low_precision_parameters_step_in_f32_arithmetic(random):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for dtype, rounding in ((np.float16, 2.0**-11), (ml_dtypes.bfloat16, 2.0**-8)):
        parameters = [random.standard_normal(64).astype(dtype)]
        grads = [random.standard_normal(64).astype(dtype)]
        expected = [parameters[0].astype(np.float64)]
        gradstep.Adam(parameters, learning_rate=0.1).step(parameters, grads)
        reference.Adam(0.1).step(expected, [grads[0].astype(np.float64)])
        error = np.abs(parameters[0].astype(np.float64) - expected[0])
        assert (error <= rounding * np.abs(expected[0]) + 1e-6).all(), "one rounding to the parameter's dtype"


def test_gradients_may_be_narrower_than_parameters(random):
    parameters = [np.ones(8, np.float32)]
    gradstep.SGD(parameters, learning_rate=1.0).step(parameters, [np.full(8, 0.25, np.float16)])
    assert (parameters[0] == 0.75).all()


def test_grad_scale_max_norm_and_clip_value(random):
    grads = [random.standard_normal(shape) for shape in SHAPES]
    norm = math.sqrt(sum(float((g**2).sum()) for g in grads))

    def stepped(**keywords):
        parameters = [np.zeros(shape) for shape in SHAPES]
        result = gradstep.SGD(parameters, learning_rate=1.0).step(parameters, grads, **keywords)
        return parameters, result

    parameters, result = stepped(grad_scale=0.5)
    assert all(np.array_equal(p, -0.5 * g) for p, g in zip(parameters, grads, strict=True))
    parameters, result = stepped(max_norm=norm / 4)
    assert result.grad_norm == pytest.approx(norm, rel=1e-14)
    assert result.clip_coefficient == pytest.approx(0.25, rel=1e-5)
    assert math.sqrt(sum(float((p**2).sum()) for p in parameters)) == pytest.approx(norm / 4, rel=1e-5)
    _, known = stepped(max_norm=norm / 4, grad_norm=np.array([norm]))
    assert known.clip_coefficient == pytest.approx(result.clip_coefficient, rel=1e-14)
    _, wide = stepped(max_norm=norm * 2)
    assert wide.clip_coefficient == 1.0
    parameters, _ = stepped(clip_value=0.1)
    assert all(np.array_equal(p, -np.clip(g, -0.1, 0.1)) for p, g in zip(parameters, grads, strict=True))


@pytest.mark.parametrize("kind", [float, np.float64, np.float32, int, lambda norm: np.array([norm])])
@pytest.mark.parametrize("call", ["step", "update"])
def test_a_norm_that_is_known_may_be_a_number_or_an_array(call, kind):
    grads = [np.full(4, 3.0), np.full(1, 8.0)]  # of norm 10

    def moved(grad_norm):
        parameters = [np.zeros(4), np.zeros(1)]
        optimizer = gradstep.SGD(parameters, learning_rate=1.0)
        result = getattr(optimizer, call)(parameters, grads, max_norm=1.0, grad_norm=grad_norm)
        return [p.tobytes() for p in (parameters if call == "step" else result)]

    assert moved(kind(10.0)) == moved(None)
    assert moved(kind(20.0)) != moved(None), "it is taken at its word"


def test_the_norms_of_accumulator_and_reducer_are_taken_as_they_are(random):
    grads = [random.standard_normal(shape) for shape in SHAPES]
    window = gradstep.Accumulator(grads, steps=1)
    window.add(grads)
    reducer = gradstep.Reducer(gradstep.Communicator.self(), grads)
    reducer.reduce([grad.copy() for grad in grads])
    for norm in (window.norm, reducer.norm):
        parameters = [np.zeros(shape) for shape in SHAPES]
        optimizer = gradstep.SGD(parameters, learning_rate=1.0)
        result = optimizer.step(parameters, window.gradients(), max_norm=norm / 4, grad_norm=norm)
        assert result.grad_norm == norm and result.clip_coefficient == pytest.approx(0.25, rel=1e-5)


def test_a_norm_that_is_no_norm_is_refused():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    for wrong in ("1.0", np.ones(2), np.ones(1, np.float32), [1.0]):
        with pytest.raises(gradstep.InvalidArgument, match="grad_norm"):
            optimizer.step(parameters, [np.ones(2)], max_norm=1.0, grad_norm=wrong)
    assert (parameters[0] == 0).all() and optimizer.step_count == 0


def test_skipped_step_changes_nothing_but_the_counter():
    parameters = [np.ones(3, np.float32)]
    optimizer = gradstep.Adam(parameters, learning_rate=0.1)
    bad = [np.array([1, np.nan, 1], np.float32)]
    result = optimizer.step(parameters, bad, skip_nonfinite=True)
    assert not result.applied
    assert (parameters[0] == 1).all() and optimizer.step_count == 0 and (optimizer.state(0, "exp_avg") == 0).all()
    found_inf = np.zeros(1, np.float32)
    assert not optimizer.step(parameters, bad, found_inf=found_inf).applied
    assert found_inf[0] == 1
    assert not optimizer.step(parameters, [np.ones(3, np.float32)], found_inf=found_inf).applied, "it stays set"
    metrics = {metric.name: metric.value for metric in optimizer.metrics()}
    assert metrics == {"step_count": 0.0, "skipped_steps": 3.0}


def test_schedules_stand_for_numeric_options(random):
    parameters, expected = [np.ones(4)], [np.ones(4)]
    rates = gradstep.schedule.exponential_decay(0.1, decay_steps=2, decay_rate=0.5)
    optimizer = gradstep.SGD(parameters, learning_rate=rates, momentum=lambda step: 0.5 + 0.1 * step)
    rule = reference.SGD(0.0, momentum=0.5)
    for step in range(5):
        rule.learning_rate, rule.momentum = 0.1 * 0.5 ** (step / 2), 0.5 + 0.1 * step
        assert optimizer.get_value("learning_rate") == pytest.approx(rule.learning_rate, rel=1e-15)
        grad = random.standard_normal(4)
        optimizer.step(parameters, [grad])
        rule.step(expected, [grad])
    assert relative(parameters[0], expected[0]) <= 1e-14


def test_groups_have_their_own_hyper_parameters():
    parameters = [np.zeros(2), np.zeros(2)]
    optimizer = gradstep.SGD(parameters, groups=[0, 1], learning_rate=1.0)
    assert optimizer.group_count == 2
    optimizer.set_value("learning_rate", 10.0, group=1)
    optimizer.set_value("weight_decay", gradstep.schedule.constant(0.0))
    optimizer.step(parameters, [np.ones(2), np.ones(2)])
    assert parameters[0][0] == -1 and parameters[1][0] == -10
    assert (optimizer.get_value("learning_rate", 0), optimizer.get_value("learning_rate", 1)) == (1.0, 10.0)


def test_a_hyper_parameter_in_an_array_is_read_at_every_step():
    parameters = [np.zeros(2), np.zeros(2)]
    optimizer = gradstep.SGD(parameters, groups=[0, 1], learning_rate=1.0)
    rate = np.array([2.0])
    optimizer.set_tensor("learning_rate", rate)
    optimizer.step(parameters, [np.ones(2), np.ones(2)])
    rate[0] = 4
    optimizer.set_value("learning_rate", 1.0, group=1)
    optimizer.step(parameters, [np.ones(2), np.ones(2)])
    assert (parameters[0][0], parameters[1][0]) == (-6, -3)
    rate[0] = np.nan
    with pytest.raises(gradstep.NumericError, match="learning_rate of group 0 at step 2"):
        optimizer.step(parameters, [np.ones(2), np.ones(2)])
    assert parameters[0][0] == -6 and optimizer.step_count == 2
    with pytest.raises(gradstep.InvalidArgument, match=r"array: is f32 \(1\), expected f64"):
        optimizer.set_tensor("learning_rate", np.ones(1, np.float32))


def test_an_array_is_kept_as_long_as_it_is_read():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    rate = np.array([2.0])
    kept = weakref.ref(rate)
    optimizer.set_tensor("learning_rate", rate)
    del rate
    gc.collect()
    assert kept() is not None
    optimizer.step(parameters, [np.ones(2)])
    assert parameters[0][0] == -2
    optimizer.set_value("learning_rate", 1.0)
    gc.collect()
    assert kept() is None


def test_state_is_seen_set_and_copied(random):
    parameters = [random.standard_normal((3, 2)).astype(np.float32)]
    first = gradstep.Adam(parameters, learning_rate=0.1)
    first.step(parameters, [np.ones((3, 2), np.float32)])
    assert first.state_names == ["exp_avg", "exp_avg_sq"]
    view = first.state(0, "exp_avg")
    assert view.shape == (3, 2) and view.dtype == np.float32
    np.testing.assert_allclose(view, 0.1, rtol=1e-6)
    assert first.get_state(0, "exp_avg", "float64").dtype == np.float64
    first.set_state(0, "exp_avg", np.full((3, 2), 7.0, np.float32))
    for bad, text in (
        (np.ones(6), r"value: is f64 \(6\), state 'exp_avg' .* has shape \(3,2\)"),
        (7.0, "value: expected"),
    ):
        with pytest.raises(gradstep.InvalidArgument, match=text):
            first.set_state(0, "exp_avg", bad)
    assert (view == 7).all(), "the view shows the state itself"
    second = gradstep.Adam(parameters, learning_rate=0.1)
    second.copy_state(first)
    assert second.step_count == 1 and (second.state(0, "exp_avg") == 7).all()
    second.step_count = 5
    assert second.step_count == 5
    assert first.memory().state_bytes == 2 * 6 * 4
    with pytest.raises(gradstep.Mismatch):
        gradstep.SGD(parameters, learning_rate=0.1, momentum=0.9).copy_state(first)
    with pytest.raises(gradstep.InvalidState):
        gradstep.SGD(parameters, learning_rate=0.1).state(0, "momentum_buffer")


def test_master_weights_keep_what_rounding_would_lose():
    steps, rate = 64, 2.0**-12
    halves = [np.ones(3, np.float16)], [np.ones(3, np.float16)]
    plain = gradstep.SGD(halves[0], learning_rate=rate)
    master = gradstep.SGD(halves[1], learning_rate=rate, master_weights=True)
    for _ in range(steps):
        plain.step(halves[0], [np.ones(3, np.float16)])
        master.step(halves[1], [np.ones(3, np.float16)])
    assert (halves[0][0] == 1).all(), "each step alone is below half a unit in the last place"
    assert (halves[1][0] == 1 - steps * rate).all()
    assert master.state(0, "master_weights").dtype == np.float32
    halves[1][0][:] = 5  # the host's word counts
    master.step(halves[1], [np.zeros(3, np.float16)])
    assert (halves[1][0] == 5).all() and (master.state(0, "master_weights") == 5).all()
    with pytest.raises(gradstep.Unsupported):
        master.update(halves[1], [np.ones(3, np.float16)])


def test_stochastic_rounding_is_exact_on_average_and_repeats_with_its_seed():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    n, steps, rate = 4096, 16, 2.0**-12

    def trained(seed):
        parameters = [np.ones(n, bfloat16)]
        optimizer = gradstep.SGD(parameters, learning_rate=rate, stochastic_rounding=True, seed=seed)
        for _ in range(steps):
            optimizer.step(parameters, [np.ones(n, bfloat16)])
        return parameters[0].astype(np.float64)

    # Below 1 the unit u is 2**-8: a step of 2**-12 rounds down with probability 1/16, and the standard deviation of one
    # element after 16 steps is about u; the mean of 4096 elements is exact to five of its own.
    assert abs(trained(1).mean() - (1 - steps * rate)) <= 5 * 2.0**-8 / math.sqrt(n)
    assert (trained(1) == trained(1)).all() and (trained(1) != trained(2)).any()


def test_state_in_fewer_bits(random):
    parameters = [random.standard_normal(1000).astype(np.float32)]
    grads = [random.standard_normal(1000).astype(np.float32)]
    sizes = {}
    for state_dtype in ("native", "bf16", "int8"):
        optimizer = gradstep.Adam(parameters, learning_rate=0.0, state_dtype=state_dtype)
        optimizer.step(parameters, grads)
        sizes[state_dtype] = optimizer.memory().state_bytes
        # bf16 keeps 8 bits; the code errs by a 32nd of what is near the block's largest number, less elsewhere
        tolerance = {"native": 1e-7, "bf16": 2.0**-8, "int8": 2.0**-5}[state_dtype]
        copied = optimizer.get_state(0, "exp_avg")
        assert copied.dtype == np.float32 and relative(copied, 0.1 * grads[0]) <= tolerance
        seen = optimizer.state(0, "exp_avg")
        assert seen.flags.writeable == (state_dtype != "int8"), "a view where there is one, else a copy"
        assert seen.dtype.name == ("bfloat16" if state_dtype == "bf16" else "float32")
        optimizer.set_state(0, "exp_avg", copied)
        assert relative(optimizer.get_state(0, "exp_avg"), copied) <= tolerance
    assert sizes["native"] == 8000 and sizes["bf16"] == 4000 and 2000 <= sizes["int8"] <= 2064
    with pytest.raises(gradstep.InvalidArgument, match="is 'half', expected one of native, bf16, int8"):
        gradstep.Adam(parameters, learning_rate=0.1, state_dtype="half")
    with pytest.raises((gradstep.InvalidArgument, gradstep.Unsupported)):
        gradstep.Adam([np.zeros(2)], learning_rate=0.1, state_dtype="bf16")


def test_get_state_takes_the_dtype_of_the_arithmetic():
    optimizer = gradstep.AdaGrad(
        [np.zeros(2), np.zeros((2, 1), np.float16)], learning_rate=0.1, initial_accumulator=0.5
    )
    assert optimizer.get_state(0, "sum").dtype == np.float64
    assert optimizer.get_state(1, "sum").dtype == np.float32 and optimizer.get_state(1, "sum").shape == (2, 1)
    assert optimizer.get_state(1, "sum", "float16").tolist() == [[0.5], [0.5]]
    optimizer.add_parameters([np.zeros(5)])
    assert optimizer.get_state(2, "sum").tolist() == [0.5] * 5
    with pytest.raises(gradstep.InvalidArgument, match="index"):
        optimizer.get_state(3, "sum")


def test_parameters_can_be_added_later():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    parameters.append(np.zeros(3))
    optimizer.add_parameters([parameters[1]], names=["late"])
    optimizer.step(parameters, [np.ones(2), np.ones(3)])
    assert parameters[1][0] == -1


def test_generators_of_parameters_are_accepted():
    parameters = [np.zeros(2), np.zeros(3)]
    optimizer = gradstep.SGD((p for p in parameters), learning_rate=1.0)
    optimizer.step(tuple(parameters), (np.ones(p.shape) for p in parameters))
    assert parameters[1][0] == -1


def test_results_do_not_depend_on_the_number_of_threads(random):
    shapes = [(300, 200), (70000,), (3,)]
    grads = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    results = []
    for num_threads in (1, 2, 7):
        parameters = [np.ones(shape, np.float32) for shape in shapes]
        optimizer = gradstep.Adam(parameters, learning_rate=0.1, context=gradstep.Context(num_threads))
        optimizer.step(parameters, grads, max_norm=1.0)
        results.append([p.tobytes() for p in parameters])
    assert results[0] == results[1] == results[2]


BAD_OPTIONS = [
    (gradstep.SGD, {}, "learning_rate is not there"),
    (gradstep.SGD, {"learning_rate": math.inf}, "learning_rate"),
    (gradstep.SGD, {"learning_rate": 0.1, "momentum": -1.0}, "momentum"),
    (gradstep.SGD, {"learning_rate": 0.1, "nesterov": True}, "nesterov"),
    (gradstep.RMSProp, {"learning_rate": 0.1, "rho": 1.0}, "rho"),
    (gradstep.RMSProp, {"learning_rate": 0.1, "epsilon_placement": "beside"}, "expected one of inside, outside"),
    (gradstep.AdaGrad, {"learning_rate": 0.1, "lr_decay": -1.0}, "lr_decay"),
    (gradstep.AdaGrad, {"learning_rate": 0.1, "initial_accumulator": -1.0}, "initial_accumulator"),
    (gradstep.Adam, {"learning_rate": 0.1, "beta1": 1.0}, "beta1"),
    (gradstep.Adam, {"learning_rate": 0.1, "bias_correction": "both"}, "expected one of standard, tf"),
]


@pytest.mark.parametrize(("rule", "options", "text"), BAD_OPTIONS)
def test_bad_options_are_refused_by_name(rule, options, text):
    with pytest.raises(gradstep.InvalidArgument, match=text):
        rule([np.zeros(2)], **options)


def test_unknown_keyword_lists_the_known_ones():
    with pytest.raises(TypeError, match=r"Adam: unknown option 'lr'; known: .*learning_rate, beta1"):
        gradstep.Adam([np.zeros(2)], lr=0.1)
    with pytest.raises(TypeError, match="learning_rate: cannot be 'fast'"):
        gradstep.Adam([np.zeros(2)], learning_rate="fast")
    optimizer = gradstep.Adam([np.zeros(2)], learning_rate=0.1)
    with pytest.raises(gradstep.InvalidArgument, match="expected one of learning_rate"):
        optimizer.set_value("rate", 1.0)
    with pytest.raises(gradstep.InvalidArgument, match="exp_avg"):
        optimizer.state(0, "momentum_buffer")
