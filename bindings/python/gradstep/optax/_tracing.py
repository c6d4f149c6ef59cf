# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What JAX records instead of computing it, and the calls of the host that are recorded then."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.custom_batching import custom_vmap
from jax.experimental import io_callback

from gradstep.errors import Unsupported


def is_recorded(value: Any) -> bool:
    """Whether JAX stands at recording or transforming `value`.

    What jit, cond, scan or eval_shape trace may be given concrete arrays alone, but the result of any operation on them
    is recorded: that is how to tell.
    """
    return isinstance(value, jax.core.Tracer)


def on_each_device() -> bool:
    """Whether what JAX traces runs on each device of a mesh, as in shard_map and pmap."""
    mesh = getattr(jax.sharding, "get_abstract_mesh", lambda: None)()
    return bool(getattr(mesh, "manual_axes", ()))


def on_host(function: Callable[..., Any], results: Any, *arguments: Any, seen: Sequence[Any] = ()) -> Any:
    """Records a call of the host. `seen` is not handed over, but tells whether there is a vmap around."""

    @custom_vmap  # type: ignore[untyped-decorator]
    def call(arguments: Any, _seen: Any) -> Any:
        return io_callback(function, results, *arguments)

    @call.def_vmap  # type: ignore[untyped-decorator]
    def refuse(_size: int, _batched: Any, _arguments: Any, _seen: Any) -> Any:
        raise Unsupported(
            "jax.vmap: a state stands for one optimizer, which cannot be mapped; call init and update outside of "
            "jax.vmap on the stacked trees, which elementwise rules (all but shampoo) step just the same, or give each "
            "member a state of its own in a Python loop"
        )

    return call(arguments, list(seen))


def refuse_injected(arguments: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """A transformation made for a single step, of numbers that JAX traces, has nowhere to keep its state.

    optax.inject_hyperparams hands over what no caller does: the keywords that are left over, by their collective name.
    """
    if any(map(is_recorded, [*arguments, *keywords.values()])) or isinstance(keywords.get("options"), dict):
        raise Unsupported(
            "optax.inject_hyperparams makes a transformation for every step, and gradstep's would take its state with "
            "it; give a schedule as the hyper-parameter, or set it between steps: "
            "gradstep.optax.optimizer_of(state).set_value(name, value)"
        )
