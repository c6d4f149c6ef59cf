# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Adam and Shampoo through the updater with everything that can be synchronised, in every mode, on two ranks."""

import numpy as np
import pytest
from conftest import run_ranks

import gradstep

RULES = {
    "adam": lambda parameters, **options: gradstep.Adam(parameters, learning_rate=0.03, **options),
    "shampoo": lambda parameters, **options: gradstep.Shampoo(
        parameters,
        learning_rate=0.01,
        block_size=8,
        start_preconditioning_step=2,
        preconditioning_compute_steps=5,
        graft_type="rmsprop",
        **options,
    ),
}
MODES = {
    "dense": {},
    "half": {},
    "bfloat16": {},
    "sparse_threshold": {"sparsity": 1e-4},
    "sparse_topk": {"sparsity": 0.25},
    "adasum_tree": {},
    "adasum_nway": {},
    "powersgd": {"rank": 2},
    "auto": {"sparsity": 0.25},
}
STEPS = 60
INPUTS, OUTPUTS, EXAMPLES = 12, 16, 24
RANKS = 2


class Regression:
    """targets = inputs @ weight + bias, as least squares; each rank has its own examples."""

    def __init__(self):
        random = np.random.default_rng(3)
        self.inputs = random.standard_normal((RANKS, EXAMPLES, INPUTS)).astype(np.float32)
        weight = random.standard_normal((INPUTS, OUTPUTS)).astype(np.float32)
        self.targets = self.inputs @ weight + random.standard_normal(OUTPUTS).astype(np.float32)

    def loss(self, parameters):
        """Over the examples of all ranks."""
        return float(np.mean((self.inputs @ parameters[0] + parameters[1] - self.targets) ** 2))

    def gradients(self, rank, parameters):
        error = self.inputs[rank] @ parameters[0] + parameters[1] - self.targets[rank]
        error *= np.float32(2 / error.size)
        return [self.inputs[rank].T @ error, error.sum(axis=0)]


def start():
    return [np.zeros((INPUTS, OUTPUTS), np.float32), np.zeros(OUTPUTS, np.float32)]


def train(comm, rule, sync, mode, options, steps=STEPS, micro_batches=2, **updater_options):
    """Returns the parameters after every step."""
    problem = Regression()
    parameters = start()
    reducer = gradstep.Reducer(comm, parameters, mode=mode, **options)
    accumulator = gradstep.Accumulator(parameters, steps=micro_batches)
    updater = gradstep.Updater(RULES[rule](parameters), accumulator, reducer, sync, **updater_options)
    history = []
    for _ in range(steps):
        gradients = problem.gradients(comm.rank, parameters)
        applied = [updater.push(parameters, gradients) for _ in range(micro_batches)]
        assert applied == [False] * (micro_batches - 1) + [True]
        history.append([parameter.copy() for parameter in parameters])
    stats = updater.statistics()
    assert (stats.windows, stats.steps, stats.skipped_steps) == (steps, steps, 0)
    return history


def same_bits(a, b):
    return a.tobytes() == b.tobytes()


