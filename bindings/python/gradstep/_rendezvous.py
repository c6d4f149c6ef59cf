# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Where the ranks that a launcher has started meet, if the caller does not say it."""

import itertools
import os
from datetime import timedelta
from typing import Any

from gradstep import _handover, _launcher
from gradstep._info import unique_id
from gradstep.errors import InvalidArgument

_calls = itertools.count()
"""How often this process has looked for its peers: all ranks do that in one order."""


def own_place(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Rank and number of ranks: those that are given, else the environment's."""
    if rank is None and world_size is None:
        launch = _launcher.read_launch(os.environ)
        return launch.rank, launch.world_size
    if rank is None or world_size is None:
        lacks, given = ("rank", "world_size") if rank is None else ("world_size", "rank")
        raise InvalidArgument(f"{lacks}: must be given with {given}")
    return rank, world_size


def find_store(timeout: float, network_interface: str | None) -> Any:
    """What Communicator.connect takes as its store, through which the ranks of the environment's job meet.

    In this order: the directory GRADSTEP_STORE; on one machine an id that rank 0 hands over by a local socket; the
    store that torchrun serves; an id that rank 0 hands over at MASTER_ADDR. Collective. Raises what
    _handover does.
    """
    if not timeout > 0:
        raise InvalidArgument(f"timeout: {timeout}, expected > 0")
    environment = os.environ
    launch = _launcher.read_launch(environment)
    number = next(_calls)
    if "GRADSTEP_STORE" in environment:
        os.makedirs(environment["GRADSTEP_STORE"], mode=0o700, exist_ok=True)
        return os.path.join(environment["GRADSTEP_STORE"], f"connect.{number}")
    if launch.world_size == 1:
        return unique_id("auto", network_interface)
    if launch.one_machine:
        return _handed_over(launch, _launcher.job_name(launch, environment), number, timeout, network_interface)
    if (agent := _launcher.agent_store(launch, environment)) is not None:
        attempt = environment.get("TORCHELASTIC_RESTART_COUNT", "0")
        return _TorchStore(agent, f"gradstep/{attempt}/{number}", timeout)
    return _handed_over(launch, _launcher.meeting_point(launch, environment), number, timeout, network_interface)


def _handed_over(
    launch: _launcher.Launch, place: _handover.Place, number: int, timeout: float, network_interface: str | None
) -> bytes:
    if launch.rank != 0:
        return _handover.fetch(place, number, launch.rank, timeout)
    id = unique_id("auto", network_interface)
    _handover.serve(id, place, number, launch.world_size, timeout)
    return id


class _TorchStore:
    """gradstep.Store over the store that torchrun's agent serves."""

    def __init__(self, address: _launcher.Address, prefix: str, timeout: float) -> None:
        import torch.distributed as dist

        host, port = address
        store = dist.TCPStore(host, port, is_master=False, timeout=timedelta(seconds=timeout))
        self._store = dist.PrefixStore(prefix, store)

    def set(self, key: str, value: bytes) -> None:
        self._store.set(key, value)

    def get(self, key: str, timeout: float) -> bytes:
        if not self._store.check([key]):
            try:
                self._store.wait([key], timedelta(milliseconds=max(1, int(timeout * 1000))))  # 0 would wait forever
            except RuntimeError as error:
                if "imeout" in str(error) or "imed out" in str(error):
                    raise TimeoutError(str(error)) from error
                raise
        return bytes(self._store.get(key))
