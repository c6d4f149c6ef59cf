# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays on a CUDA device: an emulated one, on which everything computes the bits of the host."""

import contextlib
import io
import math
import sys
import types

import numpy as np
import pytest
from conftest import run_ranks
from emulated_cuda import FOLDER, CudaArray, control, download, needs_device

import gradstep
from gradstep import DeviceArray

pytestmark = needs_device

SHAPES = [(5, 7), (40,), (3, 2, 4)]
RULES = [
    (gradstep.SGD, {"learning_rate": 0.1, "momentum": 0.9}),
    (gradstep.RMSProp, {"learning_rate": 0.01}),
    (gradstep.AdaGrad, {"learning_rate": 0.1}),
    (gradstep.Adam, {"learning_rate": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}),
]


@pytest.fixture(autouse=True)
def the_emulated_device(monkeypatch):
    monkeypatch.setenv("GRADSTEP_PLUGIN_DIR", FOLDER)
    control().set_seed(1)


@pytest.fixture
def twins(random):
    """Parameters, and three lists of gradients, at the host and on the device."""
    lists = [[random.standard_normal(shape).astype(np.float32) for shape in SHAPES] for _ in range(4)]
    return lists, [[CudaArray(values) for values in arrays] for arrays in lists]


def shown(array):
    """What a DeviceArray shows."""
    assert isinstance(array, DeviceArray)
    array.__dlpack__(max_version=(1, 0))  # waits
    return download(array._description[0], array.shape, array.dtype)


def assert_equal(on_device, at_host):
    for one, other in zip(on_device, at_host, strict=True):
        np.testing.assert_array_equal(one.numpy(), other)


@pytest.mark.parametrize(("rule", "options"), RULES, ids=lambda value: getattr(value, "__name__", ""))
def test_steps_have_the_bits_of_the_host(rule, options, twins):
    (params, *grads), (device_params, *device_grads) = twins
    host, device = rule(params, **options), rule(device_params, **options)
    for k in range(3):
        assert device.step(device_params, device_grads[k]) == host.step(params, grads[k])
    assert_equal(device_params, params)
    clipped = [
        one.step(p, g, max_norm=0.1)
        for one, p, g in [(host, params, grads[0]), (device, device_params, device_grads[0])]
    ]
    assert clipped[0] == clipped[1] and clipped[0].clip_coefficient < 1
    assert_equal(device_params, params)


def test_a_step_that_tells_its_outcome_elsewhere_is_not_waited_for(twins):
    (params, grads, *_), (device_params, device_grads, *_) = twins
    host, device = gradstep.SGD(params, learning_rate=0.1), gradstep.SGD(device_params, learning_rate=0.1)
    outcome = CudaArray(np.zeros(4))
    device.update(device_params, device_grads, max_norm=0.5, out=[CudaArray(p) for p in params])
    waits = control().counts().waits
    result = device.step(device_params, device_grads, max_norm=0.5, outcome=outcome)
    assert control().counts().waits == waits
    assert result.applied and math.isnan(result.grad_norm) and math.isnan(result.clip_coefficient)
    expected = host.step(params, grads, max_norm=0.5)
    np.testing.assert_array_equal(outcome.numpy(), [1, expected.grad_norm, expected.clip_coefficient, 2])
    device.step(device_params, device_grads, max_norm=0.5)
    assert control().counts().waits > waits, "a result is waited for"


def test_updates_go_where_the_caller_says(twins):
    (params, grads, *_), (device_params, device_grads, *_) = twins
    host, device = gradstep.Adam(params, learning_rate=0.1), gradstep.Adam(device_params, learning_rate=0.1)
    with pytest.raises(gradstep.Unsupported, match=r"^out: must be given for arrays of emulated_cuda on a device"):
        device.update(device_params, device_grads)
    out = [CudaArray(np.zeros(shape, np.float32)) for shape in SHAPES]
    assert device.update(device_params, device_grads, out=out) == out
    assert_equal(out, host.update(params, grads))


