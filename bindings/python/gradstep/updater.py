# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Accumulator, reducer and optimizer in one push."""

from typing import Any, NamedTuple

from gradstep import _native
from gradstep._arrays import Arrays, Gradients
from gradstep._handle import Handle
from gradstep._options import read_record, set_options
from gradstep._saved_state import SavedState
from gradstep.accumulator import Accumulator
from gradstep.communicator import Communicator
from gradstep.context import Context, context_pointer
from gradstep.optimizer import Optimizer
from gradstep.reducer import Reducer


class UpdaterStatistics(NamedTuple):
    """Counted since creation."""

    pushes: int
    windows: int
    steps: int
    skipped_steps: int
    accumulate_nanoseconds: int
    reduce_nanoseconds: int
    step_nanoseconds: int
    dropped_windows: int


class Updater(SavedState):
    """Adds micro-batches, and at the end of each window reduces over the ranks and steps the parameters.

    accumulator: None = every push is a window. reducer: None = no network.
    sync: "gradients"; "deltas" (each rank steps, and what that changes is reduced); "parameters" or
    "parameters_partial" (each rank steps, and every sync_steps-th time all parameters, or the next partition of them,
    are averaged).
    Further options: max_norm (of the gradients that are stepped: the reduced ones, or the rank's own), clip_value,
    grad_scale, sync_steps (default 1), skip_nonfinite (a window that is not finite on some rank makes no step on any).
    """

    _save_file = staticmethod(_native.updater_save_file)
    _load_file = staticmethod(_native.updater_load_file)

    def __init__(
        self,
        optimizer: Optimizer,
        accumulator: Accumulator | None = None,
        reducer: Reducer | None = None,
        sync: str = "gradients",
        *,
        context: Context | None = None,
        **options: Any,
    ) -> None:
        struct = _native.updater_options()
        set_options(struct, "Updater", {"sync": sync, **options}, {"sync": "SYNC_"})
        self._handle = Handle(
            _native.updater_create(
                context_pointer(context),
                optimizer._pointer,
                None if accumulator is None else accumulator._pointer,
                None if reducer is None else reducer._pointer,
                struct,
            ),
            _native.updater_destroy,
        )
        self._pointer = self._handle.pointer

    def push(self, parameters: Arrays, grads: Gradients, weight: float = 1.0) -> bool:
        """Adds a micro-batch. True when this stepped the parameters. Collective when it ends a window."""
        return _native.updater_push(self._pointer, parameters, grads, weight, None)

    def flush(self, parameters: Arrays) -> bool:
        """Ends a partial window, or retries one whose exchange failed. Collective with a reducer."""
        return _native.updater_flush(self._pointer, parameters, None)

    def recover(self, comm: Communicator | None, parameters: Arrays) -> None:
        """Continues over a new communicator after a failure: all ranks take the state of the furthest. Collective.

        None only drops the reducer.
        """
        _native.updater_recover(self._pointer, None if comm is None else comm._pointer, parameters, None)

    def stats(self) -> UpdaterStatistics:
        """Pushes, windows, steps and where the time went."""
        statistics = _native.updater_statistics()
        _native.updater_stats(self._pointer, statistics)
        return read_record(statistics, UpdaterStatistics)
