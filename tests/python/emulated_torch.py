# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's tensors on the emulated CUDA device of tests/cuda/emulation.

To Python a DeviceTensor is a torch.Tensor on "cuda". Its numbers are in the device's memory, and whatever torch does
with them is queued on torch's current stream, in place of a kernel of torch's, and done by torch's CPU kernels when its
turn has come; so a step that is not ordered with it, reads a number too early or is captured wrongly gives other
numbers than on the host. gradstep sees torch's own interface alone; present() replaces what would ask CUDA's driver.
"""

import contextlib
import ctypes
import gc
import types
from collections.abc import Iterator
from typing import Any

import torch
from emulated_cuda import control
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_flatten, tree_map

from gradstep import DeviceArray, _native

_aten = torch.ops.aten
_ANSWERS = {_aten._local_scalar_dense.default, _aten.equal.default, _aten.nonzero.default, _aten.masked_select.default}
"""What the host must wait for: numbers, and tensors whose shape depends on numbers."""

_PyCapsule_New = ctypes.pythonapi.PyCapsule_New
_PyCapsule_New.restype = ctypes.py_object
_PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)


class _State:
    """State of torch's side: its current stream, whether that is captured, and what has been asked of the device."""

    stream = 0
    captures = False
    pool: Any = None
    """Of the capture, what its graph keeps; None: nothing may be taken in it."""
    answers = 0
    """How often torch has waited for the device, to tell a number."""
    own_waits = 0
    """Waits of the device's that these were."""
    own_copies = 0
    probe: Any = None
    failures: list[BaseException] = []  # noqa: RUF012
    to_free: list[int] = []  # noqa: RUF012
    queued: list[Any] = []  # noqa: RUF012  (callbacks stay: a graph may run them again)


def library_waits() -> int:
    """How often code other than torch has waited for the device."""
    return control().counts().waits - _State.own_waits


def library_copies() -> int:
    """How many copies between host and device code other than torch has made, when all that is queued is done."""
    if _State.probe is None:
        _State.probe = _Memory(0, 16)
    _State.probe.downloaded()
    return control().counts().copies - _State.own_copies


def answers() -> int:
    return _State.answers


class _Memory:
    """Memory of the device, freed when no tensor shows it any more; or foreign memory, which `owner` keeps."""

    def __init__(self, number: int, size: int, address: int = 0, owner: Any = None) -> None:
        if not address and not _State.captures:
            while _State.to_free:  # not where memory is dropped: that may be in the middle of anything
                _quietly(control().deallocate, _State.to_free.pop())
        if not address and _State.captures and _State.pool is None:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing: an allocation")
        self.number, self.size, self.owner = number, size, owner
        self.address = address or control().allocate(number, max(size, 16))
        self.exports: dict[Any, Any] = {}
        """What DLPack's capsules point to."""
        self.pool = _State.pool if _State.captures and not address else None

    def __del__(self) -> None:
        if self.pool is not None:
            self.pool.append(self.address)
        elif self.owner is None:
            _State.to_free.append(self.address)

    def reached(self) -> torch.UntypedStorage:
        """The bytes themselves, for work whose turn has come."""
        return torch.frombuffer(
            (ctypes.c_byte * max(self.size, 1)).from_address(self.address), dtype=torch.uint8
        ).untyped_storage()

    def downloaded(self) -> torch.UntypedStorage:
        """A copy, when all that is queued is done."""
        if _State.captures:
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing: a copy to the host")
        host = torch.UntypedStorage(self.size)
        _quietly(_copy, host.data_ptr(), self.address, self.size)
        if _State.failures:
            raise _State.failures.pop()
        return host


def _copy(to: int, of: int, size: int) -> None:
    control().copy(to, of, size)


def _quietly(function: Any, *arguments: Any) -> None:
    """A call whose waits are torch's own."""
    before = control().counts()
    function(*arguments)
    after = control().counts()
    _State.own_waits += after.waits - before.waits
    # Copies of the library's may have been queued; torch's own are one each.
    _State.own_copies += function is _copy


