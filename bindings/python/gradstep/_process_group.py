# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Process groups of torch.distributed: their collectives, lent to gradstep, and their ranks, connected by gradstep."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from gradstep._info import unique_id
from gradstep.communicator import Communicator
from gradstep.context import Context
from gradstep.errors import Error, InvalidArgument

_DTYPES = {"f": torch.float32, "d": torch.float64, "i": torch.int32, "q": torch.int64}
_OPERATIONS = {"sum": dist.ReduceOp.SUM, "max": dist.ReduceOp.MAX, "min": dist.ReduceOp.MIN}


def communicator(
    process_group: dist.ProcessGroup | None = None,
    timeout: float = 30.0,
    *,
    reduction_order: str = "rank",
    context: Context | None = None,
) -> Communicator:
    """The ranks of a process group of torch.distributed (collective among them); None = the default group.

    The group must take tensors on the CPU (gloo, mpi), and no other code may use it at the same time: give gradstep one
    of its own, from torch.distributed.new_group. reduction_order "engine" sums by the group's own all-reduce.
    """
    collectives = _Collectives(process_group)
    return Communicator.host(collectives, timeout, reduction_order=reduction_order, context=context)


def connect(
    process_group: dist.ProcessGroup | None = None,
    timeout: float = 30.0,
    network_interface: str | None = None,
    *,
    reduction_order: str = "rank",
    context: Context | None = None,
) -> Communicator:
    """gradstep's own connections between the ranks of a process group (collective among them); None = the default one.

    As Communicator.connect(): shared memory where all ranks run on one machine, else Gloo. The group, of any backend,
    only carries what they need to meet.
    """
    group = process_group if process_group is not None else dist.group.WORLD
    rank = _rank_in(group)
    ids: list[Any] = [None]
    if rank == 0:
        try:
            ids = [unique_id("auto", network_interface)]
        except Error as error:  # the others wait for it
            ids = [error]
    dist.broadcast_object_list(ids, dist.get_global_rank(group, 0), group)
    if isinstance(ids[0], Error):
        raise ids[0]
    return Communicator.connect(
        rank,
        dist.get_world_size(group),
        ids[0],
        timeout,
        network_interface,
        reduction_order=reduction_order,
        context=context,
    )


def _rank_in(group: dist.ProcessGroup) -> int:
    if group is not dist.GroupMember.NON_GROUP_MEMBER and not isinstance(group, dist.ProcessGroup):
        raise InvalidArgument(f"process_group: is a {type(group).__name__}, expected one of torch.distributed")
    rank = dist.get_rank(group)
    if rank < 0:
        raise InvalidArgument("process_group: this process is not one of its ranks")
    return rank


class _Collectives:
    """gradstep.HostCollectives."""

    any_thread = True

    def __init__(self, group: dist.ProcessGroup | None) -> None:
        self._group = group if group is not None else dist.group.WORLD
        self.rank = _rank_in(self._group)
        self.world_size = dist.get_world_size(self._group)

    def all_gather(self, data: memoryview, timeout: float) -> Sequence[memoryview]:
        own = _copy(data)
        gathered = [bytearray(len(data)) for _ in range(self.world_size)]
        views = [torch.frombuffer(each, dtype=torch.uint8) for each in gathered]
        self._wait(lambda: dist.all_gather(views, own, group=self._group, async_op=True), timeout)
        return [memoryview(each) for each in gathered]

    def all_reduce(self, data: memoryview, op: str, timeout: float) -> None:
        tensor = torch.frombuffer(data, dtype=_DTYPES[data.format])
        self._wait(lambda: dist.all_reduce(tensor, _OPERATIONS[op], group=self._group, async_op=True), timeout)

    def broadcast(self, data: memoryview, root: int, timeout: float) -> None:
        tensor = torch.frombuffer(data, dtype=torch.uint8)
        self._wait(lambda: dist.broadcast(tensor, self._global(root), group=self._group, async_op=True), timeout)

    def send(self, data: memoryview, to: int, timeout: float) -> None:
        self._wait(lambda: dist.isend(_copy(data), self._global(to), group=self._group), timeout)

    def recv(self, data: memoryview, source: int, timeout: float) -> None:
        tensor = torch.frombuffer(data, dtype=torch.uint8)
        self._wait(lambda: dist.irecv(tensor, self._global(source), group=self._group), timeout)

    def barrier(self, timeout: float) -> None:
        self._wait(lambda: dist.barrier(group=self._group, async_op=True), timeout)

    def _global(self, rank: int) -> int:
        return dist.get_global_rank(self._group, rank)

    def _wait(self, start: Callable[[], Any], timeout: float) -> None:
        try:
            start().wait(timedelta(seconds=timeout))
        except RuntimeError as error:  # torch has no class for either
            if "imed out" in str(error) or "imeout" in str(error):
                raise TimeoutError(str(error)) from error
            raise ConnectionError(str(error)) from error


def _copy(data: memoryview) -> torch.Tensor:
    """torch has no tensors that cannot be written to; a copy keeps the caller's safe."""
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
