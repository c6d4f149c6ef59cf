# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers that other systems produced (tests/conformance), replayed through the Python package."""

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import relative

import gradstep
from gradstep import schedule

VECTORS = Path(__file__).resolve().parents[1] / "conformance" / "vectors"
DTYPES = {"F32": np.float32, "F64": np.float64, "I32": np.int32, "I64": np.int64}


def read_safetensors(path):
    """(arrays, meta) of a file: 8 bytes of header length, a JSON header, and the bytes of the arrays."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    meta = json.loads(header.pop("__metadata__")["meta"])
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return arrays, meta


def option(value):
    if not isinstance(value, dict):
        return value
    value = dict(value)
    if value["kind"] == "constant":
        return schedule.constant(value["init_value"])
    assert value.pop("kind") == "exponential_decay"
    return schedule.exponential_decay(**value)


OPTIMIZERS = sorted(path for path in VECTORS.glob("singa_*.safetensors"))


def test_the_vectors_are_there():
    assert len(OPTIMIZERS) >= 9 and (VECTORS / "lingvo_accumulate.safetensors").exists()


@pytest.mark.parametrize("path", OPTIMIZERS, ids=lambda path: path.stem)
def test_singa(path):
    arrays, meta = read_safetensors(path)
    rules = {"sgd": gradstep.SGD, "rmsprop": gradstep.RMSProp, "adagrad": gradstep.AdaGrad, "adam": gradstep.Adam}
    rule = rules[meta["optimizer"]]
    count = len(meta["shapes"])
    parameters = [arrays[f"p0_{i}"] for i in range(count)]
    optimizer = rule(parameters, **{name: option(value) for name, value in meta["options"].items()})
    for t in range(meta["steps"]):
        optimizer.step(parameters, [arrays[f"g{t}_{i}"] for i in range(count)])
        if t == 0:
            continue  # the first step's result has the name of the start only in files that record every step
        for i in range(count):
            assert relative(parameters[i], arrays[f"p{t + 1}_{i}"]) <= meta["relative_tolerance"]


def test_lingvo_accumulate():
    arrays, meta = read_safetensors(VECTORS / "lingvo_accumulate.safetensors")
    variables = [np.zeros_like(arrays["dense_mean"]), np.zeros_like(arrays["sparse_mean"])]
    window = gradstep.Accumulator(variables, steps=meta["micro_batches"], mode=meta["mode"])
    for k in range(meta["micro_batches"]):
        window.add_sparse(1, arrays[f"idx{k}"], arrays[f"val{k}"])
        ready = window.add([arrays[f"dense{k}"], None])
    assert ready
    dense, sparse = window.gradients()
    assert relative(dense, arrays["dense_mean"]) <= meta["relative_tolerance"]
    assert relative(sparse, arrays["sparse_mean"]) <= meta["relative_tolerance"]
