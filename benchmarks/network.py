# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: network.py [--networks BANDWIDTH,DELAY...] [--hosts HxR...] [--ways WAY...] [--tensors N] [--side N]
                  [--rounds N] [--link netem|program] [--quick] [--results FILE]

A window of every mode of a reducer between hosts with slow links, all of them made on this machine (slow_hosts.py):
H hosts of R ranks, one process and one thread each; real TCP. Beside them torch's gloo with DDP's own all-reduce and
its fp16 and PowerSGD hooks, over the same links in the same processes. Needs root; says so and ends with 0 where it
cannot make hosts.

A window begins on all ranks at once and ends when the last rank has its gradients. Prints a table in Markdown:

best, median    milliseconds of a window
processors      milliseconds that the ranks' work takes if all processors share it: this machine's limit, not the link's
MB              that the busiest host sent in one, acknowledgements included (/proc/net/dev)
limit           what the link needs: bytes / bandwidth + rounds x delay, the delays shared by the buckets that are under
                way at once, by the planner's amounts of the buckets as they were (torch's: a ring in torch's buckets)
of limit        limit / best
forecast        of gradstep.plan for the same buckets, the link's numbers and this processor's measured prices, which
                are higher where ranks outnumber the processors
error           forecast / best - 1
by rounds       the forecast and its error with what a round takes here, measured, in the delay's place

The ranks' results must have the same bits, and be the mean where the way computes one.
"""

import argparse
import itertools
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import slow_hosts
from slow_hosts import DEVICE, SlowHosts
from timing import processor

import gradstep
from gradstep import _native, _quantities, plan

try:
    import torch
    import torch.distributed as dist
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
except ImportError:
    torch = None

NETWORKS = ("1Gbit/s,100us", "1Gbit/s,1ms", "1Gbit/s,10ms", "100Mbit/s,1ms")
HOSTS = ("2x2", "4x1")
TIMEOUT = 120.0
CHANNELS = 4  # what the default makes of Gloo, see gradstep_reducer_options
RING_PIECE = 256 << 10  # bytes for each rank, from which on sums of f32 in the engine's order go round a ring
SPARSITY = 0.01
TRIALS = 3


class Way(NamedTuple):
    """One way to reduce a window: gradstep's, or torch's if `options` is None."""

    options: dict[str, Any] | None
    order: str = "rank"
    mode: str = ""
    """What torch's way has the limit of."""
    rank: int = 2
    error: float | None = None
    """Of the largest element, how far results may be from the mean; None = they are something else."""


WAYS = {
    "dense": Way({"mode": "dense"}, error=1e-6),
    "half": Way({"mode": "half"}, error=1e-3),
    "bfloat16": Way({"mode": "bfloat16"}, error=1e-2),
    "int8": Way({"mode": "int8"}, error=5e-2),
    "int4": Way({"mode": "int4"}, error=0.3),
    "fp8": Way({"mode": "fp8_e4m3"}, error=0.15),
    "sparse": Way({"mode": "sparse_topk", "sparsity": SPARSITY}),
    "powersgd2": Way({"mode": "powersgd", "rank": 2}),
    "powersgd4": Way({"mode": "powersgd", "rank": 4}, rank=4),
    "adasum": Way({"mode": "adasum_tree"}),
    "auto": Way({"mode": "auto", "sparsity": SPARSITY}),
    "dense-hosts": Way({"mode": "dense"}, "hosts", error=1e-6),
    "half-hosts": Way({"mode": "half"}, "hosts", error=1e-3),
    "int8-hosts": Way({"mode": "int8"}, "hosts", error=5e-2),
    "int4-hosts": Way({"mode": "int4"}, "hosts", error=0.3),
    "dense-engine": Way({"mode": "dense"}, "engine", error=1e-6),
    "adasum-hosts": Way({"mode": "adasum_tree"}, "hosts"),
    "torch": Way(None, mode="dense", error=1e-6),
    "torch-fp16": Way(None, mode="half", error=1e-3),
    "torch-powersgd2": Way(None, mode="powersgd"),
    "torch-powersgd4": Way(None, mode="powersgd", rank=4),
}

MODES = {getattr(_native, f"REDUCER_{mode.upper()}"): mode for mode in plan._MODES}
SPARSE_WAYS = {_native.EXCHANGE_SPARSE_GATHER: "gather", _native.EXCHANGE_SPARSE_SPLIT: "split"}


