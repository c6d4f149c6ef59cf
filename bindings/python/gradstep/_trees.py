# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays by name: dicts, lists and tuples of arrays, and of each other."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from gradstep._numbers import index
from gradstep.errors import InvalidArgument


def is_sequence(tree: object) -> bool:
    """Whether indices are its keys: it is a list or a tuple, but no NamedTuple, whose keys are its fields."""
    return isinstance(tree, list) or (isinstance(tree, tuple) and not hasattr(tree, "_fields"))


def is_tree(arrays: Any) -> bool:
    """Whether it has names: it is a dict or a NamedTuple, or a list or tuple that has others in it."""
    if is_sequence(arrays):
        return any(type(each) in (list, tuple, dict) or isinstance(each, (list, tuple, Mapping)) for each in arrays)
    return isinstance(arrays, (tuple, Mapping))


def leaves(tree: Any, path: str = "", first: int = 0) -> Iterator[tuple[str, Any]]:
    """What is in a tree, each with the keys and indices that lead there: "layers.0.weight".

    first: the index of a sequence's first entry.
    """
    if isinstance(tree, Mapping):
        branches: Iterable[tuple[object, object]] = tree.items()
    elif is_sequence(tree):
        branches = enumerate(tree, first)
    elif isinstance(tree, tuple):
        branches = zip(tree._fields, tree, strict=True)  # type: ignore[attr-defined]
    else:
        yield path, tree
        return
    for key, branch in branches:
        yield from leaves(branch, f"{path}.{key}" if path else str(key))


class Names(list[str]):
    """The names of a handle's parameters, in their order.

    branches: how many entries the list or tuple has that they are of, so that one is a tree in calls, too; 0 = they are
        of a dict, or were given.
    """

    def __init__(self, names: Iterable[str], branches: int = 0) -> None:
        super().__init__(names)
        self.branches = branches

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self)}

    def _leaves_of(self, path: str) -> list[str]:
        """The parameters of a branch; for any other path, the path itself."""
        of_branch = [] if path in self._places else [name for name in self if name.startswith(f"{path}.")]
        return of_branch or [path]

    def ordered(self, argument: str, arrays: Any) -> Any:
        """The leaves of a tree in the order of the parameters; what is no tree, as it is.

        None in the place of a branch stands for all of its leaves.
        """
        if (is_sequence(arrays) and not self.branches) or not is_tree(arrays):
            return arrays
        found: dict[str, Any] = {}
        for path, leaf in leaves(arrays):
            for name in self._leaves_of(path) if leaf is None else (path,):
                if name in found:
                    raise InvalidArgument(f"{argument}: has two entries {name!r}, expected one for each parameter")
                found[name] = leaf
        for name in self:
            if name not in found:
                raise InvalidArgument(f"{argument}: has no {name!r}, expected one entry for each parameter")
        if len(found) > len(self):
            unknown = next(name for name in found if name not in self._places)
            raise InvalidArgument(f"{argument}: {unknown!r} is no parameter, expected one of {', '.join(self)}")
        return [found[name] for name in self]

    def place(self, name: str) -> int:
        """The index of a parameter."""
        found = self._places.get(name)
        if found is None:
            raise InvalidArgument(f"i: {name!r} is no parameter, expected one of {', '.join(self)}")
        return found


class Named:
    """What has parameters that may have names."""

    _names: Names | None = None

    def _ordered(self, argument: str, arrays: Any) -> Any:
        """The arrays of a call in the order of the parameters."""
        if self._names is not None:
            return self._names.ordered(argument, arrays)
        if isinstance(arrays, Mapping):
            raise InvalidArgument(f"{argument}: expected a sequence of arrays, found {type(arrays).__name__}")
        return arrays

    def _index_of(self, i: int | str) -> int:
        """The index of a parameter, at least 0, which may be given by its name."""
        if not isinstance(i, str):
            return index("i", i)
        if self._names is None:
            raise InvalidArgument(f"i: is {i!r}, expected a number: the parameters were given without names")
        return self._names.place(i)


def joined(names: Names | None, had: int, more: Names | None, count: int) -> Names | None:
    """The names of `had` parameters and `count` more; those without one are "param.<index>"."""
    if names is None and more is None:
        return None
    first = names or [f"param.{i}" for i in range(had)]
    branches = names.branches + (more.branches if more else 0) if names and names.branches else 0
    return Names([*first, *(more or [f"param.{had + i}" for i in range(count)])], branches)
