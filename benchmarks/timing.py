# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing: the machine's speed changes from second to second, so contenders take turns in every round."""

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[1] / "scripts"))
import processors

processor = processors.kind


@dataclass
class Timing:
    """Seconds per call of one contender, one entry per round."""

    rounds: list[float]

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def median(self) -> float:
        return statistics.median(self.rounds)


@dataclass
class Yardstick:
    """Work whose speed is the machine's limit, timed in every round beside the contenders."""

    call: Callable[[], object]
    bytes_moved: int


@dataclass
class Case:
    """One piece of work, done by several contenders. "gradstep" is one of them; the others are its peers.

    bytes_moved: what one call must read and write in memory at least; 0 where that is not the limit.
    clock: the processor's time (time.thread_time) for what computes on the calling thread alone and out of its caches:
    neighbours on the machine count less.
    check: called after the last round; raises if the contenders computed different things.
    """

    name: str
    contenders: dict[str, Callable[[], object]]
    check: Callable[[], None]
    bytes_moved: int = 0
    rounds: int = 15
    calls: int = 1
    clock: Callable[[], float] = time.perf_counter
    yardstick: Yardstick | None = None
    timings: dict[str, Timing] = field(default_factory=dict)
    limit: Timing | None = None

    def run(self) -> None:
        seconds: dict[str, list[float]] = {label: [] for label in self.contenders}
        limit: list[float] = []
        for call in self.contenders.values():  # first touch, caches, allocations: every contender makes the same number
            call()
        for number in range(self.rounds):
            labels = list(self.contenders)
            for label in labels if number % 2 == 0 else reversed(labels):
                call = self.contenders[label]
                begin = self.clock()
                for _ in range(self.calls):
                    call()
                seconds[label].append((self.clock() - begin) / self.calls)
            if self.yardstick:
                begin = self.clock()
                self.yardstick.call()
                limit.append(self.clock() - begin)
        self.limit = Timing(limit) if limit else None
        self.timings = {label: Timing(rounds) for label, rounds in seconds.items()}
        self.check()

    def of_limit(self, label: str) -> tuple[float, float]:
        """Bytes per second in fractions of the yardstick's: of the best rounds, and the median over rounds."""
        assert self.yardstick and self.limit
        work = self.bytes_moved / self.yardstick.bytes_moved
        rounds = self.timings[label].rounds
        per_round = [work * b / a for a, b in zip(rounds, self.limit.rounds, strict=True)]
        return work * self.limit.best / self.timings[label].best, statistics.median(per_round)

    def ratio(self, peer: str) -> tuple[float, float]:
        """How many times faster gradstep is than `peer`: of the best rounds, and the median over rounds."""
        mine, theirs = self.timings["gradstep"], self.timings[peer]
        per_round = [b / a for a, b in zip(mine.rounds, theirs.rounds, strict=True)]
        return theirs.best / mine.best, statistics.median(per_round)


def renew_record(results: Path, document: dict[str, Any]) -> None:
    """Writes what was measured here to a record of machines. That of this kind of machine is replaced; others stay."""
    machines = json.loads(results.read_text()).get("machines", []) if results.exists() else []
    name = document["machine"]["processor"]
    place = next((k for k, each in enumerate(machines) if each["machine"]["processor"] == name), len(machines))
    machines[place : place + 1] = [document]
    results.parent.mkdir(parents=True, exist_ok=True)
    written = results.with_suffix(".new")
    written.write_text(json.dumps({"machines": machines}, indent=1) + "\n")
    written.replace(results)