class World(NamedTuple):
    """What is measured at once."""

    hosts: int
    ranks_per_host: int
    bandwidth: float
    delay: float
    tensors: int
    side: int
    rounds: int
    ways: list[str]

    @property
    def ranks(self) -> int:
        return self.hosts * self.ranks_per_host

    @property
    def name(self) -> str:
        link = f"{_quantities.format_bandwidth(self.bandwidth)}, {_quantities.format_time(self.delay)}"
        return f"{self.hosts} hosts x {self.ranks_per_host}, {link}"


def gradients(rank: int, world: World) -> Iterator[np.ndarray]:
    random = np.random.default_rng(rank)
    for _ in range(world.tensors):
        yield random.standard_normal((world.side, world.side), dtype=np.float32)


# What a rank does


class Bucket:
    """What torch's hooks ask of a dist.GradBucket."""

    LARGEST, FIRST = 25 << 20, 1 << 20  # bytes, as DDP has them

    def __init__(self, index: int, is_last: bool, tensors: list[Any]) -> None:
        self._index, self._is_last, self._tensors = index, is_last, tensors
        self._buffer = torch.empty(sum(tensor.numel() for tensor in tensors))
        parts = self._buffer.split([tensor.numel() for tensor in tensors])
        self._views = [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]

    def fill(self) -> None:
        for view, tensor in zip(self._views, self._tensors, strict=True):
            view.copy_(tensor)

    def index(self) -> int:
        return self._index

    def is_last(self) -> bool:
        return self._is_last

    def buffer(self) -> Any:
        return self._buffer

    def gradients(self) -> list[Any]:
        return self._views

    @classmethod
    def all_of(cls, tensors: list[Any], in_one: bool) -> "list[Bucket]":
        """From the last parameter on; a bucket that has reached its size is full, and the first one is small."""
        packs: list[list[Any]] = [[]]
        for tensor in reversed(tensors):
            full = math.inf if in_one else cls.FIRST if len(packs) == 1 else cls.LARGEST
            packs[-1].append(tensor)
            if 4 * sum(one.numel() for one in packs[-1]) >= full:
                packs.append([])
        packs = [pack for pack in packs if pack]
        return [cls(index, index == len(packs) - 1, pack) for index, pack in enumerate(packs)]


class OfTorch:
    """DDP's exchange of a window by one of its hooks."""

    def __init__(self, way: Way, grads: list[np.ndarray]) -> None:
        # torch's PowerSGD starts collectives in callbacks, which gloo runs in another order on each rank: with more
        # than one bucket they mismatch.
        self._buckets = Bucket.all_of([torch.from_numpy(grad) for grad in grads], in_one=way.mode == "powersgd")
        self._state = None
        self._hook = default_hooks.fp16_compress_hook if way.mode == "half" else default_hooks.allreduce_hook
        if way.mode == "powersgd":
            self._state = powerSGD_hook.PowerSGDState(
                None, matrix_approximation_rank=way.rank, start_powerSGD_iter=2, min_compression_rate=1
            )
            self._state.iter = 2
            self._hook = powerSGD_hook.powerSGD_hook

    def reduce(self) -> None:
        begun = []
        for bucket in self._buckets:
            bucket.fill()
            begun.append(self._hook(self._state, bucket))
        for future in begun:
            future.wait()

    def results(self) -> list[np.ndarray]:
        return [view.numpy() for bucket in self._buckets for view in bucket.gradients()][::-1]

    def buckets(self) -> list[dict[str, Any]]:
        return [{"elements": bucket.buffer().numel()} for bucket in self._buckets]

    def sent(self) -> int:
        return 0  # it does not say


class OfGradstep:
    def __init__(self, way: Way, grads: list[np.ndarray], comm: gradstep.Communicator, context: gradstep.Context):
        self._grads = grads
        self._reducer = gradstep.Reducer(comm, grads, context=context, **(way.options or {}))

    def reduce(self) -> None:
        self._reducer.reduce(self._grads, in_place=False)

    def results(self) -> list[np.ndarray]:
        return [one for one in self._reducer.gradients() if one is not None]

    def buckets(self) -> list[dict[str, Any]]:
        """What the planner needs of each, and what `auto` has expected of the mode that it chose."""
        return [
            {
                "elements": one.elements,
                "mode": MODES[one.mode],
                "algorithm": SPARSE_WAYS.get(one.algorithm, "own"),
                "expected": self._expected(one),
            }
            for one in self._reducer.bucket_statistics()
        ]

    @staticmethod
    def _expected(bucket: gradstep.BucketStatistics) -> float:
        by_mode = {
            "dense": bucket.predicted_dense_nanoseconds,
            "half": bucket.predicted_half_nanoseconds,
            "sparse_topk": bucket.predicted_sparse_split_nanoseconds
            if SPARSE_WAYS.get(bucket.algorithm) == "split"
            else bucket.predicted_sparse_gather_nanoseconds,
        }
        return by_mode.get(MODES[bucket.mode], 0) / 1e9

    def sent(self) -> int:
        return sum(bucket.bytes_sent for bucket in self._reducer.bucket_statistics())


