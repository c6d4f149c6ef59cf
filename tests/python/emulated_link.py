# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A slow network between threads of one process, for Communicator.host.

Every rank has a full-duplex link of its own: a message leaves when the ones before it have left, takes its bytes over
the bandwidth, and arrives a latency later. Data are copied at once; what is emulated is waiting, by the wall clock or
by a clock of the rank's own, on which only the network takes time.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import gradstep

View = memoryview | None


class Mailbox:
    """Messages from one rank to another, each with the time of its arrival."""

    def __init__(self) -> None:
        self.messages: deque[tuple[bytes, float]] = deque()
        self.changed = threading.Condition()

    def put(self, data: bytes, arrival: float) -> None:
        with self.changed:
            self.messages.append((data, arrival))
            self.changed.notify()

    def get(self, timeout: float) -> tuple[bytes, float]:
        with self.changed:
            if not self.changed.wait_for(lambda: self.messages, timeout):
                raise TimeoutError("the peer sent nothing")
            return self.messages.popleft()


class WallClock:
    """Seconds that everyone shares."""

    def now(self) -> float:
        return time.perf_counter()

    def wait_until(self, moment: float) -> None:
        while (left := moment - time.perf_counter()) > 0:
            time.sleep(left)


class NetworkClock:
    """Seconds that one rank has waited for the network: the same in every run, whatever else the machine does."""

    def __init__(self) -> None:
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def wait_until(self, moment: float) -> None:
        self._now = max(self._now, moment)


class EmulatedLink:
    """One rank's end. bandwidth: bytes a second each way; latency: seconds."""

    rank_ordered = True

    def __init__(
        self,
        rank: int,
        boxes: list[list[Mailbox]],
        bandwidth: float,
        latency: float,
        clock: WallClock | NetworkClock,
    ) -> None:
        self.rank, self.world_size = rank, len(boxes)
        self.clock = clock
        self._boxes = boxes
        self._bandwidth, self._latency = bandwidth, latency
        self._free = 0.0  # when the last message has left

    @classmethod
    def world(
        cls,
        world_size: int,
        bandwidth: float,
        latency: float,
        clock: Callable[[], WallClock | NetworkClock] = WallClock,
    ) -> "list[EmulatedLink]":
        boxes = [[Mailbox() for _ in range(world_size)] for _ in range(world_size)]
        return [cls(rank, boxes, bandwidth, latency, clock()) for rank in range(world_size)]

    def send(self, data: memoryview, to: int, timeout: float) -> None:
        self._free = max(self._free, self.clock.now()) + len(data) / self._bandwidth
        self._boxes[self.rank][to].put(bytes(data), self._free + self._latency)

    def recv(self, data: memoryview, source: int, timeout: float) -> None:
        self.clock.wait_until(self._take(data, source, timeout))

    def exchange(self, outgoing: list[View], incoming: list[View], timeout: float) -> None:
        # Everyone's first message to another peer, as a switch would have it.
        order = [(self.rank + step) % self.world_size for step in range(1, self.world_size)]
        for peer in order:
            if (data := outgoing[peer]) is not None:
                self.send(data, peer, timeout)
        arrivals = [self._take(target, peer, timeout) for peer in order if (target := incoming[peer]) is not None]
        self.clock.wait_until(max(arrivals, default=0.0))

    def all_gather(self, data: memoryview, timeout: float) -> list[bytearray]:
        gathered = [bytearray(len(data)) for _ in range(self.world_size)]
        gathered[self.rank][:] = data
        others: list[View] = [data] * self.world_size
        self.exchange(others, [memoryview(block) for block in gathered], timeout)
        return gathered

    def _take(self, target: memoryview, source: int, timeout: float) -> float:
        data, arrival = self._boxes[source][self.rank].get(timeout)
        target[:] = data
        return arrival


def run_over_link(links: list[EmulatedLink], body: Callable[[gradstep.Communicator], Any]) -> list[Any]:
    """Runs body(comm) on one thread per rank. Returns the results; raises the first failure."""
    results: list[Any] = [None] * len(links)
    failures: list[BaseException] = []

    def run(link: EmulatedLink) -> None:
        try:
            context = gradstep.Context(num_threads=1)
            results[link.rank] = body(gradstep.Communicator.host(link, 60.0, context=context))
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(link,), daemon=True) for link in links]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        if thread.is_alive():
            failures.append(TimeoutError("a rank hangs"))
    if failures:
        raise failures[0]
    return results
