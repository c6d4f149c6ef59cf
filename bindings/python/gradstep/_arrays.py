# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays over the C library's memory, and the description of parameters."""

import sys
from collections.abc import Iterable, Mapping, Sequence, ValuesView
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gradstep import _native
from gradstep._handle import Handle, Lease
from gradstep._trees import Names, is_sequence, is_tree, leaves
from gradstep.errors import InvalidArgument, Unsupported


@runtime_checkable
class SupportsDLPack(Protocol):
    """Arrays of other libraries: PyTorch, JAX, CuPy, ..."""

    def __dlpack__(self) -> object: ...


class SupportsBuffer(Protocol):
    """array.array, memoryview, ...: for type checkers, as the method is there from Python 3.12 on."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


Array: TypeAlias = NDArray[Any] | SupportsDLPack | SupportsBuffer
"""Anything with the buffer protocol or ``__dlpack__``."""

ArrayTree: TypeAlias = "Array | Mapping[str, ArrayTree] | Sequence[ArrayTree]"
GradientTree: TypeAlias = "Array | Mapping[str, GradientTree] | Sequence[GradientTree] | None"

Parameters: TypeAlias = Iterable[ArrayTree] | Mapping[str, ArrayTree]
"""What handles are made of: arrays, or a tree of dicts, lists and tuples, whose keys are the parameters' names.

NamedTuples' keys are the names of their fields.
"""
Arrays: TypeAlias = ValuesView[Array] | Mapping[str, ArrayTree] | Sequence[ArrayTree]
"""What calls take: arrays in the order of the parameters, or a tree of the same names in any order."""
Gradients: TypeAlias = ValuesView[Array | None] | Mapping[str, GradientTree] | Sequence[GradientTree]
"""None stands for a parameter, or a branch of a tree, without a gradient this time."""

GroupTree: TypeAlias = "int | Mapping[str, GroupTree] | Sequence[GroupTree]"
FlagTree: TypeAlias = "bool | Mapping[str, FlagTree] | Sequence[FlagTree]"
Groups: TypeAlias = Iterable[int] | Mapping[str, GroupTree] | Sequence[GroupTree]
"""Of each parameter, in the order of the parameters or in a tree of their names."""
Flags: TypeAlias = bool | Iterable[bool] | Mapping[str, FlagTree] | Sequence[FlagTree]

Part: TypeAlias = tuple[Sequence[int], Sequence[int]]
"""Which part of a whole an array is: the shape of the whole, and where the part begins in there."""

Schema: TypeAlias = tuple[
    Sequence[Array], Names | None, Sequence[int] | None, Sequence[bool] | None, Sequence[Part | None] | None
]


def schema(
    parameters: Parameters,
    names: Iterable[str] | None = None,
    groups: Groups | None = None,
    may_be_unused: Flags = False,
    parts: Iterable[Part | None] | None = None,
    first: int = 0,
) -> Schema:
    """What the C library's `parameters, n` are made of.

    may_be_unused: marks all parameters, or each on its own.
    first: the index of the first entry of a list or tuple, for its name.
    """
    if isinstance(names, (str, bytes)):
        raise InvalidArgument(f"names: is the {type(names).__name__} {names!r}, expected one str for each parameter")
    known = None if names is None else Names(names)
    if is_tree(parameters):
        if known is not None:
            raise InvalidArgument("names: are given by the keys of the parameters, expected None")
        found = list(leaves(parameters, first=first))
        known = Names((name for name, _ in found), len(parameters) if is_sequence(parameters) else 0)  # type: ignore[arg-type]
        parameters = [array for _, array in found]
    if known is not None:
        groups, may_be_unused = known.ordered("groups", groups), known.ordered("may_be_unused", may_be_unused)
    for argument, given in (("groups", groups), ("may_be_unused", may_be_unused)):
        if isinstance(given, Mapping):
            raise InvalidArgument(
                f"{argument}: expected a sequence, found {type(given).__name__}: the parameters are given without names"
            )
    is_array = isinstance(parameters, (np.ndarray, SupportsDLPack))
    arrays = parameters if is_array or isinstance(parameters, (list, tuple)) else list(parameters)
    flags = [may_be_unused] * len(arrays) if isinstance(may_be_unused, (bool, np.bool_)) else list(may_be_unused)  # type: ignore[arg-type]
    return (
        arrays,  # type: ignore[return-value]  # a lone array is for the C side to refuse, by name
        known,
        None if groups is None else list(groups),  # type: ignore[arg-type]
        flags if any(flags) else None,
        None if parts is None else list(parts),
    )


def dtype_of(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name; bfloat16 is ml_dtypes'."""
    if name == "bfloat16":
        try:
            import ml_dtypes
        except ModuleNotFoundError as error:
            text = "bfloat16: NumPy has no such dtype without the package ml_dtypes: pip install 'gradstep[bfloat16]'"
            raise ModuleNotFoundError(text, name=error.name) from None
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def empty(shape: tuple[int, ...], like: Array) -> Any:
    """A new array of a shape, and of the dtype and device of `like`.

    NumPy's in the host's memory, whatever library `like` is of; on a device its own library's.
    """
    if _native.device_of_array(like)[0] != _native.DEVICE_CUDA:
        return np.empty(shape, dtype_of(_native.describe_array(like)[1]))
    package = type(like).__module__.partition(".")[0]
    if package == "torch":
        return like.new_empty(shape)  # type: ignore[union-attr]
    if package == "cupy":
        with like.device:  # type: ignore[union-attr]
            return sys.modules["cupy"].empty(shape, like.dtype)  # type: ignore[union-attr]
    raise Unsupported(f"out: must be given for arrays of {package} on a device")


