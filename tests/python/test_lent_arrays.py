# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays that gradstep goes on using after a call: neither they nor their memory go or move before it is done."""

import gc
import weakref

import numpy as np
import pytest

import gradstep


class Maker:
    """Exports a new array at each request, which only the exported capsule keeps."""

    def __init__(self, value):
        self.value = value
        self.made = []

    def __dlpack__(self, **keywords):
        array = np.array([self.value])
        self.made.append(weakref.ref(array))
        return array.__dlpack__(**keywords)


def tracked(value):
    array = np.array([value])
    return array, weakref.ref(array)


def test_the_export_is_kept_and_not_the_array_alone():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    rate = Maker(2.0)
    optimizer.set_tensor("learning_rate", rate)
    gc.collect()
    assert [ref() is not None for ref in rate.made] == [True]
    optimizer.step(parameters, [np.ones(2)])
    assert parameters[0][0] == -2
    optimizer.set_value("learning_rate", 1.0)
    gc.collect()
    assert rate.made[0]() is None


def test_memory_that_is_read_does_not_move():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    rate = bytearray(np.array([2.0]).tobytes())
    optimizer.set_tensor("learning_rate", memoryview(rate).cast("d"))
    with pytest.raises(BufferError):
        rate.extend(bytes(100_000))
    optimizer.step(parameters, [np.ones(2)])
    assert parameters[0][0] == -2
    optimizer.set_value("learning_rate", 1.0)
    rate.extend(bytes(100_000))


def test_an_array_is_kept_until_no_group_reads_it():
    parameters = [np.zeros(2), np.zeros(2)]
    optimizer = gradstep.SGD(parameters, groups=[0, 1], learning_rate=1.0)
    rate, kept = tracked(2.0)
    optimizer.set_tensor("learning_rate", rate)
    del rate
    optimizer.set_value("learning_rate", 1.0, group=0)
    gc.collect()
    assert kept() is not None, "group 1 reads it"
    optimizer.set_tensor("learning_rate", np.array([3.0]), group=1)
    gc.collect()
    assert kept() is None
    optimizer.step(parameters, [np.ones(2), np.ones(2)])
    assert (parameters[0][0], parameters[1][0]) == (-1, -3)


def test_groups_that_are_added_later_keep_the_array_of_group_0():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    rate, kept = tracked(2.0)
    optimizer.set_tensor("learning_rate", rate, group=0)
    del rate
    parameters.append(np.zeros(2))
    optimizer.add_parameters(parameters[1:], names=["late"], groups=[1])
    optimizer.set_value("learning_rate", 1.0, group=0)
    gc.collect()
    assert kept() is not None
    optimizer.step(parameters, [np.ones(2), np.ones(2)])
    assert (parameters[0][0], parameters[1][0]) == (-1, -2)


def test_a_refused_array_leaves_the_old_one_in_its_place():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    rate, kept = tracked(2.0)
    optimizer.set_tensor("learning_rate", rate)
    del rate
    for bad in (np.ones(2), np.ones(1, np.float32), 5.0):
        with pytest.raises(gradstep.InvalidArgument):
            optimizer.set_tensor("learning_rate", bad)
    gc.collect()
    assert kept() is not None
    optimizer.step(parameters, [np.ones(2)])
    assert parameters[0][0] == -2


def test_an_updater_keeps_what_its_optimizer_reads():
    parameters = [np.zeros(2)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    rate, kept = tracked(2.0)
    optimizer.set_tensor("learning_rate", rate)
    updater = gradstep.Updater(optimizer)
    del optimizer, rate
    gc.collect()
    assert kept() is not None
    updater.push(parameters, [np.ones(2)])
    assert parameters[0][0] == -2
    updater.recover(None, parameters)
    gc.collect()
    assert kept() is not None
    del updater
    gc.collect()
    assert kept() is None


def test_a_pushed_gradient_is_copied_and_let_go():
    parameters = [np.zeros(1), np.zeros(1)]
    reducer = gradstep.Reducer(gradstep.Communicator.local(1)[0], parameters)
    grad = Maker(3.0)
    reducer.push(0, grad)
    gc.collect()
    assert grad.made[0]() is None
    reducer.push(1, np.ones(1))
    results = [np.zeros(1), np.zeros(1)]
    reducer.wait(results)
    assert [r[0] for r in results] == [3, 1]


def test_lists_take_arrays_that_were_lent():
    parameters, grads = [np.zeros(2), np.zeros(3)], [np.ones(2), np.ones(3)]
    optimizer = gradstep.SGD(parameters, learning_rate=1.0)
    lent = [gradstep._native.lend_array(parameter, "params") for parameter in parameters]
    optimizer.step(lent, [gradstep._native.lend_array(grads[0], "grads"), None])
    optimizer.step([lent[0], parameters[1]], grads)
    assert [list(parameter) for parameter in parameters] == [[-2, -2], [-1, -1, -1]]
    parameters[1].flags.writeable = False
    lent[1] = gradstep._native.lend_array(parameters[1], "params")
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[1\]: .* is read-only"):
        optimizer.step(lent, grads)
