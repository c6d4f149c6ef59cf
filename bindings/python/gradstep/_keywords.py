# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What help() and inspect.signature() say of keywords that are fields of an options struct of the C library.

A TypedDict names the keywords, for type checkers, and annotates each with a Keyword. Defaults are read from the struct.
"""

import functools
import inspect
import math
import textwrap
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from gradstep._options import known_names
from gradstep.schedule import Number

Class = TypeVar("Class", bound=type)


class Keyword(NamedTuple):
    """The text of one keyword, in typing.Annotated: `text` says what it is for, in which unit."""

    text: str
    bounds: str = ""
    """The legal values, where the type does not say it: ">= 0", "> 0", "in [0, 1)", "0 to 12"; the C library checks."""
    enum: str = ""
    """If the field is an enum: the prefix of its C enumerators."""
    choices: tuple[str, ...] = ()
    """If the values are names, and no enum has them: those names."""


class Documented(NamedTuple):
    """A keyword with what its struct knows."""

    kind: Any
    keyword: Keyword
    default: Any
    """inspect.Parameter.empty if it must be given."""


@functools.cache
def keywords_of(table: type) -> dict[str, tuple[Any, Keyword]]:
    """Type and Keyword of each entry of a TypedDict."""
    found = {}
    for name, hint in get_type_hints(table, include_extras=True).items():
        assert get_origin(hint) is Annotated, f"{table.__name__}.{name} has no Keyword"
        kind, keyword = get_args(hint)
        found[name] = (kind, keyword)
    return found


def enums_of(table: type) -> dict[str, str]:
    """The prefixes of the C enumerators, of those entries that are enums."""
    return {name: keyword.enum for name, (_, keyword) in keywords_of(table).items() if keyword.enum}


def documented(table: type, struct: type, *, arguments: str = "") -> Callable[[Class], Class]:
    """A class decorator: the keywords of `table`, whose defaults are in `struct`, join signature and docstring.

    arguments: what is said of the other arguments, before the keywords.
    """
    defaults = struct()
    entries = {
        name: Documented(kind, keyword, _default(getattr(defaults, name), kind, keyword))
        for name, (kind, keyword) in keywords_of(table).items()
    }
    return functools.partial(document, entries=entries, arguments=arguments)


def document(cls: Class, entries: dict[str, Documented], arguments: str) -> Class:
    """The class with keywords in its signature and docstring, those first that must be given."""
    required = {name: entry for name, entry in entries.items() if entry.default is inspect.Parameter.empty}
    entries = {**required, **entries}
    init: Any = cls.__init__  # type: ignore[misc]  # the class's own
    init.__signature__ = _signature(inspect.signature(init), entries)
    if cls.__doc__ is not None:  # python -OO
        paragraphs = (inspect.cleandoc(cls.__doc__), inspect.cleandoc(arguments), describe(entries))
        cls.__doc__ = "\n\n".join(filter(None, paragraphs))
    return cls


def describe(entries: dict[str, Documented]) -> str:
    """One paragraph for each keyword: its default, its legal values, what it is for."""
    scheduled = any(entry.kind == Number for entry in entries.values())
    heading = "Keywords and their defaults" + ("; * takes a schedule or a function of the step, too" * scheduled) + ":"
    paragraphs = [
        textwrap.fill(_line(name, entry), 100, initial_indent="    ", subsequent_indent="        ")
        for name, entry in entries.items()
    ]
    return "\n".join([heading, "", *paragraphs])


def _line(name: str, entry: Documented) -> str:
    required = entry.default is inspect.Parameter.empty
    values = ["must be given"] if required else []
    names = known_names(entry.keyword.enum).values() if entry.keyword.enum else entry.keyword.choices
    if names:
        values.append("or " + ", ".join(_quoted(name) for name in names if name != entry.default))
    if entry.keyword.bounds:
        values.append(entry.keyword.bounds)
    star = "*" * (entry.kind == Number)
    default = "" if required else f" = {_quoted(entry.default)}"
    legal = f" ({', '.join(values)})" if values else ""
    return f"{name}{star}{default}{legal}: {entry.keyword.text}"


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _default(value: Any, kind: Any, keyword: Keyword) -> Any:
    """A field's value in a new struct as the keyword's default."""
    if keyword.enum:
        return known_names(keyword.enum)[value]
    if isinstance(value, float) and math.isnan(value):
        return inspect.Parameter.empty
    return bool(value) if kind is bool else value


def _signature(written: inspect.Signature, entries: dict[str, Documented]) -> inspect.Signature:
    keywords = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=entry.default,
            annotation="Number" if entry.kind == Number else entry.kind,
        )
        for name, entry in entries.items()
    ]
    return spelled_out(written, keywords)


def spelled_out(written: inspect.Signature, keywords: Iterable[inspect.Parameter]) -> inspect.Signature:
    """The signature as written, with the keywords in the place of its `**options`."""
    given = [p for p in written.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    by_position = [p for p in given if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    others = [p for p in given if p.kind is inspect.Parameter.KEYWORD_ONLY]
    return written.replace(parameters=[*by_position, *keywords, *others])
