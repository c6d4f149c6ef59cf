# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The repr() of objects that are more than their fields: "<gradstep.Adam: what it is; option=value, ...>".

A debugger may ask for it at any time, from any thread. So it takes no part in a collective call, runs no callback, and
leaves out what the object cannot say now: while another thread is in it, in a forked child, or when creation failed.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradstep.errors import Error


def describe(owner: object, parts: Iterable[Callable[[], str]], options: Mapping[str, Any] | None = None) -> str:
    """The parts that can be said, then the options as they were given."""
    said = ", ".join(filter(None, map(_try, parts)))
    given = ", ".join(f"{name}={value!r}" for name, value in (options or {}).items())
    package = type(owner).__module__.partition(".")[0]
    return f"<{package}.{type(owner).__qualname__}: {'; '.join(filter(None, (said, given)))}>"


def counted(count: int, name: str, several: str | None = None) -> str:
    """ "1 step", "2 steps"."""
    return f"{count} {name}" if count == 1 else f"{count} {several or name + 's'}"


def size_of(shapes: Iterable[tuple[int, ...]]) -> str:
    """ "2 parameters of 12 elements"."""
    sizes = [math.prod(shape) for shape in shapes]
    return f"{counted(len(sizes), 'parameter')} of {counted(sum(sizes), 'element')}"


def _try(part: Callable[[], str]) -> str:
    try:
        return part()
    except (Error, AttributeError):
        return ""
