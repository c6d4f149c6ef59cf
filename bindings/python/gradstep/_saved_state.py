# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What an object holds, in a file and back."""

import os
from collections.abc import Callable
from typing import Any, ClassVar

from gradstep import _native


class SavedState:
    """save() and load() of a class whose `_save_file` and `_load_file` are the C functions of its kind."""

    _pointer: Any
    _save_file: ClassVar[Callable[..., None]]
    _load_file: ClassVar[Callable[..., None]]

    def save(self, path: "str | os.PathLike[str] | None") -> None:
        """Writes tensors and counters to `path`, a safetensors file that any reader of that format opens.

        Whatever happens, `path` is the old file or the new one, whole. Saving what is spread over ranks (a sharded
        optimizer, a reducer with residuals) is collective; rank 0 writes, the others may pass None.
        """
        self._save_file(self._pointer, None if path is None else os.fsdecode(path))

    def load(self, path: "str | os.PathLike[str]", allow_unchecked: bool = False) -> None:
        """Takes over what save() wrote, except hyper-parameters. Collective where save() is.

        allow_unchecked: takes a file without gradstep's checksum, made or edited by another program.

        Nothing has changed after Corrupt (a flipped or missing byte) or Mismatch (another kind of object, other names,
        shapes, dtypes or buffers).
        """
        options = _native.load_options()
        options.allow_unchecked = int(allow_unchecked)
        self._load_file(self._pointer, os.fsdecode(path), options)
