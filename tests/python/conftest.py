# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the tests share."""

import signal
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import gradstep


def run_ranks(world_size: int, body: Callable[[gradstep.Communicator], Any], timeout: float = 20.0) -> list[Any]:
    """Runs body(comm) on one thread per rank of a local group. Returns the results; raises the first failure."""
    results: list[Any] = [None] * world_size
    failures: list[BaseException] = []

    def run(rank: int, comm: gradstep.Communicator) -> None:
        try:
            results[rank] = body(comm)
        except BaseException as failure:
            failures.append(failure)

    ends = gradstep.Communicator.local(world_size, timeout)
    threads = [threading.Thread(target=run, args=(rank, comm), daemon=True) for rank, comm in enumerate(ends)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout + 10)
        assert not thread.is_alive(), "a rank hangs"
    if failures:
        raise failures[0]
    return results


@pytest.fixture(scope="session", autouse=True)
def children_can_be_waited_for() -> None:
    """Who starts the tests may have ignored SIGCHLD: then children vanish without a status."""
    if hasattr(signal, "SIGCHLD"):  # Windows has none
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(7)


def relative(a: Any, b: Any) -> float:
    """max|a - b| / max|b|."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    return float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-300))
