# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The peers of benchmarks/root_finders.py compute what they are counted for."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import root_finders


@pytest.fixture
def statistic():
    """With eigenvalues from 1e-2 to 1, and its root."""
    random = np.random.default_rng(3)
    vectors, _ = np.linalg.qr(random.standard_normal((24, 24)))
    d = (vectors * np.geomspace(1e-2, 1, 24)) @ vectors.T
    return d, root_finders.root_of_eigenvectors(d)


@pytest.mark.parametrize("degree", [3, 5])
def test_two_square_roots_come_to_the_root(statistic, degree):
    d, expected = statistic
    products, found = root_finders.two_square_roots(d, expected, 1.0, 1e-2, degree, None)
    assert products < root_finders.MOST
    assert root_finders.error_of(found, expected) < root_finders.TOLERANCE


def test_polynomials_of_the_least_spread_save_products(statistic):
    d, expected = statistic
    counts = [root_finders.two_square_roots(d, expected, 1.0, 1e-2, degree, None)[0] for degree in (3, 5)]
    assert counts[1] < counts[0]


def test_chebyshevs_polynomial_comes_to_the_root(statistic):
    d, expected = statistic
    _, found = root_finders.chebyshev(d, 1e-2, 1.0, expected)
    assert root_finders.error_of(found, expected) < root_finders.TOLERANCE


@pytest.mark.parametrize("low", [0.05, 0.3, 0.8])
def test_a_polynomial_of_the_least_spread_alternates(low):
    coefficients = root_finders.rung_of(low)
    y = np.linspace(low, 1, 100001)
    f = coefficients @ np.array([y, y**3, y**5])
    turns = 1 + np.flatnonzero(np.diff(np.sign(np.diff(f))))
    assert len(turns) == 2
    assert f[turns[0]] == pytest.approx(f[-1]) == pytest.approx(1)
    assert f[turns[1]] == pytest.approx(f[0])
