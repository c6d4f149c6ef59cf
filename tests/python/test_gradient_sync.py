# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The reducer's modes and the updater's kinds of sync, by their Python names."""

import numpy as np
import pytest
from conftest import relative, run_ranks
from test_conformance import VECTORS, read_safetensors

import gradstep

MODES = {
    "dense": {},
    "half": {"half_sum": "fp16", "clip_value": 100},
    "bfloat16": {},
    "sparse_threshold": {"sparsity": 0.5, "selection": "tensor", "nan_policy": "zero"},
    "sparse_topk": {"sparsity": 0.1, "momentum_correction": 0.9, "warmup_steps": 2, "sparse_exchange": "split"},
    "adasum_tree": {},
    "adasum_nway": {},
    "powersgd": {"rank": 3},
    "auto": {},
    "int8": {},
    "int4": {},
    "fp8_e4m3": {},
    "fp8_e5m2": {},
}


def gradients(rank):
    random = np.random.default_rng(rank)
    return [random.standard_normal(shape).astype(np.float32) for shape in [(40, 30), (30,)]]


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_gives_all_ranks_the_same_bits(mode):
    def reduce(comm):
        reducer = gradstep.Reducer(comm, gradients(0), mode=mode, **MODES[mode])
        grads = gradients(comm.rank)
        reducer.reduce(grads)
        reducer.reduce(grads)
        assert reducer.bucket_statistics()[0].exchanges == 2
        return grads

    results = run_ranks(3, reduce)
    for other in results[1:]:
        assert all(a.tobytes() == b.tobytes() for a, b in zip(results[0], other, strict=True))


ADASUM_VECTORS = sorted(VECTORS.glob("adasum_[0-9].safetensors"))
SPARSE_VECTORS = sorted(VECTORS.glob("sparse_*.safetensors"))
assert ADASUM_VECTORS and SPARSE_VECTORS, "an empty list would only skip its test"


@pytest.mark.parametrize("path", ADASUM_VECTORS, ids=lambda path: path.stem)
def test_adasum_vectors(path):
    arrays, meta = read_safetensors(path)
    count = len(meta["shapes"])

    def reduce(comm, mode):
        grads = [arrays[f"g{comm.rank}_{i}"].copy() for i in range(count)]
        gradstep.Reducer(comm, grads, mode=mode).reduce(grads)
        return grads

    recorded = [
        (m, name) for m, name in [("adasum_nway", "nway"), ("adasum_tree", "pairwise")] if f"{name}_0" in arrays
    ]
    assert recorded
    for mode, name in recorded:
        for grads in run_ranks(meta["ranks"], lambda comm, mode=mode: reduce(comm, mode)):
            for i in range(count):
                assert relative(grads[i], arrays[f"{name}_{i}"]) <= meta["relative_tolerance"]


@pytest.mark.parametrize("path", SPARSE_VECTORS, ids=lambda path: path.stem)
def test_sparse_vectors(path):
    arrays, meta = read_safetensors(path)

    def reduce(comm):
        reducer = gradstep.Reducer(comm, [arrays["sum0"]], mode=meta["mode"], average="sum", **meta["options"])
        for t in range(meta["steps"]):
            reducer.reduce([arrays[f"g{t}_{comm.rank}"]], in_place=False)
            assert relative(reducer.gradients()[0], arrays[f"sum{t}"]) <= meta["relative_tolerance"]
            if meta["options"]["residual"]:
                assert np.array_equal(reducer.residual(0), arrays[f"res{t}_{comm.rank}"])

    run_ranks(meta["ranks"], reduce)


def test_a_nan_is_an_error_of_every_rank():
    def reduce(comm):
        reducer = gradstep.Reducer(comm, [np.zeros(4, np.float32)], mode="sparse_topk")
        grads = [np.full(4, np.nan if comm.rank else 1.0, np.float32)]
        with pytest.raises(gradstep.NumericError, match="rank 1"):
            reducer.reduce(grads)

    run_ranks(2, reduce)


@pytest.mark.parametrize("sync", ["deltas", "parameters", "parameters_partial"])
def test_steps_before_exchanges(sync):
    def train(comm):
        parameter = np.full(3, 10, np.float32)
        optimizer = gradstep.SGD([parameter], learning_rate=1.0)
        updater = gradstep.Updater(optimizer, reducer=gradstep.Reducer(comm, [parameter]), sync=sync)
        updater.push([parameter], [np.full(3, 1.0 + comm.rank, np.float32)])
        return parameter

    for parameter in run_ranks(3, train):
        assert np.array_equal(parameter, np.full(3, 8, np.float32))


def test_unknown_names_are_listed():
    comm = gradstep.Communicator.self()
    with pytest.raises(gradstep.InvalidArgument, match="sparse_topk"):
        gradstep.Reducer(comm, [np.zeros(3, np.float32)], mode="sparse")
    with pytest.raises(gradstep.InvalidArgument, match="ef14, ef21"):
        gradstep.Reducer(comm, [np.zeros(3, np.float32)], mode="sparse_topk", error_feedback="ef15")
