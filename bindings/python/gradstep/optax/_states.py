# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The states of transformations: each stands for a gradstep optimizer of this process, in which the tensors stay."""

import contextlib
import itertools
import os
import threading
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
from numpy.typing import NDArray

import gradstep
from gradstep.errors import InvalidArgument, InvalidState

Tree: TypeAlias = Any
"""A pytree of float arrays."""


class State(NamedTuple):
    """The state of a transformation: uint32[2], and int32[], which stays at its largest as optax's counts do."""

    token: Any
    count: Any

    @property
    def step(self) -> Any:
        """The count."""
        return self.count


State.__module__ = "gradstep.optax"  # where pickles look for it


class Entry:
    """A gradstep optimizer, to be found by its token as long as its transformation lives.

    The lock is held from the check of a state to the end of its step: devices of JAX call the host at the same time.
    No thread that holds it waits for what JAX computes. A call from inside a step, such as one of a context's log, gets
    past the lock, and the handle refuses it.
    """

    def __init__(self, optimizer: gradstep.Optimizer) -> None:
        self.optimizer: gradstep.Optimizer | None = optimizer
        self.lock = threading.RLock()


# The first half of a token tells processes apart: a state that was saved finds nothing after a restart.
_process = int.from_bytes(os.urandom(4), "little")
_numbers = itertools.count()
_entries: "weakref.WeakValueDictionary[tuple[int, ...], Entry]" = weakref.WeakValueDictionary()


def _unlock_all() -> None:
    """In a forked child, which lacks the threads that held the locks."""
    for entry in _entries.values():
        entry.lock = threading.RLock()


if hasattr(os, "register_at_fork"):  # Windows has no fork()
    os.register_at_fork(after_in_child=_unlock_all)


def register(optimizer: gradstep.Optimizer) -> tuple[Entry, NDArray[np.uint32]]:
    """An entry, to be kept as long as the optimizer is to be found, and its token."""
    token = (_process, next(_numbers) % 2**32)
    _entries[token] = entry = Entry(optimizer)
    return entry, np.array(token, np.uint32)


def optimizer_of(state: Tree) -> gradstep.Optimizer:
    """The gradstep optimizer behind a state, or behind the only one in a state of optax.chain, masked, ...

    Serves to save it, load it, or look into it. After a load() go on with
    ``state._replace(count=jnp.int32(optimizer.step_count))``.
    """
    return _found(_entries.get(_key(state)))


@contextlib.contextmanager
def lock_at(token: Any, step: Any, reason: str) -> Iterator[gradstep.Optimizer]:
    """The optimizer behind a state, for one thread at a time; `reason` ends the error of a state at another step."""
    entry, count = _entries.get(_key(State(token, step))), int(step)
    with entry.lock if entry else contextlib.nullcontext():
        optimizer = _found(entry)
        if count != min(optimizer.step_count, np.iinfo(step.dtype).max):
            raise InvalidState(f"state: is of step {count}, its optimizer is at step {optimizer.step_count}; {reason}")
        yield optimizer


def _found(entry: Entry | None) -> gradstep.Optimizer:
    if entry is None or entry.optimizer is None:
        raise InvalidState(
            "state: its optimizer is gone: it belongs to another process, was released, or went with its "
            "transformation, which must be kept"
        )
    return entry.optimizer


def release(state: Tree) -> None:
    """Frees what gradstep holds for a state. Updates with it raise InvalidState from then on."""
    entry = _entries.get(_key(state))
    if entry is not None:
        entry.optimizer = None


def state_in(state: Tree) -> State:
    """The only one in a state of optax.chain, masked, ..."""
    if isinstance(state, State):
        return state
    parts = jax.tree_util.tree_leaves(state, is_leaf=lambda part: isinstance(part, State))
    found = [part for part in parts if isinstance(part, State)]
    if len(found) != 1:
        raise InvalidArgument(f"state: expected one gradstep.optax.State in it, found {len(found)}")
    return found[0]


def _key(state: Tree) -> tuple[int, ...]:
    return tuple(np.asarray(state_in(state).token).tolist())
