# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""One exception class per status of the C API. The text of an exception is the C library's own."""

from typing import ClassVar

from gradstep import _native


class Error(Exception):
    """Any failure of gradstep."""

    status: ClassVar[int] = 0

    @property
    def status_name(self) -> str:
        """The C name of the status, such as GRADSTEP_ERR_TIMEOUT."""
        return str(_native.status_name(self.status))


class InvalidArgument(Error, ValueError):
    """An argument breaks a stated rule; nothing was changed."""

    status = _native.ERR_INVALID_ARGUMENT


class InvalidState(Error, RuntimeError):
    """The call is out of turn, or the object is in use by another thread or belongs to the parent process."""

    status = _native.ERR_INVALID_STATE


class Unsupported(Error, NotImplementedError):
    """A legal request that this build, engine or device cannot serve."""

    status = _native.ERR_UNSUPPORTED


class OutOfMemory(Error, MemoryError):
    """No memory was left."""

    status = _native.ERR_OUT_OF_MEMORY


class BackendUnavailable(Error, RuntimeError):
    """A plugin is missing or belongs to another build; the text has the loader's words."""

    status = _native.ERR_BACKEND_UNAVAILABLE


class DeviceError(Error, RuntimeError):
    """A call of a device's driver failed."""

    status = _native.ERR_DEVICE


class NumericError(Error, ArithmeticError):
    """A number is outside what the algorithm can use."""

    status = _native.ERR_NUMERIC


class Timeout(Error, TimeoutError):
    """A deadline passed while waiting for peers."""

    status = _native.ERR_TIMEOUT


class PeerLost(Error, ConnectionError):
    """A peer closed its connection or died."""

    status = _native.ERR_PEER_LOST


class Aborted(Error, RuntimeError):
    """Communicator.abort or an interrupt ended the call."""

    status = _native.ERR_ABORTED


class Mismatch(Error, ValueError):
    """Ranks, or a file and an object, disagree."""

    status = _native.ERR_MISMATCH


class InputOutputError(Error, OSError):
    """Reading or writing outside memory failed."""

    status = _native.ERR_IO


class Corrupt(Error, ValueError):
    """Stored bytes are not what was written."""

    status = _native.ERR_CORRUPT


class CallbackError(Error, RuntimeError):
    """A callback failed in a way that left no Python exception to raise again."""

    status = _native.ERR_CALLBACK


class InternalError(Error, RuntimeError):
    """A defect of gradstep: please report it."""

    status = _native.ERR_INTERNAL


_native.set_exception_classes({cls.status: cls for cls in Error.__subclasses__()})
