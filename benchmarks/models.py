# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: models.py [--quick] [--results FILE]

Steps of the parameter lists of real models on one thread, beside PyTorch's fused steps of the same lists: SGD with
momentum, AdamW, AdamW with 8-bit state (the peer keeps f32), and AdamW with gradients clipped by their norm. Prints the
table that docs/performance.md has. --quick: some tensors of each list, one round. --results: a record of machines, of
which this one is renewed or added.
"""

import argparse
import math
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

from cases import add_yardstick, context, step_case, torch
from run import print_row, row_of
from timing import Case, processor, renew_record

import gradstep

Shapes = list[tuple[int, ...]]
RATE, DECAY, MAX_NORM = 1e-3, 0.01, 1.0
ROUNDS = 5


def resnet50() -> Shapes:
    """torchvision's, without the numbers that are no parameters."""

    def convolution(outputs: int, inputs: int, side: int) -> Shapes:
        return [(outputs, inputs, side, side), (outputs,), (outputs,)]

    shapes = convolution(64, 3, 7)
    inputs = 64
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            shapes += convolution(width, inputs, 1) + convolution(width, width, 3) + convolution(4 * width, width, 1)
            if block == 0:
                shapes += convolution(4 * width, inputs, 1)
            inputs = 4 * width
    return [*shapes, (1000, 2048), (1000,)]


def gpt2() -> Shapes:
    """The small one, with tied embeddings."""
    width = 768
    layer = [
        (width,),
        (width,),
        (width, 3 * width),
        (3 * width,),
        (width, width),
        (width,),
        (width,),
        (width,),
        (width, 4 * width),
        (4 * width,),
        (4 * width, width),
        (width,),
    ]
    return [(50257, width), (1024, width), *(layer * 12), (width,), (width,)]


def llama() -> Shapes:
    """Grouped queries and gated perceptrons: 12 layers of 1024."""
    width, kept, hidden = 1024, 256, 2816
    attention = [(width, width), (kept, width), (kept, width), (width, width)]
    layer = [*attention, (hidden, width), (hidden, width), (width, hidden), (width,), (width,)]
    return [(32000, width), *(layer * 12), (width,), (32000, width)]


def mixture() -> Shapes:
    """Six layers of 512, each with 16 experts."""
    width, hidden, experts = 512, 1408, 16
    expert = [(hidden, width), (hidden, width), (width, hidden)]
    layer = [*([(width, width)] * 4), (experts, width), *(expert * experts), (width,), (width,)]
    return [(32000, width), *(layer * 6), (width,)]


MODELS: dict[str, Callable[[], Shapes]] = {
    "ResNet-50": resnet50,
    "GPT-2": gpt2,
    "Llama-like": llama,
    "mixture of experts": mixture,
}


class Clipped:
    """A step of gradients that are clipped by their norm first."""

    def __init__(self, optimizer: gradstep.Optimizer) -> None:
        self._optimizer = optimizer

    @property
    def step_count(self) -> int:
        return self._optimizer.step_count

    def step(self, parameters: list[Any], gradients: list[Any]) -> None:
        self._optimizer.step(parameters, gradients, max_norm=MAX_NORM)


class TorchClipped:
    """Gradients are clipped in place, so each step brings them back."""

    def __init__(self, parameters: list[Any]) -> None:
        self._parameters = parameters
        self._optimizer = torch_adamw(parameters)

    def step(self) -> None:
        torch.nn.utils.clip_grad_norm_(self._parameters, MAX_NORM, foreach=True)
        self._optimizer.step()


def adamw(arrays: list[Any], **options: Any) -> gradstep.Optimizer:
    return gradstep.Adam(
        arrays, learning_rate=RATE, weight_decay=DECAY, decay_mode="decoupled", context=context(), **options
    )


def torch_adamw(parameters: list[Any]) -> Any:
    return torch.optim.AdamW(parameters, lr=RATE, weight_decay=DECAY, fused=True)


def cases_of(name: str, shapes: Shapes, rounds: int) -> Iterator[Case]:
    yield step_case(
        f"{name}: SGD",
        shapes,
        lambda arrays: gradstep.SGD(arrays, learning_rate=RATE, momentum=0.9, first_step="copy", context=context()),
        lambda parameters: torch.optim.SGD(parameters, lr=RATE, momentum=0.9, fused=True),
        20,
        rounds,
    )
    yield step_case(f"{name}: AdamW", shapes, adamw, torch_adamw, 28, rounds)
    eight_bits = step_case(
        f"{name}: AdamW, 8-bit state",
        shapes,
        lambda arrays: adamw(arrays, state_dtype="int8"),
        torch_adamw,
        16 + 4 * 4 / 256,
        rounds,
    )
    eight_bits.check = lambda: None  # the peer has other state
    yield eight_bits
    # Torch writes the clipped gradients; once clipped, they stay.
    yield step_case(
        f"{name}: clip, AdamW",
        shapes,
        lambda arrays: Clipped(adamw(arrays)),
        TorchClipped,
        32,
        rounds,
        tolerance=1e-5,
    )


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="models.py")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args(arguments)
    if torch:
        torch.set_num_threads(1)
    rows = []
    yardstick = add_yardstick()
    load = os.getloadavg()
    models = {}
    for name, shapes_of in MODELS.items():
        shapes = shapes_of()
        models[name] = {"tensors": len(shapes), "parameters": sum(map(math.prod, shapes))}
        for case in cases_of(name, shapes[1:12] if given.quick else shapes, 1 if given.quick else ROUNDS):
            case.yardstick = yardstick
            case.run()
            rows.append(row_of(case))
            print_row(rows[-1])
    if given.results:
        document = {
            "gradstep": gradstep.build_info(),
            "torch": torch.__version__ if torch else None,
            "machine": {
                "processor": processor(),
                "cores": os.cpu_count(),
                "system": platform.platform(),
                "load": load,
            },
            "models": models,
            "cases": rows,
        }
        renew_record(given.results, document)
    return 0


if __name__ == "__main__":
    sys.exit(main())
