# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What all optimizers share; rules.py has the rules."""

import gc
import inspect
import math
import re
import sys
import weakref
from collections.abc import Iterable
from numbers import Real
from typing import Any, NamedTuple, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import NDArray

from gradstep import _native
from gradstep._arrays import (
    Array,
    Arrays,
    Flags,
    Gradients,
    Groups,
    Parameters,
    Part,
    Schema,
    dtype_of,
    empty_like,
    schema,
    view,
)
from gradstep._deprecated import deprecated, warn_of
from gradstep._handle import Handle, Lease
from gradstep._info import _sized
from gradstep._kept_numbers import NUMBERS
from gradstep._keywords import spelled_out
from gradstep._numbers import integer, real
from gradstep._options import enum_value, read_record, read_records
from gradstep._repr import counted, describe, size_of
from gradstep._saved_state import SavedState
from gradstep._streams import stream_of
from gradstep._trees import Named, joined
from gradstep.communicator import Communicator
from gradstep.context import Context
from gradstep.errors import InvalidArgument, InvalidState, Unsupported
from gradstep.reducer import Reducer
from gradstep.schedule import Number, Schedule, as_schedule


class StepResult(NamedTuple):
    """What a step did."""

    applied: bool
    """False if the step was skipped."""
    grad_norm: float
    """Before grad_scale; NaN when the step had no need to know it."""
    clip_coefficient: float
    """What max_norm multiplied the gradients by."""


class StepOptions(TypedDict, total=False):
    """Keywords of step() and update(); step() says what they mean."""

    clip_value: float | None
    found_inf: Array | None
    skip_nonfinite: bool
    grad_scale_tensor: Array | None
    outcome: Array | None
    disjoint: bool


def step_options(
    wants_result: bool,
    grad_scale: float,
    max_norm: float | None,
    grad_norm: float | Array | None,
    *,
    clip_value: float | None = None,
    found_inf: Array | None = None,
    skip_nonfinite: bool = False,
    grad_scale_tensor: Array | None = None,
    outcome: Array | None = None,
    disjoint: bool = False,
) -> tuple[Any, ...]:
    """What the C library's `options` are made of."""
    factor, bound = real("grad_scale", grad_scale), real("max_norm", max_norm or 0.0)
    numbers = (factor, bound, real("clip_value", clip_value or 0.0), skip_nonfinite, disjoint, wants_result)
    return (*numbers, _as_array(grad_norm), found_inf, grad_scale_tensor, outcome)


class Metric(NamedTuple):
    """A number about a parameter, or about the optimizer where `parameter` is -1."""

    name: str
    parameter: int
    block: int
    axis: int
    value: float


class Memory(NamedTuple):
    """Bytes that an optimizer holds."""

    state_bytes: int
    other_bytes: int


def above_zero(first: float, schedule: Schedule) -> float:
    """A number for the first value of a schedule, which counts as absent where the schedule does."""
    rises = first == 0 and schedule.kind not in ("constant", "exponential_decay")
    return sys.float_info.min if rises else first  # what rises from 0 needs its buffers from the start


_APPLIED = StepResult(True, math.nan, 1.0)
_QUEUED = StepResult(True, math.nan, math.nan)


