# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What these programs share: ranks that are threads of this process."""

import threading
from collections.abc import Callable
from typing import Any

import gradstep


def run(world_size: int, body: Callable[[gradstep.Communicator], Any]) -> list[Any]:
    """body(comm) on a thread for each rank. Returns the results; raises the first failure."""
    results: list[Any] = [None] * world_size
    failures: list[BaseException] = []

    def call(rank: int, comm: gradstep.Communicator) -> None:
        try:
            results[rank] = body(comm)
        except BaseException as failure:
            failures.append(failure)
            comm.abort()  # peers need not wait for it

    comms = gradstep.Communicator.local(world_size)
    threads = [threading.Thread(target=call, args=(rank, comm)) for rank, comm in enumerate(comms)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results