def _over(storage: torch.UntypedStorage, like: "DeviceTensor") -> torch.Tensor:
    with torch.inference_mode(False):
        return torch.empty(0, dtype=like.dtype, device="cpu").set_(
            storage, like.storage_offset(), like.shape, like.stride()
        )


class _ManagedTensor(ctypes.Structure):
    """DLManagedTensorVersioned, flat."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


_DTYPES = {torch.float16: (2, 16), torch.float32: (2, 32), torch.float64: (2, 64), torch.bfloat16: (4, 16)}
_DTYPES |= {torch.int8: (0, 8), torch.int16: (0, 16), torch.int32: (0, 32), torch.int64: (0, 64)}
_DTYPES |= {torch.uint8: (1, 8), torch.bool: (6, 8), torch.complex64: (5, 64)}


class DeviceTensor(torch.Tensor):
    """A tensor on the emulated device."""

    # gradstep asks by the method, which is the tests' own.
    __dlpack_c_exchange_api__ = None
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, memory: _Memory, like: torch.Tensor) -> "DeviceTensor":
        return torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls, like.shape, strides=like.stride(), storage_offset=like.storage_offset(), dtype=like.dtype
        )

    def __init__(self, memory: _Memory, _like: torch.Tensor) -> None:
        self._memory = memory

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        return torch.device("cuda", self._memory.number)

    is_cuda = property(lambda self: True)  # type: ignore[assignment]
    is_cpu = property(lambda self: False)  # type: ignore[assignment]

    @property
    def data(self) -> torch.Tensor:  # type: ignore[override]
        return self.detach()

    @data.setter
    def data(self, value: "DeviceTensor") -> None:
        torch.Tensor.data.__set__(self, value)  # type: ignore[attr-defined]
        self._memory = value._memory

    @classmethod
    def __torch_dispatch__(cls, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})

    def cpu(self, *_: Any) -> torch.Tensor:  # type: ignore[override]
        _State.answers += 1
        return _over(self._memory.downloaded(), self).clone()

    def numpy(self, **_: Any) -> Any:  # type: ignore[override]
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        return self.cpu().numpy()

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def to(self, *args: Any, **kwargs: Any) -> torch.Tensor:  # type: ignore[override]
        device, dtype = _target(args, kwargs)
        found = self if dtype is None or dtype == self.dtype else torch.ops.aten._to_copy(self, dtype=dtype)
        if device is None or device == self.device or device == torch.device("cuda"):
            return found
        return found.detach().cpu() if device.type == "cpu" else upload(found.detach().cpu(), device.index)

    def cuda(self, *_: Any, **__: Any) -> torch.Tensor:  # type: ignore[override]
        return self

    def data_ptr(self) -> int:
        return self._memory.address + self.storage_offset() * self.element_size()

    def __deepcopy__(self, memo: Any) -> torch.Tensor:
        if id(self) not in memo:
            memo[id(self)] = _restored(self.detach().clone(), self.requires_grad, hasattr(self, "_is_param"))
        return memo[id(self)]

    def __reduce_ex__(self, _protocol: Any) -> Any:
        return _unpickled, (self.detach().cpu(), self._memory.number, self.requires_grad, hasattr(self, "_is_param"))

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"DeviceTensor(shape={tuple(self.shape)}, dtype={self.dtype}, device={self.device})"

    __format__ = lambda self, spec: format(self.item(), spec) if self.dim() == 0 else repr(self)  # noqa: E731

    def __dlpack_device__(self) -> Any:
        return (_native.DEVICE_CUDA, self._memory.number)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, **_: Any) -> Any:
        assert max_version is not None and max_version[0] == 1 and stream in (_State.stream or 1, 1)
        if self.requires_grad:
            raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
        key = (self.data_ptr(), self.shape, self.stride(), self.dtype)
        if key not in self._memory.exports:
            shape, strides = ((ctypes.c_int64 * max(self.dim(), 1))(*axes) for axes in (self.shape, self.stride()))
            managed = _ManagedTensor(
                1, 0, None, None, 0, self.data_ptr(), *self.__dlpack_device__(), self.dim(), *_DTYPES[self.dtype], 1,
                ctypes.addressof(shape), ctypes.addressof(strides), 0,
            )  # fmt: skip
            self._memory.exports[key] = (managed, shape, strides)
        return _PyCapsule_New(ctypes.addressof(self._memory.exports[key][0]), b"dltensor_versioned", None)


def _restored(tensor: torch.Tensor, requires_grad: bool, is_parameter: bool) -> torch.Tensor:
    return torch.nn.Parameter(tensor, requires_grad) if is_parameter else tensor.requires_grad_(requires_grad)


def _unpickled(host: torch.Tensor, number: int, requires_grad: bool, is_parameter: bool) -> torch.Tensor:
    return _restored(upload(host, number), requires_grad, is_parameter)


def upload(host: torch.Tensor, number: int | None = None) -> DeviceTensor:
    """A copy on the device. It stays a parameter or a leaf that wants gradients if it was one."""
    own = host.detach().clone()
    memory = _Memory(number or 0, own.untyped_storage().nbytes())
    _quietly(_copy, memory.address, own.untyped_storage().data_ptr(), memory.size)
    there: Any = DeviceTensor(memory, own)
    return _restored(there, host.requires_grad, isinstance(host, torch.nn.Parameter))  # type: ignore[return-value]


def _target(args: Any, kwargs: Any) -> tuple[torch.device | None, torch.dtype | None]:
    """What the arguments of Tensor.to() ask for."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for value in args:
        if isinstance(value, torch.dtype):
            dtype = value
        elif isinstance(value, torch.Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, (str, torch.device)):
            device = value
    return None if device is None else torch.device(device), dtype


