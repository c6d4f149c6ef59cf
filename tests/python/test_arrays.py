# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What arrays may be, that they are not copied, and what is said about those that cannot be used."""

import array
import gc
import sys

import numpy as np
import pytest

import gradstep


def sgd(parameters):
    return gradstep.SGD(parameters, learning_rate=1.0)


def test_step_writes_into_the_callers_memory():
    parameter = np.zeros(4, np.float32)
    address = parameter.ctypes.data
    sgd([parameter]).step([parameter], [np.ones(4, np.float32)])
    assert parameter.ctypes.data == address and (parameter == -1).all()


def test_any_writable_buffer_is_a_target():
    for parameter in (array.array("f", [0, 0]), array.array("d", [0, 0]), memoryview(bytearray(8)).cast("f")):
        grad = np.ones(2, np.float64 if memoryview(parameter).format == "d" else np.float32)
        sgd([parameter]).step([parameter], [grad])
        assert list(parameter) == [-1.0, -1.0]


def test_strided_views_are_used_where_they_lie(random):
    base = np.zeros((6, 8))
    grads = random.standard_normal((3, 4))
    target = base[::2, 1::2]
    sgd([target]).step([target], [grads.T.copy().T])
    assert np.array_equal(target, -grads)
    assert (base[1::2] == 0).all() and (base[:, ::2] == 0).all()
    reverse = base[::-2, ::-2]
    sgd([reverse]).step([reverse], [np.ones((3, 4))])
    assert (base[1::2, 1::2] == -1).all()


def test_read_only_gradients_are_fine_and_read_only_targets_are_not():
    parameters = [np.zeros(2, np.float32), np.zeros(2, np.float32)]
    grads = [np.ones(2, np.float32), np.frombuffer(np.ones(2, np.float32).tobytes(), np.float32)]
    optimizer = sgd(parameters)
    optimizer.step(parameters, grads)
    parameters[1].flags.writeable = False
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[1\]: ndarray is read-only"):
        optimizer.step(parameters, grads)
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[0\]: bytes is read-only"):
        optimizer.step([bytes(8), parameters[1]], grads)
    assert (parameters[0] == -1).all() and optimizer.step_count == 1, "nothing was changed"


def turn(parameter, _grad):
    parameter.shape = (2, 3)


def grow(_parameter, grad):
    grad.resize(7, refcheck=False)


def protect(parameter, _grad):
    parameter.flags.writeable = False


def swap_bytes(_parameter, grad):
    grad.dtype = grad.dtype.newbyteorder()


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (turn, r"params\[0\]: shape \(2,3\)"),
        (grow, r"grads\[0\]: .*\(7,?\)"),
        (protect, r"params\[0\]: ndarray is read-only"),
        (swap_bytes, r"grads\[0\]: elements of format '>f'"),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_next_step_sees_what_has_become_of_an_array(change, text):
    parameter, grad = np.zeros(6, np.float32), np.ones(6, np.float32)
    optimizer = sgd([parameter])
    for _ in range(2):
        optimizer.step([parameter], [grad])
    change(parameter, grad)
    with pytest.raises(gradstep.Error, match=text):
        optimizer.step([parameter], [grad])
    assert (parameter == -2).all() and optimizer.step_count == 2


def test_arrays_of_every_dtype_and_layout_may_follow_each_other():
    base = np.zeros((4, 6))
    parameters = [np.zeros((2, 3), dtype) for dtype in (np.float32, np.float64, np.float16)]
    parameters += [
        base[1:3, ::2],
        base[::3, 1::2],
        np.asfortranarray(np.zeros((2, 3))),
        np.zeros((2, 3)).view(Subclass),
    ]
    grads = [np.broadcast_to(np.ones(3, p.dtype), (2, 3)) for p in parameters]
    optimizer = sgd(parameters)
    for count in (1, 2):
        optimizer.step(parameters, grads)
        assert all((p == -count).all() for p in parameters)
    assert base.sum() == -2 * 12


class Subclass(np.ndarray):
    pass


