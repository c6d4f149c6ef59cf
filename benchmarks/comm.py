# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: comm.py [--rounds N] [RANKS...]

All-reduce among processes of this machine: gradstep over shared memory, Gloo on loopback and MPI, beside
torch.distributed's gloo and Open MPI's own all-reduce, of 64 MB and of 1 KiB of f32. All take turns in the same
processes; what is not installed is left out. Prints milliseconds (best, median) of a call, and how many times slower
than shared memory it is.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import gradstep

# bytes, calls between two looks at the clock
SIZES = ((64 * 1024 * 1024, 1), (1024, 50))

AllReduce = Callable[[NDArray[np.float32]], object]


def over_torch(rank: int, ranks: int, store: str) -> AllReduce | None:
    try:
        import torch
        import torch.distributed as dist
    except ImportError:
        return None
    torch.set_num_threads(1)
    dist.init_process_group("gloo", store=dist.FileStore(f"{store}/torch", ranks), rank=rank, world_size=ranks)
    return lambda x: dist.all_reduce(torch.from_numpy(x))


def connect(rank: int, ranks: int, store: str) -> tuple[gradstep.Communicator, dict[str, AllReduce]]:
    context = gradstep.Context(num_threads=1)
    shm = gradstep.Communicator.shm(rank, ranks, store, context=context)
    contenders: dict[str, AllReduce] = {"shared memory": shm.all_reduce}
    if gradstep.backend_available("gloo"):
        gloo = gradstep.Communicator.gloo(
            rank, ranks, store, network_interface="127.0.0.1", generation=1, context=context
        )
        contenders["gloo"] = gloo.all_reduce
    if "OMPI_COMM_WORLD_RANK" in os.environ:
        contenders["mpi"] = gradstep.Communicator.mpi(context=context).all_reduce
        contenders["Open MPI's own"] = gradstep.Communicator.mpi(reduction_order="engine", context=context).all_reduce
    if (torch := over_torch(rank, ranks, store)) is not None:
        contenders["torch's gloo"] = torch
    return shm, contenders


def rank_main(rank: int, ranks: int, store: str, rounds: int) -> None:
    comm, contenders = connect(rank, ranks, store)
    rows = {}
    for size, calls in SIZES:
        seconds: dict[str, list[float]] = {label: [] for label in contenders}
        for label, all_reduce in contenders.items():
            x = np.full(size // 4, rank + 1, np.float32)
            all_reduce(x)
            if not (x == ranks * (ranks + 1) / 2).all():
                raise AssertionError(f"{label}: the sum is {x[0]}")
        x = np.zeros(size // 4, np.float32)  # stays what it is, however often it is summed
        for number in range(rounds):
            labels = list(contenders)
            for label in labels if number % 2 == 0 else reversed(labels):
                all_reduce = contenders[label]
                comm.barrier()
                begin = time.perf_counter()
                for _ in range(calls):
                    all_reduce(x)
                comm.barrier()
                seconds[label].append((time.perf_counter() - begin) / calls)
        rows[size] = seconds
    if rank == 0:
        Path(store, "rows").write_text(json.dumps(rows))


def launch(ranks: int, store: str, rounds: int) -> None:
    """Ranks under mpirun where our MPI engine works, so that Open MPI can take part."""
    command = [sys.executable, __file__, "--rounds", str(rounds), "--worker", store, str(ranks)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    mpirun = shutil.which("mpirun")
    if mpirun is not None and gradstep.backend_available("mpi"):
        job = [mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *command]
        subprocess.run(job, env=environment, check=True)
        return
    workers = [subprocess.Popen(command, env=environment | {"RANK": str(rank)}) for rank in range(ranks)]
    if any([worker.wait() for worker in workers]):
        raise RuntimeError("a rank failed")


def main() -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").partition("\n")[0].removeprefix("usage: "))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("ranks", type=int, nargs="*", default=[2, 4])
    arguments = parser.parse_args()
    if arguments.worker:
        rank = int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["RANK"])
        rank_main(rank, arguments.ranks[0], arguments.worker, arguments.rounds)
        return 0
    print("all-reduce of f32: milliseconds a call (best, median), times slower than shared memory (best, median)")
    for ranks in arguments.ranks:
        with tempfile.TemporaryDirectory() as store:
            launch(ranks, store, arguments.rounds)
            rows = json.loads(Path(store, "rows").read_text())
        for size, seconds in rows.items():
            base = seconds["shared memory"]
            for label, times in seconds.items():
                ratio = statistics.median(a / b for a, b in zip(times, base, strict=True))
                print(
                    f"{ranks} ranks  {int(size):9} bytes  {label:15} {min(times) * 1e3:9.3f}"
                    f" {statistics.median(times) * 1e3:9.3f}   {min(times) / min(base):6.2f} {ratio:6.2f}",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