class Optimizer(SavedState, Named):
    """What all rules share. A rule is a subclass, with the types of its options."""

    _kind = "optimizer"
    _rules: tuple[str, ...] = ()
    """The names of its rules, of those that are made by name."""

    def __init__(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Any,
    ) -> None:
        self._create(schema(parameters, names, groups), context, options)

    @classmethod
    def _of(cls, described: Schema, context: Context | None, options: dict[str, Any]) -> Self:
        """As the constructor; a schema can say more of parameters."""
        made = cls.__new__(cls)
        made._create(described, context, options)
        return made

    @classmethod
    def of_parts(
        cls,
        parameters: Parameters,
        parts: Iterable[Part | None],
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        context: Context | None = None,
        **options: Any,
    ) -> Self:
        """An optimizer of what this rank has of parameters that the host has spread over ranks.

        It steps after attach_shards().

        parts: for each parameter the shape of the whole and the index at which this rank's part begins in there; None
            for one that is whole.
        options: those of the constructor.
        """
        return cls._of(schema(parameters, names, groups, parts=parts), context, options)

    def _make(
        self, described: Schema, context: Context | None, options: dict[str, Any]
    ) -> tuple[Any, dict[str, Schedule]]:
        """The handle, and the schedules among the options by name."""
        raise NotImplementedError

    def _create(self, described: Schema, context: Context | None, options: dict[str, Any]) -> None:
        pointer, schedules = self._make(described, context, options)
        self._names = described[1]
        self._given = dict(options)
        self._lent: dict[tuple[str, int], object] = {}
        """By name and group: arrays that hyper-parameters are read from."""
        self._leases: weakref.WeakSet[Lease] = weakref.WeakSet()
        """Of the views of state that somebody has."""
        self._handle = Handle(
            pointer, _native.optimizer_destroy, self._lent, stream_of(described[0]), _native.optimizer_poll
        )
        self._pointer = self._handle.pointer
        self._descriptions = [_native.describe_array(array) for array in described[0]]
        for name, value in schedules.items():
            _native.optimizer_set_schedule(self._pointer, -1, name, value._native)

    def __repr__(self) -> str:
        parts = (
            lambda: size_of(shape for shape, _ in self._descriptions),
            lambda: counted(self.group_count, "group") if self.group_count > 1 else "",
            lambda: counted(self.step_count, "step"),
        )
        return describe(self, parts, getattr(self, "_given", None))

    def step(
        self,
        parameters: Arrays,
        grads: Gradients,
        grad_scale: float = 1.0,
        max_norm: float | None = None,
        grad_norm: float | Array | None = None,
        **options: Unpack[StepOptions],
    ) -> StepResult:
        """Steps the parameters in place.

        grad_scale: multiplies every gradient; finite.
        max_norm: clips the norm over all of them; >= 0, None or 0 = off.
        grad_norm: the norm before grad_scale if it is known already, as accumulator.norm or reducer.norm: a number, or
            a float64 array of one element.
        clip_value: then clips each element; >= 0, None or 0 = off.
        found_inf: float32 array of one element: non-zero skips the step, and non-finite gradients set it.
        skip_nonfinite: a step that counts as non-finite (docs/numerics.md) is skipped as a whole.
        grad_scale_tensor: float32 array of one finite element, which multiplies grad_scale and is read when the step
            runs.
        outcome: float64 array of four elements, which the step fills: 1 if it was applied, else 0; grad_norm and
            clip_coefficient as in StepResult; and the step count after it.
        disjoint: you promise that no array overlaps one that is written, and they are not compared. It saves time where
            gradients are new arrays at each step; if the promise is broken, what overlaps holds garbage.

        On a device the step is queued on the current stream of the arrays' package. Only one with any of these options
        is waited for, for its result; one with an outcome is not, and returns (True, NaN, NaN) whatever it will do.
        """
        names = self._names
        # Two lists, the quickest, are in order already.
        if names is not None and (type(grads) is not list or type(parameters) is not list or names.branches):
            parameters, grads = names.ordered("params", parameters), names.ordered("grads", grads)
        if not options and grad_scale == 1.0 and not max_norm:
            if self._handle.stream is None:  # without the detour, which would take a third of a small step's time
                _native.optimizer_step(self._pointer, parameters, grads, None)
            else:
                self._handle.call(_native.optimizer_step, parameters, grads)
            return _APPLIED
        is_told_elsewhere = self._handle.stream is not None and options.get("outcome") is not None
        chosen = step_options(not is_told_elsewhere, grad_scale, max_norm, grad_norm, **options)
        result = self._handle.call(_native.optimizer_step_ex, parameters, grads, None, chosen)
        return _QUEUED if result is None else StepResult(*result)

    def update(
        self,
        parameters: Arrays,
        grads: Gradients,
        grad_scale: float = 1.0,
        max_norm: float | None = None,
        grad_norm: float | Array | None = None,
        *,
        out: Arrays | None = None,
        **options: Unpack[StepOptions],
    ) -> list[NDArray[Any]]:
        """What step() would add to the parameters, which stay as they are, and zeros where it would skip.

        The result is in the order of the parameters. The other arguments are those of step(). out: takes the result;
        new arrays of the parameters' shapes and dtypes if it is not given.
        """
        arrays, grads, out = (
            self._ordered("params", parameters),
            self._ordered("grads", grads),
            self._ordered("out", out),
        )
        updates: list[NDArray[Any]] = [empty_like(array) for array in arrays] if out is None else list(out)  # type: ignore[arg-type]
        chosen = step_options(False, grad_scale, max_norm, grad_norm, **options)
        self._handle.call(_native.optimizer_step_ex, arrays, grads, updates, chosen)
        return updates

    @property
    def step_count(self) -> int:
        """Steps applied so far: the t of schedules and bias corrections."""
        return _native.optimizer_step_count(self._pointer)

    @step_count.setter
    def step_count(self, count: int) -> None:
        _native.optimizer_set_step_count(self._pointer, integer("step_count", count))

    def get_value(self, name: str, group: int = 0) -> float:
        """The hyper-parameter that the next step would use."""
        return _native.optimizer_get_value(self._pointer, integer("group", group), name)

    def set_value(self, name: str, value: Number, group: int = -1) -> None:
        """Sets a hyper-parameter of one group, or of all with -1, to a constant or a schedule."""
        group = integer("group", group)
        if isinstance(value, Schedule) or callable(value):
            _native.optimizer_set_schedule(self._pointer, group, name, as_schedule(value)._native)
        else:
            _native.optimizer_set_value(self._pointer, group, name, real("value", value))
        self._note_value(name, value, group)

    def set_tensor(self, name: str, array: Array, group: int = -1) -> None:
        """Lets every step read a hyper-parameter of one group, or of all with -1, from a float64 array of one element.

        A number out of range is a NumericError of the step, which changes nothing. The optimizer keeps the array until
        set_value() or set_tensor() puts something else in its place. Groups that add_parameters() makes later read what
        group 0 reads.
        """
        group = integer("group", group)
        lent = _native.lend_array(array, "array")
        try:
            _native.set_optimizer_tensor(self._pointer, group, name, lent)
        except InvalidArgument as error:
            raise _in_python_words(error, "array") from None
        self._note_value(name, array, group, lent)

    @deprecated("Optimizer.set_tensor()")
    def set_array(self, name: str, array: Array, group: int = -1) -> None:
        self.set_tensor(name, array, group)

    def _note_value(self, name: str, value: Any, group: int, lent: object = None) -> None:
        if group >= 0:
            self._given[f"{name}[{group}]"] = value
        else:
            of_groups = f"{name}["
            self._given = {key: old for key, old in self._given.items() if not key.startswith(of_groups)}
            self._given[name] = value
        if lent is not None or self._lent:
            self._note_loan(name, group, lent)

    def _note_loan(self, name: str, group: int, lent: object) -> None:
        groups = range(self.group_count)
        for index in groups if group < 0 else (group,):
            self._lent.pop((name, index), None)
            if lent is not None:
                self._lent[name, index] = lent
        if all(f"{name}[{index}]" in self._given for index in groups):
            self._given.pop(name, None)  # which may be an array that is no longer read

    @property
    def group_count(self) -> int:
        """One more than the largest group of the parameters."""
        return _native.optimizer_group_count(self._pointer)

    def add_parameters(
        self,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        may_be_unused: Flags = False,
        parts: Iterable[Part | None] | None = None,
    ) -> None:
        """Appends parameters, whose state starts at zero.

        parameters: as in the constructor; their names must be new. The indices of a list or tuple go on where those of
            the first ended, if it had names too: [{"w": b}] after [{"w": a}] is "1.w".
        may_be_unused: parameters that a sharded step leaves alone where no rank has a gradient for them; others are
            stepped by zeros. parts: see of_parts().
        """
        first = 0 if self._names is None else self._names.branches
        self._append(schema(parameters, names, groups, may_be_unused, parts, first))

    def _append(self, described: Schema) -> None:
        had = self.group_count
        _native.optimizer_add_parameters(self._pointer, described)
        self._names = joined(self._names, len(self._descriptions), described[1], len(described[0]))
        in_group_0 = {name: lent for (name, group), lent in self._lent.items() if group == 0}
        for group in range(had, self.group_count):
            self._lent.update({(name, group): lent for name, lent in in_group_0.items()})
        self._descriptions += [_native.describe_array(array) for array in described[0]]

    @classmethod
    def state_bytes(
        cls,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        groups: Groups | None = None,
        **options: Any,
    ) -> int:
        """Bytes of state that an optimizer of these arguments will have: its memory().state_bytes. None are allocated.

        The arguments are those of the class, without a context; shapes and dtypes of the arrays count.
        """
        raise NotImplementedError

    @property
    def state_names(self) -> list[str]:
        """Names of the rule's state tensors; a pattern where there are several of a kind."""
        names = _sized(_native.optimizer_state_names, self._pointer)
        return names.split(",") if names else []

    def state_names_of(self, i: int | str) -> list[str]:
        """The state tensors that parameter i can have: state_names with the patterns written out."""
        self._description(i)
        return self.state_names

    def _index_of(self, i: int | str) -> int:
        found = super()._index_of(i)
        if not 0 <= found < len(self._descriptions):
            raise InvalidArgument(f"index: is {i}, the schema has {len(self._descriptions)} parameters")
        return found

    def _description(self, i: int | str) -> tuple[tuple[int, ...], str]:
        """Shape and dtype of parameter i."""
        return self._descriptions[self._index_of(i)]

    def _state_shape(self, i: int, name: str) -> tuple[int, ...]:
        return (1,) if name in NUMBERS else self._description(i)[0]

    def state(self, i: int | str, name: str) -> NDArray[Any]:
        """State `name` of parameter i, its index or its name; shaped as the parameter unless the rule says else.

        A view, through which it can be changed too; as long as there is one, shard() is refused, which would free the
        memory.

        Where it is kept in another form (in codes or sharded) it is a read-only copy; then, as get_state().
        """
        return self._state(i, name)

    def _state(self, i: int | str, name: str, *, bits: bool = False) -> NDArray[Any]:
        """state(), with bfloat16 as int16 if `bits`."""
        i = self._index_of(i)
        try:
            lease = Lease(self._handle, f"state({i}, {name!r})")
            found = view(_native.optimizer_state(self._pointer, i, name), lease, bits=bits)
            self._leases.add(lease)
        except Unsupported:
            found = self.get_state(i, name)
            found.flags.writeable = False
        assert found is not None
        return found

    def get_state(
        self, i: int | str, name: str, dtype: str | None = None, *, shape: tuple[int, ...] | None = None
    ) -> NDArray[Any]:
        """A copy of state `name` of parameter i, in any float dtype, whatever form it is kept in.

        dtype: None = the dtype of the arithmetic, float64 for float64 parameters and float32 for all others.
        shape: the state's, where it is not the parameter's.
        Collective while the optimizer is sharded.
        """
        i = self._index_of(i)
        parameter_dtype = self._descriptions[i][1]
        found = dtype_of(dtype or ("float64" if parameter_dtype == "float64" else "float32"))
        copy = np.empty(self._state_shape(i, name) if shape is None else shape, found)
        self._handle.call(_native.optimizer_get_state, i, name, copy)
        return copy

    def average(self, out: Gradients | None = None) -> list[Array | None]:
        """The averages of the weights, by parameter: of the options `average_decay` and `average_equal`, or the rule's.

        out: takes them, arrays of the parameters' shapes and any float dtype; None in it = not wanted. New arrays of
        the arithmetic's dtype by default. For schedule_free they hold the parameters when the call begins, and must be
        given. Collective while the optimizer is sharded. Raises InvalidState before the first step, and where there
        are none.
        """
        if out is None:
            if "schedule_free" in self._rules:
                raise TypeError("out: schedule_free makes its average of the parameters, give copies of them")
            wide = [np.float64 if dtype == "float64" else np.float32 for _, dtype in self._descriptions]
            out = [np.empty(shape, dtype) for (shape, _), dtype in zip(self._descriptions, wide, strict=True)]
        averages = list(self._ordered("out", out))
        self._handle.call(_native.optimizer_average, averages)
        return averages

    def set_state(self, i: int | str, name: str, value: Array) -> None:
        """Replaces state `name` of parameter i by an array of the state's shape and any float dtype.

        Collective while the optimizer is sharded.
        """
        try:
            self._handle.call(_native.set_optimizer_state, self._index_of(i), name, value)
        except InvalidArgument as error:
            raise _in_python_words(error, "value") from None

    def copy_state(self, source: "Optimizer") -> None:
        """Takes over the state and the step count of an optimizer of the same rule and parameters."""
        _native.optimizer_copy_state(self._pointer, source._pointer)

    def shard(
        self,
        comm: Communicator | Reducer | None,
        gradients: str = "local",
        average: str = "mean",
        preconditioners: str = "replicated",
    ) -> None:
        """Spreads the state over the ranks of a communicator, each of which then steps its share. Collective.

        From then on step() is collective: it reduces the gradients, steps, and gathers the new parameters, with the
        bits of a dense reducer and an unsharded optimizer. The communicator may be shared or closed afterwards.

        comm: a Reducer of the same parameters brings each rank its share of the gradients, whose memory is freed as
            their bucket leaves (ZeRO, stage 2). Steps are then those of an Updater with this optimizer and this
            reducer; `gradients` and `average` do not matter. None is deprecated: use unshard().
        gradients: "local" (each rank's own) or "reduced" (equal on all ranks already).
        average: "mean" or "sum" of local gradients.
        preconditioners: of Shampoo: "replicated" (each root is computed by one rank, all have the matrices) or "owned"
            (each rank has the matrices of its blocks; raises Unsupported with eigenvalue_corrected).

        The memory of the whole state is freed. While there are views of it, which state() gave, this raises
        InvalidState: drop them first, on all ranks, or take copies by get_state().
        """
        if comm is None:
            warn_of("Optimizer.shard(None)", "Optimizer.unshard()")
            self.unshard()
            return
        self._refuse_to_free_views()
        options = _native.sharding_options()
        options.gradients = enum_value("SHARDED_GRADIENTS_", gradients, "gradients")
        options.average = enum_value("AVERAGE_", average, "average")
        options.preconditioners = enum_value("SHARDED_PRECONDITIONERS_", preconditioners, "preconditioners")
        if isinstance(comm, Reducer):
            _native.optimizer_attach_reducer(self._pointer, comm._pointer, options)
        else:
            _native.optimizer_attach_comm(self._pointer, comm._pointer, options)

    def unshard(self) -> None:
        """Gathers the state on every rank, and ends the sharding. Collective while the state is sharded."""
        _native.optimizer_attach_comm(self._pointer, None, _native.sharding_options())

    def attach_shards(self, comm: Communicator | None) -> None:
        """The ranks of a communicator have parts of the parameters (of_parts()), and step as one. Collective.

        From then on step() is collective: each rank steps its parts where they lie. Norms, and what a rule measures of
        a tensor, are those of the whole. A save has the state of the wholes, and loads on ranks with other parts.
        Where a rule works on whole tensors, as Muon, each has an owner among the ranks, which the others send their
        parts to. State of such a tensor is of the whole: get_state() takes its shape, and is collective.

        comm: may be shared or closed afterwards. None ends it: parts are not stepped then.

        Raises Mismatch on all ranks if their parts do not make up each whole, and Unsupported for Shampoo and SOAP.
        """
        _native.optimizer_attach_shards(self._pointer, None if comm is None else comm._pointer)

    def _refuse_to_free_views(self) -> None:
        if self._leases:
            gc.collect()  # of unreachable ones, some may be in cycles
        if held := sorted(lease.what for lease in self._leases):
            more = f" and {len(held) - 1} more" if len(held) > 1 else ""
            raise InvalidState(
                f"shard: there are views of the state, whose memory it frees: {held[0]}{more}; drop them, or take "
                "copies by get_state()"
            )

    def poll(self) -> bool:
        """True when no step is under way, and the arrays that it was given are yours again: on the CPU, always."""
        return _native.optimizer_poll(self._pointer)

    def metrics(self) -> list[Metric]:
        """Numbers about the optimizer: "step_count", "skipped_steps" and what the rule adds."""
        return [read_record(record, Metric) for record in read_records(_native.optimizer_metrics, self._pointer)]

    def memory(self) -> Memory:
        """What the optimizer holds now."""
        memory = _native.memory()
        _native.optimizer_memory(self._pointer, memory)
        return read_record(memory, Memory)


def _show_keywords(function: Any) -> None:
    """What step_options() takes, in the signature of a function that passes it on."""
    options = inspect.signature(step_options).parameters.values()
    keywords = [option for option in options if option.kind is inspect.Parameter.KEYWORD_ONLY]
    function.__signature__ = spelled_out(inspect.signature(function), keywords)


_show_keywords(Optimizer.step)
_show_keywords(Optimizer.update)


def _in_python_words(error: InvalidArgument, argument: str) -> InvalidArgument:
    """This error, where C has a tensor for an argument of another name."""
    return InvalidArgument(re.sub("^tensor:", f"{argument}:", str(error)))


def _as_array(norm: float | Array | None) -> Array | None:
    if norm is None or not isinstance(norm, Real):
        return norm  # type: ignore[return-value]
    return np.array([norm], np.float64)