def test_the_arrays_of_a_list_may_go_as_soon_as_the_step_is_over():
    parameters, grads = [np.zeros(3) for _ in range(50)], [np.ones(3) for _ in range(50)]
    optimizer = sgd(parameters)
    before = [sys.getrefcount(a) for a in parameters + grads]
    for _ in range(3):
        optimizer.step(parameters, grads)
        optimizer.step(tuple(parameters), dict(enumerate(grads)).values())
    assert [sys.getrefcount(a) for a in parameters + grads] == before


def test_bfloat16_of_ml_dtypes():
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    parameter = np.zeros((3, 4), bfloat16)
    column = parameter[:, 1]
    sgd([column]).step([column], [np.ones(3, bfloat16)])
    assert (column == -1).all() and (parameter[:, 0] == 0).all()
    assert sgd([parameter]).update([parameter], [np.ones((3, 4), bfloat16)])[0].dtype == bfloat16
    parameter.flags.writeable = False
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[0\]: ndarray is read-only"):
        sgd([parameter]).step([parameter], [np.ones((3, 4), bfloat16)])


def test_arrays_without_elements_are_legal():
    parameters = [np.zeros((0, 3)), np.zeros(2)]
    sgd(parameters).step(parameters, [np.zeros((0, 3)), np.ones(2)])
    assert (parameters[1] == -1).all()
    assert sgd(parameters).update(parameters, [None, None])[0].shape == (0, 3)
    sgd([]).step([], [])


BAD_ARRAYS = [
    ([np.zeros(3)], [np.zeros(2)], r"grads\[0\]: shape \(2\), parameter 'param.0' has \(3\)"),
    ([np.zeros(3, np.float32)], [np.zeros(3)], r"grads\[0\]: dtype f64"),
    ([np.zeros(3)], [np.zeros(3, np.int32)], r"grads\[0\]: dtype"),
    ([np.zeros(3)], [[0.0, 0.0, 0.0]], r"grads\[0\]: expected an array .* found list"),
    ([np.zeros(3)], [np.zeros(3, ">f8")], r"grads\[0\]: elements of format '>d'"),
    ([np.zeros(3)], [np.zeros(3, "M8[s]")], r"grads\[0\]: dtype datetime64"),
    ([np.zeros(3)], [np.zeros(3, object)], r"grads\[0\]: elements of format 'O'"),
    ([np.zeros(3)], [], r"grads: 0 arrays, params has 1"),
    ([np.zeros(3)], np.zeros(3), r"grads: expected a sequence of arrays, found ndarray"),
    ([np.zeros(3)], None, r"grads: is NULL"),
    ([np.zeros(3)], 5, r"grads: expected a sequence of arrays, found int"),
]


@pytest.mark.parametrize(("parameters", "grads", "text"), BAD_ARRAYS)
def test_unusable_arrays_are_named_with_what_was_expected(parameters, grads, text):
    optimizer = sgd(parameters)
    with pytest.raises(gradstep.InvalidArgument, match=text):
        optimizer.step(parameters, grads)
    assert optimizer.step_count == 0


def test_overlapping_parameter_and_gradient_are_refused():
    memory = np.zeros(6)
    with pytest.raises(gradstep.InvalidArgument, match="overlaps"):
        sgd([memory[:4]]).step([memory[:4]], [memory[2:]])


def test_what_is_written_may_not_overlap_itself():
    def strided(*strides):
        return np.lib.stride_tricks.as_strided(np.ones(8, np.float32), (2, 3), [4 * stride for stride in strides])

    plain = np.ones((2, 3), np.float32)
    for bad in (strided(0, 1), strided(1, 1), strided(0, 0)):
        with pytest.raises(gradstep.InvalidArgument, match=r"params\[0\]: is written, and its elements share memory"):
            sgd([plain]).step([bad], [plain])
        with pytest.raises(gradstep.InvalidArgument, match=r"updates\[0\]: is written"):
            sgd([plain]).update([plain], [plain], out=[bad])
        with pytest.raises(gradstep.InvalidArgument, match=r"results\[0\]: is written"):
            gradstep.Reducer(gradstep.Communicator.local(1)[0], [plain]).reduce([bad])
    # What is only read may, and what interlocks does not overlap.
    sgd([plain]).update([strided(0, 1)], [strided(1, 1)])
    gradstep.Reducer(gradstep.Communicator.local(1)[0], [plain]).reduce([strided(0, 1)], in_place=False)
    sgd([plain]).step([strided(3, 2)], [plain])