def assert_learned(histories, start_loss):
    # Seen: 1e-6 to 0.2 of the loss at the start. It may rise first: Shampoo's early statistics are of two gradients,
    # and PowerSGD has not yet found the directions that matter.
    for history in histories:
        losses = [Regression().loss(parameters) for parameters in history]
        assert losses[-1] < 0.5 * start_loss
        assert losses[-1] < losses[STEPS // 4]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sync", ["gradients", "deltas"])
@pytest.mark.parametrize("rule", RULES)
def test_gradients_and_deltas_keep_ranks_equal_in_every_mode(rule, sync, mode):
    histories = run_ranks(RANKS, lambda comm: train(comm, rule, sync, mode, MODES[mode]))
    for first, second in zip(*histories, strict=True):
        assert all(same_bits(a, b) for a, b in zip(first, second, strict=True))
    assert_learned(histories, Regression().loss(start()))


@pytest.mark.parametrize("rule", RULES)
def test_parameters_are_equal_after_every_average(rule):
    histories = run_ranks(RANKS, lambda comm: train(comm, rule, "parameters", "dense", {}, sync_steps=3))
    for step, (first, second) in enumerate(zip(*histories, strict=True), start=1):
        equal = all(same_bits(a, b) for a, b in zip(first, second, strict=True))
        assert equal == (step % 3 == 0), step
    assert_learned(histories, Regression().loss(start()))


@pytest.mark.parametrize("rule", RULES)
def test_partial_averages_make_one_partition_equal_in_turn(rule):
    options = {"fuse_threshold": 1}  # a partition each; the last parameter's comes first
    histories = run_ranks(RANKS, lambda comm: train(comm, rule, "parameters_partial", "dense", options))
    for step, (first, second) in enumerate(zip(*histories, strict=True)):
        equal = [same_bits(a, b) for a, b in zip(first, second, strict=True)]
        assert equal == [step % 2 == 1, step % 2 == 0], step
    assert_learned(histories, Regression().loss(start()))


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "dense"])
@pytest.mark.parametrize("sync", ["parameters", "parameters_partial"])
@pytest.mark.parametrize("rule", RULES)
def test_parameters_are_averaged_densely_or_not_at_all(rule, sync, mode):
    def refuse(comm):
        with pytest.raises(gradstep.Unsupported, match=r"options\.sync: parameters are averaged by a dense reducer"):
            train(comm, rule, sync, mode, MODES[mode])

    run_ranks(RANKS, refuse)


@pytest.mark.parametrize("rule", RULES)
def test_what_else_does_not_go_together_is_refused(rule):
    def refuse(comm):
        for sync in ("parameters", "parameters_partial"):
            with pytest.raises(gradstep.Unsupported, match=r"options\.sync: .* the reducer sums"):
                train(comm, rule, sync, "dense", {"average": "sum"})
        for mode in ("adasum_tree", "adasum_nway"):
            with pytest.raises(gradstep.InvalidArgument, match=r"options\.average: .* Adasum finds by itself"):
                train(comm, rule, "gradients", mode, {"average": "mean"})
        for sync in ("deltas", "parameters", "parameters_partial"):
            parameters = start()
            optimizer = RULES[rule](parameters)
            optimizer.shard(comm)
            with pytest.raises(gradstep.Unsupported, match=r"options\.sync: a sharded optimizer"):
                gradstep.Updater(optimizer, None, gradstep.Reducer(comm, parameters), sync)
        halves = [parameter.astype(np.float16) for parameter in start()]
        optimizer = RULES[rule](halves, master_weights=True)
        with pytest.raises(gradstep.Unsupported, match=r"param\.0.* has master weights, which only a step in place"):
            gradstep.Updater(optimizer, None, gradstep.Reducer(comm, halves), "deltas")

    run_ranks(RANKS, refuse)


# Modes that select or choose by bucket depend on buckets; factors are each parameter's.
@pytest.mark.parametrize("mode", ["dense", "half", "bfloat16", "adasum_tree", "adasum_nway", "powersgd"])
@pytest.mark.parametrize("sync", ["gradients", "deltas"])
def test_bits_do_not_depend_on_buckets_or_runs(sync, mode):
    def end(threshold):
        options = {**MODES[mode], "fuse_threshold": threshold}
        return run_ranks(RANKS, lambda comm: train(comm, "adam", sync, mode, options, steps=5))[0][-1]

    first, *others = (end(threshold) for threshold in (1, 1, 1 << 20))
    for other in others:
        assert all(same_bits(a, b) for a, b in zip(first, other, strict=True))


CODED_MODES = {"int8": {}, "int4": {}, "fp8_e4m3": {}, "fp8_e5m2": {}}


def train_rounds(comm, rule, mode, options, steps=STEPS, **outer):
    problem = Regression()
    parameters = start()
    updater = gradstep.Updater(
        RULES[rule](parameters),
        None,
        gradstep.Reducer(comm, parameters, mode=mode, **options),
        "deltas",
        sync_steps=5,
        outer=gradstep.SGD(parameters, **(outer or {"learning_rate": 0.7, "momentum": 0.6, "nesterov": True})),
    )
    history = []
    for _ in range(steps):
        assert updater.push(parameters, problem.gradients(comm.rank, parameters))
        history.append([parameter.copy() for parameter in parameters])
    return history


