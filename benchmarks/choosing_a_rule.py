# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: choosing_a_rule.py [--missing | --runs] [--quick] [RECORD.json]

Measures what docs/choosing_a_rule.md says, on one thread, and writes it to a record, that beside this file or another:

- what a step of every rule costs, beside `a += b` of as many bytes, in turns;
- how ten rules train a small transformer of examples/python/transformer, each by the best of some learning rates;
- how three of them do so with 8-bit state, by three seeds.

--missing: only the costs of rules that the record has not yet. --runs: all but the costs. --quick: a few updates, to
see that it works.
scripts/generate then writes the page.
"""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "python" / "transformer"))

import numpy as np
import torch
from cases import add_yardstick, context, random_arrays
from model import Text, Transformer
from timing import Case, processor

import gradstep

RECORD = Path(__file__).resolve().parent / "recorded" / "choosing_a_rule.json"
MATRICES = [(512, 512)] * 16
LENGTH, BATCH, WIDTH = 32, 16, 64
UPDATES, EVALUATE_EVERY = 60, 5
# Rules that are trained: their options, and the learning rate that is tried first.
TRAINED = {
    "sgd": ({"momentum": 0.9}, 0.1),
    "adagrad": ({}, 0.01),
    "rmsprop": ({}, 3e-3),
    "adam": ({"beta2": 0.95}, 3e-3),
    "nadam": ({"beta2": 0.95}, 1e-2),
    "lamb": ({"beta2": 0.95}, 3e-2),
    "lion": ({}, 1e-3),
    "adan": ({}, 1e-2),
    "ademamix": ({"beta2": 0.95, "beta3": 0.99}, 1e-2),
    "muon": ({}, 3e-2),
}
# Everything that is no matrix of a layer, where a rule takes matrices alone.
BESIDE_MATRICES = ("adam", {"beta2": 0.95}, 3e-3)
EIGHT_BIT = ("lion", "ademamix", "muon")
SEEDS = 3


def required(rule: str) -> dict[str, float]:
    options = gradstep.describe_rules()[rule].options.values()
    missing = [option for option in options if option.default is None]
    return {option.name: 1e-3 if option.name == "learning_rate" else max(option.minimum, 0.0) for option in missing}


def cost_of(rule: str, rounds: int) -> dict[str, float]:
    """Times of `a += b` of as many bytes that a step takes, by the processor's time: best rounds, and the median."""
    parameters, grads = random_arrays(MATRICES, 1), random_arrays(MATRICES, 2)
    optimizer = gradstep.make_optimizer(rule, parameters, context=context(), **required(rule))
    step = lambda: optimizer.step(parameters, grads)  # noqa: E731
    step()
    elements = sum(p.size for p in parameters)
    moved = 3 * 4 * elements + 2 * optimizer.memory().state_bytes  # p twice, g, and each state twice
    case = Case(
        rule, {"gradstep": step}, lambda: None, moved, rounds, clock=time.thread_time, yardstick=add_yardstick()
    )
    case.run()
    best, median = case.of_limit("gradstep")
    return {"best": round(1 / best, 2), "median": round(1 / median, 2)}


def takes_vectors(rule: str) -> bool:
    try:
        gradstep.make_optimizer(rule, [np.ones(2, np.float32)], **required(rule))
    except gradstep.InvalidArgument:
        return False
    return True


def train(text: Text, rule: str, rate: float, updates: int, seed: int = 0, **more: str) -> dict[str, list[float]]:
    """Losses on held-out text by updates, and by seconds of the processor in training."""
    torch.manual_seed(seed)
    model = Transformer(len(text.characters), LENGTH, width=WIDTH)
    parameters = list(model.parameters())
    layers = {id(p) for layer in model.layers for p in layer.parameters() if p.ndim > 1}
    options = {"learning_rate": schedule(rate, updates), **TRAINED[rule][0], **more}
    rules, groups = [(rule, options)], None
    if not takes_vectors(rule):
        beside, given, beside_rate = BESIDE_MATRICES
        rules.append((beside, {"learning_rate": schedule(beside_rate, updates), **given}))
        groups = [0 if id(p) in layers else 1 for p in parameters]
    optimizer = gradstep.make_optimizer(rules, parameters, groups=groups, context=context())
    held_out = text.held_out_batch(64, LENGTH)
    found: dict[str, list[float]] = {"updates": [], "losses": [], "seconds": []}
    seconds = 0.0
    for update in range(updates):
        begin = time.process_time()
        grads = torch.autograd.grad(model.loss(*text.batch(BATCH, LENGTH, seed=updates * seed + update)), parameters)
        optimizer.step(parameters, grads, max_norm=1.0)
        seconds += time.process_time() - begin
        if update == 0 or (update + 1) % EVALUATE_EVERY == 0 or update + 1 == updates:
            with torch.no_grad():
                loss = float(model.loss(*held_out))
            found["updates"].append(update + 1)
            found["losses"].append(round(loss, 4) if np.isfinite(loss) else 99.0)
            found["seconds"].append(round(seconds, 3))
    return found


