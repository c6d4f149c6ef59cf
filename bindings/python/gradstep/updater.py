# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Accumulator, reducer and optimizer in one push."""

from typing import Annotated, NamedTuple, TypedDict, Unpack

from gradstep import _native
from gradstep._arrays import Arrays, Gradients
from gradstep._deprecated import deprecated
from gradstep._handle import Handle
from gradstep._info import _sized
from gradstep._keywords import Keyword, documented
from gradstep._numbers import real
from gradstep._options import read_record, set_options
from gradstep._repr import counted, describe
from gradstep._saved_state import SavedState
from gradstep._trees import Named
from gradstep.accumulator import Accumulator
from gradstep.communicator import Communicator
from gradstep.context import Context, context_pointer
from gradstep.errors import InvalidArgument
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


class UpdaterOptions(TypedDict, total=False):
    sync_steps: Annotated[
        int,
        Keyword(
            'steps from one exchange to the next, of sync "parameters" and "parameters_partial", and with outer', ">= 1"
        ),
    ]
    max_norm: Annotated[
        float,
        Keyword("clips the norm over all gradients that are stepped, the reduced or the rank's own; 0 = off", ">= 0"),
    ]
    clip_value: Annotated[float, Keyword("clips each element of them; 0 = off", ">= 0")]
    grad_scale: Annotated[float, Keyword("multiplies them", "finite")]
    skip_nonfinite: Annotated[bool, Keyword("a window that is not finite on some rank makes no step on any")]
    outer_fragments: Annotated[
        int,
        Keyword(
            "parts of the model whose rounds end in turn, of the reducer's buckets; a divisor of sync_steps, 0 as 1",
            ">= 0",
        ),
    ]
    outer_delay: Annotated[
        int,
        Keyword(
            "windows before the end of its round at which a change leaves, behind the steps; below sync_steps / "
            "outer_fragments",
            ">= 0",
        ),
    ]
    outer_mix: Annotated[
        float, Keyword("part of the rank's own parameters in those it goes on from after an outer step", "in [0, 1)")
    ]


@documented(UpdaterOptions, _native.updater_options)
class Updater(SavedState):
    """Adds micro-batches, and at the end of each window reduces over the ranks and steps the parameters.

    accumulator: None = every push is a window. reducer: None = no network.
    sync: "gradients"; "deltas" (each rank steps, and what that changes is reduced); "parameters" or
        "parameters_partial" (each rank steps, and every sync_steps-th time all parameters, or the next partition of
        them, are averaged).
    outer: an optimizer of the same parameters, for sync "deltas". Each rank makes sync_steps steps by itself. Then what
        that has changed is averaged, as the reducer's mode says, and is the gradient with which `outer` steps the point
        where the ranks began; there they go on (DiLoCo). The paper's is SGD(learning_rate=0.7, momentum=0.9,
        nesterov=True).
    context: whose threads work; None = default_context().
    """

    _kind = "updater"

    def __init__(
        self,
        optimizer: Optimizer,
        accumulator: Accumulator | None = None,
        reducer: Reducer | None = None,
        sync: str = "gradients",
        *,
        outer: Optimizer | None = None,
        context: Context | None = None,
        **options: Unpack[UpdaterOptions],
    ) -> None:
        for part, name in ((accumulator, "accumulator"), (reducer, "reducer"), (outer, "outer")):
            _check_names(part, name, optimizer)
        struct = _native.updater_options()
        set_options(struct, "Updater", {"sync": sync, **options}, {"sync": "SYNC_"})
        if outer is not None:
            struct.set_outer(outer._pointer)
        self._handle = Handle(
            _native.updater_create(
                context_pointer(context),
                optimizer._pointer,
                None if accumulator is None else accumulator._pointer,
                None if reducer is None else reducer._pointer,
                struct,
            ),
            _native.updater_destroy,
            stream=optimizer._handle.stream,
            poll=_native.updater_poll,
        )
        self._pointer = self._handle.pointer
        self._optimizer = optimizer
        """Knows the parameters' names, and may get more of them."""
        self._driven = (optimizer._handle, None if reducer is None else reducer._handle, outer and outer._handle)
        """What keeps the arrays that they were lent."""
        self._lent: list[object] = [] if reducer is None else reducer._lent
        self._drives = ", ".join(
            type(each).__name__ for each in (accumulator, reducer, optimizer, outer) if each is not None
        )
        self._given = {"sync": sync, **options}

    def __repr__(self) -> str:
        parts = (
            lambda: self._drives,
            lambda: counted(self.statistics().pushes, "push", "pushes"),
            lambda: counted(self.statistics().steps, "step"),
        )
        return describe(self, parts, getattr(self, "_given", None))

    def push(self, parameters: Arrays, grads: Gradients, weight: float = 1.0) -> bool:
        """Adds a micro-batch. True when this stepped the parameters. Collective when it ends a window."""
        weight = real("weight", weight)
        names = self._optimizer._names
        # Two lists, the quickest, are in order already.
        if names is not None and (type(grads) is not list or type(parameters) is not list or names.branches):
            parameters, grads = names.ordered("params", parameters), names.ordered("grads", grads)
        if self._handle.stream is None:  # without the detour
            return _native.updater_push(self._pointer, parameters, grads, weight, None)
        return self._handle.call(_native.updater_push, parameters, grads, weight)

    def flush(self, parameters: Arrays) -> bool:
        """Ends a partial window, or retries one whose exchange failed. Collective with a reducer.

        Without an accumulator it ends the window that pushes of the reducer have begun, and steps.
        """
        applied: bool = self._handle.call(_native.updater_flush, self._optimizer._ordered("params", parameters))
        self._lent.clear()
        return applied

    def recover(self, comm: Communicator | None, parameters: Arrays) -> None:
        """Continues over a new communicator of survivors, ranks that stay and newcomers. Collective among them.

        All ranks take the state of the furthest. None: this rank goes on alone, without a reducer, and sharded state is
        gathered with the ranks that recover then.
        """
        arrays = self._optimizer._ordered("params", parameters)
        self._handle.call(_native.updater_recover, None if comm is None else comm._pointer, arrays)
        self._driven = (self._driven[0], None, self._driven[2])  # the reducer is another one now

    def poll(self) -> bool:
        """True when nothing is under way in the updater and what it drives, and arrays are yours again.

        Returns at once; on the CPU it is false only while a reducer exchanges behind the caller's work.
        """
        return _native.updater_poll(self._pointer)

    def counters(self, labels: str | None = None) -> str:
        """statistics() as text for Prometheus. Not collective.

        labels: put into every line's braces, such as 'job="7"'.
        """
        return str(_sized(_native.updater_counters, self._pointer, labels))

    def statistics(self) -> UpdaterStatistics:
        """Pushes, windows, steps and where the time went."""
        statistics = _native.updater_statistics()
        _native.updater_stats(self._pointer, statistics)
        return read_record(statistics, UpdaterStatistics)

    @deprecated("Updater.statistics()")
    def stats(self) -> UpdaterStatistics:
        return self.statistics()


def _check_names(part: Named | None, argument: str, optimizer: Optimizer) -> None:
    """What an updater drives has one order of parameters."""
    if part is None or part._names is None or optimizer._names is None:
        return
    for i, (found, expected) in enumerate(zip(part._names, optimizer._names, strict=False)):
        if found != expected:
            raise InvalidArgument(f"{argument}: parameter {i} is {found!r}, expected {expected!r}, as in optimizer")
