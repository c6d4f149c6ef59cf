# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""optax.contrib.sophia: gradstep makes the steps, JAX the estimates of the Hessian's diagonal."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

import gradstep
from gradstep._numbers import integer
from gradstep.errors import InvalidArgument, Unsupported
from gradstep.optax._rules import ScalarOrSchedule, alias, first_moment, without_decay
from gradstep.optax._states import State, Tree
from gradstep.optax._tracing import is_recorded
from gradstep.optax._transformation import Mask, Transformation, in_optax_form


class SophiaState(NamedTuple):
    """The state of sophia()."""

    optimizer: State
    hessian_fn_state: Any


SophiaState.__module__ = "gradstep.optax"  # where pickles look for it


class _Sophia(Transformation):
    """The state `hessian` is a mean of estimates, of which there is a new one every few steps."""

    def __init__(self, estimator: Any, interval: int, share: float, *arguments: Any, **keywords: Any) -> None:
        super().__init__(gradstep.Sophia, *arguments, **keywords)
        self._estimator, self._interval, self._share = optax.with_extra_args_support(estimator), interval, share

    def init(self, params: Tree) -> Any:
        return SophiaState(super().init(params), self._estimator.init(params))

    def update(self, updates: Tree, state: Any, params: Tree | None = None, **extra: Any) -> tuple[Tree, Any]:
        self._check_parameters(params)

        def estimate() -> tuple[list[Any], Any]:
            found, after = self._estimator.update(updates, state.hessian_fn_state, params=params, **extra)
            return jax.tree_util.tree_structure(updates).flatten_up_to(found), after

        step = jnp.asarray(state.optimizer.count)
        is_due = jax.lax.rem(step, np.array(self._interval, step.dtype)) == 0
        diagonal: list[Any] = []
        after = state.hessian_fn_state
        if any(map(is_recorded, jax.tree_util.tree_leaves((is_due, updates, params, after)))):
            shapes, _ = jax.eval_shape(estimate)
            before = after
            diagonal, after = jax.lax.cond(
                is_due, estimate, lambda: ([jnp.zeros(each.shape, each.dtype) for each in shapes], before)
            )
        elif is_due:
            diagonal, after = estimate()
        for i, (found, leaf) in enumerate(zip(diagonal, jax.tree_util.tree_leaves(updates), strict=False)):
            if jnp.shape(found) != jnp.shape(leaf):
                raise InvalidArgument(
                    f"hessian_diagonal_fn: leaf {i} has shape {jnp.shape(found)}, expected {jnp.shape(leaf)}"
                )
        deltas, following = self._step(updates, state.optimizer, params, [is_due, *diagonal])
        return deltas, SophiaState(following, after)

    def _after_step(self, optimizer: gradstep.Optimizer, beside: Sequence[Any]) -> None:
        is_due, *diagonal = beside
        if not is_due:
            return
        for i, found in enumerate(diagonal):
            mean = optimizer.get_state(i, "hessian")
            optimizer.set_state(i, "hessian", self._share * mean + (1 - self._share) * found.astype(mean.dtype))


@alias
def sophia(
    learning_rate: ScalarOrSchedule,
    b1: ScalarOrSchedule = 0.965,
    b2: float = 0.99,
    eps: ScalarOrSchedule = 1e-8,
    weight_decay: ScalarOrSchedule = 1e-4,
    weight_decay_mask: Mask | None = None,
    gamma: ScalarOrSchedule = 0.01,
    clip_threshold: ScalarOrSchedule | None = 1.0,
    update_interval: int = 10,
    hessian_diagonal_fn: Any | None = None,
    mu_dtype: Any | None = None,
    verbose: bool = False,
    print_win_rate_every_n_steps: int = 0,
    *,
    context: gradstep.Context | None = None,
    **options: Any,
) -> Any:
    """optax.contrib.sophia, but for verbose. Further options are those of gradstep.Sophia.

    hessian_diagonal_fn: None = optax.contrib.hutchinson_estimator_diag_hessian(), whose update takes obj_fn. What it
        keeps is in the state, as an array beside gradstep's: save it too.
    """
    if verbose:
        raise Unsupported("verbose: gradstep does not count what it clips; leave it out, or use optax.contrib.sophia")
    if not 0 <= b2 < 1:
        raise InvalidArgument(f"b2: expected a number of at least 0 and below 1, found {b2}")
    interval = integer("update_interval", update_interval)
    if interval < 1:
        raise InvalidArgument(f"update_interval: expected a whole number of at least 1, found {interval}")
    fields = {
        "learning_rate": learning_rate,
        "beta1": b1,
        "epsilon": eps,
        "weight_decay": weight_decay,
        "gamma": gamma,
        "clip_threshold": _UNCLIPPED if clip_threshold is None else clip_threshold,
    }
    estimator = hessian_diagonal_fn or optax.contrib.hutchinson_estimator_diag_hessian()
    masked_out, moment = without_decay(weight_decay_mask), first_moment(mu_dtype)
    made = _Sophia(estimator, interval, float(b2), {**fields, **options}, masked_out, moment=moment, context=context)
    return in_optax_form(made)


_UNCLIPPED = 3e38  # of f32
