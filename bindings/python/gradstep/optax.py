# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep's rules as optax transformations: ``optax.apply_updates(params, updates)`` makes the step.

Names and defaults of arguments are optax's. The state tensors stay in gradstep, so the optax state is two small arrays:
a token that says which gradstep optimizer is meant, and the step that it is at. update() must be given the state that
the last update() returned; an older one, or one of another process, raises InvalidState, as its tensors are gone.

Outside of jax.jit, update() reads JAX's arrays where they lie. Inside (and in jax.lax.scan, cond and while_loop) it is
a callback to the host, which needs no ordering by JAX: the step that one update returns is what the next one takes.
There an error is JAX's own, with gradstep's text. Not possible: jax.vmap and jax.grad of update(), arrays spread over
several processes, wrappers that update and then drop the result (optax.MultiSteps; gradstep has Accumulator), and
optax.inject_hyperparams, which makes a transformation for each step (a schedule, or set_value of optimizer_of(state)).
What an optimizer holds is freed with the transformation that made it, or by release().
"""

import itertools
import os
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.experimental import io_callback

import gradstep
from gradstep.errors import InvalidArgument, InvalidState
from gradstep.schedule import Schedule

__all__ = [
    "State",
    "adagrad",
    "adam",
    "adamw",
    "optimizer_of",
    "release",
    "rmsprop",
    "sgd",
    "shampoo",
    "shampoo_from_adamw",
]

Tree: TypeAlias = Any
"""A pytree of float arrays."""

ScalarOrSchedule: TypeAlias = float | Schedule | Callable[[Any], Any]
"""A constant; a gradstep schedule; or an optax one, a function of the step in JAX."""


class State(NamedTuple):
    """The state of a transformation: uint32[2] and int32[]."""

    token: Any
    step: Any


class _Entry:
    """A gradstep optimizer, to be found by its token as long as its transformation lives."""

    def __init__(self, optimizer: gradstep.Optimizer) -> None:
        self.optimizer: gradstep.Optimizer | None = optimizer


# The first half of a token tells processes apart: a state that was saved finds nothing after a restart.
_process = int.from_bytes(os.urandom(4), "little")
_numbers = itertools.count()
_entries: "weakref.WeakValueDictionary[tuple[int, ...], _Entry]" = weakref.WeakValueDictionary()


def optimizer_of(state: State) -> gradstep.Optimizer:
    """The gradstep optimizer behind a state: to save it, load it, or look into it.

    After a load() go on with ``state._replace(step=jnp.int32(optimizer.step_count))``.
    """
    entry = _entries.get(_key(state.token))
    if entry is None or entry.optimizer is None:
        raise InvalidState(
            "state: its optimizer is gone: it belongs to another process, was released, or went with its transformation"
        )
    return entry.optimizer


def release(state: State) -> None:
    """Frees what gradstep holds for a state. Updates with it raise InvalidState from then on."""
    entry = _entries.get(_key(state.token))
    if entry is not None:
        entry.optimizer = None


def _key(token: Any) -> tuple[int, ...]:
    return tuple(np.asarray(token).tolist())


Mask: TypeAlias = Tree | Callable[[Tree], Tree]
"""A tree of bools, whose leaves may stand for subtrees; or a function that makes one of the parameters."""


class _MaskedOut(NamedTuple):
    """Options with other values for the parameters that a mask leaves out."""

    mask: Mask
    options: dict[str, Any]


class _Transformation:
    """init and update of one transformation.

    `options` go to the gradstep rule, but functions of the step among them are evaluated by JAX, where the update is
    traced, and handed over with the gradients: a callback must not call JAX.

    A parameter's group in gradstep says which masks leave it out: bit k stands for masked_out[k].
    """

    def __init__(
        self,
        rule: type[gradstep.Optimizer],
        options: dict[str, Any],
        masked_out: Sequence[_MaskedOut] = (),
        context: gradstep.Context | None = None,
    ) -> None:
        self._rule = rule
        self._options = options = _plain(options)
        self._masked_out = [_MaskedOut(mask, _plain(instead)) for mask, instead in masked_out]
        # By name and number of the mask, -1 for the rule's own options.
        self._functions = {
            (name, number): value
            for number, given in enumerate([options, *(instead for _, instead in self._masked_out)], -1)
            for name, value in given.items()
            if callable(value) and not isinstance(value, Schedule)
        }
        if options.get("master_weights"):
            raise gradstep.Unsupported("master_weights: JAX's arrays are not changed in place; keep float32 parameters")
        self._context = context
        self._entries: list[_Entry] = []  # what keeps them alive
        rule([], context=context, **self._first_options())  # refuses bad options here, not in a callback

    def _first_options(self) -> dict[str, Any]:
        functions = {name: function for (name, number), function in self._functions.items() if number < 0}
        return {**self._options, **{name: float(function(0)) for name, function in functions.items()}}

    def init(self, params: Tree) -> State:
        leaves = jax.tree_util.tree_leaves_with_path(params)
        names = [_name(path) for path, _ in leaves]
        shapes = [(tuple(jnp.shape(leaf)), jnp.result_type(leaf)) for _, leaf in leaves]
        groups = self._groups(params)
        traced = any(isinstance(leaf, jax.core.Tracer) for _, leaf in leaves)

        def create() -> Any:
            return self._create(names, shapes, groups)

        token = io_callback(create, jax.ShapeDtypeStruct((2,), jnp.uint32)) if traced else jnp.asarray(create())
        return State(token, jnp.zeros((), jnp.int32))

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

    def _create(self, names: list[str], shapes: Sequence[tuple[Any, Any]], groups: list[int] | None) -> Any:
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
        token = (_process, next(_numbers) % 2**32)
        _entries[token] = entry = _Entry(optimizer)
        self._entries.append(entry)
        return np.array(token, np.uint32)

    def update(self, updates: Tree, state: State, params: Tree | None = None) -> tuple[Tree, State]:
        if params is None:
            raise InvalidArgument("params: is None; gradstep's update needs the parameters")
        grads, structure = jax.tree_util.tree_flatten(updates)
        targets = structure.flatten_up_to(params)
        values = [function(state.step) for function in self._functions.values()]
        arguments = (state.token, state.step, values, grads, targets)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(arguments)):
            results = [jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)) for leaf in targets]
            deltas = io_callback(self._update, results, *arguments)
        else:
            deltas = [jnp.asarray(delta) for delta in self._update(*arguments)]
        return jax.tree_util.tree_unflatten(structure, deltas), State(state.token, state.step + 1)

    def _update(self, token: Any, step: Any, values: Sequence[Any], grads: Sequence[Any], params: Sequence[Any]) -> Any:
        optimizer = optimizer_of(State(token, step))
        if int(step) != optimizer.step_count:
            raise InvalidState(
                f"state: is of step {int(step)}, its optimizer is at step {optimizer.step_count}; "
                "each state serves one update, and the next takes the state that this one returns"
            )
        for (name, number), value in zip(self._functions, values, strict=True):
            for group in self._groups_of(optimizer, name, number):
                optimizer.set_value(name, float(value), group)
        targets = [np.asarray(param) for param in params]
        return optimizer.update(targets, [np.asarray(grad, order="C") for grad in grads])


def _name(path: Any) -> str:
    """The path of a leaf as a parameter's name: ["layer"]["w"] is layer.w."""
    return jax.tree_util.keystr(path, simple=True, separator=".") or "param"


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """Scalars of JAX and NumPy as floats."""
    return {
        name: float(value) if isinstance(value, (jax.Array, np.generic)) else value for name, value in options.items()
    }


