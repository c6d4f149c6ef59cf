# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""repr() says what an object is, at any time, without taking part in anything."""

import os
import threading

import numpy as np
import pytest
from conftest import run_ranks

import gradstep
from gradstep import schedule

PARAMETERS = [np.zeros((3, 2)), np.zeros(5)]
GRADIENTS = [np.ones((3, 2)), np.ones(5)]


@pytest.mark.parametrize(
    ("rule", "options", "shown"),
    [
        (gradstep.SGD, {"learning_rate": 0.1, "momentum": 0.9}, "learning_rate=0.1, momentum=0.9"),
        (gradstep.RMSProp, {"learning_rate": 0.1, "centered": True}, "learning_rate=0.1, centered=True"),
        (gradstep.AdaGrad, {"learning_rate": 0.1}, "learning_rate=0.1"),
        (
            gradstep.Adam,
            {"learning_rate": schedule.constant(0.1), "state_dtype": "native"},
            "learning_rate=schedule.constant(value=0.1), state_dtype='native'",
        ),
    ],
)
def test_optimizers_show_parameters_steps_and_options(rule, options, shown):
    optimizer = rule(PARAMETERS, **options)
    name = f"gradstep.{rule.__name__}"
    assert repr(optimizer) == f"<{name}: 2 parameters of 11 elements, 0 steps; {shown}>"
    optimizer.step([p.copy() for p in PARAMETERS], GRADIENTS)
    assert repr(optimizer) == f"<{name}: 2 parameters of 11 elements, 1 step; {shown}>"


def test_optimizers_show_what_was_set_since():
    optimizer = gradstep.SGD([np.zeros(1), np.zeros(1)], groups=[0, 1], learning_rate=0.1)
    optimizer.set_value("learning_rate", 0.2, group=1)
    assert repr(optimizer).endswith("2 groups, 0 steps; learning_rate=0.1, learning_rate[1]=0.2>")
    optimizer.set_value("learning_rate", 0.3)
    assert repr(optimizer).endswith("0 steps; learning_rate=0.3>")
    with pytest.raises(gradstep.InvalidArgument):
        optimizer.set_value("learning_rate", -1.0)
    assert repr(optimizer).endswith("0 steps; learning_rate=0.3>")
    optimizer.add_parameters([np.zeros(3)])
    assert "3 parameters of 5 elements" in repr(optimizer)


def test_shampoo_from_adamw_shows_its_recipe():
    text = repr(gradstep.Shampoo.from_adamw([np.zeros((2, 2), np.float32)], learning_rate=0.1))
    assert text.startswith("<gradstep.Shampoo: 1 parameter of 4 elements, 0 steps; learning_rate=0.1, ")
    assert "graft_type='adam'" in text


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ({"steps": 3}, "mode='mean_each', steps=3"),
        ({"min_weight": 3.0, "mode": "weighted"}, "mode='weighted', min_weight=3.0"),
        ({"mode": "sum", "dtype": "float64"}, "mode='sum', steps=None, dtype='float64'"),
    ],
)
def test_accumulators_show_how_full_the_window_is(options, shown):
    accumulator = gradstep.Accumulator(PARAMETERS, **options)
    assert repr(accumulator) == f"<gradstep.Accumulator: 2 parameters, 0 micro-batches in the window; {shown}>"
    accumulator.add(GRADIENTS)
    assert "1 micro-batch in the window" in repr(accumulator)


def test_accumulators_show_skipped_micro_batches():
    accumulator = gradstep.Accumulator(PARAMETERS, steps=3, nonfinite="skip")
    accumulator.add([np.full((3, 2), np.nan), np.ones(5)])
    assert "0 micro-batches in the window, 1 skipped; mode='mean_each', steps=3, nonfinite='skip'" in repr(accumulator)


def test_communicators_show_rank_engine_and_whether_they_work():
    assert repr(gradstep.Communicator.self()) == "<gradstep.Communicator: rank 0 of 1, engine 'self'>"
    first, second = gradstep.Communicator.local(2, timeout=0.1)
    assert repr(second) == "<gradstep.Communicator: rank 1 of 2, engine 'local'>"
    with pytest.raises(gradstep.Timeout):
        first.barrier()
    assert repr(first).startswith("<gradstep.Communicator: rank 0 of 2, engine 'local', broken by Timeout(")
    first.close()
    assert repr(first) == "<gradstep.Communicator: rank 0 of 2, engine 'local', closed>"


