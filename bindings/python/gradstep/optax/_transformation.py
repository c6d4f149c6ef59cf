# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""init and update of the transformations.

Whatever touches an optimizer runs on the host when the program runs, never while JAX records one. Where JAX computes
at once, update() steps at once; where it records (jit, scan, cond, eval_shape, ...), a call of the host is recorded.
"""

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

import gradstep
from gradstep._arrays import dtype_of
from gradstep.errors import InvalidArgument, Unsupported
from gradstep.optax._states import Entry, State, Tree, lock_at, register, state_in
from gradstep.optax._tracing import is_recorded, on_each_device, on_host
from gradstep.schedule import Schedule

Mask: TypeAlias = Tree | Callable[[Tree], Tree]
"""A tree of bools, whose leaves may stand for subtrees; or a function that makes one of the parameters."""

Described: TypeAlias = tuple[tuple[int, ...], Any]
"""A shape and a dtype."""


class MaskedOut(NamedTuple):
    """Options with other values for the parameters that a mask leaves out."""

    mask: Mask
    options: dict[str, Any]


class Moment(NamedTuple):
    """What an argument of optax's asks about how a moment is kept."""

    argument: str
    dtype: np.dtype[Any]
    remedy: str


class Transformation:
    """init and update of one transformation.

    `options` go to the gradstep rule, but functions of the step among them are evaluated by JAX, where the update is
    traced, and handed over with the gradients: a callback must not call JAX.

    A parameter's group in gradstep says which masks leave it out: bit k stands for masked_out[k].
    """

    def __init__(
        self,
        rule: type[gradstep.Optimizer],
        options: dict[str, Any],
        masked_out: Sequence[MaskedOut] = (),
        *,
        first_state: Mapping[str, float] | None = None,
        moment: Moment | None = None,
        context: gradstep.Context | None = None,
    ) -> None:
        self._rule = rule
        self._options = options = plain(options)
        self._masked_out = [MaskedOut(mask, plain(instead)) for mask, instead in masked_out]
        self._first_state = first_state or {}
        self._moment = moment
        self._functions = {
            (name, number): value
            for number, given in self._given()
            for name, value in given.items()
            if callable(value) and not isinstance(value, Schedule)
        }
        if options.get("master_weights"):
            raise Unsupported("master_weights: JAX's arrays are not changed in place; keep float32 parameters")
        self._context = context
        self._entries: list[Entry] = []  # what keeps them alive
        rule([], context=context, **self._first_options())  # refuses bad options here, not in a callback

    def _given(self) -> Iterable[tuple[int, dict[str, Any]]]:
        """Options and whose they are: a mask's number, -1 for the rule."""
        return enumerate([self._options, *(instead for _, instead in self._masked_out)], -1)

    def _first_values(self, whose: int) -> dict[str, float]:
        """What functions of the step say before the first one."""
        return {name: float(function(0)) for (name, number), function in self._functions.items() if number == whose}

    def _first_options(self) -> dict[str, Any]:
        return {**self._options, **self._first_values(-1)}

    def init(self, params: Tree) -> Any:
        leaves = jax.tree_util.tree_leaves_with_path(params)
        names = [_name(path) for path, _ in leaves]
        shapes = [(tuple(jnp.shape(leaf)), jnp.result_type(leaf)) for _, leaf in leaves]
        self._check_dtypes(names, [dtype for _, dtype in shapes])
        create = functools.partial(self._create, names, shapes, self._groups(params), self._forms(params))
        seen = [leaf for _, leaf in leaves if isinstance(leaf, jax.core.Tracer)]
        if seen or is_recorded(jax.lax.add(np.int32(0), np.int32(0))):
            token = on_host(create, jax.ShapeDtypeStruct((2,), jnp.uint32), seen=seen)
        else:
            token = jnp.asarray(create())
        return State(token, jnp.zeros((), jnp.int32))

    def _check_dtypes(self, names: Sequence[str], dtypes: Sequence[Any]) -> None:
        """Refuses what gradstep's rules are not defined for, and moments kept otherwise than asked for."""
        for name, dtype in zip(names, dtypes, strict=True):
            _refuse_complex(f"params: {name}", dtype)
            if self._moment is None:
                continue
            native = np.dtype(np.float64 if dtype == np.float64 else np.float32)
            form = "int8" if self._options.get("quantize_momentum") else self._options.get("state_dtype", "native")
            kept = {"native": native, "bf16": np.dtype(jnp.bfloat16)}.get(form)
            if kept != self._moment.dtype:
                raise Unsupported(
                    f"{self._moment.argument}: is {self._moment.dtype}, gradstep keeps the state of {name} "
                    f"({dtype}) in {kept or form}; {self._moment.remedy}"
                )

    def _groups(self, params: Tree) -> list[int] | None:
        if not self._masked_out:
            return None
        groups = [0] * len(jax.tree_util.tree_leaves(params))
        for number, (mask, _) in enumerate(self._masked_out):
            chosen = spread_over(mask(params) if callable(mask) else mask, params)
            groups = [group | (0 if yes else 1 << number) for group, yes in zip(groups, chosen, strict=True)]
        return groups

    def _forms(self, tree: Tree) -> Any:
        """How leaves become arrays of the gradstep optimizer, for _describe, _take and _put."""
        return None

    def _describe(
        self, names: Sequence[str], shapes: Sequence[Described], groups: Sequence[int] | None, forms: Any
    ) -> tuple[Sequence[str], Sequence[Described], Sequence[int] | None]:
        """Names, shapes with dtypes and groups of the optimizer's parameters, of those of the leaves."""
        return names, shapes, groups

    def _take(self, arrays: list[NDArray[Any]], forms: Any) -> list[NDArray[Any]]:
        return arrays

    def _put(self, deltas: Sequence[NDArray[Any]], forms: Any) -> Sequence[NDArray[Any]]:
        """The deltas of the leaves."""
        return deltas

    def _groups_of(self, optimizer: gradstep.Optimizer, name: str, number: int) -> list[int]:
        """The groups whose value of an option comes from mask `number`, or from the rule's options with -1."""
        if not self._masked_out:
            return [-1]
        having = [k for k, (_, instead) in enumerate(self._masked_out) if name in instead]
        groups = range(optimizer.group_count)
        return [group for group in groups if next((k for k in having if group >> k & 1), -1) == number]

    def _create(
        self, names: Sequence[str], shapes: Sequence[Described], groups: Sequence[int] | None, forms: Any
    ) -> NDArray[Any]:
        names, shapes, groups = self._describe(names, shapes, groups, forms)
        described = [np.broadcast_to(np.zeros((), dtype), shape) for shape, dtype in shapes]
        options = self._first_options()
        for number, (_, instead) in enumerate(self._masked_out):
            if "precondition" in instead:
                options["unpreconditioned"] = [group for group in set(groups or ()) if group >> number & 1]
        optimizer = self._rule(described, names=names, groups=groups, context=self._context, **options)
        for number, (_, instead) in enumerate(self._masked_out):
            for name, value in instead.items():
                for group in self._groups_of(optimizer, name, number):
                    first = float(value(0)) if (name, number) in self._functions else value
                    optimizer.set_value(name, first, group)
        for name, start in self._first_state.items():
            for i, (shape, dtype) in enumerate(shapes):
                optimizer.set_state(i, name, np.full(shape, start, np.float64 if dtype == np.float64 else np.float32))
        entry, token = register(optimizer)
        self._entries.append(entry)
        return token

    def update(self, updates: Tree, state: Any, params: Tree | None = None, **_extra: Any) -> tuple[Tree, Any]:
        self._check_parameters(params)
        return self._step(updates, state, params)

    def _check_parameters(self, params: Tree | None) -> None:
        if params is None and (reader := self._reader_of_parameters()) is not None:
            raise InvalidArgument(f"params: is None; {reader} needs the parameters: update(grads, state, params)")

    def _step(self, updates: Tree, state: State, params: Tree | None, beside: Sequence[Any] = ()) -> tuple[Tree, State]:
        """A step on the host, and _after_step() of what is beside."""
        leaves, structure = jax.tree_util.tree_flatten(updates)
        grads = [_array(leaf) for leaf in leaves]
        targets = None if params is None else [_array(leaf) for leaf in structure.flatten_up_to(params)]
        dtypes = self._update_dtypes(grads, targets)
        step = _array(state.count)
        following = jax.lax.min(step, np.array(np.iinfo(step.dtype).max - 1, step.dtype)) + 1
        values = [function(step) for function in self._functions.values()]
        arguments = (state.token, step, values, grads, targets, beside)
        make = functools.partial(self._update, dtypes, self._forms(updates), on_each_device())
        if is_recorded(following) or any(map(is_recorded, jax.tree_util.tree_leaves(arguments))):
            results = [jax.ShapeDtypeStruct(leaf.shape, dtype) for leaf, dtype in zip(grads, dtypes, strict=True)]
            deltas = on_host(make, results, *arguments)
        else:
            deltas = list(map(_placed, make(*arguments), grads if targets is None else targets, grads))
        return jax.tree_util.tree_unflatten(structure, deltas), State(state.token, following)

    def _reader_of_parameters(self) -> str | None:
        """What makes steps depend on the parameters' values: a rule or an option of it."""
        if self._rule in _READERS:
            return self._rule.__name__
        return next((name for name in _READING_OPTIONS if self._options.get(name, 0.0) != 0), None)

    def _update_dtypes(self, grads: Sequence[Any], targets: Sequence[Any] | None) -> list[Any]:
        """optax's conditions: of a gradient and its state, which has its parameter's dtype, together."""
        for i, grad in enumerate(grads):
            _refuse_complex(f"updates: leaf {i}", grad.dtype)
        stateless = (
            self._rule is gradstep.SGD and not self._options.get("momentum") and not self._reader_of_parameters()
        )
        if targets is None or stateless:
            return [grad.dtype for grad in grads]
        return [
            grad.dtype if grad.dtype == target.dtype else jnp.promote_types(grad.dtype, target.dtype)
            for grad, target in zip(grads, targets, strict=True)
        ]

    def _update(
        self,
        dtypes: Sequence[Any],
        forms: Any,
        on_each_device: bool,
        token: Any,
        step: Any,
        values: Sequence[Any],
        grads: Sequence[Any],
        params: Sequence[Any] | None,
        beside: Sequence[Any],
    ) -> list[NDArray[Any]]:
        """The step itself, on the host."""
        arrays = self._take([np.asarray(grad, order="C") for grad in grads], forms)
        targets = None if params is None else self._take([np.asarray(param) for param in params], forms)
        values, beside = list(map(float, values)), list(map(np.asarray, beside))
        with lock_at(token, step, _ON_EACH_DEVICE if on_each_device else _DROPPED) as optimizer:
            for (name, number), value in zip(self._functions, values, strict=True):
                for group in self._groups_of(optimizer, name, number):
                    optimizer.set_value(name, value, group)
            if targets is None:
                targets = _stand_ins(optimizer, arrays)
            deltas = self._put(optimizer.update(targets, arrays), forms)
            self._after_step(optimizer, beside)
        return [delta.astype(dtype, copy=False) for delta, dtype in zip(deltas, dtypes, strict=True)]

    def _after_step(self, optimizer: gradstep.Optimizer, beside: Sequence[Any]) -> None:
        """What else a step changes."""


