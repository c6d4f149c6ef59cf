# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Names of earlier commits, which version 0.1 has for the last time."""

import functools
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


def warn_of(old: str, new: str, stacklevel: int = 3) -> None:
    """Warns that `old` is deprecated, as of the caller of the function that calls this."""
    warnings.warn(f"{old} is deprecated, use {new} instead", DeprecationWarning, stacklevel=stacklevel)


def deprecated(new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function does what it did, and warns that `new` takes its place."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*arguments: P.args, **keywords: P.kwargs) -> R:
            warn_of(f"{function.__qualname__}()", new)
            return function(*arguments, **keywords)

        call.__doc__ = f"Deprecated: use {new}."
        return call

    return decorate
