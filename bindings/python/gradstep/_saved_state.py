# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What an object holds, in a file and back."""

import os
from typing import Any, ClassVar, Protocol, TypeAlias

from gradstep import _native
from gradstep._handle import Closable


class SupportsWrite(Protocol):
    """A binary file that is written to, a socket's, io.BytesIO, ..."""

    def write(self, data: Any, /) -> object:
        """Takes bytes; returns how many, or None for all."""


class SupportsRead(Protocol):
    """A binary file that is read."""

    def read(self, size: int, /) -> Any:
        """Up to `size` bytes; none at the end."""


Path: TypeAlias = "str | os.PathLike[str]"


class SavedState(Closable):
    """save() and load() of a class whose C functions begin with `_kind`."""

    _kind: ClassVar[str]

    def save(self, path: "Path | SupportsWrite | None") -> None:
        """Writes tensors and counters to `path`, in the safetensors format, which any reader of it opens.

        Whatever happens, what is at the path is the old file or the new one, whole. `path` may be a binary file object,
        too: it is written as it comes, and after an error it has a part. Saving what is spread over ranks (a sharded
        optimizer, an updater over several ranks) is collective; rank 0 writes, the others may pass None.
        """
        if path is None or isinstance(path, (str, bytes, os.PathLike)):
            name = None if path is None else os.fsdecode(path)
            getattr(_native, f"{self._kind}_save_file")(self._pointer, name)
        else:
            getattr(_native, f"{self._kind}_save")(self._pointer, _having("write", path))

    def load(self, path: "Path | SupportsRead", allow_unchecked: bool = False) -> None:
        """Takes over what save() wrote, except hyper-parameters. Collective where save() is.

        path: or a binary file object, which is read to its end.
        allow_unchecked: takes a file without gradstep's checksum, made or edited by another program.

        Nothing has changed after Corrupt (a flipped or missing byte) or Mismatch (another kind of object, other names,
        shapes, dtypes or buffers).
        """
        options = _native.load_options()
        options.allow_unchecked = int(allow_unchecked)
        if isinstance(path, (str, bytes, os.PathLike)):
            getattr(_native, f"{self._kind}_load_file")(self._pointer, os.fsdecode(path), options)
        else:
            getattr(_native, f"{self._kind}_load")(self._pointer, _having("read", path), options)


def _having(method: str, file: object) -> object:
    if not hasattr(file, method):
        found = type(file).__name__
        raise TypeError(f"path: expected a path, or a binary file with {method}(), found {found}")
    return file