def _without_decay(mask: Mask | None) -> list[_MaskedOut]:
    return [] if mask is None else [_MaskedOut(mask, {"weight_decay": 0.0})]


def _transformation(*arguments: Any, **keywords: Any) -> Any:
    made = _Transformation(*arguments, **keywords)
    return optax.GradientTransformation(made.init, made.update)


def sgd(
    learning_rate: ScalarOrSchedule,
    momentum: ScalarOrSchedule | None = None,
    nesterov: bool = False,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.sgd. Further options are those of gradstep.SGD."""
    fields = {"learning_rate": learning_rate, "momentum": momentum or 0.0, "nesterov": nesterov and bool(momentum)}
    return _transformation(gradstep.SGD, {**fields, **options}, context=context)


def rmsprop(
    learning_rate: ScalarOrSchedule,
    decay: ScalarOrSchedule = 0.9,
    eps: ScalarOrSchedule = 1e-8,
    eps_in_sqrt: bool = True,
    centered: bool = False,
    momentum: ScalarOrSchedule | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.rmsprop. Further options are those of gradstep.RMSProp.

    With momentum and a scheduled learning rate it differs from optax, whose momentum is of steps already scaled.
    """
    fields = {
        "learning_rate": learning_rate,
        "rho": decay,
        "epsilon": eps,
        "epsilon_placement": "inside" if eps_in_sqrt else "outside",
        "centered": centered,
        "momentum": momentum or 0.0,
    }
    return _transformation(gradstep.RMSProp, {**fields, **options}, context=context)


def adagrad(
    learning_rate: ScalarOrSchedule,
    initial_accumulator_value: float = 0.1,
    eps: ScalarOrSchedule = 1e-7,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adagrad. Further options are those of gradstep.AdaGrad."""
    fields = {"learning_rate": learning_rate, "initial_accumulator": initial_accumulator_value, "epsilon": eps}
    return _transformation(gradstep.AdaGrad, {**fields, **options}, context=context)


def adam(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adam. Further options are those of gradstep.Adam."""
    fields = {"learning_rate": learning_rate, "beta1": b1, "beta2": b2, "epsilon": eps}
    return _transformation(gradstep.Adam, {**fields, **options}, context=context)


def adamw(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    weight_decay: ScalarOrSchedule = 1e-4,
    mask: Mask | None = None,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.adamw. Further options are those of gradstep.Adam.

    mask: a tree of bools, or a function that makes one of the parameters: which of them decay.
    """
    fields = {
        "learning_rate": learning_rate,
        "beta1": b1,
        "beta2": b2,
        "epsilon": eps,
        "weight_decay": weight_decay,
        "decoupled_weight_decay": True,
    }
    return _transformation(gradstep.Adam, {**fields, **options}, _without_decay(mask), context=context)


def shampoo(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    weight_decay: ScalarOrSchedule = 0.0,
    mask: Mask | None = None,
    *,
    precondition_mask: Mask | None = None,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """gradstep.Shampoo, whose further options it takes.

    mask: a tree of bools, or a function that makes one of the parameters: which of them decay.
    precondition_mask: likewise, which are preconditioned; the others step by the grafting rule and keep no matrices.
    """
    fields = {"learning_rate": learning_rate, "beta1": b1, "beta2": b2, "weight_decay": weight_decay}
    masked_out = _without_decay(mask)
    if precondition_mask is not None:
        masked_out.append(_MaskedOut(precondition_mask, {"precondition": 0.0}))
    return _transformation(gradstep.Shampoo, {**fields, **options}, masked_out, context=context)


def shampoo_from_adamw(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.9,
    b2: ScalarOrSchedule = 0.999,
    eps: ScalarOrSchedule = 1e-8,
    weight_decay: ScalarOrSchedule = 1e-4,
    mask: Mask | None = None,
    *,
    precondition_mask: Mask | None = None,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """Shampoo in the place of a tuned adamw(), with steps of its length; gradstep.Shampoo.from_adamw says how.

    precondition_mask: which parameters are preconditioned; the others stay with AdamW itself.
    """
    fields = {
        "learning_rate": learning_rate,
        "beta1": b1,
        "beta2": b2,
        "graft_beta1": 0.0,
        "graft_beta2": b2,
        "diagonal_epsilon": eps,
        "weight_decay": weight_decay,
        **gradstep.Shampoo.ADAMW_OPTIONS,
    }
    masked_out = _without_decay(mask)
    if precondition_mask is not None:
        momentum = {} if options.get("eigenvalue_corrected") else {"beta1": 0.0, "graft_beta1": b1}
        masked_out.append(_MaskedOut(precondition_mask, {"precondition": 0.0, **momentum}))
    return _transformation(gradstep.Shampoo, {**fields, **options}, masked_out, context=context)
