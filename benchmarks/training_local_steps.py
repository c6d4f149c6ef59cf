# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: training_local_steps.py [--quick] [RECORD.json]

How local steps with an outer optimizer train the small transformer of examples/python/transformer over slow links:
losses on held-out text by time, and by the bytes that a rank sends. Hosts with one rank each are made on this machine
(slow_hosts.py); real TCP. Every way has the same seeds. Needs root; says so and ends with 0 where it cannot make hosts.

The time is that of rank 0's updates, without the evaluations, for which all ranks wait. With local steps the loss is
that of rank 0's parameters.

--quick: one seed and a few updates, to see that it works. scripts/generate then writes docs/training_local_steps.md.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples" / "python" / "transformer"))

import numpy as np
import slow_hosts
import torch
from choosing_a_rule import schedule
from model import Text, Transformer
from slow_hosts import SlowHosts
from timing import processor
from training_by_mode import ADAMW, BATCH, LENGTH, RATE, WIDTH

import gradstep

RECORD = Path(__file__).resolve().parent / "recorded" / "training_local_steps.json"
WAYS: dict[str, dict[str, Any]] = {
    "dense": {},
    "int8": {"mode": "int8"},
    "K = 10": {"sync_steps": 10},
    "K = 50": {"sync_steps": 50},
    "K = 10, int8": {"sync_steps": 10, "mode": "int8"},
    "K = 10, streaming": {"sync_steps": 10, "outer_fragments": 2, "outer_delay": 2, "outer_mix": 0.25},
    "K = 10, streaming, int8": {
        "sync_steps": 10,
        "outer_fragments": 2,
        "outer_delay": 2,
        "outer_mix": 0.25,
        "mode": "int8",
    },
}
HOSTS, BANDWIDTH, DELAY = 4, 100e6 / 8, 1e-3
UPDATES, EVALUATE_EVERY, SEEDS = 200, 10, 3
OUTER = {"learning_rate": 0.7, "momentum": 0.9, "nesterov": True}
FUSE_THRESHOLD = 8192  # elements of a bucket: more buckets than fragments
TIMEOUT = 300


def updater_of(
    way: dict[str, Any], comm: gradstep.Communicator, parameters: list[torch.Tensor], updates: int, context: Any
) -> tuple[gradstep.Updater, gradstep.Reducer]:
    options = dict(way)
    mode = options.pop("mode", "dense")
    reducer = gradstep.Reducer(comm, parameters, mode=mode, fuse_threshold=FUSE_THRESHOLD, context=context)
    inner = gradstep.make_optimizer("adam", parameters, learning_rate=schedule(RATE, updates), **ADAMW, context=context)
    if options:
        options |= {"sync": "deltas", "outer": gradstep.SGD(parameters, **OUTER, context=context)}
    return gradstep.Updater(inner, reducer=reducer, max_norm=1.0, **options, context=context), reducer


def train(
    text: Text, way: dict[str, Any], comm: gradstep.Communicator, updates: int, seed: int, context: Any
) -> dict[str, list[float]]:
    torch.manual_seed(seed)
    model = Transformer(len(text.characters), LENGTH, width=WIDTH)
    parameters = list(model.parameters())
    updater, reducer = updater_of(way, comm, parameters, updates, context)
    held_out = text.held_out_batch(64, LENGTH)
    found: dict[str, list[float]] = {"updates": [], "losses": [], "megabytes": [], "seconds": []}
    seconds = 0.0
    comm.barrier()
    begin = time.perf_counter()
    for update in range(updates):
        batch = text.batch(BATCH, LENGTH, seed=HOSTS * (updates * seed + update) + comm.rank)
        updater.push(parameters, torch.autograd.grad(model.loss(*batch), parameters))
        if (update + 1) % EVALUATE_EVERY != 0:
            continue
        seconds += time.perf_counter() - begin
        with torch.no_grad():
            loss = float(model.loss(*held_out)) if comm.rank == 0 else 0.0
        found["updates"].append(update + 1)
        found["losses"].append(round(loss, 4) if np.isfinite(loss) else 99.0)
        found["megabytes"].append(round(sum(bucket.bytes_sent for bucket in reducer.bucket_statistics()) / 1e6, 4))
        found["seconds"].append(round(seconds, 3))
        comm.barrier()
        begin = time.perf_counter()
    return found


def run_rank(rank: int, store: str, updates: int, seeds: int) -> None:
    """Rank 0 writes a line of JSON for each run."""
    torch.set_num_threads(1)
    context = gradstep.Context(num_threads=1)
    comm = gradstep.Communicator.gloo(rank, HOSTS, store, TIMEOUT, SlowHosts.address(rank), context=context)
    text = Text()
    for name, way in WAYS.items():
        for seed in range(1, seeds + 1):
            found = train(text, way, comm, updates, seed, context)
            if rank == 0:
                print(json.dumps({"way": name, "run": found}), flush=True)


def measure(link: str, updates: int, seeds: int) -> dict[str, list[dict[str, list[float]]]]:
    runs: dict[str, list[dict[str, list[float]]]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory() as store, SlowHosts(HOSTS, BANDWIDTH, DELAY, link) as hosts:
        again = [sys.executable, __file__, "--rank", store, str(updates), str(seeds)]
        ranks: list[subprocess.Popen[str]] = []
        try:
            for rank in range(HOSTS):
                ranks.append(
                    subprocess.Popen(hosts.command(rank, *again, str(rank)), stdout=subprocess.PIPE, text=True)
                )
            for line in ranks[0].stdout or ():
                found = json.loads(line)
                runs[found["way"]].append(found["run"])
                last = {key: values[-1] for key, values in found["run"].items()}
                print(f"{found['way']}: {last}", flush=True)
            if any([rank.wait(TIMEOUT) for rank in ranks]):
                raise SystemExit("a rank failed")
        finally:
            slow_hosts.stop(ranks)
    return runs


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--rank"]:  # of measure's
        store, updates, seeds, rank = arguments[1], *map(int, arguments[2:])
        run_rank(rank, store, updates, seeds)
        return 0
    link = slow_hosts.best_link()
    reason = slow_hosts.why_not(link)
    if reason is None and not gradstep.backend_available("gloo"):
        reason = "needs gradstep's gloo"
    if reason is not None:
        print(f"SKIPPED: training_local_steps.py {reason}")
        return 0
    quick = "--quick" in arguments
    path = next((Path(argument) for argument in arguments if not argument.startswith("--")), RECORD)
    updates, seeds = (EVALUATE_EVERY, 1) if quick else (UPDATES, SEEDS)
    load = os.getloadavg()
    runs = measure(link, updates, seeds)
    model = Transformer(len(Text().characters), LENGTH, width=WIDTH)
    record = {
        "machine": {"processor": processor(), "cores": os.cpu_count(), "load": load, "link": link},
        "network": {"hosts": HOSTS, "bits_per_second": BANDWIDTH * 8, "delay_seconds": DELAY},
        "model": {
            "parameters": sum(p.numel() for p in model.parameters()),
            "width": WIDTH,
            "length": LENGTH,
            "batch": BATCH,
            "updates": updates,
        },
        "options": WAYS,
        "runs": runs,
    }
    path.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
