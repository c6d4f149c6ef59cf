# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: many_small.py [--sizes N ...] [--results FILE]

What a step of many small tensors costs from Python, given NumPy's arrays or PyTorch's tensors, beside the C function
that it calls, on the same memory, in turns: microseconds a parameter of 16 to 64 elements, Adam, with one thread and
with two.
"""

import argparse
import ctypes
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from timing import Case, processor

import gradstep
from gradstep import _core

try:
    import torch
except ImportError:
    torch = None

FLOAT32 = (2, 32, 1)  # kDLFloat


class Tensor(ctypes.Structure):
    """gradstep_tensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


def tensors(arrays: list[np.ndarray], shapes: np.ndarray) -> ctypes.Array[Tensor]:
    rows = zip(arrays, shapes, strict=True)
    return (Tensor * len(arrays))(*[Tensor(a.ctypes.data, 1, 0, 1, *FLOAT32, s.ctypes.data, None, 0) for a, s in rows])


def step_of_c(optimizer: gradstep.Optimizer, params: list, grads: list) -> Callable[[], None]:
    """gradstep_optimizer_step of the library that the package has loaded, on the same handle."""
    function = ctypes.CDLL(_core.__file__).gradstep_optimizer_step
    function.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
    shapes = np.array([[a.size] for a in params], np.int64)
    lists = tensors(params, shapes), tensors(grads, shapes)
    handle = int(optimizer._pointer)

    def step() -> None:
        if function(handle, *lists, len(params), None) != 0:
            raise SystemExit("gradstep_optimizer_step failed")
        assert shapes.size == len(params)

    return step


def case(n: int, threads: int) -> Case:
    sizes = [16 * (1 + i % 4) for i in range(n)]
    params = [np.zeros(size, np.float32) for size in sizes]
    grads = [np.full(size, 0.5, np.float32) for size in sizes]
    optimizer = gradstep.Adam(params, learning_rate=2.0**-10, context=gradstep.Context(num_threads=threads))
    contenders = {"C": step_of_c(optimizer, params, grads), "NumPy": lambda: optimizer.step(params, grads)}
    if torch:
        lists = [torch.from_numpy(a) for a in params], [torch.from_numpy(a) for a in grads]
        contenders["torch"] = lambda: optimizer.step(*lists)

    def check() -> None:
        if not all(np.isfinite(a).all() and (a < 0).all() for a in params):
            raise SystemExit("the steps computed something else")

    return Case(f"{n} x 16..64, {threads} threads", contenders, check, rounds=21, calls=max(1, 20_000 // n))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--results", type=Path)
    arguments = parser.parse_args()
    rows = []
    for n in arguments.sizes:
        for threads in (1, 2):
            measured = case(n, threads)
            measured.run()
            us = {label: timing.best * 1e6 / n for label, timing in measured.timings.items()}
            times_c = {label: us[label] / us["C"] for label in us if label != "C"}
            rows.append({"parameters": n, "threads": threads, "us": us, "times_c": times_c})
            ratios = "".join(f"  {label} {us[label]:.3f} us ({times_c[label]:.2f})" for label in times_c)
            print(f"{measured.name:28} C {us['C']:.3f} us{ratios}", flush=True)
    if arguments.results:
        arguments.results.write_text(json.dumps({"processor": processor(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