def _run(func: Any, args: Any, kwargs: Any) -> Any:
    """What torch does with tensors of which some are on the device."""
    kwargs = {name: value for name, value in kwargs.items() if name not in ("device", "pin_memory", "non_blocking")}
    leaves = [leaf for leaf in tree_flatten((args, kwargs))[0] if isinstance(leaf, torch.Tensor)]
    memories = {id(leaf._memory): leaf._memory for leaf in leaves if isinstance(leaf, DeviceTensor)}
    number = next(iter(memories.values())).number
    by_mask = func is _aten.index.Tensor and any(i is not None and i.dtype == torch.bool for i in args[1])
    if func in _ANSWERS or by_mask or (func is _aten.copy_.default and not isinstance(args[0], DeviceTensor)):
        _State.answers += 1
        found = func(*_exchanged(args, {key: memory.downloaded() for key, memory in memories.items()}), **kwargs)
        return (
            tree_map(lambda leaf: upload(leaf, number) if isinstance(leaf, torch.Tensor) else leaf, found)
            if (func is not _aten.copy_.default)
            else args[0]
        )
    if _State.captures and any(not isinstance(leaf, DeviceTensor) and leaf.dim() for leaf in leaves):
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing: a copy of pageable memory")
    # What comes out, by a trial without the numbers.
    trial = {key: torch.UntypedStorage(memory.size).fill_(0) for key, memory in memories.items()}
    owners = {storage.data_ptr(): memories[key] for key, storage in trial.items() if storage.nbytes()}
    fresh: list[DeviceTensor | None] = []

    def emerged(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        memory = owners.get(leaf.untyped_storage().data_ptr())
        found = DeviceTensor(memory or _Memory(number, leaf.untyped_storage().nbytes()), leaf)
        fresh.append(None if memory else found)
        return found

    results = tree_map(emerged, func(*_exchanged(args, trial), **_exchanged(kwargs, trial)))
    kept = tree_map(
        lambda t: t.clone() if type(t) is torch.Tensor else t, (args, kwargs)
    )  # the host's, as they are now

    def body(_argument: int | None) -> None:
        gc.disable()  # a handle that is destroyed now would wait for the work that goes on
        try:
            there = {key: memory.reached() for key, memory in memories.items()}
            now = func(*_exchanged(kept[0], there), **_exchanged(kept[1], there))
            values = [leaf for leaf in tree_flatten(now)[0] if isinstance(leaf, torch.Tensor)]
            for tensor, value in zip(fresh, values, strict=True):
                if tensor is not None and tensor.numel():
                    _over(tensor._memory.reached(), tensor).copy_(value)
        except BaseException as failure:
            _State.failures.append(failure)
        finally:
            gc.enable()

    work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(body)
    _State.queued.append(work)
    control().call(_State.stream or None, ctypes.cast(work, ctypes.c_void_p), None)
    return return_and_correct_aliasing(func, args, kwargs, results)


def _exchanged(values: Any, storages: dict[int, torch.UntypedStorage]) -> Any:
    return tree_map(
        lambda leaf: _over(storages[id(leaf._memory)], leaf) if isinstance(leaf, DeviceTensor) else leaf, values
    )


_CONSTRUCTORS = _device_constructors()


class _Device(TorchFunctionMode):
    """Makes tensors there whose device is "cuda"."""

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _CONSTRUCTORS:
            device = kwargs.get("device")
            if device is not None and torch.device(device).type == "cuda":
                return upload(func(*args, **{**kwargs, "device": "cpu"}), torch.device(device).index)
        elif func in (torch.Tensor.to, torch.Tensor.cuda) and not isinstance(args[0], DeviceTensor):
            device, dtype = _target(args[1:], kwargs) if func is torch.Tensor.to else (torch.device("cuda"), None)
            if device is not None and device.type == "cuda":
                return upload(args[0] if dtype is None else args[0].to(dtype), device.index)
        return func(*args, **kwargs)


def _from_dlpack(array: Any, **_: Any) -> torch.Tensor:
    if not isinstance(array, DeviceArray):
        return _real_from_dlpack(array)
    array.__dlpack__(stream=_State.stream or 1, max_version=(1, 0))  # as torch asks
    address, shape, name, (_kind, number) = array._description
    like = torch.empty(shape, dtype=getattr(torch, name), device="cpu")
    return DeviceTensor(_Memory(number, like.untyped_storage().nbytes(), address or 16, array), like)


_real_from_dlpack = torch.from_dlpack


def present(monkeypatch: Any) -> TorchFunctionMode:
    """Lets torch find the device, within the context that is returned."""
    monkeypatch.setattr(torch, "from_dlpack", _from_dlpack)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda *_: types.SimpleNamespace(cuda_stream=_State.stream))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: _State.captures)
    return _Device()


@contextlib.contextmanager
def current_stream() -> Iterator[int]:
    """Another stream is torch's current one."""
    before, _State.stream = _State.stream, control().make_stream()
    try:
        yield _State.stream
    finally:
        _State.stream = before


class Graph:
    """What is asked of a stream of its own between `with` and its end; replay() does it."""

    def __init__(self) -> None:
        self._stream = control().make_stream()

    @contextlib.contextmanager
    def its_stream(self) -> Iterator[None]:
        """That stream is torch's current one, and nothing is captured."""
        before, _State.stream = _State.stream, self._stream
        try:
            yield
        finally:
            _State.stream = before

    def __enter__(self) -> "Graph":
        self._before, _State.stream = _State.stream, self._stream
        control().begin_capture(_State.stream)
        _State.captures = True
        return self

    def __exit__(self, *_: Any) -> None:
        self._graph = control().end_capture(_State.stream)
        _State.captures = False
        _State.stream = self._before

    def replay(self) -> None:
        control().replay(self._graph, _State.stream or None)
