# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: fsdp2.py [--layers N] [--rounds N] [--results FILE] [RANKS...]

A step of AdamW on a model that FSDP2 has sharded: gradstep.torch beside torch's fused and foreach ones, plain and with
the norm clipped, on 2 and 4 gloo processes of one thread each. All have shards of their own of equal models, and take
turns in every round. Prints the best and the median step of rank 0 by its thread's processor time, which leaves out
waiting for other ranks, and how many times as long as gradstep's a peer's takes.
"""

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from timing import Case, processor
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

import gradstep
import gradstep.torch

WIDTH = 1024
MAX_NORM = 0.1
OURS = "gradstep"
PEERS = {"torch, fused": {"fused": True}, "torch, foreach": {"foreach": True}}


def sharded(layers: int, mesh: dist.device_mesh.DeviceMesh) -> list[torch.nn.Parameter]:
    """The shards of a perceptron, with gradients."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH) for _ in range(layers)))
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    parameters = list(model.parameters())
    for parameter in parameters:
        parameter.grad = torch.full_like(parameter, 1e-3)
    return parameters


def peer_step(optimizer: torch.optim.Optimizer, parameters: list[torch.nn.Parameter], clips: bool) -> None:
    if clips:
        torch.nn.utils.clip_grad_norm_(parameters, MAX_NORM)
    optimizer.step()


def case(layers: int, rounds: int, mesh: dist.device_mesh.DeviceMesh, clips: bool) -> Case:
    models = {name: sharded(layers, mesh) for name in (OURS, *PEERS)}
    ours = gradstep.torch.AdamW(models[OURS], num_threads=1)
    contenders: dict[str, Callable[[], object]] = {OURS: lambda: ours.step(max_norm=MAX_NORM if clips else None)}
    for name, options in PEERS.items():
        theirs = torch.optim.AdamW(models[name], **options)
        contenders[name] = lambda theirs=theirs, model=models[name]: peer_step(theirs, model, clips)

    def check() -> None:
        for name in PEERS:
            for a, b in zip(models[OURS], models[name], strict=True):
                torch.testing.assert_close(a.to_local(), b.to_local(), rtol=1e-4, atol=1e-5)

    name = "AdamW, clipped" if clips else "AdamW"
    return Case(name, contenders, check, rounds=rounds, clock=time.thread_time)


def rank_main(rank: int, ranks: int, layers: int, rounds: int, store: str, results: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{store}/store", rank=rank, world_size=ranks, timeout=timedelta(minutes=5)
    )
    mesh = init_device_mesh("cpu", (ranks,))
    rows = []
    for clips in (False, True):
        measured = case(layers, rounds, mesh, clips)
        dist.barrier()
        measured.run()
        for name, timing in measured.timings.items():
            ratios = {} if name == OURS else dict(zip(("best", "median"), measured.ratio(name), strict=True))
            rows.append(
                {
                    "ranks": ranks,
                    "case": measured.name,
                    "contender": name,
                    "best_ms": timing.best * 1e3,
                    "median_ms": timing.median * 1e3,
                    "times_gradstep": ratios,
                }
            )
    if rank == 0:
        results.put(rows)
    dist.destroy_process_group()


def main() -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("\n")[0].removeprefix("usage: "))
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--results", type=Path)
    parser.add_argument("ranks", type=int, nargs="*", default=[2, 4])
    arguments = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    elements = arguments.layers * (WIDTH + 1) * WIDTH
    print(f"AdamW, {elements} f32 in shards, rank 0: milliseconds a step (best, median), times as long as gradstep's")
    rows = []
    for ranks in arguments.ranks:
        results = context.SimpleQueue()
        with tempfile.TemporaryDirectory() as store:
            settings = (ranks, arguments.layers, arguments.rounds, store, results)
            workers = [context.Process(target=rank_main, args=(rank, *settings)) for rank in range(ranks)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        if any(worker.exitcode for worker in workers):
            return 1
        for row in results.get():
            rows.append(row)
            times = row["times_gradstep"]
            ratio = f"{times['best']:8.2f} {times['median']:8.2f}" if times else ""
            print(
                f"{ranks} ranks  {row['case']:15} {row['contender']:15} {row['best_ms']:8.2f} {row['median_ms']:8.2f}"
                f"  {ratio}",
                flush=True,
            )
    if arguments.results:
        record = {"processor": processor(), "torch": torch.__version__, "elements": elements, "rows": rows}
        arguments.results.write_text(json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
