# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""How much state an optimizer will have, asked before there is one; and when arrays are their owner's again."""

import numpy as np
import pytest
from conftest import run_ranks

import gradstep

SHAPES = [(40, 30), (33,), (), (2, 3, 4)]
RISING = gradstep.schedule.polynomial(0.0, 0.9, 10)

RULES = [
    (gradstep.SGD, {}),
    (gradstep.SGD, {"momentum": 0.9}),
    (gradstep.SGD, {"momentum": RISING}),
    (gradstep.SGD, {"momentum": lambda step: 0.1 * step}),
    (gradstep.SGD, {"momentum": gradstep.schedule.constant(0.0)}),
    (gradstep.SGD, {"momentum": gradstep.schedule.exponential_decay(0.0, 10, 0.5)}),
    (gradstep.RMSProp, {"centered": True, "momentum": RISING}),
    (gradstep.AdaGrad, {"state_dtype": "bf16"}),
    (gradstep.Adam, {"amsgrad": True, "state_dtype": "int8"}),
    (gradstep.Shampoo, {"block_size": 16}),
    (gradstep.Shampoo, {"block_size": 16, "quantize_statistics": True}),
    (gradstep.Shampoo, {"block_size": 16, "precondition": 0.0}),
    (gradstep.Shampoo, {"block_size": 16, "unpreconditioned": [0]}),
    (gradstep.Shampoo, {"block_size": 16, "unpreconditioned": [1, 2]}),
    (gradstep.Shampoo, {"block_size": 16, "eigenvalue_corrected": True, "unpreconditioned": [1]}),
]


def identify(value):
    if isinstance(value, type):
        return value.__name__
    return ",".join(f"{name}={getattr(v, '__name__', v)}" for name, v in value.items()) or "defaults"


@pytest.mark.parametrize(("rule", "options"), RULES, ids=identify)
def test_state_bytes_is_what_an_optimizer_then_holds(rule, options):
    parameters = [np.zeros(shape, np.float32) for shape in SHAPES]
    arguments = {"groups": [0, 1, 1, 2], "learning_rate": 0.1, **options}
    expected = rule(parameters, **arguments).memory().state_bytes
    assert rule.state_bytes(parameters, **arguments) == expected
    assert rule.state_bytes(iter(parameters), **arguments) == expected


def test_state_bytes_allocates_nothing():
    huge = np.broadcast_to(np.zeros((), np.float32), (1 << 20, 1 << 20))  # of one element in memory
    assert gradstep.Adam.state_bytes([huge], learning_rate=0.1) == 8 << 40


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({}, gradstep.InvalidArgument, "learning_rate"),
        ({"learning_rate": 0.1, "beta1": 2.0}, gradstep.InvalidArgument, "beta1: is 2, expected"),
        ({"lr": 0.1}, TypeError, "Adam: unknown option 'lr'.*did you mean learning_rate"),
        ({"learning_rate": 0.1, "state_dtype": "int8"}, gradstep.Unsupported, "state_dtype"),
    ],
)
def test_state_bytes_refuses_what_the_class_refuses(options, error, text):
    for call in (gradstep.Adam, gradstep.Adam.state_bytes):
        with pytest.raises(error, match=text):
            call([np.zeros(2)], **options)


def test_arrays_are_the_callers_again_when_a_call_is_done():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    accumulator = gradstep.Accumulator(parameters, steps=2)
    updater = gradstep.Updater(optimizer, accumulator)
    updater.push(parameters, [np.ones(2)])
    assert [handle.poll() for handle in (optimizer, accumulator, updater)] == [True, True, True]


def test_an_updater_says_while_its_reducer_exchanges():
    def body(comm):
        parameters = [np.zeros(4)]
        reducer = gradstep.Reducer(comm, parameters, fuse_threshold=1)
        updater = gradstep.Updater(gradstep.SGD(parameters, learning_rate=1.0), reducer=reducer)
        if comm.rank == 0:
            reducer.push(0, np.ones(4))  # the other rank gives its gradient only after this was asked
            assert not updater.poll()
        comm.barrier()
        if comm.rank == 1:
            reducer.push(0, np.ones(4))
        reducer.wait()
        assert updater.poll()

    run_ranks(2, body)


def test_state_bytes_refuses_groups_of_another_length():
    parameters = [np.ones((4, 4), np.float32)] * 2
    for groups in ([1], [1, 0, 1]):
        with pytest.raises(gradstep.InvalidArgument, match=rf"groups: {len(groups)} entries, expected 2"):
            gradstep.Shampoo.state_bytes(parameters, learning_rate=0.1, groups=groups, unpreconditioned=[1])
