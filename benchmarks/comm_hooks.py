# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: comm_hooks.py [--width N] [--rounds N] [--rate RATE] [--results FILE] [RANKS...]

DistributedDataParallel over gloo: its own all-reduce, torch's fp16 and PowerSGD hooks, and gradstep.torch.comm_hook in
several modes; forward, backward and SGD of a perceptron, on 2 and 4 processes of one thread each. All take turns in
every round. Prints the best and the median step, what a rank sends of it, and how many times faster than DDP's own it
is: the median over rounds.

Run as root, each world has a network namespace of its own, whose loopback carries nothing else: what its counters
(/proc/net/dev) have gained over a step, acknowledgements included, is what is sent. --rate (such as 1gbit) limits that
loopback by tc's token bucket: one link that all ranks share.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import gradstep
import gradstep.torch

TIMEOUT = timedelta(minutes=2)
LAYERS, BATCH, RANK, WARM_UP = 4, 8, 4, 4
REFERENCE, SHARED = "DDP", "gradstep dense, shm"
Engines = dict[str, gradstep.Communicator]
Register = Callable[[DistributedDataParallel, Engines], None]


def fp16(model: DistributedDataParallel, _: Engines) -> None:
    model.register_comm_hook(None, default_hooks.fp16_compress_hook)


def powersgd(model: DistributedDataParallel, _: Engines) -> None:
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=RANK, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


def ours(engine: str = "gloo", **options: Any) -> Register:
    def register(model: DistributedDataParallel, engines: Engines) -> None:
        context = gradstep.Context(num_threads=1)
        model.register_comm_hook(None, gradstep.torch.comm_hook(model, engines[engine], context=context, **options))

    return register


VARIANTS: dict[str, Register] = {
    REFERENCE: lambda model, engines: None,
    "fp16_compress_hook": fp16,
    f"powerSGD_hook, rank {RANK}": powersgd,
    "gradstep dense": ours(),
    "gradstep half": ours(mode="half"),
    "gradstep bfloat16": ours(mode="bfloat16"),
    "gradstep top 1 %": ours(mode="sparse_topk", sparsity=0.01),
    f"gradstep PowerSGD, rank {RANK}": ours(mode="powersgd", rank=RANK),
    "gradstep Adasum": ours(mode="adasum_tree"),
    SHARED: ours("shm"),
}


BUCKET_MB = {f"powerSGD_hook, rank {RANK}": 1000}
"""DDP's bucket_cap_mb where it is not the default. torch's PowerSGD starts collectives in callbacks, which gloo runs in
another order on each rank: with more than one bucket they mismatch."""


class Training:
    """One model with its hook."""

    def __init__(self, width: int, name: str, engines: Engines) -> None:
        torch.manual_seed(0)
        layers = [layer for _ in range(LAYERS) for layer in (torch.nn.Linear(width, width), torch.nn.ReLU())]
        self._model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=BUCKET_MB.get(name))
        VARIANTS[name](self._model, engines)
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=1e-3)

    def step(self, x: torch.Tensor) -> None:
        self._optimizer.zero_grad()
        self._model(x).square().mean().backward()
        self._optimizer.step()

    def parameters(self) -> torch.Tensor:
        return torch.cat([p.detach().ravel() for p in self._model.parameters()])


def loopback_bytes() -> int:
    """That loopback has sent since it is up."""
    line = next(line for line in Path("/proc/net/dev").read_text().splitlines() if line.strip().startswith("lo:"))
    return int(line.split()[9])


