# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Python keywords as fields of the C library's options structs."""

import difflib
import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple, TypeVar

from gradstep import _native
from gradstep._numbers import any_of_64_bits, set_number
from gradstep.errors import InvalidArgument
from gradstep.schedule import Schedule, as_schedule

_NO_OPTIONS = {"struct_size", "thisown"}

Record = TypeVar("Record", bound=NamedTuple)


def option_names(struct: type) -> tuple[str, ...]:
    """The fields of an options struct that a caller may set."""
    fields = (name for name, member in vars(struct).items() if isinstance(member, property))
    return tuple(name for name in fields if name not in _NO_OPTIONS and not name.startswith("reserved"))


@functools.cache
def known_names(prefix: str) -> dict[int, str]:
    """The lower-case names of the C enumerators that begin with `prefix`, by their values, in the order of these."""
    values = {
        value: name.removeprefix(prefix).lower()
        for name, value in vars(_native).items()
        if name.startswith(prefix) and isinstance(value, int) and value >= 0
    }
    return dict(sorted(values.items()))


def enum_value(prefix: str, name: str, argument: str) -> int:
    """The value of the C enumerator whose name is `prefix` and the upper-case of `name`."""
    value = getattr(_native, prefix + str(name).upper(), None)
    if isinstance(value, int) and value >= 0:
        return value
    raise InvalidArgument(f"{argument}: {name!r} is unknown; known: {', '.join(known_names(prefix).values())}")


# What other libraries call them.
_SYNONYMS = {
    "lr": "learning_rate",
    "betas": "beta1 and beta2",
    "b1": "beta1",
    "b2": "beta2",
    "eps": "epsilon",
    "decay": "rho",
    "alpha": "rho",
    "max_grad_norm": "max_norm",
}


def unknown_option(owner: str, name: str, known: Collection[str]) -> TypeError:
    """The error for a keyword that there is not: with what may have been meant, and all that there are."""
    meant = _SYNONYMS.get(name, "")
    if not set(meant.split(" and ")) <= set(known):
        meant = next(iter(difflib.get_close_matches(name, known, 1)), "")
    hint = f"; did you mean {meant}?" * bool(meant)
    return TypeError(f"{owner}: unknown option {name!r}; known: {', '.join(known)}{hint}")


def set_options(
    struct: Any, owner: str, options: Mapping[str, Any], enums: Mapping[str, str] | None = None
) -> dict[str, Schedule]:
    """Writes keywords into an options struct. Schedules leave their first value there and are returned by name.

    `enums` gives, for fields that are enums, the prefix of their C enumerators.
    """
    schedules = {}
    known = option_names(type(struct))
    for name, value in options.items():
        if name not in known:
            raise unknown_option(owner, name, known)
        if enums is not None and name in enums:
            value = enum_value(enums[name], value, name)
        elif isinstance(getattr(struct, name), float) and (isinstance(value, Schedule) or callable(value)):
            schedules[name] = as_schedule(value)
            value = schedules[name].value(0)
        set_number(struct, name, any_of_64_bits(name, value) if name == "seed" else value, f"{owner}: {name}")
    return schedules


def read_record(struct: Any, record: type[Record]) -> Record:
    """The fields of a result struct that `record` names."""
    return record(*(getattr(struct, name) for name in record._fields))


def read_records(function: Callable[..., tuple[list[Any], int]], pointer: Any) -> list[Any]:
    """Calls a C function that writes an array of records: once for their number, once for them."""
    _, count = function(pointer, 0)
    return function(pointer, count)[0]
