# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Ownership of the C library's objects."""

from collections.abc import Callable
from typing import Any


class Handle:
    """Destroys a C object with the last reference to it. Views of the object's memory hold its handle.

    `keeps` is whatever the C object goes on using: arrays that it was lent, handles of others.
    """

    __slots__ = ("__weakref__", "_destroy", "keeps", "pointer")

    def __init__(self, pointer: Any, destroy: Callable[[Any], None], keeps: object = None) -> None:
        self.pointer = pointer
        self.keeps = keeps
        self._destroy = destroy

    def close(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            self._destroy(pointer)

    __del__ = close
