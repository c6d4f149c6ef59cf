# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: cuda_shampoo.py [--small] [SECTION...]

Shampoo on the first CUDA device, beside Meta's Distributed Shampoo where that can be imported:

  model        shampoo.py's matrices, each dimension four times; blocks of 128 and 512, roots every step and every ten
  transformer  the layers of a transformer of a billion parameters, roots every step and every ten
  products     FLOP/s of statistics and of preconditioning, beside torch.mm
  roots        what a root takes, by method, size and precision: for the table of root_method "auto"

All by default. --small takes sizes that a test on an emulated device bears. Before anything is timed, steps with either
method are compared with the CPU's. Prints tables of Markdown; the exit status is that of cuda_torch.py.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from cuda_contest import run_chosen, span
from shampoo import SHAPES

GRADIENTS = 2  # of which steps take one after another
NEVER = 10**6
METHODS = ("eigh", "coupled_newton")

Step = Callable[[Sequence[Any]], object]
Shapes = Sequence[tuple[int, ...]]


@dataclass
class Contender:
    """Milliseconds of every step, by round."""

    name: str
    step: Step
    parameters: list[Any]
    rounds: list[list[float]] = field(default_factory=list)

    def run(self, gradients: list[list[Any]], count: int) -> list[float]:
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


def ours(parameters: list[Any], block: int, every: int, **options: Any) -> Step:
    from shampoo_peers import gradstep_options

    import gradstep

    optimizer = gradstep.Shampoo(parameters, **{**gradstep_options(block, every), **options})
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


def measure(
    makers: dict[str, Callable[[list[Any]], Step]], shapes: Shapes, count: int, seconds: float
) -> list[Contender]:
    """Rounds of `count` steps, by contenders in turns; at least one, and no new one after `seconds`. What is not
    installed or does not fit into the device's memory is named and left out.
    """
    import torch

    import gradstep

    start, gradients = model_of(shapes)
    contenders = []
    for name, make in makers.items():
        try:
            own = [parameter.clone() for parameter in start]
            contender = Contender(name, make(own), own)
            contender.run(gradients, count)  # takes memory, and passes the first roots
            contenders.append(contender)
        except ImportError as error:
            print(f"{name}: not installed ({error})", flush=True)
        except (torch.cuda.OutOfMemoryError, gradstep.OutOfMemory) as error:
            print(f"{name}: does not fit into the device's memory ({error})", flush=True)
        give_back_memory()
    begin = time.perf_counter()
    for number in range(9):
        if number > 0 and time.perf_counter() - begin > seconds:
            break
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            contender.rounds.append(contender.run(gradients, count))
    check_directions(contenders, start)
    return contenders


def check_directions(contenders: Sequence[Contender], start: list[Any]) -> None:
    """All of them have moved every parameter, and to numbers. Other implementations have other ridges and momenta, so
    they cannot be held to the same numbers: how much they agree is the cosine of the angle between the ways that the
    largest parameter went, and is printed.
    """
    import torch

    largest = max(range(len(start)), key=lambda k: start[k].numel())
    ways = []
    for contender in contenders:
        for parameter, before in zip(contender.parameters, start, strict=True):
            if not bool(torch.isfinite(parameter).all()) or bool((parameter == before).all()):
                raise AssertionError(f"{contender.name}: a parameter stays, or is no number")
        ways.append((contender.parameters[largest] - start[largest]).flatten())
    for contender, way in zip(contenders[1:], ways[1:], strict=True):
        cosine = float((way * ways[0]).sum() / (way.norm() * ways[0].norm()))
        print(f"{contender.name}: cosine {cosine:.3f} with {contenders[0].name}", flush=True)


def table(title: str, contenders: Sequence[Contender]) -> None:
    print(f"\n| {title} | rounds | best ms a step | median ms | without roots | times gradstep's |")
    print("|---|---|---|---|---|---|")
    for one in contenders:
        without = f"{one.best_without_roots():.2f}" if len(one.rounds[0]) > 1 else ""
        times = one.best() / contenders[0].best()
        print(
            f"| {one.name} | {len(one.rounds)} | {one.best():.2f} | {one.median():.2f} | {without} | {times:.2f} |",
            flush=True,
        )


def check_against_the_cpu(shapes: Shapes, block: int) -> None:
    """Three steps with roots, by either method: the way of each parameter within a thousandth of the CPU's."""
    import numpy as np

    start, gradients = model_of(shapes)
    host = [parameter.cpu().numpy().copy() for parameter in start]
    before = [parameter.copy() for parameter in host]
    at_host = ours(host, block, 1)
    for k in range(3):
        at_host([gradient.cpu().numpy() for gradient in gradients[k % GRADIENTS]])
    for method in METHODS:
        own = [parameter.clone() for parameter in start]
        step = ours(own, block, 1, root_method=method)
        for k in range(3):
            step(gradients[k % GRADIENTS])
        for there, here, origin in zip(own, host, before, strict=True):
            error = np.abs(there.cpu().numpy() - here).max() / np.abs(here - origin).max()
            if not error <= 1e-3:
                raise AssertionError(f"{method}: steps differ from the CPU's by {error:.1e}")


