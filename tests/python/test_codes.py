# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Modes int4, fp8_e4m3 and fp8_e5m2 against their definition in gradstep/reducer.h, bit by bit; 8-bit floating point is
that of PyTorch and of ml_dtypes."""

import numpy as np
import pytest
from conftest import run_ranks

import gradstep

SIZE, RANKS, WINDOWS = 1500, 2, 3
PIECE = 3 * 256  # of 6 blocks
BLOCKS = {"int4": 64, "fp8_e4m3": 256, "fp8_e5m2": 256}
LARGEST = {"int4": 7, "fp8_e4m3": 448, "fp8_e5m2": 57344}


def by_torch(numbers, mode):
    torch = pytest.importorskip("torch")
    dtype = {"fp8_e4m3": torch.float8_e4m3fn, "fp8_e5m2": torch.float8_e5m2}[mode]
    return torch.from_numpy(numbers).to(dtype).float().numpy()


def by_ml_dtypes(numbers, mode):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = {"fp8_e4m3": ml_dtypes.float8_e4m3fn, "fp8_e5m2": ml_dtypes.float8_e5m2}[mode]
    return numbers.astype(dtype).astype(np.float32)


def by_numpy(numbers, mode):
    assert mode == "int4"
    return np.rint(numbers)


def coded(numbers, mode, rounded):
    """What is left of f32 numbers when they have been encoded and decoded."""
    found = np.empty_like(numbers)
    for begin in range(0, len(numbers), BLOCKS[mode]):
        block = numbers[begin : begin + BLOCKS[mode]]
        factor = np.abs(block).max() / np.float32(LARGEST[mode])
        if factor < 2.0**-100:
            factor = np.float32(0)
        inverse = 1 / factor if factor > 0 else np.float32(0)
        assert factor.dtype == inverse.dtype == np.float32
        found[begin : begin + BLOCKS[mode]] = rounded(block * inverse, mode) * factor
    return found


def gradient(rank, window):
    """Many magnitudes, signs, zeros, a tiny block and a block of zeros."""
    random = np.random.default_rng(10 * window + rank)
    numbers = random.standard_normal(SIZE) * 10.0 ** random.uniform(-8, 2, SIZE)
    numbers[256:512] *= 1e-36
    numbers[512:768] = 0
    return numbers.astype(np.float32)


@pytest.mark.parametrize(
    ("mode", "rounded"),
    [("int4", by_numpy)] + [(f"fp8_{form}", by) for form in ("e4m3", "e5m2") for by in (by_torch, by_ml_dtypes)],
)
def test_windows_are_those_of_the_definition(mode, rounded):
    residuals = [np.zeros(SIZE, np.float32) for _ in range(RANKS)]
    rounded(np.zeros(1, np.float32), mode)  # skips here, and not in the threads of ranks

    def reduce(comm):
        reducer = gradstep.Reducer(comm, [np.zeros(SIZE, np.float32)], mode=mode)
        results = []
        for window in range(WINDOWS):
            grad = gradient(comm.rank, window)
            reducer.reduce([grad])
            results.append(grad)
        return results

    results = run_ranks(RANKS, reduce)
    for window in range(WINDOWS):
        sent = [gradient(rank, window) + residuals[rank] for rank in range(RANKS)]
        decoded = [coded(numbers, mode, rounded) for numbers in sent]
        mean = (decoded[0] + decoded[1]) / np.float32(RANKS)
        expected = np.concatenate([coded(mean[:PIECE], mode, rounded), coded(mean[PIECE:], mode, rounded)])
        for rank in range(RANKS):
            assert np.array_equal(results[rank][window], expected), (rank, window)
            residuals[rank] = sent[rank] - decoded[rank]
            own = slice(rank * PIECE, (rank + 1) * PIECE)
            residuals[rank][own] += np.float32(RANKS) * (mean[own] - expected[own])
    assert all(np.abs(residual[256:512]).max() > 0 for residual in residuals), "tiny blocks stay in the residual"


@pytest.mark.parametrize("mode", ["int8", *BLOCKS])
def test_residuals_are_saved_and_restored(mode, tmp_path):
    def reduce(comm):
        shape = [np.zeros(SIZE, np.float32)]
        whole, first, second = (gradstep.Reducer(comm, shape, mode=mode) for _ in range(3))
        path = tmp_path / f"{comm.rank}.safetensors"
        for reducer in (whole, first):
            reducer.reduce([gradient(comm.rank, 0)])
        with path.open("wb") as file:
            first.save(file)
        with path.open("rb") as file:
            second.load(file)
        ends = []
        for reducer in (whole, second):
            grad = gradient(comm.rank, 1)
            reducer.reduce([grad])
            ends.append(grad)
        assert np.array_equal(*ends)
        return ends[0]

    one, other = run_ranks(2, reduce)
    assert np.array_equal(one, other)


@pytest.mark.parametrize("mode", BLOCKS)
def test_narrow_parameters_and_refusals(mode):
    def reduce(comm):
        with pytest.raises(gradstep.Unsupported, match=f"is {mode}, which carries f32, f16 and bf16"):
            gradstep.Reducer(comm, [np.zeros(5)], mode=mode)
        reducer = gradstep.Reducer(comm, [np.zeros(SIZE, np.float16)], mode=mode)
        grad = np.clip(gradient(comm.rank, 0), -1, 1).astype(np.float16)
        reducer.reduce([grad])
        bad = np.zeros(SIZE, np.float16)
        bad[7] = np.inf if comm.rank == 1 else 0
        reducer.reduce([bad])
        assert np.isnan(bad).all()
        return grad

    one, other = run_ranks(2, reduce)
    assert np.array_equal(one, other) and np.isfinite(one).all() and np.abs(one).max() > 0
