# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: shampoo.py [--threads N]... [--seconds S] [--results FILE]

A step of Shampoo on a model of 4 matrices of 512x512 and 2 of 512x1024, beside other implementations: blocks of 128
and of 512, roots in every step and in every tenth. Then on ResNet-50's convolutions of 3x3, one of each size but the
largest, with blocks of 128 and of 1024. Contenders take turns in every round. Each number of threads is a
process of its own that may use as many processors; peers that are not installed are named and left out.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

SHAPES = [(512, 512)] * 4 + [(512, 1024)] * 2
CONVOLUTIONS = [(64, 64, 3, 3), (128, 128, 3, 3), (256, 256, 3, 3)]
GRADIENTS = 4  # of which steps take one after another
MOST_ROUNDS = 9


@dataclass
class Contender:
    """Seconds of every step, by round."""

    name: str
    step: Callable
    rounds: list[list[float]] = field(default_factory=list)

    def run(self, gradients: list, count: int, keep: bool = True) -> None:
        seconds = []
        for index in range(count):
            begin = time.perf_counter()
            self.step(gradients[index % GRADIENTS])
            seconds.append(time.perf_counter() - begin)
        if keep:
            self.rounds.append(seconds)

    def best(self) -> float:
        """A step in the mean over a round, roots included."""
        return min(sum(seconds) / len(seconds) for seconds in self.rounds)

    def best_without_roots(self) -> float:
        """A step that takes no root: all of a round but the one that took longest."""
        return min((sum(seconds) - max(seconds)) / (len(seconds) - 1) for seconds in self.rounds)


def model(shapes: list = SHAPES) -> tuple[list, list]:
    import numpy as np

    random = np.random.default_rng(0)
    draw = [[random.standard_normal(shape).astype(np.float32) for shape in shapes] for _ in range(GRADIENTS + 1)]
    return draw[0], [[grad * np.float32(0.01) for grad in grads] for grads in draw[1:]]


def measure(
    makers: dict[str, Callable], block: int, every: int, threads: int, seconds: float, shapes: list = SHAPES
) -> list[Contender]:
    _, gradients = model(shapes)
    contenders = []
    for name, make in makers.items():
        try:
            contenders.append(Contender(name, make(model(shapes)[0], block, every, threads)))
        except ImportError as error:
            print(f"  {name}: not installed ({error})", flush=True)
    for contender in contenders:
        contender.run(gradients, every, keep=False)  # compiles, allocates, and passes the first roots
    begin = time.perf_counter()
    for number in range(MOST_ROUNDS):
        if number >= 2 and time.perf_counter() - begin > seconds:
            break
        for contender in contenders if number % 2 == 0 else reversed(contenders):
            contender.run(gradients, every)
    return contenders


def rows_of(contenders: list[Contender], case: dict) -> list[dict]:
    rows = []
    ours = contenders[0]
    for contender in contenders:
        row = {**case, "name": contender.name, "rounds": len(contender.rounds), "ms": contender.best() * 1e3}
        row["times"] = contender.best() / ours.best()
        text = f"  {contender.name:<34}{row['ms']:10.1f} ms  {row['times']:7.2f}"
        if case["every"] > 1:
            row["ms_without_roots"] = contender.best_without_roots() * 1e3
            row["times_without_roots"] = contender.best_without_roots() / ours.best_without_roots()
            text += f"   without roots {row['ms_without_roots']:8.1f} ms  {row['times_without_roots']:7.2f}"
        print(text, flush=True)
        rows.append(row)
    return rows


def check_against_google(threads: int) -> None:
    """Three steps of both: the same algorithm. Coupled Newton stops at 1e-6, and state is f32."""
    import numpy as np
    import shampoo_peers as peers

    start, gradients = model()
    ours = [p.copy() for p in start]
    try:
        theirs = peers.google_jax(start, 128, 1, threads)
    except ImportError:
        return
    step = peers.gradstep_shampoo(ours, 128, 1, threads)
    for grads in gradients[:3]:
        step(grads)
        theirs(grads)
    for p, q, before in zip(ours, theirs.parameters, start, strict=True):
        error = np.abs(p - np.asarray(q)).max() / np.abs(p - before).max()
        if error > 1e-3:
            raise AssertionError(f"gradstep and Google's differ by {error:.1e} of the step")


