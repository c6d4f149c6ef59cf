# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays over the C library's memory, and the description of parameters."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from gradstep import _native


@runtime_checkable
class SupportsDLPack(Protocol):
    """Arrays of other libraries: PyTorch, JAX, CuPy, ..."""

    def __dlpack__(self) -> object: ...


Array: TypeAlias = NDArray[Any] | SupportsDLPack
"""Anything with the buffer protocol or ``__dlpack__``."""

Arrays: TypeAlias = Sequence[Array]
Gradients: TypeAlias = Sequence[Array | None]
"""None stands for a parameter without a gradient this time."""

Schema: TypeAlias = tuple[Sequence[Array], Sequence[str] | None, Sequence[int] | None, Sequence[bool] | None]


def schema(
    parameters: Iterable[Array],
    names: Iterable[str] | None = None,
    groups: Iterable[int] | None = None,
    may_be_unused: Iterable[bool] | bool = False,
) -> Schema:
    """What the C library's `parameters, n` are made of. `may_be_unused` marks all parameters, or each on its own."""
    is_array = isinstance(parameters, (np.ndarray, SupportsDLPack))
    arrays = parameters if is_array or isinstance(parameters, (list, tuple)) else list(parameters)
    flags = [may_be_unused] * len(arrays) if isinstance(may_be_unused, bool) else list(may_be_unused)  # type: ignore[arg-type]
    return (
        arrays,  # type: ignore[return-value]  # a lone array is for the C side to refuse, by name
        None if names is None else list(names),
        None if groups is None else list(groups),
        flags if any(flags) else None,
    )


def dtype_of(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name; bfloat16 is ml_dtypes'."""
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def empty_like(array: Array, leading: tuple[int, ...] = ()) -> NDArray[Any]:
    """A new array of the shape and dtype of `array`, which may be of any library, with `leading` axes in front."""
    shape, dtype = _native.describe_array(array)
    return np.empty(leading + shape, dtype_of(dtype))


class _Memory:
    """The C library's memory in the form that NumPy makes arrays of; the array holds it, and it holds the owner."""

    __slots__ = ("__array_interface__", "_owner")

    def __init__(self, interface: dict[str, Any], owner: object) -> None:
        self.__array_interface__ = interface
        self._owner = owner


def view(description: tuple[int, tuple[int, ...], str] | None, owner: object) -> NDArray[Any] | None:
    """A writable array over `(address, shape, dtype name)`, without a copy."""
    if description is None:
        return None
    address, shape, dtype_name = description
    dtype = dtype_of(dtype_name)
    if 0 in shape:
        return np.empty(shape, dtype)
    interface = {"version": 3, "data": (address, False), "shape": shape, "typestr": dtype.str}
    return np.asarray(_Memory(interface, owner)).view(dtype)


def scalar(description: tuple[int, tuple[int, ...], str]) -> float:
    """The one number that a view of f64[1] holds now."""
    array = view(description, None)
    assert array is not None
    return float(array.reshape(-1)[0])