def test_reducers_and_updaters_show_what_they_are_made_of():
    def show(comm):
        parameters = [p.copy() for p in PARAMETERS]
        optimizer, accumulator = gradstep.SGD(parameters, learning_rate=0.1), gradstep.Accumulator(parameters, steps=2)
        reducer = gradstep.Reducer(comm, parameters, mode="half", clip_value=1.0)
        updater = gradstep.Updater(optimizer, accumulator, reducer, max_norm=1.0)
        for _ in range(2):
            updater.push(parameters, GRADIENTS)
        return repr(reducer), repr(updater)

    for rank, (reducer, updater) in enumerate(run_ranks(2, show)):
        place = f"rank {rank} of 2, engine 'local'"
        assert reducer.startswith("<gradstep.Reducer: 2 parameters, in ") and place in reducer
        assert reducer.endswith("; mode='half', clip_value=1.0>")
        drives = "Accumulator, Reducer, SGD"
        assert updater == f"<gradstep.Updater: {drives}, 2 pushes, 1 step; sync='gradients', max_norm=1.0>"


def test_contexts_show_their_options():
    assert repr(gradstep.Context(2)) == "<gradstep.Context: num_threads=2, background_threads=1, log_level='off'>"

    def log(level, text):
        pass

    assert repr(gradstep.Context(log=log)).endswith(f"log={log!r}, log_level='warning'>")


SCHEDULES = [
    schedule.constant(0.0),
    schedule.constant(0.5, warmup_steps=3),
    schedule.exponential_decay(0.5, 10, 0.9, True),
    schedule.inverse_time(0.5, 10, 0.9, warmup_steps=2),
    schedule.polynomial(0.5, 0.0, 10, 2.0),
    schedule.cosine(0.5, 10),
    schedule.piecewise([3, 6], [1.0, 0.5, 0.0]),
]


@pytest.mark.parametrize("made", SCHEDULES, ids=repr)
def test_schedules_show_the_call_that_makes_them(made):
    again = eval(repr(made), {"schedule": schedule})
    assert repr(again) == repr(made)
    assert [again.value(step) for step in range(20)] == [made.value(step) for step in range(20)]


def test_results_show_their_fields():
    optimizer = gradstep.SGD([np.zeros(2)], learning_rate=0.1)
    assert repr(optimizer.step([np.zeros(2)], [np.ones(2)], max_norm=1.0)).startswith(
        "StepResult(applied=True, grad_norm"
    )
    assert repr(optimizer.memory()).startswith("Memory(state_bytes=0, ")
    assert repr(optimizer.metrics()[0]).startswith("Metric(name='step_count', ")
    assert repr(gradstep.Communicator.self().statistics()).startswith("CommunicatorStatistics(all_reduces=0, ")
    reducer = gradstep.Reducer(gradstep.Communicator.self(), [np.zeros(2)])
    assert repr(reducer.bucket_statistics()[0]).startswith("BucketStatistics(mode=0, elements=2, ")
    assert repr(gradstep.Updater(optimizer).statistics()).startswith("UpdaterStatistics(pushes=0, ")


def test_a_schedule_is_not_called():
    calls = []
    optimizer = gradstep.SGD([np.zeros(1)], learning_rate=lambda step: calls.append(step) or 0.1)
    before = len(calls)
    assert "learning_rate=<function" in repr(optimizer)
    assert len(calls) == before


def test_objects_that_another_thread_is_in_show_what_they_can():
    comm, _absent = gradstep.Communicator.local(2, timeout=20)

    def wait():
        with pytest.raises(gradstep.Aborted):
            comm.barrier()

    waiting = threading.Thread(target=wait)
    waiting.start()
    for _ in range(100):
        assert repr(comm).startswith("<gradstep.Communicator: rank 0 of 2, engine 'local'")
    comm.abort()
    waiting.join()


def test_objects_whose_creation_failed_have_a_repr():
    for cls in (
        gradstep.SGD,
        gradstep.Accumulator,
        gradstep.Reducer,
        gradstep.Updater,
        gradstep.Communicator,
        gradstep.Context,
    ):
        assert repr(cls.__new__(cls)).startswith(f"<gradstep.{cls.__name__}: ")


def test_objects_of_a_parent_process_have_a_repr():
    accumulator = gradstep.Accumulator(PARAMETERS, steps=3)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = 0 if repr(accumulator).startswith("<gradstep.Accumulator: 2 parameters") else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