def test_bad_schemas_are_refused_by_name():
    arrays = [np.zeros(1), np.zeros(1)]
    for keywords, text in (
        ({"names": ["a"]}, "names: 1 entries, expected 2"),
        ({"names": "ab"}, "names: is the str 'ab', expected one str for each parameter"),
        ({"names": ["a", "a"]}, "'a' is already taken"),
        ({"names": ["a", 3]}, r"names\[1\]: expected a str, found int"),
        ({"groups": [0, -1]}, "group is -1"),
        ({"groups": [0, "x"]}, r"groups\[1\]"),
    ):
        with pytest.raises(gradstep.InvalidArgument, match=text):
            gradstep.SGD(arrays, learning_rate=1.0, **keywords)
    with pytest.raises(gradstep.InvalidArgument, match=r"parameters\[1\]: expected an array, found None"):
        sgd([arrays[0], None])
    with pytest.raises(gradstep.InvalidArgument, match="parameters: expected a sequence of arrays, found ndarray"):
        sgd(arrays[0])
    with pytest.raises(gradstep.InvalidArgument, match=r"parameters\[0\].*int32"):
        sgd([np.zeros(1, np.int32)])


def test_arrays_are_held_only_during_the_call():
    parameter, grad = np.zeros(8), np.ones(8)
    optimizer = sgd([parameter])
    optimizer.step([parameter], [grad])
    gc.collect()
    assert sys.getrefcount(parameter) == sys.getrefcount(grad) == 2
    buffer = bytearray(16)
    view = memoryview(buffer).cast("d")
    sgd([view]).step([view], [np.ones(2)])
    view.release()
    buffer.extend(b"no buffer of it is exported any more")


class Capsules:
    """Hands on the capsules of an array, with or without a version."""

    def __init__(self, array, versioned):
        self.array, self.versioned = array, versioned

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**(keywords if self.versioned else {}))


class OldCapsules(Capsules):
    """An exporter from before DLPack 1.0, which knows no max_version."""

    def __dlpack__(self):
        return self.array.__dlpack__()


def test_dlpack_capsules():
    memory = np.zeros((2, 3), np.float32)
    parameter = Capsules(memory, versioned=True)
    optimizer = sgd([parameter])
    for grad in (
        Capsules(np.ones((2, 3), np.float32), versioned=True),
        Capsules(np.ones((2, 3), np.float32), versioned=False),
        OldCapsules(np.ones((2, 3), np.float32), versioned=False),
        Capsules(np.ones((3, 2), np.float32).T, versioned=True),
    ):
        optimizer.step([parameter], [grad])
    assert (memory == -4).all()
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[0\]: Capsules is read-only"):
        optimizer.step([Capsules(memory, versioned=False)], [np.ones((2, 3), np.float32)])
    memory.flags.writeable = False
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[0\]: Capsules is read-only"):
        optimizer.step([parameter], [np.ones((2, 3), np.float32)])
    optimizer.update([parameter], [np.ones((2, 3), np.float32)])


class Broken:
    def __init__(self, result):
        self.result = result

    def __dlpack__(self, **keywords):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def test_failures_of_dlpack_exporters_are_the_cause():
    optimizer = sgd([np.zeros(2)])
    with pytest.raises(gradstep.InvalidArgument, match=r"grads\[0\]: .*BufferError: no") as caught:
        optimizer.step([np.zeros(2)], [Broken(BufferError("no"))])
    assert isinstance(caught.value.__cause__, BufferError)
    with pytest.raises(gradstep.InvalidArgument, match=r"grads\[0\]: .*no DLPack 1 capsule"):
        optimizer.step([np.zeros(2)], [Broken(None)])


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.zeros(3, 2))
    half = torch.zeros(4, dtype=torch.bfloat16)
    optimizer = sgd([weight, half])
    (weight.sum() * 2).backward()
    optimizer.step([weight, half], [weight.grad, torch.ones(4, dtype=torch.bfloat16)])
    assert (weight == -2).all() and (half == -1).all()
    assert weight.requires_grad
    transposed = torch.zeros(2, 3).t()
    sgd([transposed]).step([transposed], [torch.ones(3, 2)])
    assert (transposed == -1).all()
    accumulator = gradstep.Accumulator([weight], steps=2)
    accumulator.add([weight.grad])
    assert accumulator.add([weight.grad])
    assert torch.equal(torch.from_numpy(accumulator.gradients()[0]), weight.grad)
    with pytest.raises(gradstep.InvalidArgument, match=r"grads\[0\]"):
        optimizer.step([weight, half], [torch.zeros(3, 2).to_sparse(), half])