def contest(title: str, shapes: Shapes, blocks: Sequence[int], methods: Sequence[str], seconds: float) -> None:
    for block in blocks:
        for every in (1, 10):
            makers: dict[str, Callable[[list[Any]], Step]] = {
                f"gradstep, {method}": lambda own, b=block, e=every, m=method: ours(own, b, e, root_method=m)
                for method in methods
            }
            if every > 1:
                makers[f"gradstep, {methods[0]}, root_lag {every}"] = lambda own, b=block, e=every: ours(
                    own, b, e, root_method=methods[0], root_lag=e
                )
            makers["Meta's Distributed Shampoo"] = lambda own, b=block, e=every: meta(own, b, e)
            found = measure(makers, shapes, every, seconds)
            table(f"{title}, blocks of {block}, roots every {every} step(s)", found)
            del found
            give_back_memory()


def model(small: bool) -> None:
    shapes = [(12, 12), (12, 20)] if small else [(4 * rows, 4 * columns) for rows, columns in SHAPES]
    check_against_the_cpu([(6, 6), (6, 10)] if small else SHAPES, 4 if small else 128)
    contest(f"{len(shapes)} matrices", shapes, (8,) if small else (128, 512), METHODS[::-1], 0 if small else 6)


def transformer(small: bool) -> None:
    """Sixteen layers, 2048 wide, a quarter of that for keys and values, gated perceptrons of 8192; no embedding."""
    wide, layers = (16, 1) if small else (2048, 16)
    layer = [(wide, wide), (wide // 4, wide), (wide // 4, wide), (wide, wide)]
    layer += [(4 * wide, wide), (4 * wide, wide), (wide, 4 * wide)]
    shapes = layer * layers
    elements = sum(rows * columns for rows, columns in shapes)
    check_against_the_cpu([(6, 6), (6, 10)] if small else SHAPES[:1], 4 if small else 128)
    title = f"transformer, {elements / 1e6:.0f}M parameters"
    contest(title, shapes, (8,) if small else (512,), METHODS[1:], 0 if small else 15)


def products(small: bool) -> None:
    """Differences of whole steps: with and without new statistics, with and without preconditioning."""
    import torch

    shapes = [(16, 16), (16, 32)] if small else [(4 * rows, 4 * columns) for rows, columns in SHAPES]
    check_against_the_cpu([(6, 6)] if small else SHAPES[:1], 4 if small else 128)
    start, gradients = model_of(shapes)
    extent = 16 if small else 4096
    square = torch.randn(extent, extent, device="cuda")
    rounds, steps = (1, 2) if small else (6, 8)
    print("\n| TFLOP/s | torch.mm, f32 | statistics | preconditioning | ms of statistics | of preconditioning |")
    print("|---|---|---|---|---|---|")
    for block in (8,) if small else (128, 512, 1024):
        kinds = (
            {},
            {"statistics_compute_steps": NEVER},
            {"statistics_compute_steps": NEVER, "precondition": 0.0},
        )
        contenders = []
        for kind in kinds:
            own = [parameter.clone() for parameter in start]
            contenders.append(Contender("", ours(own, block, NEVER, **kind), own))
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
        print(f"| blocks of {block} | " + " | ".join(cells) + " |", flush=True)
        del contenders
        give_back_memory()


def roots(small: bool) -> None:
    """A step with roots without one that takes none, divided by the roots. The methods' outcomes are compared."""
    from shampoo_peers import RATE, RIDGE

    import gradstep

    check_against_the_cpu([(6, 6)] if small else SHAPES[:1], 4 if small else 128)
    # f32 leaves a relative error of its precision times a quarter of the condition number, a million at this ridge.
    tolerances = {"f64": 1e-3, "f32": 0.1}
    columns = [f"{method}, {precision}" for precision in tolerances for method in METHODS]
    print("\n| ms a root | roots | " + " | ".join(columns) + " |\n|---|---|" + "---|" * len(columns))
    for n in (4, 8) if small else (32, 64, 128, 256, 512, 1024, 2048):
        shapes = [(n, n)] * (2 if small else max(1, 2**21 // n**2))
        start, gradients = model_of(shapes)
        cells = []
        for precision, tolerance in tolerances.items():
            found = []
            for method in METHODS:
                own = [parameter.clone() for parameter in start]
                options = {"root_method": method, "root_precision": precision}
                every, never = (Contender("", ours(own, n, each, **options), own) for each in (1, NEVER))
                for contender in (every, never):
                    contender.run(gradients, 2)
                    contender.rounds = [contender.run(gradients, 3) for _ in range(1 if small else 2)]
                cells.append((min(map(min, every.rounds)) - min(map(min, never.rounds))) / (2 * len(shapes)))
                options |= {"block_size": n, "matrix_epsilon": RIDGE, "preconditioning_compute_steps": 1}
                optimizer = gradstep.Shampoo(own, learning_rate=RATE, start_preconditioning_step=0, **options)
                for gradient in gradients:
                    optimizer.step(own, gradient)
                found.append(optimizer.get_state(0, "preconditioners.0.0"))
                del every, never, contender, optimizer
                give_back_memory()
            difference = abs(found[0] - found[1]).max() / abs(found[0]).max()
            if not difference <= tolerance:
                raise AssertionError(f"roots of {n}, {precision}: the methods differ by {difference:.1e}")
        print(f"| {n} | {2 * len(shapes)} | " + " | ".join(f"{cell:.4f}" for cell in cells) + " |", flush=True)


SECTIONS = {"model": model, "transformer": transformer, "products": products, "roots": roots}


def main(arguments: list[str] | None = None) -> int:
    return run_chosen(__doc__, SECTIONS, arguments)


if __name__ == "__main__":
    sys.exit(main())
