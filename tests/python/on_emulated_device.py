# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: pytest -p on_emulated_device FILES...

Runs tests that were written for the host on the emulated CUDA device. Every NumPy array that a test gives to a call of
the C library is taken to the device before it, and brought back after it; what handles show is brought to the host as
a copy. So a handle of these tests computes there, and the tests' own expectations say whether it is right.

What asks for the host's own memory (views that are written through, arrays that overlap, lent or read-only ones) cannot
be true there: NOT_THERE lists such tests, and why.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import emulated_cuda
from emulated_cuda import CudaArray, download

import gradstep
from gradstep import _arrays, _native, accumulator, optimizer, reducer, rules

os.environ["GRADSTEP_PLUGIN_DIR"] = emulated_cuda.FOLDER

HOST = (
    "comm_",
    "describe_array",
    "device_of_array",
    "export_view",
    "optimizer_get_state",
    "send_to",
    "set_optimizer_state",
)
"""Calls whose arrays are the host's."""

LARGE = 1 << 30
"""Bytes of arrays that are only described, and have no such memory."""

_FIT = "test_arrays_that_do_not_fit_are_refused_before_anything_has_changed"
_REFUSED = "an array is copied on its way: on the device it is writable and compact"
_SKIPPED = "the device skips the step instead"
_VIEWS = "writes through a view, or asks for its address"

NOT_THERE = {
    "test_a_hyper_parameter_in_an_array_is_read_at_every_step": "writes into an array that was lent",
    f"{_FIT}[step-InvalidArgument-outcome-": _REFUSED,
    f"{_FIT}[update-InvalidArgument-outcome-": _REFUSED,
    f"{_FIT}[step-NumericError": _SKIPPED,
    f"{_FIT}[update-NumericError": _SKIPPED,
    "test_chains_that_do_not_fit_are_refused": _REFUSED,
    "test_generators_of_parameters_are_accepted": "arrays out of a generator are not taken along",
    "test_grad_scale_tensor_multiplies_grad_scale_and_is_read_at_every_step[update]": "sums without axes are no arrays",
    "test_an_updater_says_while_its_reducer_exchanges": "what wait has queued there may still be under way",
    "test_gradients_that_must_not_be_written_are_reduced_into_views": _REFUSED,
    "test_options_act_on_the_reduced_gradients": "push tells that a step is queued, which the device may skip",
    "test_results_are_writable_views_at_a_fixed_address": _VIEWS,
    "test_state_is_seen_set_and_copied": _VIEWS,
}
"""By test, or the beginning of its name."""


class Trip:
    """The arrays of one call, on the device. One that is given twice is there once."""

    def __init__(self) -> None:
        self.there: dict[Any, tuple[np.ndarray, CudaArray]] = {}

    def take(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.nbytes < LARGE:
            key = (value.__array_interface__["data"][0], value.shape, value.strides, value.dtype)
            if key not in self.there:
                self.there[key] = (value, CudaArray(value))
            return self.there[key][1]
        if type(value) in (list, tuple):
            return type(value)(map(self.take, value))
        return value

    def bring_back(self) -> None:
        for host, device in self.there.values():
            if host.flags.writeable:
                host[...] = device.numpy()


def on_device(function: Any) -> Any:
    def call(*arguments: Any) -> Any:
        trip = Trip()
        there = [trip.take(argument) for argument in arguments]
        try:
            return function(*there)
        finally:
            trip.bring_back()

    return call


def view(description: Any, owner: Any) -> Any:
    if description is None or description[3][0] != _native.DEVICE_CUDA:
        return _arrays_view(description, owner)
    address, shape, dtype, _ = description
    return download(address, shape, _arrays.dtype_of(dtype))


_arrays_view = _arrays.view


def pytest_configure() -> None:
    if not gradstep.backend_available("cuda"):
        pytest.exit(f"the emulated device is not there: {gradstep.backend_status('cuda')}", 1)
    for name, value in vars(_native).items():
        if callable(value) and not isinstance(value, type) and not name.startswith(("_", *HOST)):
            setattr(_native, name, on_device(value))
    for rule in vars(rules).values():
        if isinstance(rule, type) and issubclass(rule, gradstep.Optimizer) and hasattr(rule, "_rule"):
            own = rule._rule
            rule._rule = own._replace(create=on_device(own.create), state_bytes=on_device(own.state_bytes))
    for module in (_arrays, accumulator, optimizer, reducer):
        module.view = view  # type: ignore[attr-defined]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for test, reason in NOT_THERE.items():
            if item.nodeid.partition("::")[2].startswith(test):
                item.add_marker(pytest.mark.skip(reason=reason))