def rounded(rate: float) -> float:
    """To 1 or 3 times a power of ten."""
    return min((digit * 10.0**e for e in range(-6, 3) for digit in (1, 3)), key=lambda each: abs(np.log(each / rate)))


def schedule(rate: float, updates: int) -> gradstep.schedule.Schedule:
    """A linear warm-up over a tenth of the run, then half a cosine down to a tenth of the rate."""
    warmup = updates // 10
    return gradstep.schedule.cosine(rate, updates - warmup, rate / 10, warmup_steps=warmup)


def runs(text: Text, updates: int) -> dict[str, dict[str, Any]]:
    """With the best of rates a factor of three apart: neither of its neighbours is better."""
    found = {}
    for rule, (options, rate) in TRAINED.items():
        tried: dict[float, dict[str, Any]] = {}
        while missing := [each for each in (rounded(rate / 3), rate, rounded(rate * 3)) if each not in tried]:
            tried |= {each: train(text, rule, each, updates) for each in missing}
            rate = min(tried, key=lambda each: tried[each]["losses"][-1])
        losses = {f"{each:g}": run["losses"][-1] for each, run in sorted(tried.items())}
        found[rule] = {"rate": rate, "options": options, "tried": losses, **tried[rate]}
        print(f"{rule}: {found[rule]['tried']}, {found[rule]['seconds'][-1]} s", flush=True)
    return found


def eight_bit(text: Text, trained: dict[str, dict[str, Any]], updates: int) -> dict[str, dict[str, list[float]]]:
    found = {}
    for rule in EIGHT_BIT:
        found[rule] = {
            dtype: [
                train(text, rule, trained[rule]["rate"], updates, seed, state_dtype=dtype)["losses"][-1]
                for seed in range(1, SEEDS + 1)
            ]
            for dtype in ("native", "int8")
        }
        print(f"{rule}: {found[rule]}", flush=True)
    return found


def measure_costs(known: dict[str, dict[str, float]], rounds: int) -> dict[str, dict[str, float]]:
    """Costs of all rules; those that are known are taken over."""
    found = {}
    for rule in gradstep.describe_rules():
        found[rule] = known.get(rule) or cost_of(rule, rounds)
        print(f"{rule}: {found[rule]}", flush=True)
    return found


def measure_runs(updates: int) -> dict[str, Any]:
    text = Text()
    trained = runs(text, updates)
    model = Transformer(len(text.characters), LENGTH, width=WIDTH)
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[1], 1),
        "model": {
            "parameters": sum(p.numel() for p in model.parameters()),
            "width": WIDTH,
            "length": LENGTH,
            "batch": BATCH,
            "updates": updates,
        },
        "runs": trained,
        "eight_bit": eight_bit(text, trained, updates),
    }


def main(arguments: list[str]) -> int:
    flags = {argument for argument in arguments if argument.startswith("--")}
    if unknown := flags - {"--missing", "--runs", "--quick"}:
        print(f"{', '.join(unknown)}: not known; see the head of this file", file=sys.stderr)
        return 2
    path = next((Path(argument) for argument in arguments if argument not in flags), RECORD)
    torch.set_num_threads(1)
    record = json.loads(path.read_text()) if flags & {"--missing", "--runs"} else {"costs": {}}
    if "--runs" not in flags:
        record["costs"] = measure_costs(record["costs"], 2 if "--quick" in flags else 5)
    if "--missing" not in flags:
        record |= measure_runs(2 * EVALUATE_EVERY if "--quick" in flags else UPDATES)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
