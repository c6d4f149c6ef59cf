# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Which stream a call on device arrays is queued on: the current one of the package that the arrays belong to."""

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from gradstep import _native

LEGACY_DEFAULT = 1
"""CUDA's default stream, as DLPack numbers streams; all others are their addresses."""

_calls = threading.local()


class Stream:
    """How the calls of one handle on a device are ordered with what else happens to its arrays.

    PyTorch and CuPy have a current stream: work is queued there, and arrays may be used, and dropped, as if by the
    package itself. Arrays of others (JAX) are waited for before the work and after it.
    """

    def __init__(self, array: Any, device: int) -> None:
        # Subclasses, as a user's own kind of parameter, belong to the package of their base.
        packages = (base.__module__.partition(".")[0] for base in type(array).__mro__)
        self._current = next((_CURRENT[package] for package in packages if package in _CURRENT), None)
        self._device = device

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(*arguments, stream)."""
        stream = None if self._current is None else self._current(self._device) or None
        _calls.stream = stream
        try:
            return function(*arguments, stream)
        finally:
            _calls.stream = None

    @property
    def orders_arrays(self) -> bool:
        """Whether the package knows by its own stream when an array is no longer in use."""
        return self._current is not None


def _torch(device: int) -> int:
    stream: int = sys.modules["torch"].cuda.current_stream(device).cuda_stream
    return stream


def _cupy(device: int) -> int:
    cupy = sys.modules["cupy"]
    with cupy.cuda.Device(device):
        stream: int = cupy.cuda.get_current_stream().ptr
    return stream


_CURRENT: dict[str, Callable[[int], int]] = {"torch": _torch, "cupy": _cupy}


def stream_of(arrays: Sequence[Any]) -> Stream | None:
    """For calls on arrays like these; None where they are in the host's memory."""
    for array in arrays:
        if array is not None:
            kind, device = _native.device_of_array(array)
            return Stream(array, device) if kind == _native.DEVICE_CUDA else None
    return None


def of_this_call() -> int:
    """What exporters of device arrays make wait for their work, as DLPack numbers it."""
    return getattr(_calls, "stream", None) or LEGACY_DEFAULT


def call_on_arrays(function: Callable[..., Any], array: Any, *arguments: Any) -> Any:
    """function(*arguments, stream), for calls whose arrays say where they work: all of them are where `array` is."""
    stream = stream_of([array])
    return function(*arguments, None) if stream is None else stream.call(function, *arguments)
