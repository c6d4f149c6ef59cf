# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What an exchange of gradients will cost in each mode of a reducer, before there is a network to try it on.

    python -m gradstep.plan --parameters 100M --ranks 64 --bandwidth 10Gbit/s --latency 50us

The formulas are those by which Reducer(mode="auto") chooses; gradstep/cost.h says what they are. Nothing is taken to
overlap, and no link to be shared with anyone else: measure before you buy.
"""

import argparse
import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradstep import _native
from gradstep._deprecated import deprecated
from gradstep._numbers import set_number
from gradstep._options import read_records
from gradstep._quantities import (
    format_bandwidth,
    format_bytes,
    format_time,
    parse_bandwidth,
    parse_count,
    parse_number,
    parse_time,
)
from gradstep.context import Context, context_pointer
from gradstep.errors import InvalidArgument

_MODES = (
    "dense",
    "half",
    "bfloat16",
    "int8",
    "int4",
    "fp8_e4m3",
    "fp8_e5m2",
    "sparse_topk",
    "powersgd",
    "adasum_tree",
    "adasum_nway",
)
_ALGORITHMS = {
    "own": "COST_OWN",
    "ring": "COST_RING",
    "tree": "COST_TREE",
    "hierarchical": "COST_HIERARCHICAL",
    "gather": "COST_SPARSE_GATHER",
    "split": "COST_SPARSE_SPLIT",
    "hosts": "COST_HOSTS",
}
_ALL_REDUCES = ("own", "hosts", "ring", "tree", "hierarchical")
# Gradients in 16 bits are reduced in f32.
_ELEMENT_BYTES = {"float32": 4, "float64": 8, "float16": 4, "bfloat16": 4}
# The fields of cost.h for one rank's work on an element end so, and begin so.
_SECONDS = "_seconds"
_WORK = ("pack", "convert", "encode", "decode", "select", "entry", "add", "merge", "multiply")
# Where break-even bandwidths are looked for, in bytes a second, and how finely.
_SLOWEST, _FASTEST, _STEPS_PER_DECADE = 1e3, 1e14, 20


@dataclass(frozen=True)
class Prediction:
    """One exchange of all gradients, one way."""

    mode: str
    algorithm: str
    """How it is summed: "own" (gradstep's collectives), "hosts" (the same by hosts), "ring", "tree", "hierarchical";
    sparse: "gather", "split"."""
    bytes: int
    """That each rank sends."""
    seconds: float
    network_seconds: float
    """Of the seconds, those of messages and bytes; the others are the processor's."""
    calls: int
    """Of the communicator."""
    rounds: int
    """In which every rank of a group sends to every other one."""


@dataclass(frozen=True)
class BreakEven:
    """Up to which bandwidth of a host's link a mode is faster than the dense sum."""

    mode: str
    algorithm: str
    bandwidth: float | None
    """Bytes a second; infinity = it always is, None = it never is."""


@dataclass(frozen=True)
class Plan:
    """What predict() found."""

    parameters: int
    ranks: int
    ranks_per_host: int
    bandwidth: float
    """Bytes a second each way."""
    latency: float
    """Seconds."""
    dtype: str
    sparsity: float
    rank: int
    compute: float | None
    """Seconds of a step outside the exchange, if given."""
    modes: list[Prediction]
    """Every mode once, sparse_topk by gather and by split; in the order of the table."""
    dense_algorithms: list[Prediction]
    """The dense sum by every algorithm."""
    break_evens: list[BreakEven]
    """Of every mode but dense."""

    @property
    def dense(self) -> Prediction:
        return self.modes[0]

    @property
    def cheapest(self) -> Prediction:
        """The mode with the least time; of equal ones the first."""
        return min(self.modes, key=lambda prediction: prediction.seconds)

    def step_seconds(self, prediction: Prediction) -> float:
        """A whole step: compute, then the exchange."""
        return (self.compute or 0.0) + prediction.seconds

    def efficiency(self, prediction: Prediction) -> float | None:
        """The part of a step that is computing; None if compute was not given."""
        return None if self.compute is None else self.compute / self.step_seconds(prediction)


def predict(
    parameters: int,
    ranks: int,
    bandwidth: float,
    latency: float,
    *,
    algorithm: str = "own",
    dtype: str = "float32",
    sparsity: float = 0.01,
    rank: int = 2,
    rows: int = 1024,
    columns: int = 1024,
    ranks_per_host: int = 1,
    host_bandwidth: float = 5e9,
    host_latency: float = 5e-6,
    message: float = 2e-6,
    bucket_elements: int = 2097152,
    control_parameters: int = 0,
    channels: int = 1,
    compute: float | None = None,
    measure: bool = False,
    context: Context | None = None,
    no_stages: bool = False,
    processor: Mapping[str, float] | None = None,
) -> Plan:
    """Predicts the time and the bytes of one exchange in every mode. Opens no connection.

    parameters: elements in all. ranks: 1 to 100000, of which ranks_per_host share a host and its link.
    bandwidth, latency: of a host's link, in bytes a second each way and in seconds; host_bandwidth and host_latency:
    of a rank inside its host. message: seconds for which each message keeps its sender busy.
    algorithm: how dense, half, bfloat16 and powersgd are summed: "own" is what gradstep's collectives do, "hosts" with
    reduction_order="hosts", codes and Adasum too; "ring" what reduction_order="engine" does over Gloo; "tree" and
    "hierarchical" what an engine's or a host's own all-reduce may do; "best" takes the fastest.
    sparsity: of sparse_topk. rank, and matrices of rows x columns: of powersgd.
    bucket_elements: gradients travel in buckets of at most so many. control_parameters: above 0, a window has the
    control all-reduce, of so many parameters. channels: buckets that are under way at once. compute: seconds of a step
    outside the exchange.
    measure: takes the processor's part from this machine, by the threads of `context` (default: one thread), instead
    of the numbers that are built in. processor: seconds of one rank's work on an element, as measure_costs() gives
    them; those that are left out stay.
    no_stages: the engine gathers few bytes of many ranks directly, as MPI does, not in stages as Gloo.
    """
    if algorithm not in (*_ALL_REDUCES, "best"):
        raise InvalidArgument(f"algorithm: {algorithm!r} is unknown; known: {', '.join(_ALL_REDUCES)}, best")
    if dtype not in _ELEMENT_BYTES:
        raise InvalidArgument(f"dtype: {dtype!r} is unknown; known: {', '.join(_ELEMENT_BYTES)}")
    if compute is not None and not (math.isfinite(compute) and compute >= 0):
        raise InvalidArgument(f"compute: is {compute}, expected a finite number of seconds of at least 0")
    options = _native.cost_options()
    fields = {
        "elements": parameters,
        "ranks": ranks,
        "ranks_per_host": ranks_per_host,
        "bandwidth": bandwidth,
        "latency": latency,
        "host_bandwidth": host_bandwidth,
        "host_latency": host_latency,
        "message": message,
        "element_bytes": _ELEMENT_BYTES[dtype],
        "sparsity": sparsity,
        "rank": rank,
        "rows": rows,
        "columns": columns,
        "bucket_elements": bucket_elements,
        "control_parameters": control_parameters,
        "channels": channels,
        "no_stages": int(no_stages),
    }
    if measure:
        processor = {**measure_costs(context), **(processor or {})}
    for name, value in (processor or {}).items():
        if name not in _WORK:
            raise InvalidArgument(f"processor: {name!r} is unknown; known: {', '.join(_WORK)}")
        fields[name + _SECONDS] = value
    for name, value in fields.items():
        try:
            set_number(options, name, value, f"{_argument(name)}:")
        except TypeError as error:
            raise InvalidArgument(str(error)) from error
    everything = _predictions(options)
    if algorithm in ("hierarchical", "hosts") and not any(one.algorithm == algorithm for one in everything):
        raise InvalidArgument(
            f"algorithm: is {algorithm!r}, expected ranks_per_host ({ranks_per_host}) between 1 and ranks ({ranks})"
        )
    return Plan(
        parameters=parameters,
        ranks=ranks,
        ranks_per_host=ranks_per_host,
        bandwidth=bandwidth,
        latency=latency,
        dtype=dtype,
        sparsity=sparsity,
        rank=rank,
        compute=compute,
        modes=_rows(everything, algorithm),
        dense_algorithms=[one for one in everything if one.mode == "dense"],
        break_evens=_break_evens(options, algorithm),
    )


def measure_costs(context: Context | None = None) -> dict[str, float]:
    """Seconds of one rank's work on an element on this machine, by the threads of `context` (default: one thread).

    pack: into a bucket; convert: to 16 bits and back; encode, decode: into and out of 8 bits or 4; select: when the
    largest are selected; entry: an entry of a sparse list that is summed; add: to a dense sum; merge: by Adasum;
    multiply: by one column of PowerSGD's factors, orthogonalisation included; each further column takes a fifth of it.
    """
    options = _native.cost_options()
    own = context if context is not None else Context(num_threads=1)
    _native.cost_options_measure(options, context_pointer(own))
    return {name: getattr(options, name + _SECONDS) for name in _WORK}


@deprecated("plan.measure_costs()")
def measure_processor(context: Context | None = None) -> dict[str, float]:
    return measure_costs(context)


def _argument(field: str) -> str:
    if field.endswith(_SECONDS):
        return f"processor: {field.removesuffix(_SECONDS)}"
    return "parameters" if field == "elements" else field


def _predictions(options: Any) -> list[Prediction]:
    try:
        records = read_records(_native.predict_costs, options)
    except InvalidArgument as error:
        text = re.sub(r"options\.(\w+)", lambda match: _argument(match[1]), str(error))
        raise InvalidArgument(text) from None
    modes = {getattr(_native, "REDUCER_" + mode.upper()): mode for mode in _MODES}
    algorithms = {getattr(_native, name): algorithm for algorithm, name in _ALGORITHMS.items()}
    return [
        Prediction(
            modes[record.mode],
            algorithms[record.algorithm],
            record.bytes,
            record.seconds,
            record.network_seconds,
            record.calls,
            record.rounds,
        )
        for record in records
    ]


def _rows(everything: list[Prediction], algorithm: str) -> list[Prediction]:
    """Every mode by the wanted algorithm; by its own where it has no other."""
    rows = []
    for mode in _MODES:
        ways = [one for one in everything if one.mode == mode]
        if not ways:  # codes, of float64
            continue
        if mode == "sparse_topk":
            rows += ways
        elif algorithm == "best":
            rows.append(min(ways, key=lambda one: one.seconds))
        else:
            rows.append(next((one for one in ways if one.algorithm == algorithm), ways[0]))
    return rows


def _break_evens(options: Any, algorithm: str) -> list[BreakEven]:
    wanted = options.bandwidth

    def rows_at(bandwidth: float) -> list[Prediction]:
        options.bandwidth = bandwidth
        return _rows(_predictions(options), algorithm)

    def beats_dense(bandwidth: float, row: int) -> bool:
        rows = rows_at(bandwidth)
        return rows[row].seconds < rows[0].seconds

    count = round(math.log10(_FASTEST / _SLOWEST)) * _STEPS_PER_DECADE
    grid = [_SLOWEST * 10 ** (i / _STEPS_PER_DECADE) for i in range(count + 1)]
    tables = [rows_at(bandwidth) for bandwidth in grid]
    found = []
    for row, prediction in enumerate(tables[0][1:], start=1):
        faster = [i for i, table in enumerate(tables) if table[row].seconds < table[0].seconds]
        limit: float | None = None
        if faster and faster[-1] == count:
            limit = math.inf
        elif faster:
            low, high = grid[faster[-1]], grid[faster[-1] + 1]
            for _ in range(40):
                middle = math.sqrt(low * high)
                low, high = (middle, high) if beats_dense(middle, row) else (low, middle)
            limit = low
        own_name = prediction.algorithm if prediction.mode == "sparse_topk" else algorithm
        found.append(BreakEven(prediction.mode, own_name, limit))
    options.bandwidth = wanted
    return found


def _label(mode: str, algorithm: str) -> str:
    return mode if algorithm == "own" else f"{mode}, {algorithm}"


def _aligned(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as what is in them: the first to the left, the others to the right."""
    lines = [heading, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heading))]
    return [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _limit_text(limit: float | None) -> str:
    if limit is None:
        return "never"
    return "always" if math.isinf(limit) else f"below {format_bandwidth(limit)}"


def format_plan(plan: Plan) -> str:
    """The plan as text: the modes, the ways to sum densely, and what is cheapest."""
    hosts = "" if plan.ranks_per_host == 1 else f", {plan.ranks_per_host} on a host"
    lines = [
        f"{plan.parameters} parameters ({plan.dtype}), {plan.ranks} ranks{hosts}; "
        f"{format_bandwidth(plan.bandwidth)}, {format_time(plan.latency)}",
        f"sparse_topk sends {plan.sparsity:.3%}, powersgd has rank {plan.rank}",
        "",
    ]
    limits = ["", *(_limit_text(one.bandwidth) for one in plan.break_evens)]
    heading = ["mode", "time", "in the network", "sent by a rank", "times dense", "faster than dense"]
    rows = []
    for prediction, limit in zip(plan.modes, limits, strict=True):
        ratio = f"{prediction.seconds / plan.dense.seconds:.3f}" if plan.dense.seconds > 0 else ""
        rows.append(
            [
                _label(prediction.mode, prediction.algorithm),
                format_time(prediction.seconds),
                format_time(prediction.network_seconds),
                format_bytes(prediction.bytes),
                ratio,
                limit,
            ]
        )
    if plan.compute is not None:
        heading += ["step", "computing"]
        for row, prediction in zip(rows, plan.modes, strict=True):
            row += [format_time(plan.step_seconds(prediction)), f"{plan.efficiency(prediction) or 0:.1%}"]
    lines += _aligned(heading, rows)
    ways = [[one.algorithm, format_time(one.seconds), format_bytes(one.bytes)] for one in plan.dense_algorithms]
    lines += ["", *_aligned(["dense sum by", "time", "sent by a rank"], ways)]
    fastest = min(plan.dense_algorithms, key=lambda one: one.seconds)
    cheapest = plan.cheapest
    lines += [
        "",
        f"cheapest mode: {_label(cheapest.mode, cheapest.algorithm)}, {format_time(cheapest.seconds)}; "
        f"cheapest dense sum: {fastest.algorithm}, {format_time(fastest.seconds)}",
    ]
    return "\n".join(lines)


def as_json(plan: Plan) -> dict[str, Any]:
    """The plan for json.dumps. A break-even bandwidth is null where the mode is never or always faster."""
    return {
        **{
            field.name: getattr(plan, field.name)
            for field in dataclasses.fields(plan)
            if field.name not in ("modes", "dense_algorithms", "break_evens")
        },
        "modes": [
            {
                **dataclasses.asdict(prediction),
                **({} if plan.compute is None else {"step_seconds": plan.step_seconds(prediction)}),
            }
            for prediction in plan.modes
        ],
        "dense_algorithms": [dataclasses.asdict(prediction) for prediction in plan.dense_algorithms],
        "break_evens": [
            {
                "mode": one.mode,
                "algorithm": one.algorithm,
                "bandwidth": one.bandwidth if one.bandwidth is not None and math.isfinite(one.bandwidth) else None,
                "faster": "never" if one.bandwidth is None else "below" if math.isfinite(one.bandwidth) else "always",
            }
            for one in plan.break_evens
        ],
        "cheapest": dataclasses.asdict(plan.cheapest),
    }


def _parse_work(text: str) -> tuple[str, float]:
    name, _, seconds = text.partition("=")
    return name, parse_time(seconds)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gradstep.plan",
        description="Time and bytes of one exchange of gradients in every mode, on a network in numbers.",
        epilog="Bandwidths: bytes a second, or 1Gbit/s, 125MB/s and the like. Times: seconds, or 5ms, 50us.",
    )

    def option(name: str, convert: Callable[[str], Any], text: str, **keywords: Any) -> None:
        parser.add_argument(name, type=convert, help=text, **keywords)

    option("--parameters", parse_count, "elements in all, as 25e6, 25M or 7B", required=True, metavar="N")
    option("--ranks", parse_count, "1 to 100000", required=True, metavar="P")
    option("--bandwidth", parse_bandwidth, "of a host's link, each way", required=True, metavar="B")
    option("--latency", parse_time, "of a message between hosts", required=True, metavar="L")
    option("--ranks-per-host", parse_count, "they share the link (1)", default=1, metavar="H")
    option("--host-bandwidth", parse_bandwidth, "of a rank inside its host (5GB/s)", default=5e9, metavar="B")
    option("--host-latency", parse_time, "of a message inside a host (5us)", default=5e-6, metavar="L")
    option("--message", parse_time, "for which a message keeps its sender busy (2us)", default=2e-6, metavar="T")
    parser.add_argument(
        "--algorithm",
        choices=[*_ALL_REDUCES, "best"],
        default="own",
        help="how dense, half, bfloat16 and powersgd are summed: by gradstep (own, hosts) or by an engine's all-reduce",
    )
    parser.add_argument("--dtype", choices=list(_ELEMENT_BYTES), default="float32", help="of the gradients")
    option("--sparsity", parse_number, "the fraction that sparse_topk sends (0.01)", default=0.01, metavar="S")
    option("--rank", parse_count, "of powersgd (2)", default=2, metavar="R")
    option("--rows", parse_count, "of the matrices, for powersgd (1024)", default=1024)
    option("--columns", parse_count, "of the matrices, for powersgd (1024)", default=1024)
    option("--bucket-elements", parse_count, "of a fused bucket at most (2097152)", default=2097152, metavar="N")
    option(
        "--control-parameters", parse_count, "above 0: windows have the control all-reduce (0)", default=0, metavar="N"
    )
    option("--channels", parse_count, "buckets that are under way at once (1)", default=1, metavar="N")
    option("--compute", parse_time, "of a step outside the exchange: shows whole steps", metavar="T")
    parser.add_argument("--measure", action="store_true", help="take the processor's part from this machine")
    parser.add_argument(
        "--processor",
        type=_parse_work,
        nargs="+",
        metavar="WORK=T",
        help=f"times of a rank's work on an element, as encode=0.3ns; of {', '.join(_WORK)}",
    )
    parser.add_argument("--no-stages", action="store_true", help="the engine gathers few bytes directly, as MPI")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = vars(parser.parse_args(arguments))
    as_text = not options.pop("json")
    options["processor"] = dict(options["processor"] or ())
    try:
        plan = predict(**options)
    except InvalidArgument as error:
        name, colon, rest = str(error).partition(":")
        parser.error(f"argument --{name.replace('_', '-')}{colon}{rest}")
    print(format_plan(plan) if as_text else json.dumps(as_json(plan), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
