# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: root_finders.py BUILD_DIR

How many matrix products inverse fourth roots take that are made of nothing else, and how far they come with them: what
holds on every device. gradstep's coupled Newton and Google's are the library's own; of the others only the formulas are
followed, in NumPy and in f64:

two square roots     A^(-1/4) = (A^(1/2))^(-1/2), each by the coupled iteration of Newton and Schulz (Higham, Functions
                     of Matrices, 6.35), three products a step. DASH (Modoranu et al. 2026) takes ten steps for each,
                     which it calls Newton-DB, of the matrix divided by twice its largest eigenvalue.
the same, degree 5   with the polynomials that leave the least spread (Amsel et al. 2025, The Polar Express; Grishina
                     et al. 2025, CANS), four products a step.
Chebyshev            the polynomial that interpolates x^(-1/4) from the ridge to the largest eigenvalue, by Clenshaw's
                     rule (DASH): a product for each degree.

The errors are of the largest number of the root by the eigenvectors. The first two stop by themselves; a peer takes as
many steps as bring it within TOLERANCE, or MOST products.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from products import Library

Matrix = NDArray[np.float64]

TOLERANCE = 1e-8
MOST = 400
RIDGE = 1e-6
P = 4
ROWS = 256
COLUMNS = (128, 512, 2560)


def statistic_of(n: int, columns: int) -> NDArray[np.float32]:
    g = np.random.default_rng(n).standard_normal((n, columns))
    return (g @ g.T / n).astype(np.float32)


def estimated_largest(statistic: Matrix) -> float:
    """What gradstep and Google's Shampoo make the ridge from: power iteration, until it moves by 1e-6."""
    vector = np.random.RandomState(1729).uniform(-1, 1, len(statistic))
    estimate = 0.0
    for _ in range(100):
        vector /= np.linalg.norm(vector)
        product = statistic @ vector
        previous, estimate, vector = estimate, float(vector @ product), product
        if abs(estimate - previous) <= 1e-6:
            break
    return estimate


def root_of_eigenvectors(d: Matrix) -> Matrix:
    values, vectors = np.linalg.eigh(d)
    return (vectors * values ** (-1 / P)) @ vectors.T


def own_root(
    library: Library, call: str, statistic: NDArray[np.float32], products: Callable[[int], int]
) -> tuple[int, Matrix]:
    root = np.empty(statistic.shape)
    steps = library.bind(call, statistic, len(statistic), root)()
    return products(steps), root


def rung_of(low: float) -> NDArray[np.float64]:
    """Coefficients of y, y^3 and y^5: the polynomial that leaves the least spread of [low, 1], and whose largest value
    there is 1, by Remez's exchange."""
    grid = np.unique(np.concatenate([np.geomspace(low, 1, 20001), np.linspace(low, 1, 20001)]))
    basis = grid[:, None] ** np.array([1, 3, 5])
    places = (len(grid) - 1) * np.array([0, 1, 3, 4]) // 4
    for _ in range(50):
        system = np.column_stack([basis[places], [1, -1, 1, -1]])
        coefficients = np.linalg.solve(system, np.ones(4))[:3]
        error = basis @ coefficients - 1
        turns = 1 + np.flatnonzero((error[1:-1] - error[:-2]) * (error[2:] - error[1:-1]) < 0)
        exchanged = np.concatenate([[0], turns, [len(grid) - 1]])
        if len(exchanged) != len(places) or np.array_equal(exchanged, places):
            break
        places = exchanged
    return coefficients / (basis @ coefficients).max()


def newton_schulz(a: Matrix) -> Iterator[tuple[int, Matrix, Matrix]]:
    """Products so far, and what comes to the square root of a and to its inverse; eigenvalues of a are in (0, 1]."""
    identity = np.eye(len(a))
    y, z = a, identity
    products = 0
    while True:
        step = (3 * identity - (z @ y if products else y)) / 2
        y, z = y @ step, step @ z if products else step
        products += 3 if products else 1
        yield products, y, z


