# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Which gradstep optimizer steps which parameter group.

The groups whose flags (maximize, nesterov, centered, amsgrad, ...) are equal share one gradstep optimizer, in which
each of them is a group; usually that is all of them, and a step is a single call.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, NamedTuple

from torch import Tensor

from gradstep.errors import InvalidArgument
from gradstep.torch._arguments import Group, check_parameter
from gradstep.torch._part import Part

_IMMUTABLE = (bool, int, float, str, type(None))


class Settings(NamedTuple):
    """A group as gradstep sees it: options that an optimizer keeps for good, and hyper-parameters."""

    group: int
    constants: Mapping[str, Any]
    values: Mapping[str, float]

    @property
    def key(self) -> tuple[Any, ...]:
        return tuple(self.constants.items())


class _Place:
    """A group's parameters as they were listed, its part (None where it lists none), and its index in there."""

    def __init__(self, group: Group, settings: Settings, part: Part | None, local: int) -> None:
        self.listed = list(group["params"])
        self.key = settings.key
        self.part = part
        self.local = local
        self._seen: list[Any] | None = None

    def see(self, group: Group) -> None:
        """Remembers the group's entries, if none of them can change and stay the same object."""
        values = list(group.values())
        plain = all(_is_plain(value) for name, value in group.items() if name not in ("params", "param_names"))
        self._seen = values if plain else None

    def is_unchanged(self, group: Group) -> bool:
        """Whether every entry of the group is the object that was seen."""
        return self._seen is not None and len(group) == len(self._seen) and all(map(is_, group.values(), self._seen))


def _is_plain(value: Any) -> bool:
    return isinstance(value, _IMMUTABLE) or (isinstance(value, tuple) and all(isinstance(v, _IMMUTABLE) for v in value))


class Layout:
    """The parts, and where each of the parameter groups is among them."""

    def __init__(self) -> None:
        self.parts: dict[tuple[Any, ...], Part] = {}
        self.places: list[_Place] = []

    def lists(self, groups: Sequence[Group]) -> bool:
        """Whether these groups have the parameters that this was made for."""
        return len(groups) == len(self.places) and all(
            isinstance(group, dict)
            and isinstance(group.get("params"), (list, tuple))
            and len(group["params"]) == len(place.listed)
            and all(map(is_, group["params"], place.listed))
            for group, place in zip(groups, self.places, strict=True)
        )

    def place_of(self) -> Mapping[Tensor, tuple[Part, int]]:
        """The part of each parameter, and its index in there."""
        return {p: (part, i) for part in self.parts.values() for i, p in enumerate(part.parameters)}

    def add(self, group: Group, settings: Settings, make_part: Callable[[Settings], Part]) -> None:
        """Appends a group. After an error this is as before."""
        times, names = self._listed(group)
        fresh = make_part(settings)  # refuses bad values while nothing has changed
        part, local = None, 0
        if times:
            part = self.parts.setdefault(settings.key, fresh)
            local = part.add_group(times, names)
            part.push(local, settings.values)
        self.places.append(_Place(group, settings, part, local))

    def _listed(self, group: Group) -> tuple[dict[Tensor, int], list[str]]:
        """The parameters of a group with the number of times that each is listed, and their names."""
        index, listed = len(self.places), group["params"]
        if not isinstance(listed, (list, tuple)):
            raise TypeError(
                f"param_groups[{index}]['params']: is a {type(listed).__name__}, expected a list of tensors"
            )
        known = {p: place for place, earlier in enumerate(self.places) for p in earlier.listed}
        start = sum(len(place.listed) for place in self.places)
        given = group.get("param_names") or ()
        if len(given) != len(listed):  # edited since add_param_group compared them
            given = [f"param.{start + i}" for i in range(len(listed))]
        times: dict[Tensor, int] = {}
        names = []
        for parameter, name in zip(listed, given, strict=True):
            check_parameter(f"parameter {name!r}", parameter)
            if parameter in known:
                groups = f"param_groups[{known[parameter]}] and param_groups[{index}]"
                raise InvalidArgument(f"parameter {name!r}: is in {groups}, expected in one")
            if parameter not in times:
                names.append(name)
            times[parameter] = times.get(parameter, 0) + 1
        return times, names