def average_of(state: Tree, params: Tree) -> Tree:
    """The averages of the weights that the optimizer behind a state has made, in the dtypes of the parameters."""
    found = state_in(state)
    leaves, structure = jax.tree_util.tree_flatten(params)
    arrays = [_array(leaf) for leaf in leaves]
    step = _array(found.count)
    if any(map(is_recorded, [found.token, jax.lax.add(step, np.array(0, step.dtype)), *arrays])):
        results = [jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) for leaf in arrays]
        averages = on_host(_average, results, found.token, step, arrays)
    else:
        averages = list(map(_placed, _average(found.token, step, arrays), arrays, arrays))
    return jax.tree_util.tree_unflatten(structure, averages)


def _average(token: Any, step: Any, arrays: Sequence[Any]) -> list[NDArray[Any]]:
    copies = [np.array(array, order="C") for array in arrays]
    with lock_at(token, step, _OVERTAKEN) as optimizer:
        if optimizer.step_count > 0:
            optimizer.average(copies)
    return copies


_READERS = (gradstep.Adafactor, gradstep.Lamb, gradstep.Lars, gradstep.Prodigy, gradstep.ScheduleFree, gradstep.Sophia)
_READING_OPTIONS = ("weight_decay", "trust_ratio", "adaptive_clip", "average_decay", "average_equal")

