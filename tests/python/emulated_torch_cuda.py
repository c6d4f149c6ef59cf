# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""torch.cuda's streams and graphs over the emulated device, under torch's own names and with what torch says of them.

What a capture makes is in memory of its graph's, as in torch, and stays there as long as the graph.
"""

import contextlib
import ctypes
import sys
import time
from collections.abc import Iterator
from typing import Any

import torch
from emulated_cuda import control
from emulated_torch import DeviceTensor, _State, present
from torch.overrides import TorchFunctionMode


class Stream:
    def __init__(self, *_: Any, address: int | None = None) -> None:
        self.cuda_stream = control().make_stream() if address is None else address

    def wait_stream(self, other: "Stream") -> None:
        control().order(self.cuda_stream or None, other.cuda_stream or None)

    def synchronize(self) -> None:
        synchronize()


def synchronize(*_: Any) -> None:
    torch.zeros((), device="cuda").item()  # which waits for all streams


def current_stream(*_: Any) -> Stream:
    return Stream(address=_State.stream)


@contextlib.contextmanager
def stream(chosen: Stream) -> Iterator[None]:
    before, _State.stream = _State.stream, chosen.cuda_stream
    try:
        yield
    finally:
        _State.stream = before


class CUDAGraph:
    """Replayed in torch's current stream."""

    def __init__(self) -> None:
        self._kept: list[int] = []
        self._graph: Any = None

    def capture_begin(self) -> None:
        control().begin_capture(_State.stream)
        _State.captures, _State.pool = True, self._kept

    def capture_end(self) -> None:
        _State.captures, _State.pool = False, None
        self._graph = control().end_capture(_State.stream)

    def replay(self) -> None:
        control().replay(self._graph, _State.stream or None)

    def __del__(self) -> None:
        _State.to_free += self._kept


@contextlib.contextmanager
def graph(cuda_graph: CUDAGraph, pool: Any = None, stream: Stream | None = None) -> Iterator[None]:
    """Captures on a stream of its own, when all that was asked before is done."""
    synchronize()
    own = Stream() if stream is None else stream
    with _on(own):
        cuda_graph.capture_begin()
        try:
            yield
        finally:
            cuda_graph.capture_end()


_on = stream


def present_with_graphs(monkeypatch: Any) -> TorchFunctionMode:
    """As emulated_torch.present(); torch.cuda has streams and graphs, too."""
    mode = present(monkeypatch)
    for replacement in (Stream, synchronize, current_stream, stream, CUDAGraph, graph):
        monkeypatch.setattr(torch.cuda, replacement.__name__, replacement)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    # A module's parameters become others: to torch's C++ both are the host's, and would exchange what they are made of.
    monkeypatch.setattr(torch.__future__, "get_overwrite_module_params_on_conversion", lambda: True)
    return mode


class Event:
    """The time of the host's clock, when its turn comes."""

    def __init__(self, enable_timing: bool = False) -> None:
        assert enable_timing
        self._seconds = 0.0

    def record(self) -> None:
        def body(_argument: int | None) -> None:
            self._seconds = time.perf_counter()

        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(body)
        _State.queued.append(work)
        control().call(_State.stream or None, ctypes.cast(work, ctypes.c_void_p), None)

    def synchronize(self) -> None:
        synchronize()

    def elapsed_time(self, end: "Event") -> float:
        return (end._seconds - self._seconds) * 1e3


def present_with_fused_rules(monkeypatch: Any) -> TorchFunctionMode:
    """As present_with_graphs(); torch.cuda has events, and torch's fused and foreach functions take the tensors."""
    mode = present_with_graphs(monkeypatch)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    for name in ("_accelerator_graph_capture_health_check", "_cuda_graph_capture_health_check"):  # by version
        monkeypatch.setattr(torch.optim.Optimizer, name, lambda self: None, raising=False)
    foreach = torch.utils._foreach_utils
    monkeypatch.setattr(foreach, "_foreach_supported_types", [*foreach._foreach_supported_types, DeviceTensor])
    grouped = foreach._group_tensors_by_device_and_dtype

    def grouped_there(*arguments: Any) -> Any:
        """To torch's C++ all tensors are the host's."""
        return {
            (torch.device("cuda", 0) if isinstance(lists[0][0][0], DeviceTensor) else device, dtype): lists
            for (device, dtype), lists in grouped(*arguments).items()
        }

    for name in ("torch.utils._foreach_utils", "torch.optim.optimizer", "torch.nn.utils.clip_grad"):
        monkeypatch.setattr(sys.modules[name], "_group_tensors_by_device_and_dtype", grouped_there)
    return mode