class Rank:
    """One process of a world."""

    def __init__(self, rank: int, world: World, store: str) -> None:
        self._rank, self._world = rank, world
        address = SlowHosts.address(rank // world.ranks_per_host)
        self._context = gradstep.Context(num_threads=1)
        orders = sorted({WAYS[way].order for way in world.ways} | {"rank"}, reverse=True)
        self._comms = {
            order: gradstep.Communicator.gloo(
                rank,
                world.ranks,
                store,
                TIMEOUT,
                address,
                generation=generation,
                reduction_order=order,
                context=self._context,
            )
            for generation, order in enumerate(orders)
        }
        self._comm = self._comms["rank"]
        if self._comm.local_rank != rank % world.ranks_per_host:
            raise AssertionError(f"rank {rank} is number {self._comm.local_rank} of its host")
        if torch is not None:
            torch.set_num_threads(1)
            os.environ["GLOO_SOCKET_IFNAME"] = DEVICE
            file = dist.FileStore(f"{store}/torch", world.ranks)
            dist.init_process_group("gloo", None, timedelta(seconds=TIMEOUT), world.ranks, rank, file)
        self._grads = list(gradients(rank, world))
        firsts = [next(gradients(other, world)) for other in range(world.ranks)]
        self._mean = np.mean(firsts, axis=0, dtype=np.float64)

    def measure(self, name: str) -> dict[str, Any]:
        way = WAYS[name]
        begin = time.monotonic()
        contender = (
            OfTorch(way, self._grads)
            if way.options is None
            else OfGradstep(way, self._grads, self._comms[way.order], self._context)
        )
        created = time.monotonic() - begin
        self._window(contender.reduce)  # first touch; TCP finds its pace
        self._check(name, contender.results())
        sent, on_link, worked = contender.sent(), slow_hosts.bytes_sent(), time.process_time()
        seconds = [self._window(contender.reduce) for _ in range(self._world.rounds)]
        sums = {
            "sent_bytes": contender.sent() - sent,
            "wire_bytes": self._of_all(slow_hosts.bytes_sent() - on_link, "max"),
            "processor_seconds": self._of_all(time.process_time() - worked, "sum"),
        }
        row = {"way": name, "seconds": seconds, "created": created, "buckets": contender.buckets()}
        return row | {key: value / len(seconds) for key, value in sums.items()}

    def round_seconds(self) -> float:
        """The shortest collective call between these hosts."""
        few = np.zeros(1, np.float32)
        return min(self._window(lambda: self._comm.all_gather(few)) for _ in range(30))

    def _of_all(self, value: float, op: str) -> float:
        values = np.array([value])
        self._comm.all_reduce(values, op)
        return float(values[0])

    def _window(self, reduce: Callable[[], None]) -> float:
        """Seconds until the last rank has done it, where all begin at once: they are of one machine, and its clock."""
        start = np.array([time.monotonic() + 10 * self._world.delay + 10e-3])
        self._comm.broadcast(start, 0)
        time.sleep(max(0.0, float(start[0]) - time.monotonic()))
        reduce()
        return self._of_all(time.monotonic(), "max") - float(start[0])

    def _check(self, name: str, results: list[np.ndarray]) -> None:
        sums = np.array([np.frombuffer(one.tobytes(), np.int32).sum(dtype=np.int64) for one in results])
        gathered = self._comm.all_gather(sums)
        if not (gathered == gathered[0]).all():
            raise AssertionError(f"{name}: the ranks' results differ")
        allowed = WAYS[name].error
        error = float(np.abs(results[0] - self._mean).max() / np.abs(self._mean).max())
        if not (np.isfinite(error) and (allowed is None or error <= allowed)):
            raise AssertionError(f"{name}: results are {error} of the largest element from the mean")


def run_rank(rank: int, world: World, store: str) -> None:
    """Rank 0 writes lines of JSON: what a round takes, then each way as soon as that is measured."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    own = Rank(rank, world, store)
    for measured in itertools.chain([own.round_seconds()], map(own.measure, world.ways)):
        if rank == 0:
            print(json.dumps(measured), flush=True)


# What comes of it


def prices(world: World) -> dict[str, float]:
    """What a rank's work takes on a processor that it shares with the others."""
    crowd = max(1.0, world.ranks / (os.cpu_count() or 1))
    return {name: crowd * seconds for name, seconds in plan.measure_costs().items()}


def forecast(row: dict[str, Any], world: World, latency: float, *, limit: bool = False) -> float:
    """The planner's seconds of a row's buckets; as a limit, without anyone's work."""
    way = WAYS[row["way"]]
    ours = way.options is not None
    seconds = 0.0
    for (elements, mode, algorithm), count in Counter(
        (bucket["elements"], bucket.get("mode", way.mode), bucket.get("algorithm", "own")) for bucket in row["buckets"]
    ).items():
        options = {"bucket_elements": elements, "ranks_per_host": world.ranks_per_host, "sparsity": SPARSITY}
        options |= {"rank": way.rank, "rows": world.side, "columns": world.side}
        if limit:
            options |= {"message": 0.0, "host_latency": 0.0, "host_bandwidth": 1e18}
        # Sums alone go in another order; other exchanges are the ranks' own.
        in_ring = not ours or (way.order == "engine" and 4 * elements >= RING_PIECE * world.ranks)
        options["algorithm"] = "ring" if in_ring else "hosts" if way.order == "hosts" else "own"
        options["channels"] = CHANNELS if ours else 1
        times = []
        for _ in range(1 if limit else TRIALS):
            work = None if limit else prices(world)
            predicted = plan.predict(count * elements, world.ranks, world.bandwidth, latency, processor=work, **options)
            one = next(p for p in predicted.modes if p.mode == mode and algorithm in ("own", p.algorithm))
            times.append(one.network_seconds if limit else one.seconds)
        seconds += min(times)  # a neighbour on the machine can raise measured prices
    return seconds


def finish(row: dict[str, Any], world: World, round_seconds: float) -> dict[str, Any]:
    """A row with what the planner says to it."""
    best, limit = min(row["seconds"]), forecast(row, world, world.delay, limit=True)
    if WAYS[row["way"]].options is not None:
        for kind, latency in (("", world.delay), ("_by_rounds", round_seconds)):
            expected = forecast(row, world, latency)
            row |= {f"forecast{kind}": expected, f"error{kind}": expected / best - 1}
    kinds = Counter((bucket.get("mode"), bucket["elements"]) for bucket in row["buckets"])
    own = sum(bucket.get("expected", 0.0) for bucket in row.pop("buckets"))
    row |= {"best": best, "median": statistics.median(row["seconds"]), "limit": limit, "of_limit": limit / best}
    row["buckets"] = [{"mode": mode, "elements": elements, "count": n} for (mode, elements), n in kinds.items()]
    if own > 0:
        row["expected_by_auto"] = own
    return row


HEAD = (
    "| way | best | median | processors | MB | limit | of limit | forecast | error | by rounds | error |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
)  # fmt: skip


def line_of(row: dict[str, Any]) -> str:
    name = row["way"]
    modes = {bucket["mode"] for bucket in row["buckets"]}
    if name == "auto":
        name = f"auto ({', '.join(sorted(modes))})"
    cells = [f"{row[key] * 1e3:.1f}" for key in ("best", "median")]
    cells.append(f"{row['processor_seconds'] / (os.cpu_count() or 1) * 1e3:.1f}")
    cells += [f"{row['wire_bytes'] / 1e6:.2f}", f"{row['limit'] * 1e3:.1f}", f"{row['of_limit']:.2f}"]
    for kind in ("", "_by_rounds"):
        known = f"forecast{kind}" in row
        cells += [f"{row[f'forecast{kind}'] * 1e3:.1f}", f"{row[f'error{kind}']:+.0%}"] if known else ["", ""]
    return f"| {' | '.join([name, *cells])} |"


def measure(world: World, link: str) -> dict[str, Any]:
    """Runs a world and prints its table as it grows."""
    print(f"\nload {' '.join(f'{load:.1f}' for load in os.getloadavg())}; ", end="", flush=True)
    found: dict[str, Any] = {**world._asdict(), "processor": processor(), "processors": os.cpu_count(), "link": link}
    found |= {"gradstep": gradstep.build_info(), "torch": torch.__version__ if torch else None}
    found |= {"load": os.getloadavg(), "rows": []}
    with tempfile.TemporaryDirectory() as store, SlowHosts(world.hosts, world.bandwidth, world.delay, link) as hosts:
        found["congestion_control"] = hosts.congestion_control()
        again = [sys.executable, __file__, "--world", json.dumps(world), "--store", store, "--rank"]
        ranks: list[subprocess.Popen[str]] = []
        try:
            for rank in range(world.ranks):
                command = hosts.command(rank // world.ranks_per_host, *again, str(rank))
                environment = os.environ | {"OMP_NUM_THREADS": "1"}
                ranks.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment))
            for text in ranks[0].stdout or ():
                if "round" not in found:
                    found["round"] = json.loads(text)
                    print(
                        f"{world.name}: a round takes {_quantities.format_time(found['round'])}\n\n{HEAD}", flush=True
                    )
                    continue
                row = finish(json.loads(text), world, found["round"])
                found["rows"].append(row)
                print(line_of(row), flush=True)
            if any([rank.wait(TIMEOUT) for rank in ranks]):
                raise SystemExit(f"{world.name}: a rank failed")
        finally:
            slow_hosts.stop(ranks)
        found["program"] = hosts.program_report()
    return found


