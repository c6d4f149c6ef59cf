# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A character transformer trained by AdamW, and by Shampoo in its place: the same rate, schedule and batches.

Then a run that is stopped and resumed, and two ranks that accumulate batches of different numbers of characters.
"""

import argparse
import io
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from model import Text, Transformer

import gradstep
import gradstep.torch

LENGTH, BATCH = 64, 16
RATE, WEIGHT_DECAY = 3e-3, 0.1
# Roots every ten steps. With blocks of 256 the matrices of the model are cut into at most three.
SHAMPOO = {"block_size": 256, "preconditioning_compute_steps": 10, "matrix_epsilon": 1e-6}


@dataclass(frozen=True)
class Plan:
    updates: int
    evaluate_every: int
    resumed_updates: int

    def rate(self, update: int) -> float:
        """A linear warm-up over a tenth of the run, then half a cosine down to a tenth of the rate."""
        schedule = gradstep.schedule.cosine(
            RATE, self.updates - self.updates // 10, RATE / 10, warmup_steps=self.updates // 10
        )
        return schedule.value(update)


@dataclass
class Curve:
    """Loss on the held-out text by update and by seconds of training."""

    name: str
    updates: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    seconds_in_steps: float = 0.0


def make_model(text: Text, dtype: torch.dtype = torch.float32) -> Transformer:
    torch.manual_seed(0)
    return Transformer(len(text.characters), LENGTH).to(dtype)


def groups(model: Transformer) -> list[dict]:
    """As most recipes for AdamW have them; the second one stays with AdamW also under Shampoo."""
    matrices = [p for layer in model.layers for p in layer.parameters() if p.ndim > 1]
    chosen = {id(p) for p in matrices}
    others = [p for p in model.parameters() if id(p) not in chosen]
    return [{"params": matrices}, {"params": others, "weight_decay": 0.0, "precondition": False}]


# docs:begin recipes
def adamw(model: Transformer, **extras) -> torch.optim.Optimizer:
    return gradstep.torch.AdamW(groups(model), lr=RATE, betas=(0.9, 0.95), weight_decay=WEIGHT_DECAY, **extras)


def shampoo(model: Transformer, **extras) -> torch.optim.Optimizer:
    return gradstep.torch.Shampoo.from_adamw(adamw(model), **SHAMPOO, **extras)


def soap(model: Transformer, **extras) -> torch.optim.Optimizer:
    return shampoo(model, eigenvalue_corrected=True, **extras)
    # docs:end recipes


def train(
    model: Transformer, optimizer: torch.optim.Optimizer, text: Text, plan: Plan, begin: int, end: int, curve: Curve
) -> None:
    """Updates `begin` to `end`. What it does depends on the number of an update alone, so a run can be cut anywhere."""
    held_out = text.held_out_batch(64, LENGTH)
    seconds = curve.seconds[-1] if curve.seconds else 0.0
    for update in range(begin, end):
        started = time.perf_counter()
        for group in optimizer.param_groups:
            group["lr"] = plan.rate(update)
        optimizer.zero_grad()
        model.loss(*text.batch(BATCH, LENGTH, seed=update + 1)).backward()
        stepping = time.perf_counter()
        optimizer.step(max_norm=1.0)
        ended = time.perf_counter()
        curve.seconds_in_steps += ended - stepping
        seconds += ended - started
        if (update + 1) % plan.evaluate_every == 0 or update + 1 == plan.updates:
            with torch.no_grad():
                curve.losses.append(float(model.loss(*held_out)))
            curve.updates.append(update + 1)
            curve.seconds.append(seconds)


def compare(text: Text, plan: Plan) -> list[Curve]:
    runs: list[tuple[str, torch.dtype, Callable[[Transformer], torch.optim.Optimizer]]] = [
        ("AdamW", torch.float32, adamw),
        ("Shampoo", torch.float32, shampoo),
        ("SOAP", torch.float32, soap),
        ("AdamW, bf16", torch.bfloat16, lambda model: adamw(model, master_weights=True)),
        ("Shampoo, bf16", torch.bfloat16, lambda model: shampoo(model, master_weights=True)),
        ("SOAP, bf16", torch.bfloat16, lambda model: soap(model, master_weights=True)),
    ]
    running = []
    for name, dtype, make in runs:
        model = make_model(text, dtype)
        running.append((model, make(model), Curve(name)))
    # In turns, so that a machine that is busy with other work is so for all of them.
    for begin in range(0, plan.updates, plan.evaluate_every):
        end = min(begin + plan.evaluate_every, plan.updates)
        for model, optimizer, curve in running:
            train(model, optimizer, text, plan, begin, end, curve)
        print(f"  {end} updates", end="\r", flush=True)
    return [curve for _, _, curve in running]


def print_curves(curves: list[Curve]) -> None:
    print(f"\n{'update':>8}" + "".join(f"{curve.name:>15}" for curve in curves))
    for row, update in enumerate(curves[0].updates):
        print(f"{update:8d}" + "".join(f"{curve.losses[row]:15.4f}" for curve in curves))
    print(f"{'seconds':>8}" + "".join(f"{curve.seconds[-1]:15.1f}" for curve in curves))
    print(f"{'in steps':>8}" + "".join(f"{curve.seconds_in_steps:15.1f}" for curve in curves))
    goal = curves[0].losses[-1]
    for curve in curves[1:3]:
        reached = next((row for row, loss in enumerate(curve.losses) if loss <= goal), None)
        if reached is None:
            print(f"{curve.name} does not reach AdamW's last loss")
            continue
        print(
            f"{curve.name} reaches AdamW's last loss after {curve.updates[reached]} updates and "
            f"{curve.seconds[reached]:.1f} s (AdamW: {curve.updates[-1]} and {curves[0].seconds[-1]:.1f} s)"
        )


def check_resume(text: Text, plan: Plan, make: Callable[[Transformer], torch.optim.Optimizer]) -> bool:
    """Whether a run that is saved and resumed in the middle ends with the bits of one that is not."""
    end = plan.resumed_updates
    whole, stopped, resumed = (make_model(text) for _ in range(3))
    train(whole, make(whole), text, plan, 0, end, Curve(""))
    optimizer = make(stopped)
    train(stopped, optimizer, text, plan, 0, end // 2, Curve(""))
    file = io.BytesIO()
    torch.save({"model": stopped.state_dict(), "optimizer": optimizer.state_dict()}, file)

    file.seek(0)
    saved = torch.load(file)
    resumed.load_state_dict(saved["model"])
    optimizer = make(resumed)
    optimizer.load_state_dict(saved["optimizer"])
    train(resumed, optimizer, text, plan, end // 2, end, Curve(""))
    return same_bits(whole, resumed)


def same_bits(a: Transformer, b: Transformer) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


def train_rank(model: Transformer, text: Text, comm: gradstep.Communicator, windows: int, micro_batches: int) -> None:
    """One rank: micro-batches of different lengths, each counting by its number of characters."""
    parameters = list(model.parameters())
    optimizer = gradstep.Shampoo.from_adamw(parameters, learning_rate=RATE, weight_decay=WEIGHT_DECAY, **SHAMPOO)
    accumulator = gradstep.Accumulator(parameters, steps=micro_batches, mode="weighted")
    reducer = gradstep.Reducer(comm, parameters, average="weighted")
    updater = gradstep.Updater(optimizer, accumulator, reducer, max_norm=1.0)
    for index in range(windows * micro_batches):
        inputs, targets = text.batch(8, length_of(index, comm), seed=index * comm.world_size + comm.rank)
        grads = torch.autograd.grad(model.loss(inputs, targets), parameters)
        updater.push(parameters, grads, weight=inputs.numel())


def length_of(index: int, comm: gradstep.Communicator) -> int:
    """Between an eighth of a whole piece and all of it."""
    number = index * comm.world_size + comm.rank
    return LENGTH // 8 * (1 + number * 5 % 8)


def check_ranks(text: Text, windows: int = 6) -> bool:
    """Two ranks with two micro-batches each against one with the same four: the same mean over characters."""
    first, second, alone = (make_model(text) for _ in range(3))
    comms = gradstep.Communicator.local(2, timeout=300.0)
    threads = [
        threading.Thread(target=train_rank, args=(model, text, comm, windows, 2))
        for model, comm in zip((first, second), comms, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    train_rank(alone, text, gradstep.Communicator.self(), windows, micro_batches=4)
    agree = same_bits(first, second)
    largest = max(float(p.detach().abs().max()) for p in alone.parameters())
    pairs = zip(first.parameters(), alone.parameters(), strict=True)
    distance = max(float((a - b).detach().abs().max()) for a, b in pairs) / largest
    bits = "agree in every bit" if agree else "DIFFER"
    print(f"two ranks, weighted by characters: ranks {bits}; one rank with all batches differs from them by")
    print(f"  {distance:.1e} of the largest parameter: its sums are in another order")
    return agree and distance < 1e-2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--updates", type=int, default=150, help="updates of each run")
    parser.add_argument("--quick", action="store_true", help="few updates: to see that it works")
    arguments = parser.parse_args()
    plan = Plan(8, 4, 4) if arguments.quick else Plan(arguments.updates, max(1, arguments.updates // 10), 12)
    text = Text()
    count = sum(p.numel() for p in make_model(text).parameters())
    print(
        f"{len(text.training)} characters of {len(text.characters)} kinds; {count} parameters; {plan.updates} updates"
    )
    print_curves(compare(text, plan))
    print()
    passed = True
    for name, make in (("Shampoo", shampoo), ("SOAP", soap)):
        same = check_resume(text, plan, make)
        print(f"{name} resumed in the middle: {'the same bits' if same else 'DIFFERENT BITS'}")
        passed = passed and same
    return 0 if check_ranks(text) and passed else 1


if __name__ == "__main__":
    sys.exit(main())
