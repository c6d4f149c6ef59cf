# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: products.py BUILD_DIR [RESULTS.json]

Shampoo's matrix products beside torch.mm, its eigensolver beside NumPy's and torch's eigh, and its inverse fourth roots
beside those of their eigenvectors, of Meta's Distributed Shampoo and of coupled Newton, on one thread.
Contenders take turns in every round, and what they have computed is compared.
"""

import ctypes
import functools
import json
import os
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray
from timing import Case

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None

try:
    from distributed_shampoo.preconditioner import matrix_functions as meta
except ImportError:
    meta = None

SIZES = (32, 64, 128, 256, 512, 1024)
NEWTON_SIZES = (128, 512)
DTYPES = {"f32": np.float32, "f64": np.float64}
SECONDS_OF_A_CALL = 0.004  # a small product is repeated for as long
PRODUCTS_A_SECOND = 5e10  # a guess, for that


class Library:
    """bench_products: functions of the library that its C API does not show."""

    def __init__(self, build: Path):
        self._library = ctypes.CDLL(str(build / "lib" / "libbench_products.so"))

    def bind(self, name: str, *arguments: NDArray | int) -> Callable[[], int]:
        numbers = [
            ctypes.c_void_p(argument.ctypes.data) if isinstance(argument, np.ndarray) else ctypes.c_int64(argument)
            for argument in arguments
        ]
        function = getattr(self._library, f"bench_{name}")
        return lambda _held=arguments: function(*numbers)  # C knows only where the arrays lie


def repeated(call: Callable[[], object], times: int) -> Callable[[], None]:
    def run() -> None:
        for _ in range(times):
            call()

    return run


def assert_close(what: NDArray, expected: NDArray, tolerance: float) -> None:
    error = np.abs(what - expected).max() / np.abs(expected).max()
    if not error <= tolerance:
        raise AssertionError(f"results differ by {error:.1e} of the largest number")


def product_case(library: Library, n: int, dtype: str, times: int) -> Case:
    random = np.random.default_rng(n)
    a, b = (random.standard_normal((n, n)).astype(DTYPES[dtype]) for _ in range(2))
    own, other = np.empty_like(a), np.empty_like(a)
    contenders = {"gradstep": library.bind(f"multiply_{dtype}", a, b, n, own, times)}
    if torch is not None:
        held = [torch.from_numpy(x) for x in (a, b, other)]
        contenders["torch"] = repeated(lambda: torch.mm(held[0], held[1], out=held[2]), times)
    else:
        contenders["NumPy"] = repeated(lambda: np.matmul(a, b, out=other), times)
    check = functools.partial(assert_close, own, other, 100 * n * np.finfo(a.dtype).eps)
    return Case(f"product {dtype} {n}", contenders, check, clock=time.thread_time)


def statistic_case(library: Library, n: int, times: int) -> Case:
    """Beside a whole product: half of its elements are needed."""
    g = np.random.default_rng(n).standard_normal((n, n)).astype(np.float32)
    transposed = np.ascontiguousarray(g.T)
    own, other = np.empty_like(g), np.empty_like(g)
    contenders = {"gradstep": library.bind("statistic_f32", g, n, own, times)}
    if torch is not None:
        held = [torch.from_numpy(x) for x in (g, transposed, other)]
        contenders["torch"] = repeated(lambda: torch.mm(held[0], held[1], out=held[2]), times)
    else:
        contenders["NumPy"] = repeated(lambda: np.matmul(g, transposed, out=other), times)
    return Case(f"statistic f32 {n}", contenders, lambda: assert_close(own, other, 1e-4), clock=time.thread_time)


def eigenvectors_case(library: Library, n: int, dtype: str) -> Case:
    g = np.random.default_rng(n).standard_normal((n, 2 * n))
    a = (g @ g.T / n).astype(DTYPES[dtype])
    values, vectors = np.empty(n, a.dtype), np.empty_like(a)
    results: dict[str, tuple] = {"gradstep": (values, vectors.T)}

    def keep(name: str, decompose: Callable[[], tuple]) -> None:
        results[name] = tuple(np.asarray(part) for part in decompose())

    contenders: dict[str, Callable[[], object]] = {
        "gradstep": library.bind(f"decompose_{dtype}", a, n, values, vectors),
        "NumPy": lambda: keep("NumPy", lambda: np.linalg.eigh(a)),
    }
    if torch is not None:
        held = torch.from_numpy(a)
        contenders["torch"] = lambda: keep("torch", lambda: torch.linalg.eigh(held))

    def check() -> None:
        for w, v in results.values():
            assert_close((v * w) @ v.T, a, 100 * n * np.finfo(a.dtype).eps)

    return Case(f"eigenvectors {dtype} {n}", contenders, check, rounds=7, clock=time.thread_time)


def root_case(library: Library, n: int, dtype: str) -> Case:
    """Ours takes the statistic in f32, and looks at the residual of what it has found."""
    g = np.random.default_rng(n).standard_normal((n, 2 * n))
    statistic = (g @ g.T / n).astype(np.float32)
    a = statistic.astype(DTYPES[dtype])
    own = np.empty_like(a)
    results = {"gradstep": own}

    def keep(name: str, w, v) -> None:
        results[name] = np.asarray((v * (w + 1e-6 * w[-1]) ** -0.25) @ v.T)

    contenders: dict[str, Callable[[], object]] = {
        "gradstep": library.bind(f"root_{dtype}", statistic, n, own),
        "NumPy": lambda: keep("NumPy", *np.linalg.eigh(a)),
    }
    if torch is not None:
        held = torch.from_numpy(a)
        contenders["torch"] = lambda: keep("torch", *torch.linalg.eigh(held))
    if meta is not None:
        epsilon = 1e-6 * float(np.linalg.eigvalsh(a)[-1])

        def find_meta_root() -> None:
            results["Meta"] = meta.matrix_inverse_root(held, Fraction(4), epsilon=epsilon).numpy()

        contenders["Meta"] = find_meta_root

    def check() -> None:
        for root in results.values():
            assert_close(root, results["NumPy"], 1e4 * n * np.finfo(a.dtype).eps)

    return Case(f"root {dtype} {n}", contenders, check, rounds=7, clock=time.thread_time)


def newton_case(library: Library, n: int, columns: int) -> Case:
    """Roots of a statistic of so many columns, against the steps of Google's Shampoo and against eigh."""
    g = np.random.default_rng(n).standard_normal((n, columns))
    statistic = (g @ g.T / n).astype(np.float32)
    roots = {name: np.empty((n, n)) for name in ("gradstep", "the source's steps", "eigh")}
    calls = dict(zip(roots, ("newton", "seeds_newton", "root_f64"), strict=True))
    contenders = {name: library.bind(calls[name], statistic, n, root) for name, root in roots.items()}

    def check() -> None:
        assert_close(roots["gradstep"], roots["the source's steps"], 1e-6)  # where those stop
        assert_close(roots["gradstep"], roots["eigh"], 1e-3)  # whose ridge is made from another estimate

    steps = [contenders[name]() for name in ("gradstep", "the source's steps")]
    name = f"coupled Newton {n}, {columns} columns: {steps[0]} steps, the source's {steps[1]}"
    return Case(name, contenders, check, rounds=5, clock=time.thread_time)