def products(threads: int) -> dict:
    """Rates of the statistics and of the preconditioning, beside a plain product of 512x512 matrices.

    They are differences of whole steps: with and without new statistics, with and without preconditioning.
    """
    import numpy as np
    import shampoo_peers as peers

    square = np.random.default_rng(0).random((512, 512), np.float32)
    multiply = np.matmul
    try:
        import torch

        torch.set_num_threads(threads)
        square, multiply = torch.from_numpy(square), torch.mm
    except ImportError:
        pass
    _, gradients = model()
    never = 10**6
    result: dict = {}
    print("\nmatrix products, GFLOP/s")
    for block in (128, 512):
        makers = {
            "all": {},
            "no statistics": {"statistics_compute_steps": never},
            "neither": {"statistics_compute_steps": never, "precondition": 0.0},
        }
        steps = [
            Contender(name, peers.gradstep_shampoo(model()[0], block, never, threads, **options))
            for name, options in makers.items()
        ]
        product = Contender("sgemm", lambda _: multiply(square, square))
        for number in range(12):
            for contender in [*steps, product]:
                contender.run(gradients, 8, keep=number > 0)
        every, no_statistics, neither = (min(min(seconds) for seconds in contender.rounds) for contender in steps)
        sgemm = 2 * 512**3 / min(min(seconds) for seconds in product.rounds) / 1e9
        contraction = sum(2 * m * n * (min(m, block) + min(n, block)) for m, n in SHAPES)
        rates = {
            # A statistic is symmetric: half of its products are needed.
            "statistics": contraction / 2 / (every - no_statistics) / 1e9,
            "preconditioning": contraction / (no_statistics - neither) / 1e9,
        }
        result[str(block)] = {"sgemm": sgemm, **rates}
        line = ", ".join(f"{name} {rate:.0f} ({rate / sgemm:.2f} of sgemm)" for name, rate in rates.items())
        print(f"  block {block}: sgemm {sgemm:.0f}, {line}", flush=True)
    return result


# Of gradstep alone: what an option costs in time and in memory. Roots every ten steps, blocks of 128, but where said.
MODES = {
    "defaults": {},
    "roots every step": {"preconditioning_compute_steps": 1},
    "block_size 256": {"block_size": 256},
    "block_size 512": {"block_size": 512},
    "statistics every 2 steps": {"statistics_compute_steps": 2},
    "root_precision f32": {"root_precision": "f32"},
    "root_lag 10": {"root_lag": 10},
    "one_sided input": {"one_sided": "input"},
    "quantize_momentum": {"quantize_momentum": True},
    "quantize both": {"quantize_momentum": True, "quantize_statistics": True},
    "graft_type adam": {"graft_type": "adam"},
    "eigenvalue_corrected": {"eigenvalue_corrected": True},
    "precondition 0": {"precondition": 0.0},
}


def modes(threads: int) -> list[dict]:
    import shampoo_peers as peers

    import gradstep

    _, gradients = model()
    contenders, memory = [], []
    for name, options in MODES.items():
        chosen = {"preconditioning_compute_steps": 10, "block_size": 128, **options}
        step = peers.gradstep_shampoo(model()[0], chosen.pop("block_size"), 10, threads, **chosen)
        contenders.append(Contender(name, step))
        memory.append(step.func.__self__.memory)
    start = model()[0]
    adam = gradstep.Adam(start, learning_rate=peers.RATE, context=gradstep.Context(threads))
    contenders.append(Contender("Adam", lambda grads: adam.step(start, grads)))
    memory.append(adam.memory)
    for number in range(5):
        for contender in contenders:
            contender.run(gradients, 10, keep=number > 0)
    parameter_bytes = sum(parameter.nbytes for parameter in start)
    print(
        f"\ngradstep's options, {threads} thread(s); bytes in parts of the {parameter_bytes / 1e6:.1f} MB of parameters"
    )
    rows = []
    for contender, held in zip(contenders, memory, strict=True):
        state, other = (count / parameter_bytes for count in held())
        rows.append({"name": contender.name, "threads": threads, "ms": contender.best() * 1e3})
        rows[-1] |= {"state": state, "other": other}
        print(
            f"  {contender.name:<26}{rows[-1]['ms']:9.1f} ms a step   state {state:5.2f}   other {other:5.2f}",
            flush=True,
        )
    return rows


