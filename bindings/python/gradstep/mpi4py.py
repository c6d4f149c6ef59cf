# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Communicators that lend mpi4py's collectives: for an MPI that gradstep has no plugin for.

Communicator.mpi does the same without Python in between, where libgradstep_mpi was built with the MPI at hand.
"""

import time
from collections.abc import Callable, Sequence
from typing import cast

from mpi4py import MPI

from gradstep.communicator import Communicator
from gradstep.context import Context
from gradstep.errors import Aborted, InvalidArgument

__all__ = ["communicator"]

# MPI's waits know no time, so requests are polled: at once for a moment, then with pauses.
_EAGER_SECONDS = 0.002
_PAUSE_SECONDS = 0.0001

_OPERATIONS = {"sum": MPI.SUM, "max": MPI.MAX, "min": MPI.MIN}


def communicator(
    comm: MPI.Intracomm,
    timeout: float = 30.0,
    *,
    reduction_order: str = "rank",
    context: Context | None = None,
) -> Communicator:
    """The ranks of `comm` (collective among them), which is duplicated and stays the caller's.

    reduction_order "engine" sums by MPI's own all-reduce. MPI ends a job whose rank died; the timeout alone is kept,
    and what was given up at a timeout MPI may still write to. Calls can be aborted where MPI runs with THREAD_MULTIPLE.

    Raises InvalidArgument for an intercommunicator, whose reductions give each side the other's result.
    """
    check_intracommunicator(comm)
    return Communicator.host(_Collectives(comm.Dup()), timeout, reduction_order=reduction_order, context=context)


def check_intracommunicator(comm: object) -> None:
    """Refuses what has no ranks that could reduce among themselves."""
    if not isinstance(comm, MPI.Comm):
        raise InvalidArgument(f"comm: is a {type(comm).__name__}, expected an mpi4py.MPI.Intracomm")
    if comm == MPI.COMM_NULL:
        raise InvalidArgument("comm: is MPI.COMM_NULL, expected a communicator that this process is a rank of")
    if comm.Is_inter():
        there = cast(MPI.Intercomm, comm).Get_remote_size()
        raise InvalidArgument(
            f"comm: is an intercommunicator, of {comm.Get_size()} ranks here and {there} there; "
            "expected an intracommunicator: comm.Merge() makes one of both groups"
        )


class _Collectives:
    """gradstep.HostCollectives. Everything is non-blocking, so that timeouts are kept."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm  # owned
        self._aborted = False
        self._broken = False
        self.rank = self._comm.Get_rank()
        self.world_size = self._comm.Get_size()
        self.any_thread = MPI.Query_thread() == MPI.THREAD_MULTIPLE

    def __del__(self, is_finalized: Callable[[], bool] = MPI.Is_finalized) -> None:  # this module may be empty by then
        if not self._broken and not is_finalized():
            self._comm.Free()

    def all_gather(self, data: memoryview, timeout: float) -> Sequence[memoryview]:
        size = len(data)
        gathered = memoryview(bytearray(size * self.world_size))
        self._wait(self._comm.Iallgather([data, MPI.BYTE], [gathered, MPI.BYTE]), timeout)
        return [gathered[rank * size : (rank + 1) * size] for rank in range(self.world_size)]

    def all_reduce(self, data: memoryview, op: str, timeout: float) -> None:
        self._wait(self._comm.Iallreduce(MPI.IN_PLACE, data, _OPERATIONS[op]), timeout)

    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        self._wait(self._comm.Ibcast([data, MPI.BYTE], root), timeout)

    def send(self, data: memoryview, to: int, timeout: float) -> None:
        self._wait(self._comm.Isend([data, MPI.BYTE], to), timeout)

    def recv(self, data: memoryview, source: int, timeout: float) -> None:
        self._wait(self._comm.Irecv([data, MPI.BYTE], source), timeout)

    def barrier(self, timeout: float) -> None:
        self._wait(self._comm.Ibarrier(), timeout)

    def dup(self, timeout: float) -> "_Collectives":
        other, request = self._comm.Idup()
        self._wait(request, timeout)
        return _Collectives(other)

    def abort(self) -> None:
        self._aborted = True

    def _wait(self, request: MPI.Request, timeout: float) -> None:
        begin = time.monotonic()
        while not request.Test():
            waited = time.monotonic() - begin
            if self._aborted or waited >= timeout:
                self._broken = True
                if self._aborted:
                    raise Aborted("this rank aborted")
                raise TimeoutError("the other ranks did not come until the deadline")
            if waited > _EAGER_SECONDS:
                time.sleep(_PAUSE_SECONDS)