@pytest.mark.parametrize("mode", MODES | CODED_MODES)
@pytest.mark.parametrize("rule", RULES)
def test_rounds_end_with_equal_ranks_in_every_mode(rule, mode):
    options = (MODES | CODED_MODES)[mode]
    histories = run_ranks(RANKS, lambda comm: train_rounds(comm, rule, mode, options))
    for step, (first, second) in enumerate(zip(*histories, strict=True), start=1):
        equal = all(same_bits(a, b) for a, b in zip(first, second, strict=True))
        assert equal == (step % 5 == 0), step
    # What these hold back comes twice, by the residual and by local steps that miss it. Shampoo's are too large for it.
    if rule == "adam" or mode not in ("sparse_topk", "powersgd"):
        before = Regression().loss(start())
        assert all(Regression().loss(history[-1]) < 0.5 * before for history in histories)


def test_a_round_with_rate_one_is_an_average():
    def both(comm):
        rounds = train_rounds(comm, "adam", "dense", {}, learning_rate=1.0)
        averages = train(comm, "adam", "parameters", "dense", {}, sync_steps=5, micro_batches=1)
        for one, other in zip(rounds, averages, strict=True):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, atol=1e-5)

    run_ranks(RANKS, both)


@pytest.mark.parametrize("shards", [False, True])
def test_rounds_are_saved_in_their_middle(tmp_path, shards):
    path = tmp_path / "rounds"

    def make(comm, parameters):
        outer = gradstep.SGD(parameters, learning_rate=0.7, momentum=0.9, nesterov=True)
        if shards:
            outer.shard(comm)
        return gradstep.Updater(
            RULES["adam"](parameters),
            None,
            gradstep.Reducer(comm, parameters, mode="int8"),
            "deltas",
            sync_steps=4,
            outer=outer,
        )

    def go_on(updater, comm, parameters):
        problem = Regression()
        for _ in range(7):
            updater.push(parameters, problem.gradients(comm.rank, parameters))
        return parameters

    def first(comm):
        parameters = start()
        updater = make(comm, parameters)
        go_on(updater, comm, parameters)
        updater.save(path)
        middle = [parameter.copy() for parameter in parameters]
        return middle, go_on(updater, comm, parameters)

    saved = run_ranks(RANKS, first)

    def second(comm):
        parameters = [parameter.copy() for parameter in saved[comm.rank][0]]
        updater = make(comm, parameters)
        updater.load(path)
        return go_on(updater, comm, parameters)

    for parameters, (_, undisturbed) in zip(run_ranks(RANKS, second), saved, strict=True):
        assert all(same_bits(a, b) for a, b in zip(parameters, undisturbed, strict=True))


def test_an_outer_optimizer_is_for_deltas_of_the_same_parameters():
    parameters = start()
    adam = RULES["adam"](parameters)
    with pytest.raises(gradstep.InvalidArgument, match=r"options\.outer: steps by deltas, and options\.sync is 0"):
        gradstep.Updater(adam, outer=gradstep.SGD(parameters, learning_rate=1))
    with pytest.raises(gradstep.InvalidArgument, match=r"options\.outer: is the optimizer itself"):
        gradstep.Updater(adam, sync="deltas", outer=adam)
    with pytest.raises(gradstep.Mismatch, match="optimizer and outer optimizer"):
        gradstep.Updater(adam, sync="deltas", outer=gradstep.SGD(parameters[:1], learning_rate=1))


def test_an_outer_optimizer_may_have_masters_and_so_may_the_inner():
    def body(comm):
        halves = [parameter.astype(np.float16) for parameter in start()]
        updater = gradstep.Updater(
            gradstep.Adam(halves, learning_rate=0.03, master_weights=True),
            None,
            gradstep.Reducer(comm, halves),
            "deltas",
            sync_steps=5,
            outer=gradstep.SGD(halves, learning_rate=0.7, momentum=0.6, master_weights=True),
        )
        problem = Regression()
        for _ in range(STEPS):
            gradients = problem.gradients(comm.rank, [half.astype(np.float32) for half in halves])
            updater.push(halves, [gradient.astype(np.float16) for gradient in gradients])
        return halves

    first, second = run_ranks(RANKS, body)
    assert all(same_bits(a, b) for a, b in zip(first, second, strict=True))
    assert Regression().loss([half.astype(np.float32) for half in first]) < 0.5 * Regression().loss(start())
