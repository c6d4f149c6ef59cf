# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Contenders on one CUDA device, timed by PyTorch's events. They take turns in every round, and nothing is reported
before their results were compared.

What cuda_torch.py and cuda_shampoo.py share.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

WARM_UP = 3
"""Calls before the first round, by everyone: those that are captured need them."""

NOTHING_TO_RUN_ON = 3
"""The exit status where PyTorch, a GPU or gradstep is missing."""


@dataclass
class Contender:
    """One way of doing something.

    before: what the host does before each call, and is never captured. captured: `call` is put into a CUDA graph, and
    replayed. moved: bytes that a call must read and write at least; 0 where they are not what binds. beside: the
    contender whose work this is, too.
    """

    name: str
    call: Callable[[], object]
    moved: float = 0
    beside: "Contender | None" = None
    captured: bool = False
    before: Callable[[], object] | None = None
    milliseconds: list[float] = field(default_factory=list)
    _captured: Callable[[], object] | None = None

    def prepare(self) -> None:
        """Every contender makes as many calls, whatever becomes of them."""
        import torch

        body = self.call
        side = torch.cuda.Stream() if self.captured else torch.cuda.current_stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.once()
        torch.cuda.current_stream().wait_stream(side)
        if self.captured:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                body()
            self.call, self._captured = graph.replay, body  # whose handles the graph works on

    def once(self) -> None:
        if self.before is not None:
            self.before()
        self.call()

    def best(self) -> float:
        return min(self.milliseconds)

    def median(self) -> float:
        return statistics.median(self.milliseconds)


def span(call: Callable[[], object], calls: int = 1) -> float:
    """Milliseconds of a call, between two events of the device."""
    import torch

    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def measure(contenders: Sequence[Contender], rounds: int = 15, calls: int = 10, seconds: float = 20.0) -> None:
    """At least three rounds, and no new one after `seconds`."""
    for contender in contenders:
        contender.prepare()
    begin = time.perf_counter()
    for number in range(-1, rounds):  # the first is not counted
        if number >= 3 and time.perf_counter() - begin > seconds:
            break
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            milliseconds = span(contender.once, calls)
            if number >= 0:
                contender.milliseconds.append(milliseconds)


def expect_close(what: str, ours: Sequence[Any], theirs: Sequence[Any], tolerance: float) -> None:
    """Both have moved alike: no element differs by more than `tolerance` of the largest one."""
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        difference, largest = float((a - b).abs().max()), float(a.abs().max())
        if not difference <= tolerance * largest or largest == 0:  # a NaN is no agreement
            raise AssertionError(
                f"{what}: tensor {index} differs by {difference:g}, its largest element is {largest:g}"
            )


def table(title: str, contenders: Sequence[Contender], yardstick: Contender | None = None) -> None:
    """Rows of Markdown. yardstick: a copy, whose bytes a second are the machine's limit."""

    def speed(contender: Contender) -> float:
        return contender.moved / contender.best() / 1e6

    print(f"\n| {title} | best ms | median ms | GB/s | of the copy | times gradstep's |\n|---|---|---|---|---|---|")
    for one in contenders:
        cells = [one.name, f"{one.best():.3f}", f"{one.median():.3f}"]
        cells.append(f"{speed(one):.0f}" if one.moved else "")
        cells.append(f"{speed(one) / speed(yardstick):.2f}" if one.moved and yardstick else "")
        cells.append(f"{one.best() / one.beside.best():.2f}" if one.beside else "")
        print("| " + " | ".join(cells) + " |", flush=True)


def missing() -> str:
    """What is not here and must be; empty if nothing."""
    try:
        import torch
    except ImportError:
        return "there is no PyTorch for this Python"
    if not torch.cuda.is_available():
        return f"PyTorch {torch.__version__} finds no GPU"
    try:
        import gradstep
    except ImportError as error:
        return f"gradstep's Python package is not on PYTHONPATH ({error})"
    status = gradstep.backend_status("cuda")
    return "" if status == "ok" else f"gradstep has no CUDA: {status}"


def run_sections(sections: dict[str, Callable[[], None]], chosen: Sequence[str]) -> int:
    """Each by itself: what fails is said, and the others go on."""
    if reason := missing():
        print(reason, file=sys.stderr)
        return NOTHING_TO_RUN_ON
    import torch

    failed = []
    for name in chosen or sections:
        torch.manual_seed(0)
        try:
            sections[name]()
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
            failed.append(name)
    return 1 if failed else 0


def run_chosen(
    description: str | None, sections: dict[str, Callable[[bool], None]], arguments: list[str] | None
) -> int:
    """A program: the sections that its arguments name, all by default. Each is told whether sizes are small."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections))
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.sections) - set(sections):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    return run_sections(
        {name: lambda function=function: function(chosen.small) for name, function in sections.items()}, chosen.sections
    )