def cases(library: Library) -> list[tuple[Case, float]]:
    """With the operations of a call that count, 0 where they are not told."""
    made: list[tuple[Case, float]] = []
    for n in SIZES:
        operations = 2.0 * n**3
        times = max(1, round(SECONDS_OF_A_CALL * PRODUCTS_A_SECOND / operations))
        made += [(product_case(library, n, dtype, times), operations * times) for dtype in DTYPES]
        made.append((statistic_case(library, n, times), operations * times))
    for case in (eigenvectors_case, root_case):
        made += [(case(library, n, dtype), 0.0) for n in SIZES for dtype in DTYPES]
    made += [(newton_case(library, n, n * tenths // 10), 0.0) for n in NEWTON_SIZES for tenths in (5, 20, 100)]
    return made


def row_of(case: Case, operations: float) -> dict:
    row: dict = {"name": case.name, "best_ms": {name: timing.best * 1e3 for name, timing in case.timings.items()}}
    row["speed_of_peer"] = {peer: case.ratio(peer)[0] for peer in case.timings if peer != "gradstep"}
    if operations:
        # A statistic's operations are half of the product's beside it.
        own = operations / 2 if case.name.startswith("statistic") else operations
        row["gflops"] = {
            name: (own if name == "gradstep" else operations) / timing.best / 1e9
            for name, timing in case.timings.items()
        }
    return row


def print_row(row: dict) -> None:
    if "gflops" in row:
        own, *others = row["gflops"].values()
        rates = ", ".join(f"{name} {rate:.1f}" for name, rate in row["gflops"].items())
        print(f"{row['name']:<22} GFLOP/s: {rates}; of the peer's {own / others[0]:.2f}", flush=True)
    else:
        times = ", ".join(f"{name} {milliseconds:.3f}" for name, milliseconds in row["best_ms"].items())
        ratios = ", ".join(f"{ratio:.2f} of {peer}" for peer, ratio in row["speed_of_peer"].items())
        print(f"{row['name']:<22} ms: {times}; times faster {ratios}", flush=True)


def main() -> int:
    library = Library(Path(sys.argv[1]))
    rows = []
    for case, operations in cases(library):
        case.run()
        rows.append(row_of(case, operations))
        print_row(rows[-1])
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps(rows, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