def write(results: Path, worlds: list[dict[str, Any]]) -> None:
    """Worlds that the file has already are renewed, others stay."""
    known = json.loads(results.read_text())["worlds"] if results.exists() else []
    keys = ("hosts", "ranks_per_host", "bandwidth", "delay", "tensors", "side")
    by_key = {tuple(world[key] for key in keys): world for world in [*known, *worlds]}
    results.parent.mkdir(parents=True, exist_ok=True)
    results.write_text(json.dumps({"worlds": list(by_key.values())}, indent=1) + "\n")


def parse_network(text: str) -> tuple[float, float]:
    bandwidth, _, delay = text.partition(",")
    return _quantities.parse_bandwidth(bandwidth), _quantities.parse_time(delay)


def parse_hosts(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    hosts, ranks = (int(found[1]), int(found[2])) if found else (0, 0)
    if not (2 <= hosts <= slow_hosts.MOST_HOSTS and ranks >= 1):
        raise argparse.ArgumentTypeError(
            f"expected HxR with 2 to {slow_hosts.MOST_HOSTS} hosts of 1 rank or more, found {text!r}"
        )
    return hosts, ranks


def selected(asked: list[str] | None, ranks_per_host: int) -> list[str]:
    """Ways that there are here. With one rank on a host, sums in the order of hosts are those in the order of ranks."""
    return [
        name
        for name, way in WAYS.items()
        if (asked is None or name in asked)
        and (way.options is not None or torch is not None)
        and (way.order != "hosts" or ranks_per_host > 1)
    ]


def parser() -> argparse.ArgumentParser:
    usage = (__doc__ or "").partition("\n\n")[0].removeprefix("usage: ")
    parser = argparse.ArgumentParser(usage=usage)
    parser.add_argument("--networks", type=parse_network, nargs="+", default=[parse_network(text) for text in NETWORKS])
    parser.add_argument("--hosts", type=parse_hosts, nargs="+", default=[parse_hosts(text) for text in HOSTS])
    parser.add_argument("--ways", nargs="+", choices=WAYS)
    parser.add_argument("--tensors", type=int, default=20)
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", choices=slow_hosts.LINKS)
    parser.add_argument("--quick", action="store_true", help="4 tensors of 128x128 and one round")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--world", help=argparse.SUPPRESS)
    parser.add_argument("--store", help=argparse.SUPPRESS)
    return parser


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    if given.rank is not None:  # a rank of measure's
        run_rank(given.rank, World(*json.loads(given.world)), given.store)
        return 0
    link = given.link or slow_hosts.best_link()
    reason = slow_hosts.why_not(link)
    if reason is None and not gradstep.backend_available("gloo"):
        reason = "needs gradstep's gloo"
    if reason is not None:
        print(f"SKIPPED: network.py {reason}")
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    tensors, side, rounds = (4, 128, 1) if given.quick else (given.tensors, given.side, given.rounds)
    print(f"{tensors} gradients of {side}x{side} f32; {processor()}, {os.cpu_count()} processors; links: {link}")
    if torch is None:
        print("torch is not installed: no peers")
    print("the columns: see the head of network.py")
    worlds = []
    for (bandwidth, delay), (hosts, ranks) in itertools.product(given.networks, given.hosts):
        ways = selected(given.ways, ranks)
        worlds.append(measure(World(hosts, ranks, bandwidth, delay, tensors, side, rounds, ways), link))
        if given.results:
            write(given.results, worlds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
