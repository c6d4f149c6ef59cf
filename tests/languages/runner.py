# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: runner.py --vectors DIR [--trace]. Makes the calls of all scripts in DIR from Python (README.md)."""

import argparse
import io
import math
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import gradstep
from gradstep.schedule import Schedule

DTYPES = {name: np.dtype(t) for name, t in {"f32": "f4", "f64": "f8", "f16": "f2", "bf16": ml_dtypes.bfloat16}.items()}
RULES = {
    "sgd": gradstep.SGD,
    "rmsprop": gradstep.RMSProp,
    "adagrad": gradstep.AdaGrad,
    "adam": gradstep.Adam,
    "shampoo": gradstep.Shampoo,
}
HASH_START = 0xCBF29CE484222325


class CallbackEndedError(Exception):
    """A schedule's callback has no more values."""

    status = gradstep.CallbackError.status


def hash_bytes(start: int, data: bytes) -> int:
    for byte in data:
        start = (start ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return start


def mix(x: Any) -> Any:
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return x ^ x >> np.uint64(31)


def generate(kind: int, call: int, rank: int, parameter: int, dtype: Any, shape: tuple[int, ...]) -> Any:
    tensor = mix(np.array([kind], np.uint64))
    for part in (call, rank, parameter):
        tensor = mix(tensor ^ np.uint64(part))
    word = mix(tensor ^ np.arange(math.prod(shape), dtype=np.uint64))
    bits = 8 if dtype.itemsize == 2 else 24
    numerator = (word >> np.uint64(64 - bits)).astype(np.int64) - (1 << (bits - 1))
    octaves = (word & np.uint64(7)).astype(np.int32) + (bits - 1)
    return np.ldexp(numerator.astype(np.float64), -octaves).astype(dtype).reshape(shape)


def value_of(text: str) -> Any:
    """A number, or a word."""
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


def integers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")] if text else []


class Line:
    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.call, *pairs = text.split()
        self.keys = dict(pair.split("=", 1) for pair in pairs)

    def fields(self, *known: str) -> dict[str, Any]:
        """The keys that are fields of options."""
        return {
            key: value_of(value)
            for key, value in self.keys.items()
            if key not in (*known, "times", "only", "fails") and "." not in key
        }


def schedule_of(fields: dict[str, str]) -> Schedule:
    values = [float(value) for value in fields.pop("values", "").split(",") if value]
    boundaries = integers(fields.pop("boundaries", ""))
    kind = fields.pop("kind")

    def function(step: int) -> float:
        if step >= len(values):
            raise CallbackEndedError("the callback has no more values")
        return values[step]

    if kind == "callback":
        return Schedule(kind, function=function)
    points = {"boundaries": boundaries, "values": values} if kind == "piecewise" else {}
    return Schedule(kind, **points, **{key: value_of(value) for key, value in fields.items()})  # type: ignore[arg-type]


class Rank:
    def __init__(self, directory: Path, index: int, comm: Any, context: gradstep.Context) -> None:
        self.directory, self.index, self.comm, self.context = directory, index, comm, context
        self.values: list[Any] = []
        self.gradient_dtypes: list[Any] = []
        self.groups: list[int] = []
        self.handles: dict[str, Any] = {}
        self.generated = 0
        self.saved = b""
        self.hash = HASH_START

    def feed(self, data: bytes) -> None:
        self.hash = hash_bytes(self.hash, data)

    def feed_int32(self, number: int) -> None:
        self.feed(struct.pack("<i", number))

    def feed_number(self, number: Any) -> None:
        number = float(np.asarray(number).reshape(-1)[0])
        self.feed(struct.pack("<Q", 0x7FF8000000000000) if math.isnan(number) else struct.pack("<d", number))

    def feed_arrays(self, arrays: Any) -> None:
        for array in arrays:
            if array is not None:
                self.feed(np.asarray(array).tobytes())

    def add_parameter(self, line: Line) -> None:
        dtype = DTYPES[line.keys.get("dtype", "f32")]
        self.gradient_dtypes.append(DTYPES[line.keys["gradient"]] if "gradient" in line.keys else dtype)
        shape = tuple(integers(line.keys["shape"]))
        self.groups.append(int(line.keys.get("group", 0)))
        self.values.append(generate(1, 0, 0, len(self.values), dtype, shape))

    def read_data(self, name: str, dtypes: list[Any]) -> Iterator[Any]:
        data = (self.directory / name).read_bytes()
        expected = sum(value.size * dtype.itemsize for value, dtype in zip(self.values, dtypes, strict=True))
        if len(data) != expected:
            raise ValueError(f"{name}: has {len(data)} bytes, expected {expected}")
        offset = 0
        for value, dtype in zip(self.values, dtypes, strict=True):
            yield np.frombuffer(data, dtype, value.size, offset).reshape(value.shape).copy()
            offset += value.size * dtype.itemsize

    def gradients(self, line: Line) -> list[Any]:
        if "from" in line.keys:
            return self.handles[line.keys["from"]].gradients()
        if "data" in line.keys:
            found = list(self.read_data(line.keys["data"], self.gradient_dtypes))
        else:
            self.generated += 1
            found = [
                generate(2, self.generated, self.index, i, dtype, value.shape)
                for i, (value, dtype) in enumerate(zip(self.values, self.gradient_dtypes, strict=True))
            ]
        if "nan" in line.keys:
            parameter, element = integers(line.keys["nan"])
            found[parameter].reshape(-1)[element] = np.nan
        for i in integers(line.keys.get("missing", "")):
            found[i] = None
        return found

    def make_call(self, line: Line) -> None:
        if line.call in RULES:
            self.handles["optimizer"] = RULES[line.call](
                self.values, groups=self.groups, context=self.context, **line.fields()
            )
        else:
            getattr(self, f"call_{line.call}")(line)

    def call_optimizer(self, line: Line) -> None:
        self.handles["optimizer"] = gradstep.make_optimizer(
            line.keys["rule"], self.values, groups=self.groups, context=self.context, **line.fields("rule")
        )

    def call_accumulator(self, line: Line) -> None:
        options = line.fields()
        trigger = options.pop("trigger", "steps")
        if trigger == "steps":
            options.setdefault("steps", 1)
        elif trigger == "schedule":
            fields = {key.removeprefix("schedule."): value for key, value in line.keys.items() if "." in key}
            options["steps"] = schedule_of(fields)
        options["keep_sums"] = bool(options.get("keep_sums", 0))
        self.handles["accumulator"] = gradstep.Accumulator(self.values, context=self.context, **options)

    def call_reducer(self, line: Line) -> None:
        self.handles["reducer"] = gradstep.Reducer(self.comm, self.values, context=self.context, **line.fields())

    def call_updater(self, line: Line) -> None:
        parts = [self.handles.get(name) for name in ("optimizer", "accumulator", "reducer")]
        self.handles["updater"] = gradstep.Updater(*parts, context=self.context, **line.fields())  # type: ignore[arg-type]

    def call_set(self, line: Line) -> None:
        group = int(line.keys.get("group", -1))
        self.handles["optimizer"].set_value(line.keys["name"], float(line.keys["value"]), group)

    def call_schedule(self, line: Line) -> None:
        fields = {
            key: value for key, value in line.keys.items() if key not in ("name", "group", "fails", "times", "only")
        }
        group = int(line.keys.get("group", -1))
        self.handles["optimizer"].set_value(line.keys["name"], schedule_of(fields), group)

    def call_step(self, line: Line) -> None:
        options = line.fields("missing", "nan", "data", "from")
        result = self.handles["optimizer"].step(self.values, self.gradients(line), **options)
        if options:
            self.feed_int32(result.applied)
            self.feed_number(result.grad_norm)
            self.feed_number(result.clip_coefficient)

    def call_add(self, line: Line) -> None:
        accumulator, gradients = self.handles["accumulator"], self.gradients(line)
        if "rows" in line.keys:
            parameter, indices = int(line.keys["rows"]), np.array(integers(line.keys["indices"]), np.int64)
            shape = (len(indices), *self.values[parameter].shape[1:])
            rows = generate(3, self.generated, self.index, parameter, DTYPES["f32"], shape)
            accumulator.add_sparse(parameter, indices, rows)
        self.feed_int32(accumulator.add(gradients, float(line.keys.get("weight", 1))))

    def call_flush(self, _: Line) -> None:
        self.feed_int32(self.handles["accumulator"].flush())

    def call_reset(self, _: Line) -> None:
        self.handles["accumulator"].reset()

    def call_reduce(self, line: Line) -> None:
        self.handles["reducer"].reduce(self.gradients(line), float(line.keys.get("weight", 1)), in_place=False)

    def call_exchange(self, line: Line) -> None:
        reducer, gradients = self.handles["reducer"], self.gradients(line)
        reducer.begin(float(line.keys.get("weight", 1)))
        for i in reversed(range(len(gradients))):
            if gradients[i] is not None:
                reducer.push(i, gradients[i])
        reducer.wait()

    def call_push(self, line: Line) -> None:
        weight = float(line.keys.get("weight", 1))
        self.feed_int32(self.handles["updater"].push(self.values, self.gradients(line), weight))

    def call_finish(self, _: Line) -> None:
        self.feed_int32(self.handles["updater"].flush(self.values))

    def call_save(self, line: Line) -> None:
        file = io.BytesIO()
        self.handles[line.keys["handle"]].save(file)
        self.saved = file.getvalue()

    def call_load(self, line: Line) -> None:
        self.handles[line.keys["handle"]].load(io.BytesIO(self.saved))

    def call_parameters(self, line: Line) -> None:
        self.values = list(self.read_data(line.keys["data"], [value.dtype for value in self.values]))

    def call_hash(self, line: Line) -> None:
        what, optimizer = line.keys["what"], self.handles.get("optimizer")
        if what == "parameters":
            self.feed_arrays(self.values)
        elif what == "gradients":
            self.feed_arrays(self.gradients(line))
        elif what == "norm":
            self.feed_number(self.handles[line.keys["from"]].norm)
        elif what == "state":
            for i in range(len(self.values)):
                try:
                    self.feed_arrays([optimizer.get_state(i, line.keys["name"])])  # type: ignore[union-attr]
                except gradstep.InvalidState:
                    continue  # this parameter has none
        elif what == "value":
            self.feed_number(optimizer.get_value(line.keys["name"], int(line.keys.get("group", 0))))  # type: ignore[union-attr]
        elif what == "step_count":
            self.feed(struct.pack("<q", optimizer.step_count))  # type: ignore[union-attr]
        elif what == "window":
            window = self.handles["accumulator"]
            self.feed(struct.pack("<q", window.count))
            self.feed_number(window.weight)
            self.feed(struct.pack("<q", window.skipped))
        elif what == "residual":
            self.feed_arrays(self.handles["reducer"].residual(i) for i in range(len(self.values)))
        else:
            raise ValueError(f"what: {what!r} is unknown")

    def run_line(self, line: Line) -> None:
        """Makes one call, which must end as the line says."""
        status = gradstep_error = 0
        try:
            self.make_call(line)
        except (gradstep.Error, CallbackEndedError) as error:
            status, gradstep_error = error.status, error  # type: ignore[assignment]
        expected = f"GRADSTEP_ERR_{line.keys['fails']}" if "fails" in line.keys else "GRADSTEP_OK"
        found = gradstep_error.status_name if isinstance(gradstep_error, gradstep.Error) else "GRADSTEP_ERR_CALLBACK"
        if (found if status else "GRADSTEP_OK") != expected:
            raise RuntimeError(f"expected {expected}, found status {status}: {gradstep_error}")
        self.feed_int32(status)


def run_script(path: Path, trace: bool) -> int:
    texts = enumerate(path.read_text(encoding="ascii").splitlines(), 1)
    lines = [Line(number, text) for number, text in texts if text and not text.startswith("#")]
    n_ranks = int(lines.pop(0).keys["n"]) if lines[0].call == "ranks" else 1
    context = gradstep.Context()
    comms = gradstep.Communicator.local(n_ranks, context=context)
    ranks = [Rank(path.parent, i, comm, context) for i, comm in enumerate(comms)]
    failures: list[str] = []

    def run(rank: Rank) -> None:
        for line in lines:
            if line.call == "parameter":
                rank.add_parameter(line)
                continue
            if int(line.keys.get("only", rank.index)) != rank.index:
                continue
            for _ in range(int(line.keys.get("times", 1))):
                try:
                    rank.run_line(line)
                except Exception as error:
                    failures.append(f"{path.name}:{line.number}: {line.call}: {type(error).__name__}: {error}")
                    for comm in comms:
                        comm.abort()
                    return
                if trace:
                    print(path.stem, rank.index, line.number, line.call, f"{rank.hash:016x}", file=sys.stderr)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise SystemExit(failures[0])
    return hash_bytes(HASH_START, b"".join(struct.pack("<Q", rank.hash) for rank in ranks))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--trace", action="store_true")
    arguments = parser.parse_args()
    scripts = sorted(arguments.vectors.glob("*.script"), key=lambda path: path.name.encode())
    if not scripts:
        raise SystemExit(f"{arguments.vectors}: there are no scripts")
    for path in scripts:
        print(path.stem, f"{run_script(path, arguments.trace):016x}", flush=True)


if __name__ == "__main__":
    main()
