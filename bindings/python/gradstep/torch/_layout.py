# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Which gradstep optimizer steps which parameter group.

The groups whose flags (maximize, nesterov, centered, amsgrad, ...) are equal share one gradstep optimizer, in which
each of them is a group; usually that is all of them, and a step is a single call. A gradstep optimizer is on one
device: a group whose parameters are on several is a group of several optimizers.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any, TypeAlias

import torch
from torch import Tensor

from gradstep.errors import InvalidArgument
from gradstep.torch._arguments import Group, Number, check_capturable, check_parameter
from gradstep.torch._part import Part

Settings: TypeAlias = tuple[Mapping[str, Any], Mapping[str, Number]]
"""A group as gradstep sees it: options that an optimizer keeps for good, and hyper-parameters."""


MakePart: TypeAlias = Callable[[int, Settings, torch.device, bool], Part]
"""Of a group's index and settings, the device, and whether the counts of steps are shown there."""


class _Place:
    """A group's parameters as they were listed, and the parts that they are in with the group's index in there."""

    def __init__(self, group: Group, settings: Settings, members: list[tuple[Part, int]]) -> None:
        self.listed = list(group["params"])
        self.constants, _ = settings
        self.members = members
        self._capture = _capture_flags(group)

    def is_captured_as(self, group: Group) -> bool:
        """Whether the group's capturable and fused say what they said, where they matter."""
        capturable, fused = _capture_flags(group)
        was_capturable, was_fused = self._capture
        if not any(part.device.type == "cuda" for part, _ in self.members):
            return capturable == was_capturable
        return (capturable or fused, capturable) == (was_capturable or was_fused, was_capturable)


def _capture_flags(group: Group) -> tuple[bool, bool]:
    return bool(group.get("capturable")), bool(group.get("fused"))


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

    def add(self, group: Group, settings: Settings, make_part: MakePart) -> None:
        """Appends a group. After an error this is as before."""
        times, names = self._listed(group)
        constants, values = settings
        make_part(
            len(self.places), settings, torch.device("cpu"), False
        )  # refuses bad values while nothing has changed
        members: list[tuple[Part, int]] = []
        for device in dict.fromkeys(parameter.device for parameter in times):
            counts_on_device = device.type == "cuda" and any(_capture_flags(group))
            key = (device, counts_on_device, *constants.items())
            part = self.parts.get(key) or make_part(len(self.places), settings, device, counts_on_device)
            here = [(p, n, name) for (p, n), name in zip(times.items(), names, strict=True) if p.device == device]
            try:
                local = part.add_group({p: n for p, n, _ in here}, [name for _, _, name in here])
            except BaseException:
                if members:  # parts of other devices have taken theirs: the next step makes all anew
                    self.places.clear()
                raise
            self.parts[key] = part
            part.push(local, values)
            members.append((part, local))
        self.places.append(_Place(group, settings, members))

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
            check_capturable(f"param_groups[{index}]: ", group, f"parameter {name!r}", parameter)
            if parameter in known:
                groups = f"param_groups[{known[parameter]}] and param_groups[{index}]"
                raise InvalidArgument(f"parameter {name!r}: is in {groups}, expected in one")
            if parameter not in times:
                names.append(name)
            times[parameter] = times.get(parameter, 0) + 1
        return times, names