def test_jax_arrays_are_gradients_and_parameters_of_update_only():
    jnp = pytest.importorskip("jax.numpy")
    parameter = jnp.zeros(3)
    optimizer = sgd([parameter])
    updates = optimizer.update([parameter], [jnp.ones(3)])
    assert isinstance(updates[0], np.ndarray) and (updates[0] == -1).all()
    with pytest.raises(gradstep.InvalidArgument, match=r"params\[0\]: .* is read-only"):
        optimizer.step([parameter], [jnp.ones(3)])
    half = np.zeros(3, jnp.bfloat16)
    sgd([half]).step([half], [jnp.ones(3, jnp.bfloat16)])
    assert (half == -1).all()


def test_torch_tensors_with_the_negative_bit_are_read_with_their_sign():
    torch = pytest.importorskip("torch")

    def negative(*shape):
        found = torch.complex(torch.zeros(shape), torch.ones(shape)).conj().imag
        assert found.is_neg() and (found == -1).all()
        return found

    for shape in ((2,), (), (1,), (1, 1), (2, 3)):
        parameter = torch.zeros(shape)
        optimizer = sgd([parameter])
        optimizer.step([parameter], [negative(*shape)])
        assert (parameter == 1).all(), shape
        with pytest.raises(gradstep.InvalidArgument, match=r"params\[0\]: Tensor has the negative bit.*resolve_neg"):
            optimizer.step([negative(*shape)], [torch.ones(shape)])
    reshaped = negative().reshape(1)
    parameter = torch.zeros(1)
    optimizer = gradstep.Adam([parameter], learning_rate=1.0)
    optimizer.step([parameter], [reshaped])
    assert parameter > 0
    optimizer.set_state(0, "exp_avg", reshaped)
    assert optimizer.state(0, "exp_avg") == -1
    with pytest.raises(gradstep.InvalidArgument, match="array: Tensor has the negative bit"):
        optimizer.set_tensor("learning_rate", torch.ones(1, dtype=torch.complex128).conj().imag)
    with pytest.raises(gradstep.InvalidArgument, match=r"results\[0\]: Tensor has the negative bit"):
        gradstep.Reducer(gradstep.Communicator.self(), [parameter]).reduce([reshaped])


def test_the_next_step_sees_what_a_torch_tensor_shows_now():
    torch = pytest.importorskip("torch")
    parameter, grad = torch.nn.Parameter(torch.zeros(4)), torch.ones(4)
    optimizer = sgd([parameter])
    optimizer.step([parameter], [grad])
    old = parameter.data
    parameter.data = torch.full((4,), 10.0)
    grad.data = torch.full((4,), 3.0)
    optimizer.step([parameter], [grad])
    assert (old == -1).all() and (parameter == 7).all()
    grad.resize_(5)
    with pytest.raises(gradstep.Error, match=r"grads\[0\]: .*\(5,?\)"):
        optimizer.step([parameter], [grad])


@pytest.mark.parametrize("kind", ["sparse", "meta", "complex"])
def test_torch_tensors_without_such_memory_are_refused_by_name(kind):
    torch = pytest.importorskip("torch")
    grads = {
        "sparse": torch.eye(3).to_sparse(),
        "meta": torch.empty(3, 3, device="meta"),
        "complex": torch.zeros(3, 3, dtype=torch.complex64),
    }
    parameter = torch.zeros(3, 3)
    optimizer = sgd([parameter])
    optimizer.step([parameter], [torch.ones(3, 3)])
    with pytest.raises(gradstep.Error, match=r"grads\[0\]: "):
        optimizer.step([parameter], [grads[kind]])
    assert (parameter == -1).all() and optimizer.step_count == 1