def empty_like(array: Array, leading: tuple[int, ...] = ()) -> Any:
    """A new array of the shape, dtype and device of `array`, with `leading` axes in front."""
    return empty(leading + _native.describe_array(array)[0], array)


class _Memory:
    """The C library's memory in the form that NumPy makes arrays of; the array holds it, and it holds the owner."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self._owner = owner


View: TypeAlias = tuple[int, tuple[int, ...], str, tuple[int, int]]
"""What the native module knows of an array that gradstep owns: address, shape, dtype name, device."""

_UNORDERED = -1
"""The consumer's word in DLPack that it orders the work by itself."""


class DeviceArray:
    """An array that gradstep owns, on a device: a view, ready in the order of the stream of the call that showed it.

    torch.from_dlpack(), cupy.from_dlpack() and jax.dlpack.from_dlpack() make arrays of it without a copy, and gradstep
    takes it as it is. What it shows changes with the object that it is of, which it keeps alive.
    """

    def __init__(self, description: View, owner: Handle | Lease) -> None:
        self._description = description
        self._owner = owner

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents of the axes; rows lie one after the other."""
        return self._description[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """As NumPy says it."""
        return dtype_of(self._description[2])

    def __dlpack_device__(self) -> tuple[int, int]:
        """(type, id), as DLPack numbers devices."""
        return self._description[3]

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None, **_: Any) -> Any:
        """A DLPack 1 capsule. Returns when the numbers are there, unless `stream` is -1: then no one waits."""
        if max_version is None or max_version[0] < 1:
            raise BufferError("DLPack 1.0 at least is needed: max_version")
        if stream != _UNORDERED:
            self._owner.wait()
        return _native.export_view(self._description, self._owner)

    def __repr__(self) -> str:
        kind, number = self._description[3]
        return f"DeviceArray(shape={self.shape}, dtype={self._description[2]}, device=({kind}, {number}))"


def view(description: View | None, owner: Handle | Lease | None, *, bits: bool = False) -> Any:
    """A writable array without a copy: NumPy's, or a DeviceArray.

    bits: NumPy's arrays show bfloat16 as int16, which needs no ml_dtypes.
    """
    if description is None:
        return None
    address, shape, dtype_name, device = description
    if device[0] == _native.DEVICE_CUDA:
        assert owner is not None
        return DeviceArray(description, owner)
    dtype = np.dtype(np.int16) if bits and dtype_name == "bfloat16" else dtype_of(dtype_name)
    if 0 in shape:
        return np.empty(shape, dtype)
    interface = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}
    return np.asarray(_Memory(interface, owner)).view(dtype)


def scalar(description: View, owner: Handle) -> Any:
    """The one number that a view of f64[1] holds now; on a device, the view."""
    array = view(description, owner)
    return array if isinstance(array, DeviceArray) else float(array.reshape(-1)[0])
