# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What a torch optimizer shows as its `state`, and what its user has changed in there.

gradstep holds the state; torch's users hold a mapping {parameter: {name: tensor}} and edit it as they like. Entries
here are ordinary dicts whose tensors are views of gradstep's memory, so that writing into a tensor needs no care.
Whatever else is done (an entry deleted, a tensor replaced, or given other memory by `.data = ` or `.set_()`) makes
some object or address another one: both are compared before each step, once the mapping has been handed out. Where
gradstep keeps state in another form the tensors are copies; their versions tell whether they were written to. A tensor
that the user has put there, and has elsewhere too, stays there: each step writes the new state to it.
"""

import weakref
from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import chain
from operator import is_
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from gradstep.errors import InvalidState
from gradstep.torch._arguments import overlaps_itself
from gradstep.torch._part import Part
from gradstep.torch._spread import local

Entry: TypeAlias = dict[str, Any]


class _Steps:
    """The `step` tensors of a part: views of one array, so that all are written at once."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self._array = np.zeros(len(part.parameters), np.float32)
        with torch.inference_mode(False):
            self.tensors = [torch.from_numpy(self._array[i : i + 1].reshape(())) for i in range(len(self._array))]
        self.write()

    def write(self) -> None:
        self._array.fill(self.part.count)
        for i, count in self.part.behind.items():
            if i < len(self._array):  # the part may have grown
                self._array[i] = count
        self._written = self._array.tobytes()

    def edited(self) -> bool:
        return self._array.tobytes() != self._written

    def edits(self) -> set[int]:
        """The parameters whose step the user has written."""
        return {int(i) for i in np.flatnonzero(self._array != np.frombuffer(self._written, np.float32))}


class _DeviceSteps:
    """This count on a part's device, where steps write it; the tensors' version says whether a user has written."""

    def __init__(self, part: Part) -> None:
        self.part = part
        with torch.inference_mode(False):
            self._array = torch.zeros(len(part.parameters), dtype=torch.float32, device=part.device)
            self.tensors = [self._array[i] for i in range(len(part.parameters))]
        self.write()

    def write(self) -> None:
        with torch.no_grad():
            if self.part.count_is_known or self.part.behind:
                counts = self.part.counts[: len(self._array)]  # the part may have grown
                self._array.copy_(torch.tensor(counts, dtype=torch.float32))
            else:
                assert self.part.outcome is not None
                self._array.copy_(self.part.outcome[3:])  # what the step has told, or will tell when it runs
        self._version = self._array._version

    def edited(self) -> bool:
        return self._array._version != self._version

    def edits(self) -> set[int]:
        """The parameters whose step the user has written."""
        counts = self.part.counts
        return {i for i, step in enumerate(self._array.tolist()) if step != counts[i]} if self.edited() else set()


class _LeftSteps:
    """The `step` tensors of a state_dict() that a user may have kept: they go on counting while they are there."""

    def __init__(self, steps: _Steps | _DeviceSteps) -> None:
        self._tensors = [weakref.ref(tensor) for tensor in steps.tensors]
        steps.tensors = []
        self.write = steps.write

    def kept(self) -> bool:
        return any(tensor() is not None for tensor in self._tensors)