def test_a_window_is_accumulated_clipped_and_stepped(twins):
    (params, *grads), (device_params, *device_grads) = twins
    results = []
    for p, window in [(params, grads), (device_params, device_grads)]:
        accumulator, optimizer = gradstep.Accumulator(p, steps=3), gradstep.Adam(p, learning_rate=0.1)
        assert [accumulator.add(g) for g in window] == [False, False, True]
        optimizer.step(p, accumulator.gradients(), max_norm=0.1, grad_norm=accumulator.norm)
        results.append(accumulator)
    assert_equal(device_params, params)
    host, device = results
    for one, other in zip(device.gradients(), host.gradients(), strict=True):
        assert one.__dlpack_device__() == (2, 0)
        np.testing.assert_array_equal(shown(one), other)
    assert shown(device.norm) == host.norm
    assert "shape=(5, 7), dtype=float32, device=(2, 0)" in repr(device.gradients()[0])


def test_rows_are_added_on_the_device(random):
    table, rows = np.zeros((6, 4), np.float32), random.standard_normal((3, 4)).astype(np.float32)
    indices = np.array([1, 4, 1])
    sums = []
    for wrap in (np.asarray, CudaArray):
        accumulator = gradstep.Accumulator([wrap(table)], steps=1, mode="sum")
        accumulator.add_sparse(0, wrap(indices), wrap(rows))
        assert accumulator.add(None)
        sums.append(accumulator.gradients()[0])
    np.testing.assert_array_equal(shown(sums[1]), sums[0])


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_updaters_reduce_over_ranks(ranks):
    def train(comm, wrap):
        random = np.random.default_rng(comm.rank)
        p = [wrap(np.ones(shape, np.float32)) for shape in SHAPES]
        updater = gradstep.Updater(
            gradstep.Adam(p, learning_rate=0.1),
            gradstep.Accumulator(p, steps=2),
            gradstep.Reducer(comm, p),
            max_norm=1.0,
        )
        for _ in range(4):
            updater.push(p, [wrap(random.standard_normal(shape).astype(np.float32)) for shape in SHAPES])
        return p

    for on_device, at_host in zip(
        run_ranks(ranks, lambda comm: train(comm, CudaArray)),
        run_ranks(ranks, lambda comm: train(comm, np.asarray)),
        strict=True,
    ):
        assert_equal(on_device, at_host)


def test_state_is_shown_copied_set_and_saved(twins):
    (params, grads, *_), (device_params, device_grads, *_) = twins
    host, device = gradstep.Adam(params, learning_rate=0.1), gradstep.Adam(device_params, learning_rate=0.1)
    host.step(params, grads)
    device.step(device_params, device_grads)
    np.testing.assert_array_equal(shown(device.state(0, "exp_avg")), host.state(0, "exp_avg"))
    np.testing.assert_array_equal(device.get_state(2, "exp_avg_sq"), host.state(2, "exp_avg_sq"))
    files = [io.BytesIO(), io.BytesIO()]
    host.save(files[0])
    device.save(files[1])
    assert files[0].getvalue() == files[1].getvalue()
    device.set_state(1, "exp_avg", np.full(40, 2.0))
    np.testing.assert_array_equal(shown(device.state(1, "exp_avg")), np.full(40, 2.0, np.float32))
    files[0].seek(0)
    device.load(files[0])
    np.testing.assert_array_equal(device.get_state(1, "exp_avg"), host.state(1, "exp_avg"))


def test_views_keep_what_they_show(twins):
    _, (device_params, device_grads, *_) = twins
    optimizer = gradstep.SGD(device_params, learning_rate=0.1, momentum=0.5)
    optimizer.step(device_params, device_grads)
    view = optimizer.state(0, optimizer.state_names[0])
    capsule = view.__dlpack__(max_version=(1, 0), stream=-1)
    expected = optimizer.get_state(0, optimizer.state_names[0])
    del optimizer
    np.testing.assert_array_equal(shown(view), expected)
    with pytest.raises(BufferError, match="max_version"):
        view.__dlpack__()
    del view, capsule


