# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the machinery promises of every rule that there is: threads, ranks and a resumed run change no bit, in every
storage and with every modifier. Rules are found by their descriptions; one that refuses a column is named here.
"""

import functools

import numpy as np
import pytest
from conftest import run_ranks

import gradstep

RULES = list(gradstep.describe_rules())
# Large matrices beside small ones, tensors of more than one chunk (16,384), and some that have no matrix in them.
MATRICES = [(200, 300), (3, 4), (300, 200), (1, 6), (6, 1), (70, 30), (4, 3, 5)]
OTHERS = [(40000,), (5,), ()]
STEPS = 6
COLUMNS = {
    "f32": {},
    "bf16 state": {"state_dtype": "bf16"},
    "int8 state": {"state_dtype": "int8"},
    "f16 with masters": {"master_weights": True},
    "cautious update": {"cautious_update": "mean"},
    "trust ratio": {"trust_ratio": True},
}
# What a rule refuses to be together with, and in which words.
REFUSED = {
    ("muon", "trust ratio"): "options.trust_ratio: muon has a scale of its own, step_scale",
    ("dion", "trust ratio"): r"options.trust_ratio: dion has a scale of its own, sqrt\(rows / columns\)",
    ("adafactor", "trust ratio"): "options.trust_ratio: adafactor has a scale of its own, scales_by_parameter",
    **{
        (rule, column): f"{rule} has an average of its own, which would not follow"
        for rule in ("asgd", "schedule_free")
        for column in ("cautious update", "trust ratio")
    },
}
# Rules that have one by themselves.
WITH_A_TRUST_RATIO = {"lamb"}
TABLE = [(rule, column) for rule in RULES for column in COLUMNS if (rule, column) not in REFUSED]
# How far the parameters of 6 steps may be from those with f32 state, of what the steps have changed. bf16 and the 8-bit
# code round a state by up to 2^-9 and 2^-4 of itself each time; where a rule divides by one, or goes by a sign, that is
# multiplied.
ALLOWED = {"bf16 state": 0.05, "int8 state": 0.4}

# Rules whose states keep the dtype of the arithmetic, and those some of whose do.
ALL_IN_FULL = {"asgd", "adafactor", "dion"}
SOME_IN_FULL = {"schedule_free", "prodigy"}
NUMBERS = 4 * 8  # bytes that a parameter may have besides

every_cell = pytest.mark.parametrize(
    ("rule", "column"), TABLE, ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else None
)


def required(rule):
    """Options that must be given: a small rate, and of others the least legal number."""
    options = gradstep.describe_rules()[rule].options.values()
    missing = [option for option in options if option.default is None]
    rate = {"lars": 20.0}.get(rule, 0.05)  # LARS takes a thousandth of it by itself
    return {option.name: rate if option.name == "learning_rate" else max(option.minimum, 0.0) for option in missing}


def make(rule, column, parameters, **more):
    return gradstep.make_optimizer(rule, parameters, **required(rule), **COLUMNS[column], **more)


@functools.cache
def shapes_of(rule):
    """All shapes, or those that the rule takes."""
    try:
        make(rule, "f32", [np.ones(3, np.float32)])
    except gradstep.InvalidArgument as error:
        assert "has 1 axes" in str(error)
        return MATRICES
    return [*MATRICES, *OTHERS]


def start(rule, column):
    random = np.random.default_rng(1)
    # f16 numbers, so that the columns begin at one point.
    dtype = np.float16 if "master_weights" in COLUMNS[column] else np.float32
    return [np.asarray(random.standard_normal(shape)).astype(np.float16).astype(dtype) for shape in shapes_of(rule)]


@functools.cache
def gradients(rule):
    random = np.random.default_rng(2)
    return [
        [np.asarray(random.standard_normal(shape)).astype(np.float16).astype(np.float32) for shape in shapes_of(rule)]
        for _ in range(STEPS)
    ]


def train(optimizer, parameters, steps):
    for grads in steps:
        optimizer.step(parameters, [g.astype(p.dtype) for g, p in zip(grads, parameters, strict=True)])


def bits(parameters):
    return [p.tobytes() for p in parameters]


@functools.lru_cache(maxsize=16)
def on_one_thread(rule, column):
    """The parameters of a whole run, and the optimizer."""
    parameters = start(rule, column)
    optimizer = make(rule, column, parameters, context=gradstep.Context(1))
    train(optimizer, parameters, gradients(rule))
    return parameters, optimizer


@every_cell
def test_threads_change_no_bit(rule, column):
    parameters = start(rule, column)
    train(make(rule, column, parameters, context=gradstep.Context(2)), parameters, gradients(rule))
    expected, _ = on_one_thread(rule, column)
    assert all(np.isfinite(p).all() for p in parameters)
    assert any((p != q).any() for p, q in zip(parameters, start(rule, column), strict=True)), "steps change something"
    assert bits(parameters) == bits(expected)


@every_cell
@pytest.mark.parametrize("world_size", [2, 3])
def test_ranks_that_share_the_state_change_no_bit(rule, column, world_size):
    def sharded(comm):
        parameters = start(rule, column)
        optimizer = make(rule, column, parameters)
        optimizer.shard(comm, gradients="reduced")
        train(optimizer, parameters, gradients(rule))
        return bits(parameters)

    expected, _ = on_one_thread(rule, column)
    assert all(result == bits(expected) for result in run_ranks(world_size, sharded))


@every_cell
def test_a_run_that_two_ranks_save_goes_on_on_three_with_the_same_bits(rule, column, tmp_path):
    path = tmp_path / "state"
    half = STEPS // 2

    def saving(comm):
        parameters = start(rule, column)
        optimizer = make(rule, column, parameters)
        optimizer.shard(comm, gradients="reduced")
        train(optimizer, parameters, gradients(rule)[:half])
        optimizer.save(path if comm.rank == 0 else None)
        return parameters

    middle = run_ranks(2, saving)[0]

    def resuming(comm):
        parameters = [p.copy() for p in middle]
        optimizer = make(rule, column, parameters)
        optimizer.shard(comm, gradients="reduced")
        optimizer.load(path)
        train(optimizer, parameters, gradients(rule)[half:])
        return bits(parameters)

    expected, _ = on_one_thread(rule, column)
    assert all(result == bits(expected) for result in run_ranks(3, resuming))


@pytest.mark.parametrize("column", ALLOWED)
@pytest.mark.parametrize("rule", RULES)
def test_small_states_stay_near_those_in_f32_and_take_fewer_bytes(rule, column):
    parameters, optimizer = on_one_thread(rule, column)
    expected, in_f32 = on_one_thread(rule, "f32")
    for p, q, first in zip(parameters, expected, start(rule, "f32"), strict=True):
        allowed = ALLOWED[column] * (2 if rule == "sophia" else 1)  # without a curvature it goes by signs
        assert np.linalg.norm(p - q) <= allowed * np.linalg.norm(q - first)
    held, whole = optimizer.memory().state_bytes, in_f32.memory().state_bytes
    if rule in ALL_IN_FULL:
        assert held == whole
    elif rule in SOME_IN_FULL:
        assert held < whole
    else:
        share = {"bf16 state": 1 / 2, "int8 state": 1 / 3}[column]
        assert held <= share * whole + NUMBERS * len(parameters)


@pytest.mark.parametrize("rule", RULES)
def test_masters_of_f16_parameters_are_those_of_a_run_in_f32(rule):
    parameters, optimizer = on_one_thread(rule, "f16 with masters")
    expected, _ = on_one_thread(rule, "f32")
    for i, (p, q) in enumerate(zip(parameters, expected, strict=True)):
        assert optimizer.state(i, "master_weights").tobytes() == q.tobytes()
        assert p.tobytes() == q.astype(np.float16).tobytes()


@pytest.mark.parametrize("rule", RULES)
def test_a_trust_ratio_makes_another_step(rule):
    if (rule, "trust ratio") in REFUSED:
        with pytest.raises(gradstep.Unsupported, match=REFUSED[rule, "trust ratio"]):
            make(rule, "trust ratio", start(rule, "f32"))
        return
    scaled, _ = on_one_thread(rule, "trust ratio")
    plain, _ = on_one_thread(rule, "f32")
    assert (bits(scaled) == bits(plain)) == (rule in WITH_A_TRUST_RATIO)


@pytest.mark.parametrize("rule", [rule for rule in RULES if (rule, "cautious update") not in REFUSED])
def test_a_cautious_update_makes_another_step_where_a_change_does_not_go_down_the_gradient(rule):
    parameters = start(rule, "f32")
    stepping, telling = (make(rule, "f32", parameters) for _ in range(2))
    opposes = False
    for grads in gradients(rule):
        changes = telling.update(parameters, grads)
        opposes |= any((change * g >= 0).any() for change, g in zip(changes, grads, strict=True))
        stepping.step(parameters, grads)
    cautious, _ = on_one_thread(rule, "cautious update")
    assert (bits(cautious) != bits(parameters)) == opposes


@pytest.mark.parametrize("rule", [rule for rule in RULES if (rule, "cautious update") not in REFUSED])
def test_the_first_cautious_step_leaves_out_what_opposes_the_gradient(rule):
    """What a cautious step keeps is the plain change times one factor, and goes down the gradient."""
    grads = gradients(rule)[0]
    plain, cautious = start(rule, "f32"), start(rule, "f32")
    first = start(rule, "f32")
    make(rule, "f32", plain).step(plain, grads)
    make(rule, "cautious update", cautious).step(cautious, grads)
    for p, q, begin, g in zip(plain, cautious, first, grads, strict=True):
        change, kept = (p.astype(np.float64) - begin).reshape(-1), (q.astype(np.float64) - begin).reshape(-1)
        stays = change * g.reshape(-1) < 0
        assert (kept[~stays] == 0).all()
        factor = 1 / max(stays.mean(), 1e-3)
        # p is near 1, and its change is rounded with it.
        assert np.allclose(kept[stays], factor * change[stays], rtol=1e-4, atol=4e-7 * (1 + np.abs(begin).max()))