def run_rank(rank: int, ranks: int, arguments: argparse.Namespace, store: str) -> dict[str, Any]:
    torch.set_num_threads(1)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    dist.init_process_group("gloo", None, TIMEOUT, ranks, rank, dist.FileStore(f"{store}/torch", ranks))
    engines = {
        "gloo": gradstep.Communicator.gloo(rank, ranks, f"{store}/gloo", 120.0, network_interface="127.0.0.1"),
        "shm": gradstep.Communicator.shm(rank, ranks, f"{store}/shm", 120.0),
    }
    trainings = {name: Training(arguments.width, name, engines) for name in VARIANTS}
    x = torch.randn(BATCH, arguments.width, generator=torch.Generator().manual_seed(rank))
    rows: dict[str, Any] = {name: {"seconds": [], "bytes": []} for name in trainings}
    for number in range(-WARM_UP, arguments.rounds):
        for name in list(trainings)[:: 1 if number % 2 else -1]:
            dist.barrier()
            sent, begin = loopback_bytes(), time.perf_counter()
            trainings[name].step(x)
            dist.barrier()
            if number >= 0:
                rows[name]["seconds"].append(time.perf_counter() - begin)
                rows[name]["bytes"].append((loopback_bytes() - sent) / ranks)
    for name, training in trainings.items():
        parameters = [torch.empty_like(training.parameters()) for _ in range(ranks)]
        dist.all_gather(parameters, training.parameters())
        if not all(torch.equal(parameters[0], other) for other in parameters[1:]):
            raise AssertionError(f"{name}: the ranks' parameters differ")
    del trainings, training
    gc.collect()  # models must go before their process group
    dist.destroy_process_group()
    return rows


def run_world(ranks: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """The ranks as processes, in a network namespace of their own where this process may make one."""
    with tempfile.TemporaryDirectory() as store:
        again = [sys.executable, __file__, f"--width={arguments.width}", f"--rounds={arguments.rounds}", str(ranks)]
        start = "".join(f'"$@" --rank {rank} --store {store} & ranks="$ranks $!"; ' for rank in range(ranks))
        command = start + "for rank in $ranks; do wait $rank; done"
        if os.geteuid() == 0:
            network = "ip link set lo up"
            if arguments.rate:
                network += f"; tc qdisc add dev lo root tbf rate {arguments.rate} burst 256kb latency 200ms"
            subprocess.run(["unshare", "--net", "sh", "-ec", f"{network}; {command}", "sh", *again], check=True)
        elif arguments.rate:
            raise SystemExit("--rate: only root can limit a loopback of its own")
        else:
            subprocess.run(["sh", "-ec", command, "sh", *again], check=True)
        return json.loads(Path(store, "rows.json").read_text())


def report(ranks: int, rows: dict[str, Any]) -> None:
    for name, row in rows.items():
        ratios = [a / b for a, b in zip(rows[REFERENCE]["seconds"], row["seconds"], strict=True)]
        print(
            f"{ranks} ranks  {name:26} {min(row['seconds']) * 1e3:8.1f} {statistics.median(row['seconds']) * 1e3:8.1f}"
            f" {statistics.median(row['bytes']) / 1e6:8.2f} {statistics.median(ratios):6.2f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("\n")[0].removeprefix("usage: "))
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rate")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--rank", type=int)
    parser.add_argument("--store")
    parser.add_argument("ranks", type=int, nargs="*", default=[2, 4])
    arguments = parser.parse_args()
    if arguments.rank is not None:  # a rank of run_world's
        rows = run_rank(arguments.rank, arguments.ranks[0], arguments, arguments.store)
        if arguments.rank == 0:
            Path(arguments.store, "rows.json").write_text(json.dumps(rows))
        return
    elements = LAYERS * (arguments.width**2 + arguments.width)
    print(f"{elements} f32 in {2 * LAYERS} parameters; load {' '.join(f'{load:.1f}' for load in os.getloadavg())}")
    print("milliseconds of a step (best, median), MB that a rank sends, times faster than DDP's own (median)")
    results = {}
    for ranks in arguments.ranks:
        results[ranks] = run_world(ranks, arguments)
        report(ranks, results[ranks])
    if arguments.results:
        arguments.results.parent.mkdir(parents=True, exist_ok=True)
        arguments.results.write_text(json.dumps({"elements": elements, "rate": arguments.rate, "rows": results}))


if __name__ == "__main__":
    main()
