# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Type checkers take what the documentation says."""

import pytest

mypy = pytest.importorskip("mypy.api")

PROGRAM = """
import array
import numpy as np
import gradstep

parameters = {"w": np.zeros(2, np.float32)}
gradients: dict[str, np.ndarray | None] = {"w": None}
optimizer = gradstep.Adam(parameters.values(), learning_rate=0.1, names=parameters.keys())
optimizer.step(parameters.values(), gradients.values())
optimizer.step(list(parameters.values()), list(gradients.values()), max_norm=1.0)
gradstep.SGD([array.array("f", [1.0])], learning_rate=0.1)
gradstep.Lion(parameters.values(), learning_rate=lambda t: 0.1 / (t + 1), beta1=0.8, state_dtype="bf16")
layers = {"dense": {"w": np.zeros(2), "b": np.zeros(3)}, "out": {"w": np.zeros(3)}}
gradstep.SGD(layers, learning_rate=0.1).step(layers, {"dense": {"b": np.zeros(3), "w": None}, "out": {"w": None}})
gradstep.Accumulator([(np.zeros(2), np.zeros(3))], steps=2).add([(None, np.zeros(3))])
gradstep.SGD([memoryview(bytearray(8)).cast("f"), bytearray(4)], learning_rate=0.1)
"""
WRONG = "optimizer.step(np.zeros(2), [3])\ngradstep.Lion([], learning_rate=0.1, beta1='fast')\n"


def test_hints_are_as_wide_as_the_documentation(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    report, errors, status = mypy.run(["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path), str(file)])
    assert status == 0, report + errors
    file.write_text(PROGRAM + WRONG)
    report, _, status = mypy.run(["--strict", "--follow-imports=silent", "--cache-dir", str(tmp_path), str(file)])
    assert status == 1 and report.count("error:") == 3, report
