# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers of any library as the C library takes them: Python's own."""

import operator
from typing import Any

import numpy as np

from gradstep.errors import InvalidArgument


def plain(value: Any, like: float) -> Any:
    """`value` as a number of the kind of `like`, an int or a float. Raises TypeError if it is none."""
    if isinstance(value, np.bool_):  # which is no index, unlike Python's
        value = bool(value)
    if isinstance(like, int):
        return operator.index(value)
    # float() would read texts, too.
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        raise TypeError(f"expected a number, found {type(value).__name__}")
    return float(value)


def integer(argument: str, value: Any) -> int:
    """A whole number."""
    if type(value) is int:
        return value
    try:
        return plain(value, 0)
    except TypeError:
        raise TypeError(f"{argument}: cannot be {value!r}, expected a whole number") from None


def index(argument: str, value: Any) -> int:
    """A whole number of at least 0."""
    found = integer(argument, value)
    if found < 0:
        raise InvalidArgument(f"{argument}: is {found}, expected at least 0")
    return found


def real(argument: str, value: Any) -> float:
    """A number."""
    if type(value) is float:
        return value
    try:
        return plain(value, 0.0)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{argument}: cannot be {value!r}, expected a number") from None


def set_number(struct: Any, field: str, value: Any, argument: str) -> None:
    """Writes a number into a field of a C struct. Raises TypeError that names the argument."""
    try:
        setattr(struct, field, plain(value, getattr(struct, field)))
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(f"{argument} cannot be {value!r}") from error


def any_of_64_bits(argument: str, value: Any) -> int:
    """A whole number of 64 bits, signed or not, as C's int64_t of the same bits."""
    found = integer(argument, value)
    if not -(2**63) <= found < 2**64:
        raise InvalidArgument(f"{argument}: is {found}, expected a whole number of 64 bits")
    return (found + 2**63) % 2**64 - 2**63
