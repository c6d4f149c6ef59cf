# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: cuda_shampoo.py [--small] [SECTION...]

Shampoo on the first CUDA device, beside Meta's Distributed Shampoo where that can be imported:

  model        shampoo.py's matrices, each dimension four times; blocks of 128 and 512, roots every step and every ten
  transformer  the sixteen layers of a transformer of a billion parameters without Meta's, which takes their 7424 roots
               one by one, and two of the layers with it; roots every step and every ten
  products     FLOP/s of statistics and of preconditioning, beside torch.mm
  roots        what a root takes, by method, size and precision: for the table of root_method "auto"; with the steps and
               the FLOP/s of coupled Newton
  bases        what the refinement of a basis of SOAP takes, by size, beside torch.linalg.qr of as many products

All by default. --small takes sizes that a test on an emulated device bears. Before anything is timed, steps with either
method of roots are compared with the CPU's; of bases it is looked whether they are orthonormal. Prints tables of
Markdown; the exit status is that of cuda_torch.py, but that Meta's fails alone.
"""

import gc
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuda_contest import Failures, describe, run_chosen, span
from shampoo import SHAPES

GRADIENTS = 2  # of which steps take one after another
NEVER = 10**6
METHODS = ("eigh", "coupled_newton")
DIFFER = "results differ"
MOST_DECOMPOSED = 128  # by PyTorch at once: of large ones it does one after the other

Step = Callable[[Sequence[Any]], object]
Maker = Callable[[list[Any]], Step]
Shapes = Sequence[tuple[int, ...]]


@dataclass
class Contender:
    """Milliseconds of every step, by round. failure: why it takes part no more."""

    name: str
    step: Step | None
    parameters: list[Any]
    rounds: list[list[float]] = field(default_factory=list)
    steps: int = 0
    failure: str = ""
    is_too_large: bool = False

    def give_up(self, error: Exception) -> None:
        """When the error is gone, nothing refers to its memory any more."""
        import torch

        import gradstep

        if isinstance(error, ImportError):
            self.failure = f"not installed ({error})"
        elif isinstance(error, (torch.cuda.OutOfMemoryError, gradstep.OutOfMemory)):
            self.failure = f"does not fit into the device's memory ({describe(error)})"
            self.is_too_large = True
        else:
            self.failure = f"failed ({describe(error)})"
            traceback.print_exception(error)
        print(f"{self.name}: {self.failure}", flush=True)
        self.step, self.parameters = None, []

    def run(self, gradients: list[list[Any]], count: int) -> list[float]:
        self.steps += count
        return [span(lambda k=k: self.step(gradients[k % len(gradients)])) for k in range(count)]

    def best(self) -> float:
        """A step in the mean over a round, roots included."""
        return min(statistics.mean(one) for one in self.rounds)

    def median(self) -> float:
        return statistics.median(statistics.mean(one) for one in self.rounds)

    def best_without_roots(self) -> float:
        """All of a round but the step that took longest."""
        return min((sum(one) - max(one)) / (len(one) - 1) for one in self.rounds)


def give_back_memory() -> None:
    """PyTorch keeps what it has freed, and gradstep takes its memory elsewhere."""
    import torch

    gc.collect()
    torch.cuda.empty_cache()


def model_of(shapes: Shapes) -> tuple[list[Any], list[list[Any]]]:
    """Parameters and gradients."""
    import torch

    torch.manual_seed(0)

    def drawn(scale: float) -> list[Any]:
        return [torch.randn(shape, device="cuda").mul_(scale) for shape in shapes]

    return drawn(1.0), [drawn(0.01) for _ in range(GRADIENTS)]


def shampoo_of(parameters: list[Any], block: int, every: int, **options: Any) -> Any:
    from shampoo_peers import gradstep_options

    import gradstep

    return gradstep.Shampoo(parameters, **{**gradstep_options(block, every), **options})


def ours(parameters: list[Any], block: int, every: int, **options: Any) -> Step:
    optimizer = shampoo_of(parameters, block, every, **options)
    return lambda gradients: optimizer.step(parameters, gradients)


def meta(parameters: list[Any], block: int, every: int) -> Step:
    import torch
    from shampoo_peers import meta_optimizer

    held = [torch.nn.Parameter(parameter) for parameter in parameters]
    optimizer = meta_optimizer(held, block, every)

    def step(gradients: Sequence[Any]) -> None:
        for parameter, gradient in zip(held, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()

    return step


def first_run(name: str, make: Maker, start: list[Any], gradients: list[list[Any]], count: int) -> Contender:
    """Takes memory, and passes the first roots."""
    contender = Contender(name, None, [])
    begin = time.perf_counter()
    try:
        contender.parameters = [parameter.clone() for parameter in start]
        contender.step = make(contender.parameters)
        contender.rounds.append(contender.run(gradients, count))
    except Exception as error:
        contender.give_up(error)
    else:
        print(f"{name}: {count} step(s) for the first time: {time.perf_counter() - begin:.1f} s", flush=True)
    return contender


def measure(makers: dict[str, Maker], shapes: Shapes, count: int, seconds: float, rounds: int = 9) -> list[Contender]:
    """Rounds of `count` steps, by contenders in turns; no new one after `seconds`. A first run is not counted, unless
    it was longer than that: then it is the only one. What is not installed, does not fit into the device's memory, or
    fails, takes part no more.
    """
    start, gradients = model_of(shapes)
    contenders, takes_turns = [], []
    for name, make in makers.items():
        contender = first_run(name, make, start, gradients, count)
        contenders.append(contender)
        if not contender.failure and sum(contender.rounds[0]) <= seconds * 1e3:
            contender.rounds.clear()
            takes_turns.append(contender)
        give_back_memory()
    begin = time.perf_counter()
    for number in range(rounds):
        if number > 0 and time.perf_counter() - begin > seconds:
            break
        for contender in takes_turns if number % 2 == 0 else takes_turns[::-1]:
            if contender.failure:
                continue
            try:
                contender.rounds.append(contender.run(gradients, count))
            except Exception as error:
                contender.give_up(error)
            if contender.failure:
                give_back_memory()
    for contender in contenders:
        if not contender.failure:
            try:
                check_direction(contender, contenders[0], start)
            except Exception as error:
                outcome = DIFFER if isinstance(error, AssertionError) else "not compared"
                contender.failure = f"{outcome} ({describe(error)})"
                print(f"{contender.name}: {contender.failure}", flush=True)
    return contenders


def check_direction(contender: Contender, first: Contender, start: list[Any]) -> None:
    """It has moved every parameter, and to numbers. Other implementations have other ridges and momenta, so they cannot
    be held to the same numbers: how much they agree with the first is the cosine of the angle between the ways that
    the largest parameter went, and is printed.
    """
    import torch

    for parameter, before in zip(contender.parameters, start, strict=True):
        if not bool(torch.isfinite(parameter).all()) or bool((parameter == before).all()):
            raise AssertionError("a parameter stays, or is no number")
    if contender is first or first.failure:
        return
    largest = max(range(len(start)), key=lambda k: start[k].numel())
    way, other = ((one.parameters[largest] - start[largest]).flatten() for one in (contender, first))
    cosine = float((way * other).sum() / (way.norm() * other.norm()))
    steps = f" ({contender.steps} steps beside {first.steps})" if contender.steps != first.steps else ""
    print(f"{contender.name}: cosine {cosine:.3f} with {first.name}{steps}", flush=True)


def table(title: str, contenders: Sequence[Contender]) -> None:
    print(f"\n| {title} | rounds | best ms a step | median ms | without roots | times gradstep's |")
    print("|---|---|---|---|---|---|")
    for one in contenders:
        cells = [one.name + (f": {one.failure}" if one.failure else ""), str(len(one.rounds))] + [""] * 4
        if one.rounds:
            cells[2:4] = [f"{one.best():.2f}", f"{one.median():.2f}"]
            if len(one.rounds[0]) > 1:
                cells[4] = f"{one.best_without_roots():.2f}"
            if contenders[0].rounds:
                cells[5] = f"{one.best() / contenders[0].best():.2f}"
        print("| " + " | ".join(cells) + " |", flush=True)


def check_against_the_cpu(shapes: Shapes, block: int, failures: Failures) -> str:
    """Three steps with roots, by either method: the way of each parameter within a thousandth of the CPU's. Otherwise
    returns what titles of tables end in.
    """
    import numpy as np

    before_these = failures.count
    start, gradients = model_of(shapes)
    host = [parameter.cpu().numpy().copy() for parameter in start]
    before = [parameter.copy() for parameter in host]
    at_host = ours(host, block, 1)
    for k in range(3):
        at_host([gradient.cpu().numpy() for gradient in gradients[k % GRADIENTS]])
    for method in METHODS:
        with failures.caught(f"{method}, beside the CPU"):
            own = [parameter.clone() for parameter in start]
            step = ours(own, block, 1, root_method=method)
            for k in range(3):
                step(gradients[k % GRADIENTS])
            for there, here, origin in zip(own, host, before, strict=True):
                error = np.abs(there.cpu().numpy() - here).max() / np.abs(here - origin).max()
                if not error <= 1e-3:
                    raise AssertionError(f"{method}: steps differ from the CPU's by {error:.1e}")
    return f", {DIFFER}" if failures.count > before_these else ""


@dataclass
class Contest:
    """Tables of the same model by several options. rounds: at most."""

    title: str
    shapes: Shapes
    methods: Sequence[str]
    seconds: float
    rounds: int
    failures: Failures
    with_peers: bool = True

    def run(self, block: int, every: int) -> None:
        makers: dict[str, Maker] = {
            f"gradstep, {method}": lambda own, m=method: ours(own, block, every, root_method=m)
            for method in self.methods
        }
        if every > 1:
            makers[f"gradstep, {self.methods[0]}, root_lag {every}"] = lambda own: ours(
                own, block, every, root_method=self.methods[0], root_lag=every
            )
        makers[f"gradstep, {self.methods[0]}, products in TF32"] = lambda own: ours(
            own, block, every, root_method=self.methods[0], product_precision="tf32"
        )
        peers: dict[str, Maker] = {}
        if self.with_peers:
            peers["Meta's Distributed Shampoo"] = lambda own: meta(own, block, every)
        title = f"{self.title}, blocks of {block}, roots every {every} step(s)"

        def measured() -> list[Contender]:
            return measure({**makers, **peers}, self.shapes, every, self.seconds, self.rounds)

        with self.failures.caught(title):
            self.report(title, measured(), makers)
        give_back_memory()

    def report(self, title: str, found: Sequence[Contender], makers: Container[str]) -> None:
        """makers: names of gradstep's own, whose failures are the section's; too little memory is none."""
        own = [one for one in found if one.name in makers and one.failure and not one.is_too_large]
        table(title + f", {DIFFER}" * any(one.failure.startswith(DIFFER) for one in own), found)
        for one in own:
            self.failures.add(f"{title}: {one.name}: {one.failure}")


def model(small: bool) -> None:
    shapes = [(12, 12), (12, 20)] if small else [(4 * rows, 4 * columns) for rows, columns in SHAPES]
    failures = Failures()
    differ = check_against_the_cpu([(6, 6), (6, 10)] if small else SHAPES, 4 if small else 128, failures)
    title, limits = f"{len(shapes)} matrices{differ}", (60, 1) if small else (6, 9)
    for block in (8,) if small else (128, 512):
        for every in (1, 10):
            Contest(title, shapes, METHODS[::-1], *limits, failures).run(block, every)
    failures.end()


def transformer(small: bool) -> None:
    """Layers 2048 wide, a quarter of that for keys and values, gated perceptrons of 8192; no embedding."""
    wide = 8 if small else 2048
    layer = [(wide, wide), (wide // 4, wide), (wide // 4, wide), (wide, wide)]
    layer += [(4 * wide, wide), (4 * wide, wide), (wide, 4 * wide)]
    failures = Failures()
    differ = check_against_the_cpu([(6, 6), (6, 10)] if small else SHAPES[:1], 4 if small else 128, failures)
    limits = (60, 1) if small else (15, 9)
    for layers, with_peers in ((1 if small else 16, False), (1 if small else 2, True)):
        elements = layers * sum(rows * columns for rows, columns in layer)
        title = f"transformer, {layers} of 16 layers, {elements / 1e6:.0f}M parameters{differ}"
        for every in (1, 10):
            Contest(title, layer * layers, METHODS[1:], *limits, failures, with_peers).run(8 if small else 512, every)
    failures.end()


def products(small: bool) -> None:
    """Differences of whole steps: with and without new statistics, with and without preconditioning."""
    import torch

    shapes = [(16, 16), (16, 32)] if small else [(4 * rows, 4 * columns) for rows, columns in SHAPES]
    failures = Failures()
    differ = check_against_the_cpu([(6, 6)] if small else SHAPES[:1], 4 if small else 128, failures)
    start, gradients = model_of(shapes)
    extent = 16 if small else 4096
    square = torch.randn(extent, extent, device="cuda")
    rounds, steps = (1, 2) if small else (6, 8)

    def row(block: int, precision: str) -> None:
        kinds = (
            {},
            {"statistics_compute_steps": NEVER},
            {"statistics_compute_steps": NEVER, "precondition": 0.0},
        )
        contenders = []
        for kind in kinds:
            own = [parameter.clone() for parameter in start]
            optimizer = ours(own, block, NEVER, product_precision=precision, **kind)
            contenders.append(Contender("", optimizer, own))
        multiply = Contender("", lambda _: torch.mm(square, square), [])
        for number in range(-1, rounds):
            for contender in (*contenders, multiply):
                milliseconds = contender.run(gradients, steps)
                if number >= 0:
                    contender.rounds.append(milliseconds)
        whole, no_statistics, neither, mm = (min(map(min, each.rounds)) for each in (*contenders, multiply))
        # A product of n x n matrices counts 2 n^3; a statistic, which is symmetric, n^3.
        contraction = sum(2 * m * n * (min(m, block) + min(n, block)) for m, n in shapes)
        rates = [
            2.0 * extent**3 / mm,
            contraction / 2 / (whole - no_statistics),
            contraction / (no_statistics - neither),
        ]
        cells = [f"{rate / 1e9:.1f}" for rate in rates] + [
            f"{whole - no_statistics:.3f}",
            f"{no_statistics - neither:.3f}",
        ]
        print(f"| blocks of {block}{', TF32' * (precision == 'tf32')} | " + " | ".join(cells) + " |", flush=True)

    print(
        f"\n| TFLOP/s{differ} | torch.mm, f32 | statistics | preconditioning | ms of statistics | of preconditioning |"
    )
    print("|---|---|---|---|---|---|")
    for block in (8,) if small else (128, 512, 1024):
        for precision in ("f32", "tf32"):
            with failures.caught(f"products, blocks of {block}, {precision}"):
                row(block, precision)
            give_back_memory()
    failures.end()


@dataclass
class TimedRoots:
    """milliseconds: of one. steps: of coupled Newton, in the mean. root: the first of all, to be compared."""

    milliseconds: float
    steps: float
    root: Any

    def teraflops(self, n: int) -> float:
        """A step is five products for the inverse fourth root: M M, H T, T T, its square, and that times M. The first
        has no H T, and the last only the first two."""
        return (5 * self.steps - 4) * 2 * n**3 / max(self.milliseconds, 1e-9) / 1e9  # a difference of times


def time_roots(n: int, count: int, small: bool, **options: Any) -> TimedRoots:
    """A step with roots without one that takes none, divided by the roots."""
    from shampoo_peers import RATE, RIDGE

    import gradstep

    start, gradients = model_of([(n, n)] * count)
    own = [parameter.clone() for parameter in start]
    optimizer = shampoo_of(own, n, 1, **options)
    every = Contender("", lambda gradients: optimizer.step(own, gradients), own)
    never = Contender("", ours(own, n, NEVER, **options), own)
    for contender in (every, never):
        contender.run(gradients, 2)
        contender.rounds = [contender.run(gradients, 3) for _ in range(1 if small else 2)]
    milliseconds = (min(map(min, every.rounds)) - min(map(min, never.rounds))) / (2 * count)
    steps = statistics.mean(one.value for one in optimizer.metrics() if one.name == "root_iterations")
    options |= {"block_size": n, "matrix_epsilon": RIDGE, "preconditioning_compute_steps": 1}
    compared = gradstep.Shampoo(own, learning_rate=RATE, start_preconditioning_step=0, **options)
    for gradient in gradients:
        compared.step(own, gradient)
    return TimedRoots(milliseconds, steps, compared.get_state(0, "preconditioners.0.0"))


def roots(small: bool) -> None:
    """The methods' outcomes are compared."""
    failures = Failures()
    differ = check_against_the_cpu([(6, 6)] if small else SHAPES[:1], 4 if small else 128, failures)
    # f32 leaves a relative error of its precision times a quarter of the condition number, a million at this ridge.
    tolerances = {"f64": 1e-3, "f32": 0.1}
    columns = [f"{method}, {precision}" for precision in tolerances for method in METHODS]
    columns += [f"{what}, {precision}" for precision in tolerances for what in ("Newton's steps", "its TFLOP/s")]
    print(f"\n| ms a root{differ} | roots | " + " | ".join(columns) + " |\n|---|---|" + "---|" * len(columns))
    for n in (4, 8) if small else (32, 64, 128, 256, 512, 1024, 2048):
        count = 2 if small else max(1, 2**21 // n**2)
        times, rates, differing = [], [], ""
        for precision, tolerance in tolerances.items():
            found: dict[str, TimedRoots] = {}
            for method in METHODS:
                with failures.caught(f"roots of {n}, {method}, {precision}"):
                    found[method] = time_roots(n, count, small, root_method=method, root_precision=precision)
                give_back_memory()
            if len(found) == len(METHODS):
                eigh, newton = (found[method].root for method in METHODS)
                difference = abs(eigh - newton).max() / abs(eigh).max()
                if not difference <= tolerance:
                    failures.add(f"roots of {n}, {precision}: the methods differ by {difference:.1e}")
                    differing += f", {precision} differs"
            times += [f"{found[method].milliseconds:.4f}" if method in found else "failed" for method in METHODS]
            newton_steps = found.get("coupled_newton")
            rates += [f"{newton_steps.steps:.1f}", f"{newton_steps.teraflops(n):.2f}"] if newton_steps else ["", ""]
        print(f"| {n}{differing} | {2 * count} | " + " | ".join(times + rates) + " |", flush=True)
    failures.end()


def refresh(n: int, count: int, small: bool) -> float:
    """Milliseconds of one basis: a step that refreshes them without one that does not, divided by the bases."""
    import torch

    start, gradients = model_of([(n, n)] * count)
    times = []
    for every in (1, NEVER):
        own = [parameter.clone() for parameter in start]
        optimizer = shampoo_of(own, n, every, eigenvalue_corrected=True)
        contender = Contender("", lambda gradients, o=optimizer, p=own: o.step(p, gradients), own)
        contender.run(gradients, 2)  # the first one is by eigenvectors
        rounds = [contender.run(gradients, 3) for _ in range(1 if small else 2)]
        times.append(min(map(min, rounds)))
        basis = torch.as_tensor(optimizer.get_state(0, "preconditioners.0.0"), dtype=torch.float64)
        error = float((basis.T @ basis - torch.eye(n, dtype=torch.float64)).abs().max())
        if not error <= 1e-5:
            raise AssertionError(f"vectors of {n} are orthonormal but for {error:.1e}")
    return (times[0] - times[1]) / (2 * count)


def decompose(n: int, count: int, dtype: Any) -> float:
    """Milliseconds of one of as many QR decompositions at once, of products of statistics with a basis."""
    import torch

    g = torch.randn(count, n, n, device="cuda", dtype=dtype)
    matrices = torch.matmul(torch.matmul(g, g.mT), torch.linalg.qr(g[0]).Q)
    return min([span(lambda: torch.linalg.qr(matrices)) for _ in range(3)]) / count


def bases(small: bool) -> None:
    import torch

    failures = Failures()
    print("\n| ms a basis | bases | gradstep | torch.linalg.qr, f64 | torch.linalg.qr, f32 |\n|---|---|---|---|---|")
    for n in (4, 8) if small else (32, 64, 128, 256, 512, 1024, 2048):
        count = 2 if small else max(1, 2**21 // n**2)
        decomposed = min(2 * count, MOST_DECOMPOSED)
        cells = []
        for name, time_one in {
            "gradstep": lambda n=n, count=count: refresh(n, count, small),
            "PyTorch, f64": lambda n=n, count=decomposed: decompose(n, count, torch.float64),
            "PyTorch, f32": lambda n=n, count=decomposed: decompose(n, count, torch.float32),
        }.items():
            cells.append("failed")
            with failures.caught(f"bases of {n}, {name}"):
                cells[-1] = f"{time_one():.4f}"
            give_back_memory()
        print(f"| {n} | {2 * count} | " + " | ".join(cells) + " |", flush=True)
    failures.end()


SECTIONS = {"model": model, "transformer": transformer, "products": products, "roots": roots, "bases": bases}


def main(arguments: list[str] | None = None) -> int:
    return run_chosen(__doc__, SECTIONS, arguments)


if __name__ == "__main__":
    sys.exit(main())