def test_arrays_elsewhere_are_named(twins):
    (params, grads, *_), (device_params, device_grads, *_) = twins
    before = [p.numpy() for p in device_params]
    device = gradstep.SGD(device_params, learning_rate=0.1)
    with pytest.raises(gradstep.InvalidArgument, match=r"^grads\[1\]: .*cpu.*cuda"):
        device.step(device_params, [device_grads[0], grads[1], device_grads[2]])
    with pytest.raises(gradstep.InvalidArgument, match=r"^params\[0\]: .*cuda.*cpu"):
        gradstep.SGD(params, learning_rate=0.1).step(device_params, grads)
    assert_equal(device_params, before)


def test_devices_of_one_process_are_apart(random):
    values, grad = (random.standard_normal(9).astype(np.float32) for _ in range(2))
    results = []
    for number in (0, 1):
        p, g = [CudaArray(values, number)], [CudaArray(grad, number)]
        optimizer = gradstep.Adam(p, learning_rate=0.1)
        optimizer.step(p, g)
        assert optimizer.state(0, "exp_avg").__dlpack_device__() == (2, number)
        results.append(p[0].numpy())
    np.testing.assert_array_equal(results[0], results[1])


def test_exporters_learn_the_stream_of_the_call(twins, monkeypatch):
    """CUDA's default one is DLPack's 1; a package with a current stream has its own say."""
    _, (device_params, device_grads, *_) = twins
    gradstep.SGD(device_params, learning_rate=0.1).step(device_params, device_grads)
    assert {stream for array in device_params + device_grads for stream in array.streams} == {1}

    address = control().make_stream()
    cuda = types.SimpleNamespace(
        Device=lambda number: contextlib.nullcontext(),
        get_current_stream=lambda: types.SimpleNamespace(ptr=address),
    )
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    like_cupy = type("ndarray", (CudaArray,), {"__module__": "cupy._core"})
    p, g = [like_cupy(np.ones(4, np.float32))], [like_cupy(np.ones(4, np.float32))]
    optimizer = gradstep.SGD(p, learning_rate=0.5)
    g[0].streams.clear()
    optimizer.step(p, g)
    assert g[0].streams == [address]
    other = [CudaArray(np.ones(2))]
    gradstep.SGD(other, learning_rate=1.0)
    assert set(other[0].streams) == {1}, "the stream is the call's alone"
    np.testing.assert_array_equal(p[0].numpy(), np.full(4, 0.5, np.float32))


def test_arrays_travel_by_nccl():
    """One rank: copies of these arrays wait for whole devices, whose streams wait for peers. tests/cuda has several."""
    [comm] = gradstep.Communicator.local(1)
    nccl = comm.attach_nccl(1)
    assert nccl.engine == "nccl" and (nccl.rank, nccl.world_size) == (0, 1)
    own = np.arange(6, dtype=np.float32)
    x = CudaArray(own, 1)
    nccl.all_reduce(x)
    np.testing.assert_array_equal(x.numpy(), own)
    assert set(x.streams) == {1}
    out = CudaArray(np.zeros((1, 6), np.float32), 1)
    assert nccl.all_gather(x, out=out) is out
    np.testing.assert_array_equal(out.numpy(), own[None])
    with pytest.raises(gradstep.Unsupported, match=r"^out: must be given"):
        nccl.all_gather(x)
    nccl.all_reduce(own)
    np.testing.assert_array_equal(own, np.arange(6))
    gradstep.Reducer(nccl, [x], mode="half").reduce([x])
    np.testing.assert_array_equal(x.numpy(), own)
    with pytest.raises(gradstep.BackendUnavailable, match="device"):
        comm.attach_nccl(7)
