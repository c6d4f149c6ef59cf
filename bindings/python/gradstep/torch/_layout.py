# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Which gradstep optimizer steps which parameter group.

The groups whose flags (maximize, nesterov, centered, amsgrad, ...) are equal share one gradstep optimizer, in which
each of them is a group; usually that is all of them, and a step is a single call.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, TypeAlias

from torch import Tensor

from gradstep.errors import InvalidArgument
from gradstep.torch._arguments import Group, check_parameter
from gradstep.torch._part import Part

Settings: TypeAlias = tuple[Mapping[str, Any], Mapping[str, float]]
"""A group as gradstep sees it: options that an optimizer keeps for good, and hyper-parameters."""


class _Place:
    """A group's parameters as they were listed, its part (None where it lists none), and its index in there."""

    def __init__(self, group: Group, settings: Settings, part: Part | None, local: int) -> None:
        self.listed = list(group["params"])
        self.constants, _ = settings
        self.part = part
        self.local = local


class Layout:
    """The parts, and where each of the parameter groups is among them."""

    def __init__(self) -> None:
        self.parts: dict[tuple[Any, ...], Part] = {}
        self.places: list[_Place] = []

    def lists(self, groups: Sequence[Group]) -> bool:
        """Whether these groups have the parameters that this was made for."""
        if len(groups) != len(self.places):
            return False
        try:
            for group, place in zip(groups, self.places, strict=True):
                params = group["params"]
                if len(params) != len(place.listed) or not all(map(is_, params, place.listed)):
                    return False
        except (KeyError, TypeError):  # no group, or no list
            return False
        return True

    def place_of(self) -> Mapping[Tensor, tuple[Part, int]]:
        """The part of each parameter, and its index in there."""
        return {p: (part, i) for part in self.parts.values() for i, p in enumerate(part.parameters)}

    def add(self, group: Group, settings: Settings, make_part: Callable[[int, Settings], Part]) -> None:
        """Appends a group. After an error this is as before."""
        times, names = self._listed(group)
        constants, values = settings
        fresh = make_part(len(self.places), settings)  # refuses bad values while nothing has changed
        part, local = None, 0
        if times:
            part = self.parts.setdefault(tuple(constants.items()), fresh)
            local = part.add_group(times, names)
            part.push(local, values)
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
