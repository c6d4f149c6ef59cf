# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Sums of gradients over the micro-batches of a window."""

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from gradstep import _native
from gradstep._arrays import Array, Flags, Gradients, Parameters, scalar, schema, view
from gradstep._handle import Handle
from gradstep._numbers import real, set_number
from gradstep._options import enum_value, known_names
from gradstep._repr import counted, describe
from gradstep._saved_state import SavedState
from gradstep._streams import stream_of
from gradstep._trees import Named
from gradstep.context import Context, context_pointer
from gradstep.errors import InvalidArgument
from gradstep.schedule import Schedule

_TYPE_BITS = {"float32": 32, "float64": 64}


class Accumulator(SavedState, Named):
    """One sum per parameter over K micro-batches.

    parameters: arrays whose shapes and dtypes count, or a tree of them as in gradstep.SGD; they are not kept.
    steps: K in micro-batches, >= 1; a Schedule of K over the number of finished windows; or None, with any mode but
        "mean_each", for windows that only flush() ends.
    min_weight: ends a window when the sum of its weights reaches this, > 0, instead of steps.
    mode: "mean_each" (every gradient divided by K as it is added; needs steps), "sum", "mean", "running_mean",
        "weighted" (by the weights of add()).
    dtype: "float32" or "float64" for all sums; None = float32, and float64 for float64 parameters.
    nonfinite: "none" (infinities and NaNs are added), "poison" (and the norm says so) or "skip" (a micro-batch that has
        them is not added).
    keep_sums: sums() stays valid when a window is ready, until gradients() is called.
    names: one str each; None = "param.0", "param.1", ...; saved state goes by them.
    may_be_unused: parameters that may have no gradient; all, or each on its own.
    context: whose threads work; None = default_context().
    """

    _kind = "accumulator"

    def __init__(
        self,
        parameters: Parameters,
        *,
        steps: int | Schedule | None = None,
        min_weight: float | None = None,
        mode: str = "mean_each",
        dtype: str | None = None,
        nonfinite: str = "none",
        keep_sums: bool = False,
        names: Iterable[str] | None = None,
        may_be_unused: Flags = False,
        context: Context | None = None,
    ) -> None:
        options = _native.accumulator_options()
        options.mode = enum_value("ACCUMULATE_", mode, "mode")
        options.nonfinite = enum_value("NONFINITE_", nonfinite, "nonfinite")
        options.keep_sums = int(keep_sums)
        if steps is None and options.mode == _native.ACCUMULATE_MEAN_EACH:
            without = ", ".join(f'"{name}"' for name in known_names("ACCUMULATE_").values() if name != "mean_each")
            raise InvalidArgument(
                'steps: must be given with mode "mean_each", which divides each gradient by it; modes that need none, '
                f"and take min_weight: {without}"
            )
        if min_weight is not None:
            if steps is not None:
                raise TypeError("Accumulator: give steps or min_weight, not both")
            options.trigger = _native.TRIGGER_MIN_WEIGHT
            set_number(options, "min_weight", min_weight, "min_weight")
        elif steps is None:
            options.trigger = _native.TRIGGER_MANUAL
        elif isinstance(steps, Schedule):
            options.trigger = _native.TRIGGER_SCHEDULE
            options.set_schedule(steps._native)
        else:
            set_number(options, "steps", steps, "steps")
        if dtype is not None:
            options.dtype = _float_type(dtype)
        described = schema(parameters, names, None, may_be_unused)
        self._handle = Handle(
            _native.accumulator_create(context_pointer(context), options, described),
            _native.accumulator_destroy,
            stream=stream_of(described[0]),
            poll=_native.accumulator_poll,
        )
        self._pointer = self._handle.pointer
        self._size, self._names = len(described[0]), described[1]
        self._rows: list[tuple[int, Array, Array]] = []
        ends_at = {"min_weight": min_weight} if min_weight is not None else {"steps": steps}
        others = {"dtype": dtype, "nonfinite": nonfinite, "keep_sums": keep_sums}
        usual = (None, "none", False)
        self._given = {"mode": mode, **ends_at, **{name: v for name, v in others.items() if v not in usual}}

    def __repr__(self) -> str:
        parts = (
            lambda: counted(self._size, "parameter"),
            lambda: f"{counted(self.count, 'micro-batch', 'micro-batches')} in the window",
            lambda: f"{self.skipped} skipped" if self.skipped else "",
        )
        return describe(self, parts, getattr(self, "_given", None))

    def add(self, grads: Gradients | None, weight: float = 1.0) -> bool:
        """Adds a micro-batch, with the rows of add_sparse() since the last one. True when this ended the window.

        None in the place of a gradient: that parameter has none. None for all of them: rows alone.
        """
        weight = real("weight", weight)
        if self._names is not None:
            grads = self._names.ordered("grads", grads)
        if self._rows:
            ready = self._handle.call(_native.accumulator_add_ex, grads, self._rows, weight)
            self._rows.clear()
            return ready
        if grads is None:
            grads = [None] * self._size
        if self._handle.stream is None:  # without the detour
            return _native.accumulator_add(self._pointer, grads, weight, None)
        return self._handle.call(_native.accumulator_add, grads, weight)

    def add_sparse(self, i: int | str, indices: Array, values: Array) -> None:
        """Adds values[j] to row indices[j] of parameter i, its index or its name; repeated indices add up.

        The rows belong to the micro-batch of the next add(), which reads and checks them. If it refuses the
        micro-batch they stay; discard_sparse() drops them.
        """
        self._rows.append((self._index_of(i), indices, values))

    def discard_sparse(self) -> None:
        """Drops the rows that no add() has taken yet."""
        self._rows.clear()

    def flush(self) -> bool:
        """Ends a partial window, divided by what was added. True if there is a result."""
        return self._handle.call(_native.accumulator_flush)

    def reset(self) -> None:
        """Drops the window, and rows that no add() has taken yet."""
        self._rows.clear()
        self._handle.call(_native.accumulator_reset)

    def gradients(self) -> list[NDArray[Any] | None]:
        """Writable views of the results, valid until the next add() or reset(); None where no gradient came."""
        found = self._handle.call(_native.accumulator_gradients, self._size)
        return [view(one, self._handle) for one in found]

    def sums(self) -> list[NDArray[Any] | None]:
        """Views of the sums before the division by `weight`."""
        return [view(one, self._handle) for one in self._handle.call(_native.accumulator_sums, self._size)]

    def poll(self) -> bool:
        """True when no call is under way, and the arrays that it was given are yours again: on the CPU, always."""
        return _native.accumulator_poll(self._pointer)

    @property
    def weight(self) -> float:
        """The window's divisor: the sum of weights in mode "weighted", else the number of micro-batches."""
        return _native.accumulator_weight(self._pointer)

    @property
    def norm(self) -> Any:
        """The Euclidean norm over all results of a ready window: a float, or a DeviceArray of one float64."""
        return scalar(self._handle.call(_native.accumulator_norm), self._handle)

    @property
    def count(self) -> int:
        """Micro-batches in the window."""
        return _native.accumulator_count(self._pointer)

    @property
    def skipped(self) -> int:
        """Micro-batches skipped as non-finite since creation."""
        return _native.accumulator_skipped(self._pointer)


def _float_type(name: str) -> Any:
    if str(name) not in _TYPE_BITS:
        raise InvalidArgument(f"dtype: {name!r} is unknown; known: {', '.join(_TYPE_BITS)}")
    dtype = _native.dtype()
    dtype.code = _native.TYPE_FLOAT
    dtype.bits = _TYPE_BITS[str(name)]
    dtype.lanes = 1
    return dtype
