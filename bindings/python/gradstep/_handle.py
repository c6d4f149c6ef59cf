# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Ownership of the C library's objects."""

from collections.abc import Callable
from typing import Any


class Handle:
    """Destroys a C object with the last reference to it. Views of the object's memory hold its handle."""

    __slots__ = ("__weakref__", "_destroy", "pointer")

    def __init__(self, pointer: Any, destroy: Callable[[Any], None]) -> None:
        self.pointer = pointer
        self._destroy = destroy

    def close(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            self._destroy(pointer)

    __del__ = close
