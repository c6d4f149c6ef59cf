# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: actors.py

Actors, which are processes of this program, not Ray's: a driver starts workers, calls their methods and carries values
between them. One worker makes an id, whose bytes the driver hands to all: that is the whole rendezvous. With Ray write
ray.remote(Worker).remote() for Actor(Worker), and ray.get(actor.make_id.remote()) for actor.call("make_id")().
"""

import multiprocessing
from collections.abc import Callable
from typing import Any

import torch
from digits import accuracy, batches, digest, make_model

import gradstep
import gradstep.torch

WORKERS, STEPS = 2, 60


# docs:begin worker
class Worker:
    def make_id(self) -> bytes:
        return gradstep.unique_id("auto")

    def connect(self, rank: int, world_size: int, id: bytes) -> None:
        self.comm = gradstep.Communicator.connect(rank, world_size, store=id)
        self.model = make_model()
        self.optimizer = gradstep.torch.AdamW(self.model.parameters(), lr=3e-3)
        self.optimizer.shard(self.comm)
        # docs:end worker

    def train(self, steps: int) -> None:
        for x, y in batches(steps, self.comm.rank, self.comm.world_size):
            self.optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.model(x), y).backward()
            self.optimizer.step()

    def report(self) -> tuple[float, str]:
        return accuracy(self.model), digest(self.model)


class Actor:
    """An object in a process of its own, started by multiprocessing."""

    def __init__(self, make: Callable[[], Any]) -> None:
        context = multiprocessing.get_context("spawn")
        self._calls, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(make, theirs), daemon=True)
        self._process.start()

    def call(self, method: str, *arguments: Any) -> Callable[[], Any]:
        """Begins a call; what is returned waits for its result."""
        self._calls.send((method, arguments))
        return self._calls.recv

    def end(self) -> None:
        self._calls.send(None)
        self._process.join()


def _serve(make: Callable[[], Any], calls: Any) -> None:
    torch.set_num_threads(1)
    worker = make()
    while (call := calls.recv()) is not None:
        method, arguments = call
        calls.send(getattr(worker, method)(*arguments))


def main() -> None:
    actors = [Actor(Worker) for _ in range(WORKERS)]
    # docs:begin driver
    id = actors[0].call("make_id")()
    wait_for([actor.call("connect", rank, WORKERS, id) for rank, actor in enumerate(actors)])
    wait_for([actor.call("train", STEPS) for actor in actors])
    # docs:end driver
    for rank, (right, bits) in enumerate(wait_for([actor.call("report") for actor in actors])):
        print(f"rank {rank} of {WORKERS}: accuracy {right:.3f}, digest {bits}")
    for actor in actors:
        actor.end()


def wait_for(calls: list[Callable[[], Any]]) -> list[Any]:
    return [result() for result in calls]


if __name__ == "__main__":
    main()