class ShownState:
    """The mapping, and what it looked like when it last agreed with gradstep."""

    def __init__(self, from_the_start: bool) -> None:
        self.mapping: Any = defaultdict(dict)
        self.handed_out = False
        self._from_the_start = from_the_start
        self._seen: dict[Part, int] = {}
        self._steps: dict[Part, _Steps | _DeviceSteps] = {}
        # What gradstep has put into the entries, where that lies, and the versions of those that are copies.
        self._tensors: dict[Tensor, dict[str, Tensor]] = {}
        self._addresses: dict[Tensor, dict[str, int]] = {}
        self._copies: dict[Tensor, dict[str, int]] = {}
        # The versions of tensors that are the user's own, to which each step writes.
        self._users: dict[Tensor, dict[str, int]] = {}
        self._stale = False
        self._left: list[_LeftSteps] = []
        self._remember()

    def take(self, mapping: Any, parts: Collection[Part]) -> None:
        """Another mapping, made by the user."""
        self.hand_out(parts)  # what is not in the new one is seen to be missing
        self.mapping = mapping

    def hand_out(self, parts: Collection[Part]) -> Any:
        """The mapping, up to date unless it waits for a step to take over what was changed in it."""
        current = self.handed_out and not self._stale and not self._lags(parts)
        if not current and not self.edited():
            self.show(parts)
            self.handed_out = True
        return self.mapping

    def _lags(self, parts: Collection[Part]) -> bool:
        """Whether there may be state that is not shown."""
        return any(self._seen.get(part) != part.version for part in parts)

    def show(self, parts: Collection[Part]) -> None:
        """Brings the mapping up to date. A tensor that is shown already stays the same object."""
        for part in parts:
            if self._seen.get(part) != part.version:
                self._show_part(part)
                self._seen[part] = part.version
            elif self._stale:
                self._refresh_copies(part)
        self._stale = False
        self._remember()

    def _show_part(self, part: Part) -> None:
        steps = self._steps.get(part)
        if steps is None or len(steps.tensors) != len(part.parameters):
            steps = self._steps[part] = _DeviceSteps(part) if part.counts_on_device else _Steps(part)
        for i, parameter in enumerate(part.parameters):
            entry = self.mapping.get(parameter)
            if not entry and not part.has_state(i, self._from_the_start):
                continue
            shown, addresses = self._tensors.setdefault(parameter, {}), self._addresses.setdefault(parameter, {})
            if "step" not in self._users.get(parameter, ()):
                shown["step"] = steps.tensors[i]
                addresses["step"] = _address(steps.tensors[i])
            for name, (tensor, is_copy) in part.saved(i).items():
                if name not in shown:
                    shown[name] = tensor
                    addresses[name] = _address(tensor)
                    if is_copy:
                        self._copies.setdefault(parameter, {})[name] = _version(tensor)
                elif is_copy and name in self._copies.get(parameter, ()):
                    self._refresh(parameter, name, tensor)
            if entry is None:
                entry = self.mapping[parameter] = {}
            entry.update(shown)

    def _refresh_copies(self, part: Part) -> None:
        for i, parameter in enumerate(part.parameters):
            if parameter in self._copies:
                saved = part.saved(i)
                for name in self._copies[parameter]:
                    self._refresh(parameter, name, saved[name].tensor)

    def _refresh(self, parameter: Tensor, name: str, source: Tensor) -> None:
        tensor = self._tensors[parameter][name]
        with torch.no_grad():
            tensor.copy_(source)
        self._copies[parameter][name] = _version(tensor)

    def after_step(self, parts: Collection[Part], readable: bool) -> None:
        """Shows what a step has made. `readable`: reading state takes no other ranks."""
        if self._left:
            self._left = [steps for steps in self._left if steps.kept()]
            for left in self._left:
                left.write()
        if not self.handed_out:
            return
        self._stale = bool(self._copies)
        for steps in self._steps.values():
            steps.write()
        if self._users:
            self._write_to_users(parts)
        if readable and self._lags(parts):
            self.show(parts)

    def _write_to_users(self, parts: Collection[Part]) -> None:
        for part in parts:
            for i, parameter in enumerate(part.parameters):
                names = self._users.get(parameter)
                if not names:
                    continue
                saved = {name: shown.tensor for name, shown in part.saved(i).items()}
                saved["step"] = self._steps[part].tensors[i]
                with torch.no_grad():
                    for name in names.keys() & saved.keys():
                        self._tensors[parameter][name].copy_(saved[name])
        # At the end: tensors that are views of one have one version.
        for parameter, names in self._users.items():
            for name in names:
                names[name] = _version(self._tensors[parameter][name])

    def frozen(self, shared: bool) -> dict[int, Entry]:
        """For entries with copies, by their id(): the same without views, so that nothing in there goes on changing.

        shared: a user has the copies, which reading `state` renews.
        """
        found = {}
        for parameter, copies in self._copies.items():
            entry = self.mapping.get(parameter)
            if isinstance(entry, dict):
                found[id(entry)] = {
                    name: value.clone() if isinstance(value, Tensor) and (shared or name not in copies) else value
                    for name, value in entry.items()
                }
        return found

    def taken_back(self) -> "ShownState":
        """What is shown next, where no user has the mapping any more, but perhaps tensors of it."""
        shown = ShownState(self._from_the_start)
        shown._left = [*self._left, *map(_LeftSteps, self._steps.values())]
        return shown

    def _remember(self) -> None:
        self._keys = list(self.mapping)
        self._entries = list(self.mapping.values())
        self._dicts = [entry for entry in self._entries if isinstance(entry, dict)]
        self._values = list(chain.from_iterable(entry.values() for entry in self._dicts))
        self._own = list(chain.from_iterable(map(dict.values, self._tensors.values())))
        self._own_shards = [*map(local, self._own)]
        self._own_addresses = list(chain.from_iterable(map(dict.values, self._addresses.values())))

    def edited(self) -> bool:
        """Whether anything in the mapping is not what it was."""
        if not self.handed_out:
            return False
        same = (
            len(self.mapping) == len(self._keys)
            and all(map(is_, self.mapping, self._keys))
            and all(map(is_, self.mapping.values(), self._entries))
            and sum(map(len, self._dicts)) == len(self._values)
            and all(map(is_, chain.from_iterable(map(dict.values, self._dicts)), self._values))
        )
        return not same or self._moved() or self._steps_edited() or self._copies_edited()

    def _moved(self) -> bool:
        """Whether a tensor has been given other memory."""
        return [*map(Tensor.data_ptr, self._own_shards)] != self._own_addresses

    def _has(self, entry: Entry, parameter: Tensor, name: str) -> bool:
        """Whether a parameter's entry has the tensor that gradstep has put there, with the memory that it had."""
        tensor = self._tensors[parameter][name]
        return _address(tensor) == self._addresses[parameter][name] and entry.get(name) is tensor

    def _steps_edited(self) -> bool:
        return any(steps.edited() for steps in self._steps.values())

    def _copies_edited(self) -> bool:
        versions = chain(self._copies.items(), self._users.items())
        return any(self._written_to(parameter, name) for parameter, names in versions for name in names)

    def _written_to(self, parameter: Tensor, name: str) -> bool:
        version = self._copies.get(parameter, {}).get(name, self._users.get(parameter, {}).get(name))
        return version is not None and version != _version(self._tensors[parameter][name])

    def edits(self, parts: Collection[Part]) -> dict[Tensor, Entry]:
        """The entries that the user has changed, as Part.load() takes them; empty where there is none any more."""
        changed = {}
        for part in parts:
            counted = self._steps[part].edits() if part in self._steps else set()
            for i, parameter in enumerate(part.parameters):
                shown, entry = self._tensors.get(parameter, {}), self.mapping.get(parameter) or {}
                if not isinstance(entry, dict):
                    raise TypeError(
                        f"state of parameter {part.names[i]!r}: is a {type(entry).__name__}, expected a dict"
                    )
                written = [n for n in shown if entry.get(n) is shown[n] and self._written_to(parameter, n)]
                late = [n for n in written if self._stale and n in self._copies.get(parameter, ())]
                if late:
                    raise InvalidState(
                        f"state of parameter {part.names[i]!r}: {late[0]!r} was written to after a later step, "
                        "and is a copy of what gradstep keeps in another form: assign a tensor instead"
                    )
                kept = all(self._has(entry, parameter, name) for name in shown)
                added = any(name not in shown for name in part.state_names(i) if entry.get(name) is not None)
                if not kept or added or written or i in counted:
                    changed[parameter] = self._as_it_stands(part, i, entry)
        return changed

    def _as_it_stands(self, part: Part, i: int, entry: Entry) -> Entry:
        """The entry, with the present state for copies of an older one."""
        parameter = part.parameters[i]
        old = [name for name in self._copies.get(parameter, ()) if self._has(entry, parameter, name)]
        return {**entry, **{name: part.saved(i)[name].tensor for name in old if self._stale}}

    def accept(self) -> None:
        """What was changed does not concern gradstep."""
        self._remember()

    def entry(self, parameter: Tensor) -> Entry:
        """What the mapping has for a parameter that gradstep does not know."""
        return self.mapping.get(parameter) or {} if self.handed_out else {}

    def leave(self, places: Collection[tuple[Part, int]]) -> None:
        """Keeps the state of parameters that no group has any more, as torch does, in memory of its own."""
        for part, i in places:
            parameter = part.parameters[i]
            if not self.handed_out and part.has_state(i, self._from_the_start):
                self.mapping[parameter] = part.entry(i)
            entry = self.mapping.get(parameter) or {}
            ours = {name: value for name, value in entry.items() if name not in self._users.get(parameter, ())}
            entry.update({name: value.clone() for name, value in ours.items() if isinstance(value, Tensor)})
        self.handed_out = self.handed_out or bool(self.mapping)

    def adopt(self, entries: Mapping[Any, Any], parts: Collection[Part], readable: bool) -> None:
        """Takes what users had of their own in saved entries, after gradstep has taken the rest."""
        self.mapping.update(entries)
        self.start_anew(parts, readable)
        own = {key: entry for key, entry in self.mapping.items() if entry or not isinstance(entry, dict)}
        self.mapping = defaultdict(dict, own)
        self.handed_out = bool(own)
        if self.handed_out and readable:
            self.show(parts)
        self._remember()

    def start_anew(self, parts: Collection[Part], readable: bool, follow: bool = False) -> None:
        """Follows to gradstep optimizers that have taken over what the mapping says.

        follow: tensors that the user has put there stay where other code has them.
        """
        own = {id(tensor) for tensor in self._own}
        users = {id(self._tensors[parameter][name]) for parameter, names in self._users.items() for name in names}
        found: list[tuple[Tensor, str, weakref.ref[Tensor]]] = []
        for part in parts:
            for i, parameter in enumerate(part.parameters):
                for name in ("step", *part.state_names(i)) if self.mapping.get(parameter) else ():
                    value = self.mapping[parameter].pop(name, None)
                    is_users = id(value) in users or id(value) not in own
                    if follow and readable and is_users and isinstance(value, Tensor) and _can_be_written_to(value):
                        found.append((parameter, name, weakref.ref(value)))
                    del value
        self._seen, self._steps, self._tensors, self._copies, self._addresses, self._users = {}, {}, {}, {}, {}, {}
        self._remember()  # forgets what was there before
        for parameter, name, reference in found:
            tensor = reference()
            if tensor is not None:
                self._tensors.setdefault(parameter, {})[name] = tensor
                self._addresses.setdefault(parameter, {})[name] = _address(tensor)
                self._users.setdefault(parameter, {})[name] = _version(tensor)
        if self.handed_out and readable:
            self.show(parts)
        self._remember()


def _can_be_written_to(tensor: Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_inference() and not overlaps_itself(tensor)


def _address(tensor: Tensor) -> int:
    return local(tensor).data_ptr()


def _version(tensor: Tensor) -> int:
    """Another number when a tensor has been written to; for a DTensor, when its shard has been too."""
    shard = local(tensor)
    return tensor._version if shard is tensor else tensor._version + shard._version
