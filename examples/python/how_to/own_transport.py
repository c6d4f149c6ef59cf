# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Three processes, joined by pipes of their own, lend gradstep one function, and train with the bits of threads."""

import multiprocessing
import time
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue

import numpy as np
from ranks import run

import gradstep

RANKS, STEPS = 3, 20


# docs:begin collectives
class Star:
    """Collectives over pipes between rank 0 and every other rank."""

    def __init__(self, rank: int, world_size: int, pipes: list[Connection]) -> None:
        self.rank, self.world_size = rank, world_size
        self._pipes = pipes  # rank 0 has one to each other rank, another rank the one to rank 0

    def all_gather(self, data: memoryview, timeout: float) -> list[bytes]:
        """The data of all ranks, in their order; all have the same length."""
        deadline = time.monotonic() + timeout
        if self.rank == 0:
            parts = [bytes(data), *(self._receive(pipe, deadline) for pipe in self._pipes)]
            for pipe in self._pipes:
                pipe.send_bytes(b"".join(parts))
            return parts
        self._pipes[0].send_bytes(data)
        whole = self._receive(self._pipes[0], deadline)
        return [whole[rank * len(data) : (rank + 1) * len(data)] for rank in range(self.world_size)]

    def _receive(self, pipe: Connection, deadline: float) -> bytes:
        if not pipe.poll(max(0, deadline - time.monotonic())):
            raise TimeoutError("a rank sent nothing")
        return pipe.recv_bytes()
        # docs:end collectives


def train(comm: gradstep.Communicator) -> bytes:
    parameters = [np.zeros(1000, np.float32)]
    updater = gradstep.Updater(gradstep.Adam(parameters, learning_rate=0.1), reducer=gradstep.Reducer(comm, parameters))
    random = np.random.default_rng(comm.rank)
    for _ in range(STEPS):
        updater.push(parameters, [random.standard_normal(1000).astype(np.float32)])
    return parameters[0].tobytes()


def work(rank: int, pipes: list[Connection], results: SimpleQueue[bytes]) -> None:
    # docs:begin lend
    comm = gradstep.Communicator.host(Star(rank, RANKS, pipes))
    # docs:end lend
    results.put(train(comm))


def main() -> None:
    context = multiprocessing.get_context("spawn")
    results: SimpleQueue[bytes] = context.SimpleQueue()
    ends = [context.Pipe() for _ in range(1, RANKS)]
    pipes = [[end for end, _ in ends], *([end] for _, end in ends)]
    processes = [context.Process(target=work, args=(rank, pipes[rank], results)) for rank in range(RANKS)]
    for process in processes:
        process.start()
    found = {results.get() for _ in processes}
    for process in processes:
        process.join()
    assert found == set(run(RANKS, train)), "the bits of ranks that are threads"
    print(f"{RANKS} processes made {STEPS} steps over their own pipes; the bits are those of threads")


if __name__ == "__main__":
    main()
