# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays of a package of its own on the emulated CUDA device of tests/cuda/emulation.

GRADSTEP_EMULATED_CUDA names the folder of a plugin that is built with the emulation. The device's memory is out of the
host's reach: only copies and kernels get there.
"""

import ctypes
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from gradstep import _native

FOLDER = os.environ.get("GRADSTEP_EMULATED_CUDA", "")
needs_device = pytest.mark.skipif(not FOLDER, reason="GRADSTEP_EMULATED_CUDA names no plugin")
"""The module that has this sets GRADSTEP_PLUGIN_DIR before it makes a context."""

_Function = ctypes.CFUNCTYPE


class Counts(ctypes.Structure):
    """gradstep::emulation::Counts."""

    _fields_ = tuple((name, ctypes.c_int64) for name in ("launches", "copies", "waits", "allocations", "copied_bytes"))


class Control(ctypes.Structure):
    """gradstep::emulation::Control of tests/cuda/emulation/control.h; what is not used here is a plain pointer."""

    _fields_ = (
        ("set_seed", _Function(None, ctypes.c_uint64)),
        ("counts", _Function(Counts)),
        ("launch", _Function(ctypes.c_char_p, ctypes.c_int64)),
        ("forget_launches", _Function(None)),
        ("make_stream", _Function(ctypes.c_void_p)),
        ("begin_capture", _Function(None, ctypes.c_void_p)),
        ("end_capture", _Function(ctypes.c_void_p, ctypes.c_void_p)),
        ("replay", _Function(None, ctypes.c_void_p, ctypes.c_void_p)),
        ("current_device", _Function(ctypes.c_int)),
        ("allocate", _Function(ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64)),
        ("deallocate", _Function(None, ctypes.c_void_p)),
        ("copy", _Function(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)),
        ("set_current_device", ctypes.c_void_p),
        ("symbol", ctypes.c_void_p),
        ("hang_nccl", ctypes.c_void_p),
        ("fail_nccl", ctypes.c_void_p),
        ("nccl_communicators", ctypes.c_void_p),
        ("call", _Function(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
        ("order", _Function(None, ctypes.c_void_p, ctypes.c_void_p)),
    )


_found: list[Any] = []


def control() -> Any:
    """A function of the plugin, which is opened at first use."""
    if not _found:
        plugin = ctypes.CDLL(str(Path(FOLDER) / "libgradstep_cuda.so"))
        plugin.gradstep_cuda_emulation.restype = ctypes.POINTER(Control)
        _found.append(plugin.gradstep_cuda_emulation().contents)
    return _found[0]


class CudaArray:
    """A compact array on the device, which exports itself as DLPack prescribes and notes for which streams."""

    def __init__(self, values: Any, device: int = 0) -> None:
        host = np.array(values, order="C")
        self.shape, self.dtype, self.device = host.shape, host.dtype, device
        self.address = control().allocate(device, max(1, host.nbytes))
        self.streams: list[int | None] = []
        control().copy(self.address, host.ctypes.data, host.nbytes)

    def __del__(self) -> None:
        control().deallocate(self.address)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_native.DEVICE_CUDA, self.device)

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None) -> Any:
        assert max_version is not None and max_version[0] == 1
        self.streams.append(stream)
        return _native.export_view((self.address, self.shape, str(self.dtype), self.__dlpack_device__()), self)

    def numpy(self) -> NDArray[Any]:
        """A copy, of what is there when all queued work is done."""
        return download(self.address, self.shape, self.dtype)


def download(address: int, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    host = np.empty(shape, dtype)
    control().copy(host.ctypes.data, address, host.nbytes)
    return host
