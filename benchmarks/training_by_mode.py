# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: training_by_mode.py [--quick | --add] [RECORD.json]

How the modes of a reducer train the small transformer of examples/python/transformer: losses on held-out text by
updates, and by the bytes that a rank sends. Several ranks, each with a batch of its own, and the same seeds for every
mode. Ranks are threads over the local engine: the bits are those of every engine, and nothing here is timed.

--quick: one seed and a few updates, to see that it works. --add: only modes that the record does not have; the others'
runs stay. scripts/generate then writes docs/training_by_mode.md.
"""

import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "python" / "transformer"))

import numpy as np
import torch
from cases import context
from choosing_a_rule import schedule
from model import Text, Transformer

import gradstep

RECORD = Path(__file__).resolve().parent / "recorded" / "training_by_mode.json"
MODES: dict[str, dict[str, Any]] = {
    "dense": {"mode": "dense"},
    "half": {"mode": "half"},
    "int8": {"mode": "int8"},
    "fp8_e4m3": {"mode": "fp8_e4m3"},
    "int4": {"mode": "int4"},
    "powersgd of rank 2": {"mode": "powersgd", "rank": 2},
    "sparse 1 %": {"mode": "sparse_topk", "sparsity": 0.01},
    "sparse 1 %, EF21": {"mode": "sparse_topk", "sparsity": 0.01, "error_feedback": "ef21"},
    "sparse 1 %, no residuals": {"mode": "sparse_topk", "sparsity": 0.01, "residual": False},
}
RANKS, BATCH, LENGTH, WIDTH = 4, 8, 32, 64
UPDATES, EVALUATE_EVERY, SEEDS = 200, 10, 3
RATE = 3e-3
ADAMW = {"beta2": 0.95, "weight_decay": 0.01, "decay_mode": "decoupled"}


def on_all_ranks(work: Callable[[int], Any]) -> list[Any]:
    """work(rank) on a thread for each."""
    with ThreadPoolExecutor(RANKS) as pool:
        return list(pool.map(work, range(RANKS)))


def train(text: Text, options: dict[str, Any], updates: int, seed: int) -> dict[str, list[float]]:
    """Losses by updates, and by the megabytes that rank 0 has sent. One model: all ranks have the same bits."""
    torch.manual_seed(seed)
    model = Transformer(len(text.characters), LENGTH, width=WIDTH)
    parameters = list(model.parameters())
    ends = gradstep.Communicator.local(RANKS, context=context())
    reducers = on_all_ranks(lambda rank: gradstep.Reducer(ends[rank], parameters, context=context(), **options))
    optimizer = gradstep.make_optimizer(
        "adam", parameters, learning_rate=schedule(RATE, updates), **ADAMW, context=context()
    )
    held_out = text.held_out_batch(64, LENGTH)
    found: dict[str, list[float]] = {"updates": [], "losses": [], "megabytes": []}
    for update in range(updates):
        grads = []
        for rank in range(RANKS):
            batch = text.batch(BATCH, LENGTH, seed=RANKS * (updates * seed + update) + rank)
            grads.append(torch.autograd.grad(model.loss(*batch), parameters))
        on_all_ranks(lambda rank, grads=grads: reducers[rank].reduce(grads[rank]))
        optimizer.step(parameters, grads[0], max_norm=1.0)
        if update == 0 or (update + 1) % EVALUATE_EVERY == 0 or update + 1 == updates:
            with torch.no_grad():
                loss = float(model.loss(*held_out))
            found["updates"].append(update + 1)
            found["losses"].append(round(loss, 4) if np.isfinite(loss) else 99.0)
            sent = sum(bucket.bytes_sent for bucket in reducers[0].bucket_statistics())
            found["megabytes"].append(round(sent / 1e6, 4))
    return found


def main(arguments: list[str]) -> int:
    quick = "--quick" in arguments
    path = next((Path(argument) for argument in arguments if not argument.startswith("--")), RECORD)
    recorded = json.loads(path.read_text())["runs"] if "--add" in arguments else {}
    torch.set_num_threads(1)
    text = Text()
    updates, seeds = (EVALUATE_EVERY, 1) if quick else (UPDATES, SEEDS)
    runs = {}
    for name, options in MODES.items():
        runs[name] = recorded.get(name) or [train(text, options, updates, seed) for seed in range(1, seeds + 1)]
        print(f"{name}: {[run['losses'][-1] for run in runs[name]]}, {runs[name][0]['megabytes'][-1]} MB", flush=True)
    model = Transformer(len(text.characters), LENGTH, width=WIDTH)
    record = {
        "model": {
            "parameters": sum(p.numel() for p in model.parameters()),
            "width": WIDTH,
            "length": LENGTH,
            "batch": BATCH,
            "ranks": RANKS,
            "updates": updates,
        },
        "options": MODES,
        "runs": runs,
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
