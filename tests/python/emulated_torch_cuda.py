# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""torch.cuda's streams and graphs over the emulated device, under torch's own names and with what torch says of them.

What a capture makes is in memory of its graph's, as in torch, and stays there as long as the graph.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from emulated_cuda import control
from emulated_torch import _State, present
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
