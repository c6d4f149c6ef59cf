# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Ownership of the C library's objects."""

import time
from collections.abc import Callable
from typing import Any, Self

from gradstep._streams import Stream


class Handle:
    """Destroys a C object with the last reference to it. Views of the object's memory hold its handle.

    `keeps` is whatever the C object goes on using: arrays that it was lent, handles of others.
    `stream` and `poll` are of objects that work on a device.
    """

    __slots__ = ("__weakref__", "_destroy", "keeps", "pointer", "poll", "stream")

    def __init__(
        self,
        pointer: Any,
        destroy: Callable[[Any], None],
        keeps: object = None,
        stream: Stream | None = None,
        poll: Callable[[Any], bool] | None = None,
    ) -> None:
        self.pointer = pointer
        self.keeps = keeps
        self.stream = stream
        self.poll = poll
        self._destroy = destroy

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """function(pointer, *arguments, stream)."""
        if self.stream is None:
            return function(self.pointer, *arguments, None)
        result = self.stream.call(function, self.pointer, *arguments)
        if not self.stream.orders_arrays:  # their package would not know that they are still in use
            self.wait()
        return result

    def wait(self) -> None:
        """Until nothing of the object's is under way."""
        while self.poll is not None and not self.poll(self.pointer):
            time.sleep(20e-6)

    def close(self) -> None:
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            self._destroy(pointer)

    __del__ = close


class Closable:
    """close() and `with` of what has a handle."""

    _handle: Handle
    _pointer: Any

    def close(self) -> None:
        """Lets go of the C object: it ends now, or with the last view of its memory or object that uses it."""
        self._handle, self._pointer = _CLOSED, None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


_CLOSED = Handle(None, lambda _: None)


class Lease:
    """What a view holds whose memory may go while its owner stays: as long as this is alive, a view may be read.

    `what` is for messages.
    """

    __slots__ = ("__weakref__", "_owner", "what")

    def __init__(self, owner: Handle, what: str) -> None:
        self._owner = owner
        self.what = what

    def wait(self) -> None:
        """As the owner's."""
        self._owner.wait()
