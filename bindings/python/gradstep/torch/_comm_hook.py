# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A communication hook of DistributedDataParallel that exchanges gradients by a gradstep reducer.

DDP hands over its buckets in one order on all ranks, the last one at the end of the backward pass; after the first pass
it packs them anew. What a reducer keeps (residuals, factors) belongs to parameters. So one reducer serves all of them:
each gradient is pushed under its parameter's index, whichever bucket it came in, and the reducer's own buckets leave
while backward goes on. The last bucket ends the window, writes all results and completes all futures.
"""

import io
from collections.abc import Iterable, Mapping
from typing import TypeAlias, Unpack

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from gradstep import _native
from gradstep._keywords import documented
from gradstep._process_group import connect
from gradstep.communicator import Communicator
from gradstep.context import Context
from gradstep.errors import InvalidArgument, Mismatch, Unsupported
from gradstep.reducer import Reducer, ReducerOptions

Model: TypeAlias = "torch.nn.Module | Iterable[tuple[str, Tensor]]"

_SAVED = "reducer"
_SELECTING = frozenset(("sparse_threshold", "sparse_topk", "auto"))
_KEEPING = _SELECTING | {"powersgd", "int8", "int4", "fp8_e4m3", "fp8_e5m2"}
"""Modes that may keep something between windows; _SELECTING may meet a NaN where they select."""


@documented(ReducerOptions, _native.reducer_options)
class CommHook:
    """What DistributedDataParallel.register_comm_hook takes: gradients are exchanged by a gradstep Reducer.

        model = DistributedDataParallel(module)
        model.register_comm_hook(None, gradstep.torch.comm_hook(model, mode="sparse_topk", sparsity=0.01))

    Creation is collective, and so are backward passes that synchronise. The first error of an exchange comes out of
    backward() as gradstep's exception; the hook is then of no more use. One hook serves one model.

    model: the DDP instance, its module, or (name, parameter) pairs: what DDP synchronises, in registration order.
    comm: the ranks of the DDP's process group, in its order; None = connect(), which finds them through that group. It
        may be shared or closed afterwards.
    timeout: seconds, > 0; of every call, where comm is None.
    context: whose threads work; None = gradstep.default_context().
    scaler: the torch.amp.GradScaler of the loss, if there is one. What a mode keeps (residuals, factors) then follows
        its scale. It is asked at the beginning of a window, on a CUDA device a wait, and only in modes that keep
        something. nan_policy is then "send" unless given: the scaler sees NaNs, and skips the step.

    A window that is not finite leaves nothing behind: after an overflow a scaler skips one step, in every mode.
    """

    def __init__(
        self,
        model: Model,
        comm: Communicator | None = None,
        timeout: float = 30.0,
        *,
        context: Context | None = None,
        scaler: torch.amp.GradScaler | None = None,
        **options: Unpack[ReducerOptions],
    ) -> None:
        named = _synchronised(model)
        self._parameters = [parameter for _, parameter in named]
        self._indices = {id(parameter): i for i, parameter in enumerate(self._parameters)}
        mode = options.get("mode", "dense")
        self._scaler = scaler if mode in _KEEPING else None
        if self._scaler is not None and mode in _SELECTING:
            options.setdefault("nan_policy", "send")
        if comm is None:
            group = model.process_group if isinstance(model, DistributedDataParallel) else None
            comm = connect(group, timeout, context=context)
        self._reducer = Reducer(
            comm,
            [parameter.detach() for parameter in self._parameters],
            names=[name for name, _ in named],
            context=context,
            **options,
        )
        self._results: list[Tensor | None] = [None] * len(named)
        """Where the open window's results go: views of DDP's buckets."""
        self._waiting: list[tuple[torch.futures.Future[Tensor], Tensor]] = []
        self.__name__ = self.__qualname__ = f"gradstep.torch.comm_hook(mode={mode!r})"

    def __call__(self, state: object, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        """What DDP calls, with the state that it was registered with, which is not looked at."""
        try:
            if bucket.index() == 0:
                self._drop()  # of a backward pass that broke off
                if self._scaler is not None:
                    self._reducer.set_loss_scale(self._scaler.get_scale())
            future = self._push(bucket)
            if bucket.is_last():
                self._finish()
        except BaseException:
            self._drop()
            raise
        return future

    def _push(self, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
        """Hands in the gradients of one bucket; their exchange begins as soon as the reducer's bucket is full."""
        buffer = bucket.buffer()
        if buffer.layout != torch.strided:
            raise Unsupported(f"bucket {bucket.index()}: its gradient is sparse, expected a dense one")
        for i, gradient in zip(self._indices_of(bucket), bucket.gradients(), strict=True):
            self._results[i] = gradient
            self._reducer.push(i, gradient)
        future = _future(buffer)
        self._waiting.append((future, buffer))
        return future

    def _indices_of(self, bucket: dist.GradBucket) -> list[int]:
        found = []
        for parameter in bucket.parameters():
            i = self._indices.get(id(parameter))
            if i is None:
                shape = tuple(parameter.shape)
                raise InvalidArgument(f"bucket {bucket.index()}: a parameter of shape {shape} is none of the model's")
            found.append(i)
        return found

    def _finish(self) -> None:
        self._reducer.wait(self._results)
        waiting = self._waiting
        self._forget()
        for future, buffer in waiting:
            future.set_result(buffer)

    def _drop(self) -> None:
        """Leaves the open window, if there is one. Peers that wait for it get an error."""
        if self._waiting or any(result is not None for result in self._results):
            self._reducer.cancel()
            self._forget()

    def _forget(self) -> None:
        self._results = [None] * len(self._parameters)
        self._waiting = []

    @property
    def reducer(self) -> Reducer:
        """What exchanges the gradients; parameter i is the model's i-th. For bucket_statistics() and residual()."""
        return self._reducer

    def state_dict(self) -> dict[str, Tensor]:
        """This rank's residuals, and whatever else the mode keeps, by the names of parameters.

        {"reducer": uint8}, the bytes of Reducer.save(). Each rank saves its own.
        """
        file = io.BytesIO()
        self._reducer.save(file)
        return {_SAVED: torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)}

    def load_state_dict(self, state_dict: Mapping[str, Tensor]) -> None:
        """Takes over what state_dict() of the same rank returned, for parameters of the same names and shapes."""
        saved = state_dict.get(_SAVED)
        if saved is None or saved.dtype != torch.uint8:
            raise Mismatch(f"state_dict: expected that of a CommHook, with the bytes of a reducer as {_SAVED!r}")
        self._reducer.load(io.BytesIO(saved.cpu().contiguous().numpy().tobytes()))


def comm_hook(
    model: Model,
    comm: Communicator | None = None,
    timeout: float = 30.0,
    *,
    context: Context | None = None,
    scaler: torch.amp.GradScaler | None = None,
    **options: Unpack[ReducerOptions],
) -> CommHook:
    """A communication hook for DistributedDataParallel: see CommHook, and Reducer for the options."""
    return CommHook(model, comm, timeout, context=context, scaler=scaler, **options)


def _synchronised(model: Model) -> list[tuple[str, Tensor]]:
    """The parameters that DDP reduces, by name."""
    ignored: Iterable[str] = ()
    if isinstance(model, DistributedDataParallel):
        ignored, model = model.parameters_to_ignore, model.module
    named = model.named_parameters() if isinstance(model, torch.nn.Module) else model
    found = [(name, parameter) for name, parameter in named if parameter.requires_grad and name not in ignored]
    if not found:
        raise InvalidArgument("model: no parameter requires a gradient")
    return found


def _future(buffer: Tensor) -> torch.futures.Future[Tensor]:
    return torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else None)
