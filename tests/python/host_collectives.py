# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A host's collectives between threads of one process, as a test double for an MPI or a framework."""

import threading
from typing import Any

import numpy as np


class Exchange:
    """The place where the threads meet."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        self.barrier = threading.Barrier(world_size)
        self.slots: list[bytes] = [b""] * world_size
        self.copy = self  # of the last dup


class AllGatherOnly:
    """The least a host has to offer. Counts what it was asked."""

    def __init__(self, exchange: Exchange, rank: int) -> None:
        self.exchange, self.rank, self.world_size = exchange, rank, exchange.world_size
        self.calls: dict[str, int] = {}

    def all_gather(self, data: memoryview, timeout: float) -> list[bytes]:
        self._count("all_gather")
        return self._gather(bytes(data), timeout)

    def _gather(self, data: bytes, timeout: float) -> list[bytes]:
        self.exchange.barrier.wait(timeout)
        self.exchange.slots[self.rank] = data
        self.exchange.barrier.wait(timeout)
        return list(self.exchange.slots)

    def _count(self, name: str) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1


class Everything(AllGatherOnly):
    """All methods, sums in the order of ranks."""

    rank_ordered = True
    aborted = False

    def all_reduce(self, data: memoryview, op: str, timeout: float) -> None:
        self._count("all_reduce")
        target = np.asarray(data)
        target[:] = self._reduced(target, op, timeout)

    def reduce_scatter(self, data: memoryview, out: memoryview, op: str, timeout: float) -> None:
        self._count("reduce_scatter")
        blocks = self._reduced(np.asarray(data), op, timeout).reshape(self.world_size, -1)
        np.asarray(out)[:] = blocks[self.rank]

    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        self._count("broadcast")
        data[:] = self._gather(bytes(data), timeout)[root]

    def barrier(self, timeout: float) -> None:
        self._count("barrier")
        self._gather(b"", timeout)

    def dup(self, timeout: float) -> "Everything":
        if self.rank == 0:
            self.exchange.copy = Exchange(self.world_size)
        self._gather(b"", timeout)
        return type(self)(self.exchange.copy, self.rank)

    def abort(self) -> None:
        self.aborted = True
        self.exchange.barrier.abort()

    def _reduced(self, data: Any, op: str, timeout: float) -> Any:
        arrays = [np.frombuffer(other, data.dtype) for other in self._gather(data.tobytes(), timeout)]
        reduced = arrays[0].copy()
        for array in arrays[1:]:
            reduced = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op](reduced, array)
        return reduced
