# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Arrays by name: dicts, lists and tuples of arrays, and of each other."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gradstep._numbers import index
from gradstep.errors import InvalidArgument


def is_tree(arrays: object) -> bool:
    """Whether it has names: it is a dict, or a list or tuple that has others in it."""
    if isinstance(arrays, (list, tuple)):
        return any(isinstance(each, (list, tuple, Mapping)) for each in arrays)
    return isinstance(arrays, Mapping)


def leaves(tree: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """What is in a tree, each with the keys and indices that lead there: "layers.0.weight"."""
    if isinstance(tree, Mapping):
        branches: Iterable[tuple[object, object]] = tree.items()
    elif isinstance(tree, (list, tuple)):
        branches = enumerate(tree)
    else:
        yield path, tree
        return
    for key, branch in branches:
        yield from leaves(branch, f"{path}.{key}" if path else str(key))


class Names(list[str]):
    """The names of a handle's parameters, in their order.

    of_sequence: they are those of a list or tuple, so that one is a tree in calls, too.
    """

    def __init__(self, names: Iterable[str], of_sequence: bool = False) -> None:
        super().__init__(names)
        self._of_sequence = of_sequence

    def ordered(self, argument: str, arrays: Any) -> Any:
        """The leaves of a tree in the order of the parameters; what is no tree, as it is."""
        if not (isinstance(arrays, Mapping) or (self._of_sequence and is_tree(arrays))):
            return arrays
        found = dict(leaves(arrays))
        for name in self:
            if name not in found:
                raise InvalidArgument(f"{argument}: has no {name!r}, expected one entry for each parameter")
        if len(found) > len(self):
            unknown = next(name for name in found if name not in self)
            raise InvalidArgument(f"{argument}: {unknown!r} is no parameter, expected one of {', '.join(self)}")
        return [found[name] for name in self]

    def place(self, name: str) -> int:
        """The index of a parameter."""
        if name not in self:
            raise InvalidArgument(f"i: {name!r} is no parameter, expected one of {', '.join(self)}")
        return self.index(name)


class Named:
    """What has parameters that may have names."""

    _names: Names | None = None

    def _ordered(self, argument: str, arrays: Any) -> Any:
        """The arrays of a call in the order of the parameters."""
        return arrays if self._names is None else self._names.ordered(argument, arrays)

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
    return Names([*first, *(more or [f"param.{had + i}" for i in range(count)])])
