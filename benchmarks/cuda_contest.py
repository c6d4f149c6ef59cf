# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Contenders on one CUDA device, timed by PyTorch's events. They take turns in every round, and results are compared
before anything is reported. What fails, or differs, fails the program at its end, and is named in the tables; it takes
no other's row with it.

What cuda_torch.py and cuda_shampoo.py share.
"""

import argparse
import contextlib
import ctypes
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

WARM_UP = 3
"""Calls before the first round, by everyone: those that are captured need them."""

NOTHING_TO_RUN_ON = 3
"""The exit status where PyTorch, a GPU or gradstep is missing."""


def describe(error: Exception) -> str:
    """One line that a cell of a table can hold."""
    text = " ".join(str(error).split()).replace("|", "/")
    return f"{type(error).__name__}: {text[:300]}"


class Failures:
    """Errors of parts that do not end what comes after them: each is printed at once, and all are raised in the end."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)
        self.count += 1

    @contextlib.contextmanager
    def caught(self, part: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self.add(f"{part}: {describe(error)}")
            if not isinstance(error, AssertionError):
                traceback.print_exception(error)

    def end(self) -> None:
        if self.count:
            raise AssertionError(f"{self.count} failed, as said above")


@dataclass
class Contender:
    """One way of doing something.

    before: what the host does before each call, and is never captured. captured: `call` is put into a CUDA graph, and
    replayed. moved: bytes that a call must read and write at least; 0 where they are not what binds. beside: the
    contender whose work this is, too. failure: why it takes part no more.
    """

    name: str
    call: Callable[[], object]
    moved: float = 0
    beside: "Contender | None" = None
    captured: bool = False
    before: Callable[[], object] | None = None
    milliseconds: list[float] = field(default_factory=list)
    failure: str = ""
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
            # A capture that fails leaves its own stream the current one.
            with torch.cuda.stream(torch.cuda.current_stream()), torch.cuda.graph(graph):
                body()
            self.call, self._captured = graph.replay, body  # whose handles the graph works on

    def attempt(self, work: Callable[[], object]) -> None:
        """An error ends this contender alone."""
        if self.failure:
            return
        try:
            work()
        except Exception as error:
            self.failure = describe(error)
            traceback.print_exception(error)

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


def measure(contenders: Sequence[Contender], rounds: int = 15, calls: int = 10, seconds: float = 20.0) -> int:
    """At least three rounds, or `rounds`, and no new one after `seconds`; returns how many."""
    for contender in contenders:
        contender.attempt(contender.prepare)

    def time_calls(contender: Contender, counts: bool) -> None:
        milliseconds = span(contender.once, calls)
        if counts:
            contender.milliseconds.append(milliseconds)

    begin = time.perf_counter()
    for number in range(-1, rounds):  # the first is not counted
        if number >= 3 and time.perf_counter() - begin > seconds:
            return number
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            contender.attempt(lambda one=contender, counts=number >= 0: time_calls(one, counts))
    return rounds


def difference(what: str, ours: Sequence[Any], theirs: Sequence[Any], tolerance: float) -> str:
    """Empty if both have moved alike: no element differs by more than `tolerance` of the largest one."""
    for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        apart, largest = float((a - b).abs().max()), float(a.abs().max())
        if not apart <= tolerance * largest or largest == 0:  # a NaN is no agreement
            return f"{what}: tensor {index} differs by {apart:g}, its largest element is {largest:g}"
    return ""


def differences(contenders: Sequence[Contender], ends: Sequence[Sequence[Any]], tolerance: float) -> Iterator[str]:
    """Ratios of each to the first one, among those that have come to their end."""
    whole = [(one, end) for one, end in zip(contenders, ends, strict=True) if not one.failure]
    for one, end in whole[1:]:
        yield difference(one.name, whole[0][1], end, tolerance)


def report(
    title: str, contenders: Sequence[Contender], found: Iterable[str], yardstick: Contender | None = None
) -> None:
    """The table, whose title says where results differ or could not be compared; raises what was wrong when it is
    printed. found: what differs, in words; empty ones are none.
    """
    failures, outcome = Failures(), ", not compared"
    with failures.caught(f"{title}: not compared"):
        different = [text for text in found if text]
        for text in different:
            failures.add(text)
        outcome = ", results differ" if different else ""
    table(title + outcome, contenders, yardstick)
    for contender in contenders:
        if contender.failure:
            failures.add(f"{contender.name}: {contender.failure}")
    failures.end()


def table(title: str, contenders: Sequence[Contender], yardstick: Contender | None = None) -> None:
    """Rows of Markdown. yardstick: a copy, whose bytes a second are the machine's limit."""

    def speed(contender: Contender | None) -> float:
        return contender.moved / contender.best() / 1e6 if contender and contender.milliseconds else 0.0

    print(f"\n| {title} | best ms | median ms | GB/s | of the copy | times gradstep's |\n|---|---|---|---|---|---|")
    for one in contenders:
        cells = [one.name + (f": {one.failure}" if one.failure else "")] + [""] * 5
        if one.milliseconds:
            cells[1:3] = [f"{one.best():.3f}", f"{one.median():.3f}"]
            if one.moved:
                cells[3] = f"{speed(one):.0f}"
            if one.moved and speed(yardstick):
                cells[4] = f"{speed(one) / speed(yardstick):.2f}"
            if one.beside and one.beside.milliseconds:
                cells[5] = f"{one.best() / one.beside.best():.2f}"
        print("| " + " | ".join(cells) + " |", flush=True)


def versions() -> str:
    """Versions of PyTorch and of the libraries that it and gradstep call, as far as they are known."""
    import torch

    found = [f"PyTorch {torch.__version__}", f"CUDA {torch.version.cuda}"]
    # By the names that gradstep opens, in its order: those that PyTorch has opened are taken again.
    for name, function, sonames in (
        ("cuBLAS", "cublasGetProperty", ("libcublas.so.13", "libcublas.so.12")),
        ("cuSOLVER", "cusolverGetProperty", ("libcusolver.so.12", "libcusolver.so.11")),
    ):
        for soname in sonames:
            with contextlib.suppress(OSError, AttributeError):
                get_property, number = getattr(ctypes.CDLL(soname), function), ctypes.c_int()
                parts = []
                for part in range(3):  # MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
                    get_property(part, ctypes.byref(number))
                    parts.append(str(number.value))
                found.append(f"{name} {'.'.join(parts)}")
                break
    with contextlib.suppress(OSError, AttributeError):
        number = ctypes.c_int()
        if ctypes.CDLL("libnccl.so.2").ncclGetVersion(ctypes.byref(number)) == 0 and number.value:
            found.append(f"NCCL {number.value // 10000}.{number.value // 100 % 100}.{number.value % 100}")
    return ", ".join(found)


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

    print(versions(), flush=True)
    failures = Failures()
    for name in chosen or sections:
        torch.manual_seed(0)
        with failures.caught(name):
            sections[name]()
    return 1 if failures.count else 0


def run_chosen(
    description: str | None, sections: dict[str, Callable[[bool], None]], arguments: list[str] | None
) -> int:
    """A program: the sections that its arguments name, all by default. Each gets whether sizes are small."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(sections))
    parser.add_argument("--small", action="store_true")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.sections) - set(sections):
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    return run_sections(
        {name: lambda function=function: function(chosen.small) for name, function in sections.items()}, chosen.sections
    )