def lag(threads: int) -> dict:
    """What roots every ten steps add to the calling thread's steps, when the host has work of its own in between."""
    import shampoo_peers as peers

    _, gradients = model()
    host_seconds = 0.05  # a forward and a backward pass, on another device: the processor is free
    kinds = {"no roots": (10**6, {}), "roots in the step": (10, {}), "root_lag 10": (10, {"root_lag": 10})}
    contenders = []
    for name, (every, options) in kinds.items():
        step = peers.gradstep_shampoo(model()[0], 128, every, threads, **options)
        contenders.append(Contender(name, step))
    for number in range(4):
        for contender in contenders:
            seconds = []
            for index in range(20):
                begin = time.perf_counter()
                contender.step(gradients[index % GRADIENTS])
                seconds.append(time.perf_counter() - begin)
                time.sleep(host_seconds)
            if number > 0:
                contender.rounds.append(seconds)
    without, inside, beside = (contender.best() * 1e3 for contender in contenders)
    left = max(beside - without, 0) / (inside - without)
    print("\nroots every 10 steps, 50 ms of other work between steps")
    print(
        f"  {without:.1f} ms a step without roots, {inside:.1f} with roots in the step, {beside:.1f} with root_lag 10:"
    )
    print(f"  {left:.0%} of the roots' cost is left on the calling thread")
    return {"without": without, "inside": inside, "beside": beside, "left": left}


def run(threads: int, seconds: float) -> dict:
    import shampoo_peers as peers

    check_against_google(threads)
    shampoos = {
        "gradstep": peers.gradstep_shampoo,
        "gradstep, f32 roots": lambda *arguments: peers.gradstep_shampoo(*arguments, root_precision="f32"),
        "gradstep, OpenBLAS's roots": lambda *arguments: peers.gradstep_shampoo(
            *arguments, lapack_library=peers.numpy_lapack()
        ),
        "Google, JAX, f64 roots": peers.google_jax,
        "Meta, f32 roots": peers.meta,
        "pytorch-optimizer, f32 roots": peers.pytorch_optimizer,
    }
    soaps = {"gradstep": peers.gradstep_soap, "pytorch-optimizer": peers.pytorch_optimizer_soap}
    rows = []
    for block in (128, 512):
        for every in (1, 10):
            print(f"\nShampoo, {threads} thread(s), block {block}, roots every {every} step(s)", flush=True)
            case = {"rule": "shampoo", "threads": threads, "block": block, "every": every}
            rows += rows_of(measure(shampoos, block, every, threads, seconds), case)
    for block in (128, 1024):
        print(f"\nShampoo of convolutions, {threads} thread(s), block {block}, roots every 10 steps", flush=True)
        case = {"rule": "shampoo", "model": "convolutions", "threads": threads, "block": block, "every": 10}
        rows += rows_of(measure(shampoos, block, 10, threads, seconds, CONVOLUTIONS), case)
    print(f"\nSOAP, {threads} thread(s), whole matrices, a new basis every 10 steps", flush=True)
    case = {"rule": "soap", "threads": threads, "block": 1024, "every": 10}
    rows += rows_of(measure(soaps, 1024, 10, threads, seconds), case)
    return {"rows": rows, "products": products(threads), "modes": modes(threads), "lag": lag(threads)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, action="append", help="default: 1 and 2")
    parser.add_argument("--seconds", type=float, default=8.0, help="for the rounds of one case")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    counts = arguments.threads or [1, 2]
    if arguments.child:
        arguments.results.write_text(json.dumps(run(counts[0], arguments.seconds)))
        return 0
    print('"times" is how many times longer a step takes than gradstep\'s; best of the rounds')
    available = sorted(os.sched_getaffinity(0))
    all_results = []
    for threads in counts:
        if threads > len(available):
            print(f"{threads} threads: this machine has {len(available)} processors")
            continue
        part = (arguments.results or Path("shampoo.json")).with_suffix(f".{threads}.json").absolute()
        command = [sys.executable, __file__, "--child", "--threads", str(threads)]
        command += ["--seconds", str(arguments.seconds), "--results", str(part)]
        # Thread pools are as large as what a process may run on when it starts.
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        chosen = set(available[:threads])
        subprocess.run(command, check=True, env=environment, preexec_fn=lambda c=chosen: os.sched_setaffinity(0, c))
        all_results.append(json.loads(part.read_text()))
        part.unlink()
    if arguments.results:
        arguments.results.write_text(json.dumps(all_results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
