# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin under which optax's own tests meet gradstep's transformations where they ask for optax's.

Writes what became of each test that used one as a line of JSON to the file named by GRADSTEP_PEER_REPORT. Tests of
other optimizers are left out: they would only test optax.
"""

import functools
import json
import os
from pathlib import Path
from typing import Any

import optax
from optax._src import alias

import gradstep.optax

REPLACED = ("adagrad", "adam", "adamw", "rmsprop", "sgd")

_uses = 0
_results: dict[str, dict[str, Any]] = {}


def _counted(function: Any) -> Any:
    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        global _uses
        _uses += 1
        return function(*arguments, **keywords)

    return call


def pytest_configure() -> None:
    for name in REPLACED:
        replacement = _counted(getattr(gradstep.optax, name))
        setattr(optax, name, replacement)
        setattr(alias, name, replacement)


def _parameters(item: Any) -> str:
    """What absl's parameterized tests say about a case: (opt_name='adam', ...)."""
    return getattr(item.obj, "__x_params_repr__", "")


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    def concerns_us(item: Any) -> bool:
        parameters = _parameters(item)
        return "opt_name=" not in parameters or any(f"opt_name='{name}" in parameters for name in REPLACED)

    left_out = [item for item in items if not concerns_us(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if concerns_us(item)]


def pytest_runtest_setup(item: Any) -> None:
    _results[item.nodeid] = {
        "suite": item.path.stem,
        "test": item.originalname or item.name,
        "parameters": _parameters(item),
        "outcome": "passed",
        "uses": _uses,
    }


def pytest_runtest_logreport(report: Any) -> None:
    result = _results[report.nodeid]
    if report.failed:
        result["outcome"] = "failed"
        result["error"] = getattr(report.longrepr, "reprcrash", report.longrepr).message[:300]
    elif report.skipped and result["outcome"] == "passed":
        result["outcome"] = "skipped"


def pytest_runtest_teardown(item: Any) -> None:
    _results[item.nodeid]["uses"] = _uses - _results[item.nodeid]["uses"]


def pytest_sessionfinish() -> None:
    lines = [json.dumps(result) for result in _results.values() if result["uses"]]
    Path(os.environ["GRADSTEP_PEER_REPORT"]).write_text("".join(line + "\n" for line in lines))
