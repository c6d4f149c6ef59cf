# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep's rules as optax transformations: ``optax.apply_updates(params, updates)`` makes the step.

Arguments have optax's names, order, defaults and meaning; keywords beyond optax's are options of the gradstep rule.
What gradstep's rules cannot do as optax does it is refused, with the argument's name and what to do instead.

The state tensors stay in gradstep, so the optax state is two small arrays: a token that says which gradstep optimizer
is meant, and the step that it is at. update() must be given the state that the last update() returned; an older one,
or one of another process, raises InvalidState, as its tensors are gone.

Outside of JAX's tracing, update() reads JAX's arrays where they lie. Wherever JAX traces (jax.jit, scan, cond,
eval_shape, ...) it becomes a callback to the host, and nothing happens before what was traced is run. It needs no
ordering by JAX: the step that one update returns is what the next one takes. There an error is JAX's own, with
gradstep's text. Not possible: jax.vmap and jax.grad of update(), complex numbers (but by
optax.contrib.split_real_and_imaginary), arrays spread over several processes, wrappers that update and then drop the
result (optax.MultiSteps; gradstep has Accumulator; optax.contrib.sam without opaque_mode=True), shard_map with a state
from outside, and optax.inject_hyperparams, which makes a transformation for each
step (a schedule, or set_value of optimizer_of(state)). What an optimizer holds is freed with the transformation that
made it, or by release().
"""

from collections.abc import Mapping
from typing import NoReturn

from gradstep.optax._more_rules import (
    adabelief,
    adadelta,
    adafactor,
    adamax,
    adamaxw,
    adan,
    ademamix,
    adopt,
    dadapt_adamw,
    lamb,
    lars,
    lion,
    nadam,
    nadamw,
    novograd,
    prodigy,
    radam,
    schedule_free_adamw,
    schedule_free_eval_params,
    schedule_free_sgd,
    sign_sgd,
    signum,
    yogi,
)
from gradstep.optax._muon import muon
from gradstep.optax._rules import adagrad, adam, adamw, rmsprop, sgd, shampoo, shampoo_from_adamw
from gradstep.optax._sophia import SophiaState, sophia
from gradstep.optax._states import State, optimizer_of, release

__all__ = [
    "SophiaState",
    "State",
    "adabelief",
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "adamax",
    "adamaxw",
    "adamw",
    "adan",
    "ademamix",
    "adopt",
    "dadapt_adamw",
    "lamb",
    "lars",
    "lion",
    "muon",
    "nadam",
    "nadamw",
    "novograd",
    "optimizer_of",
    "prodigy",
    "radam",
    "release",
    "rmsprop",
    "schedule_free_adamw",
    "schedule_free_eval_params",
    "schedule_free_sgd",
    "sgd",
    "shampoo",
    "shampoo_from_adamw",
    "sign_sgd",
    "signum",
    "sophia",
    "yogi",
]

# What is missing though its name is close to something here.
_INSTEAD: Mapping[str, str] = {
    "amsgrad": "adam(..., amsgrad=True) is PyTorch's rule, which corrects the largest second moment; optax's takes the "
    "largest corrected one: optax.amsgrad",
    "schedule_free": "there are schedule_free_adamw and schedule_free_sgd; optax.contrib.schedule_free wraps other "
    "rules, as gradstep.optax.adam(learning_rate, b1=0.0)",
}


def __getattr__(name: str) -> NoReturn:
    known = f"there are {', '.join(other for other in __all__ if other.islower())}"
    raise AttributeError(f"module 'gradstep.optax' has no {name!r}; {_INSTEAD.get(name, known)}")
