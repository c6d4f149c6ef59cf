# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""init and update of the transformations.

Whatever touches an optimizer runs on the host when the program runs, never while JAX records one. Where JAX computes
at once, update() steps at once; where it records (jit, scan, cond, eval_shape, ...), a call of the host is recorded.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from numpy.typing import NDArray

import gradstep
from gradstep._arrays import dtype_of
from gradstep.errors import InvalidArgument, InvalidState, Unsupported
from gradstep.optax._states import Entry, State, Tree, optimizer_of, register
from gradstep.optax._tracing import is_recorded, on_each_device, on_host
from gradstep.schedule import Schedule

Mask: TypeAlias = Tree | Callable[[Tree], Tree]
"""A tree of bools, whose leaves may stand for subtrees; or a function that makes one of the parameters."""


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
        self._options = options = _plain(options)
        self._masked_out = [MaskedOut(mask, _plain(instead)) for mask, instead in masked_out]
        self._first_state = first_state or {}
        self._moment = moment
        # By name and number of the mask, -1 for the rule's own options.
        self._functions = {
            (name, number): value
            for number, given in enumerate([options, *(instead for _, instead in self._masked_out)], -1)
            for name, value in given.items()
            if callable(value) and not isinstance(value, Schedule)
        }
        if options.get("master_weights"):
            raise Unsupported("master_weights: JAX's arrays are not changed in place; keep float32 parameters")
        self._context = context
        self._entries: list[Entry] = []  # what keeps them alive
        rule([], context=context, **self._first_options())  # refuses bad options here, not in a callback

    def _first_options(self) -> dict[str, Any]:
        functions = {name: function for (name, number), function in self._functions.items() if number < 0}
        return {**self._options, **{name: float(function(0)) for name, function in functions.items()}}

    def init(self, params: Tree) -> State:
        leaves = jax.tree_util.tree_leaves_with_path(params)
        names = [_name(path) for path, _ in leaves]
        shapes = [(tuple(jnp.shape(leaf)), jnp.result_type(leaf)) for _, leaf in leaves]
        self._check_dtypes(names, [dtype for _, dtype in shapes])
        create = functools.partial(self._create, names, shapes, self._groups(params))
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
            tree = mask(params) if callable(mask) else mask
            chosen = jax.tree_util.tree_map(
                lambda yes, part: jax.tree_util.tree_map(lambda _: bool(yes), part), tree, params
            )
            left_out = [0 if yes else 1 << number for yes in jax.tree_util.tree_leaves(chosen)]
            groups = [group | bit for group, bit in zip(groups, left_out, strict=True)]
        return groups

    def _groups_of(self, optimizer: gradstep.Optimizer, name: str, number: int) -> list[int]:
        """The groups whose value of an option comes from mask `number`, or from the rule's options with -1."""
        if not self._masked_out:
            return [-1]
        having = [k for k, (_, instead) in enumerate(self._masked_out) if name in instead]
        groups = range(optimizer.group_count)
        return [group for group in groups if next((k for k in having if group >> k & 1), -1) == number]

    def _create(self, names: list[str], shapes: Sequence[tuple[Any, Any]], groups: list[int] | None) -> NDArray[Any]:
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

    def update(self, updates: Tree, state: State, params: Tree | None = None, **_extra: Any) -> tuple[Tree, State]:
        leaves, structure = jax.tree_util.tree_flatten(updates)
        grads = [_array(leaf) for leaf in leaves]
        targets = None if params is None else [_array(leaf) for leaf in structure.flatten_up_to(params)]
        if targets is None and self._reads_parameters():
            raise InvalidArgument("params: is None; weight_decay needs the parameters: update(grads, state, params)")
        dtypes = self._update_dtypes(grads, targets)
        step = _array(state.count)
        following = jax.lax.min(step, np.array(np.iinfo(step.dtype).max - 1, step.dtype)) + 1
        values = [function(step) for function in self._functions.values()]
        arguments = (state.token, step, values, grads, targets)
        make = functools.partial(self._update, dtypes, on_each_device())
        if is_recorded(following) or any(map(is_recorded, jax.tree_util.tree_leaves(arguments))):
            results = [jax.ShapeDtypeStruct(leaf.shape, dtype) for leaf, dtype in zip(grads, dtypes, strict=True)]
            deltas = on_host(make, results, *arguments)
        else:
            deltas = list(map(_placed, make(*arguments), grads if targets is None else targets, grads))
        return jax.tree_util.tree_unflatten(structure, deltas), State(state.token, following)

    def _reads_parameters(self) -> bool:
        """Whether the options of the rule make its steps depend on the parameters' values."""
        return self._options.get("weight_decay", 0.0) != 0

    def _update_dtypes(self, grads: Sequence[Any], targets: Sequence[Any] | None) -> list[Any]:
        """Those of optax: of a gradient and its state, which has its parameter's dtype, together."""
        for i, grad in enumerate(grads):
            _refuse_complex(f"updates: leaf {i}", grad.dtype)
        stateless = self._rule is gradstep.SGD and not self._options.get("momentum") and not self._reads_parameters()
        if targets is None or stateless:
            return [grad.dtype for grad in grads]
        return [
            grad.dtype if grad.dtype == target.dtype else jnp.promote_types(grad.dtype, target.dtype)
            for grad, target in zip(grads, targets, strict=True)
        ]

    def _update(
        self,
        dtypes: Sequence[Any],
        on_each_device: bool,
        token: Any,
        step: Any,
        values: Sequence[Any],
        grads: Sequence[Any],
        params: Sequence[Any] | None,
    ) -> list[NDArray[Any]]:
        """The step itself, on the host."""
        optimizer = optimizer_of(State(token, step))
        if int(step) != min(optimizer.step_count, np.iinfo(step.dtype).max):
            reason = _ON_EACH_DEVICE if on_each_device else _DROPPED
            raise InvalidState(
                f"state: is of step {int(step)}, its optimizer is at step {optimizer.step_count}; "
                f"each state serves one update, and the next takes the state that this one returns. {reason}"
            )
        for (name, number), value in zip(self._functions, values, strict=True):
            for group in self._groups_of(optimizer, name, number):
                optimizer.set_value(name, float(value), group)
        arrays = [np.asarray(grad, order="C") for grad in grads]
        targets = _stand_ins(optimizer, arrays) if params is None else [np.asarray(param) for param in params]
        deltas = optimizer.update(targets, arrays)
        return [delta.astype(dtype, copy=False) for delta, dtype in zip(deltas, dtypes, strict=True)]


_DROPPED = (
    "Wrappers that drop what an update returned cannot hold it, such as optax.MultiSteps (gradstep.Accumulator "
    "accumulates) and optax.contrib.sam without opaque_mode=True"
)
_ON_EACH_DEVICE = (
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


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Scalars of JAX and NumPy as floats."""
    return {
        name: float(value) if isinstance(value, (jax.Array, np.ndarray, np.generic)) else value
        for name, value in options.items()
    }


def transformation(rule: type[gradstep.Optimizer], options: dict[str, Any], *arguments: Any, **keywords: Any) -> Any:
    """A transformation in the form that optax has for those that take extra arguments, and ignore them."""
    made = Transformation(rule, options, *arguments, **keywords)
    return optax.GradientTransformationExtraArgs(made.init, made.update)