def polar_express(a: Matrix, low: float) -> Iterator[tuple[int, Matrix, Matrix]]:
    """As above. Square roots of the eigenvalues of a are in [low, 1]; at the end steps are Newton's of degree 5."""
    identity = np.eye(len(a))
    y, z = a, identity
    products = 0
    while True:
        # From a longer interval than 0.03 the largest would lose too much of their accuracy beside the others.
        c = rung_of(max(low, 0.03)) if low < 0.999 else np.array([15, -10, 3]) / 8
        m = z @ y if products else y
        step = c[0] * identity + c[1] * m + c[2] * (m @ m)
        y, z = y @ step, step @ z if products else step
        products += 4 if products else 2
        low = min(1.0, low * float(c @ np.array([1, low**2, low**4])))
        yield products, y, z


def two_square_roots(
    d: Matrix, expected: Matrix, scale: float, ratio: float, degree: int, steps: int | None
) -> tuple[int, Matrix]:
    """`steps` for each root, or, if None, as many as are good."""

    def iterate(a: Matrix, least: float) -> Iterator[tuple[int, Matrix, Matrix]]:
        return newton_schulz(a) if degree == 3 else polar_express(a, np.sqrt(least))

    def converged(a: Matrix, least: float) -> tuple[int, Matrix, Matrix]:
        previous = np.inf
        for k, (products, y, z) in enumerate(iterate(a, least)):
            left = float(np.abs(y @ y - a).max())
            if k + 1 == steps or (steps is None and (left < 1e-15 or (left < 1e-9 and left > previous / 2))):
                return products, y, z
            previous = left
        raise AssertionError

    first, root, _ = converged(d / scale, ratio)
    factor = scale ** (-1 / P)
    for k, (second, _, z) in enumerate(iterate(root, np.sqrt(ratio))):
        found = factor * z
        if k + 1 == steps or (steps is None and error_of(found, expected) < TOLERANCE) or first + second > MOST:
            return first + second, found
    raise AssertionError


def chebyshev(d: Matrix, low: float, high: float, expected: Matrix) -> tuple[int, Matrix]:
    """By Clenshaw's rule, of twice the degree until it is good."""
    n = len(d)
    identity = np.eye(n)
    x = (2 * d - (high + low) * identity) / (high - low)
    degree = 15
    while True:
        of = np.polynomial.Chebyshev.interpolate(lambda t: t ** (-1 / P), degree, domain=[low, high]).coef
        b, before = np.zeros((n, n)), np.zeros((n, n))
        for c in of[:0:-1]:
            b, before = 2 * x @ b - before + c * identity, b
        found = x @ b - before + of[0] * identity
        if error_of(found, expected) < TOLERANCE or 2 * degree > MOST:
            return degree, found
        degree *= 2


def error_of(found: Matrix, expected: Matrix) -> float:
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def finders(library: Library, n: int, columns: int) -> dict[str, tuple[int, float]]:
    """Products and error of each."""
    statistic = statistic_of(n, columns)
    values = np.linalg.eigvalsh(statistic.astype(np.float64))
    ridge = RIDGE * estimated_largest(statistic.astype(np.float64))
    d = statistic.astype(np.float64) + ridge * np.eye(n)
    expected = root_of_eigenvectors(d)
    least = max(values[0], 0.0) / 3 + ridge  # what gradstep begins with, where it sees the smallest
    high = values[-1] + ridge
    made = {
        "gradstep, coupled_newton": own_root(library, "newton", statistic, lambda steps: 5 * steps - 4),
        "Google's coupled Newton": own_root(library, "seeds_newton", statistic, lambda steps: 4 * steps),
        "two square roots, ten steps each": two_square_roots(d, expected, 2 * high, least / (2 * high), 3, 10),
        "two square roots": two_square_roots(d, expected, high, least / high, 3, None),
        "two square roots, degree 5": two_square_roots(d, expected, high, least / high, 5, None),
        "Chebyshev": chebyshev(d, least, high, expected),
    }
    return {name: (products, error_of(root, expected)) for name, (products, root) in made.items()}


def main() -> None:
    library = Library(Path(sys.argv[1]))
    cases = [finders(library, ROWS, columns) for columns in COLUMNS]
    columns = " | ".join(f"{count} columns" for count in COLUMNS)
    print(f"| products, error, of {ROWS} rows | {columns} |\n|---|---|---|---|")
    for name in cases[0]:
        print(f"| {name} | " + " | ".join("{}, {:.0e}".format(*case[name]) for case in cases) + " |")


if __name__ == "__main__":
    main()