_OVERTAKEN = "the average is that of the state that the last update returned"
_EACH_SERVES_ONE = "each state serves one update, and the next takes the state that this one returns. "
_DROPPED = _EACH_SERVES_ONE + (
    "Wrappers that drop what an update returned cannot hold it, such as optax.MultiSteps (gradstep.Accumulator "
    "accumulates) and optax.contrib.sam without opaque_mode=True"
)
_ON_EACH_DEVICE = _EACH_SERVES_ONE + (
    "In jax.shard_map and jax.pmap every device makes the update, and needs a state of its own: call init in there, or "
    "update outside"
)


def _placed(delta: NDArray[Any], param: Any, grad: Any) -> Any:
    """An update of an array that was put on some devices is put there too."""
    for like in (param, grad):
        if getattr(like, "committed", False):
            return jax.device_put(delta, like.sharding)
    return jnp.asarray(delta)


def _stand_ins(optimizer: gradstep.Optimizer, grads: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Arrays in the places of parameters whose values the rule does not read."""
    if any(optimizer.get_value("weight_decay", group) for group in range(optimizer.group_count)):
        raise InvalidArgument("params: is None; weight_decay needs the parameters: update(grads, state, params)")
    described = optimizer._descriptions
    if len(described) != len(grads):
        return list(grads)  # for gradstep to refuse, which counts them
    return [
        grad if grad.dtype.name == dtype else np.zeros(shape, dtype_of(dtype))
        for grad, (shape, dtype) in zip(grads, described, strict=True)
    ]


def _array(leaf: Any) -> Any:
    """Leaves of NumPy and Python as JAX takes them: float64 is float32 unless x64 is on."""
    return leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)


def _refuse_complex(what: str, dtype: Any) -> None:
    if dtype.kind == "c":
        raise Unsupported(
            f"{what}: is {dtype}, gradstep steps real numbers; wrap the transformation: "
            "optax.contrib.split_real_and_imaginary(gradstep.optax.adam(...))"
        )


def _name(path: Any) -> str:
    """The path of a leaf as a parameter's name: ["layer"]["w"] is layer.w."""
    # A key of a path has one of these, by the kind of container that it is into.
    labels = [next((getattr(key, kind) for kind in ("key", "idx", "name") if hasattr(key, kind)), key) for key in path]
    return ".".join(map(str, labels)) or "param"


def spread_over(values: Tree, tree: Tree, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """For each leaf of a tree, the leaf of `values` that stands for it or for a subtree with it."""
    found: list[Any] = []
    jax.tree_util.tree_map(
        lambda value, part: found.extend([value] * len(jax.tree_util.tree_leaves(part))), values, tree, is_leaf=is_leaf
    )
    return found


def plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Scalars of JAX and NumPy as floats."""
    return {
        name: float(value) if isinstance(value, (jax.Array, np.ndarray, np.generic)) else value
        for name, value in options.items()
    }


def transformation(rule: type[gradstep.Optimizer], options: dict[str, Any], *arguments: Any, **keywords: Any) -> Any:
    """A transformation of one rule."""
    return in_optax_form(Transformation(rule, options, *arguments, **keywords))


def in_optax_form(made: Transformation) -> Any:
    """As optax has those that take extra arguments, and ignore them."""
    return optax.GradientTransformationExtraArgs(made.init, made.update)
