# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""One gradstep optimizer behind a torch one, and how many steps each of its parameters has made."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import gradstep
from gradstep import DeviceArray, _native
from gradstep._arrays import Schema, schema
from gradstep._kept_numbers import NUMBERS
from gradstep.errors import InvalidArgument, InvalidState, Mismatch
from gradstep.optimizer import StepResult
from gradstep.torch._arguments import FLOATS, Number, Words
from gradstep.torch._spread import Owners, Spread, Travel, is_spread, local

# State that a saved entry need not have: it is made when it is first used.
_OPTIONAL_STATE = {"master_weights", "momentum_buffer", "momentum"}

Grads = Sequence[Tensor | None]

Told = TypeVar("Told")

Call: TypeAlias = tuple[int | None, Sequence[int], Grads]
"""A step of gradstep: how many its parameters have made (None: as many as the optimizer), which they are, and gradients
(None for all others)."""


class TorchState(NamedTuple):
    """How torch's state of a rule differs from gradstep's."""

    counts: bool
    """Whether torch counts the steps of this rule."""
    words: Words
    """torch's word for each of gradstep's that has another."""
    counted: Mapping[str, Callable[[int, Mapping[str, float]], float]]
    """What torch keeps and gradstep computes: of the count of steps, and the numbers of the group."""
    shapes: Mapping[str, Callable[[torch.Size], tuple[int, ...]]] = {}
    """torch's shape, by the parameter's, of each state that has one of its own; gradstep's has one axis."""


UNCOUNTED = TorchState(counts=False, words={}, counted={})


class SavedTensor(NamedTuple):
    """A state tensor: a view of gradstep's memory, or a copy where the state is kept in another form."""

    tensor: Tensor
    is_copy: bool


class Part:
    """One gradstep optimizer, and the parameters that it steps, which are on one device.

    torch counts the steps of every parameter; gradstep those of an optimizer. `count` is the optimizer's, `behind` has
    the parameters that have made another number: gradients were missing, or they joined later, or a user says so.

    Where a parameter is spread over ranks, gradstep has this rank's shard. Where the rule needs whole tensors, it has
    the whole at the parameter's owner, and an empty tensor elsewhere: then reading the state is collective.

    On a CUDA device steps are queued, and may be skipped or replayed there: the count is asked for when it is needed,
    and `outcome` is what the last step tells on the device: applied, norm, clip coefficient, count.
    """

    optimizer: gradstep.Optimizer

    def __init__(
        self,
        make: Callable[[Schema], gradstep.Optimizer],
        device: torch.device,
        counts_on_device: bool,
        torch_state: TorchState,
        alike: Callable[[int, Sequence[Mapping[str, Number]]], int],
        whole_rule: str | None,
    ) -> None:
        self._make = make
        self.device = device
        self.counts_on_device = counts_on_device
        """Whether torch would have `step` tensors on the device."""
        self.outcome: Tensor | None = None
        if device.type == "cuda":
            with torch.inference_mode(False):
                self.outcome = torch.zeros(4, dtype=torch.float64, device=device)
        self._lent: dict[tuple[str, int], Tensor] = {}
        """By name and group: hyper-parameters that steps read from the device, as gradstep takes them."""
        self.parameters: list[Tensor] = []
        self.names: list[str] = []
        self.repeats: dict[int, int] = {}
        """How often a parameter is listed, where that is more than once."""
        self.pushed: list[dict[str, Number]] = []
        self._count: int | None = 0
        """None: the device knows."""
        self._has_stepped = False
        """Known to have made a step."""
        self.behind: dict[int, int] = {}
        self.version = 0
        """Another number when parameters may have got state that they did not have."""
        self._torch_state = torch_state
        self._alike = alike
        """Of a count, and the numbers of all groups: the same for counts with which a step is the same."""
        self._described: list[tuple[torch.dtype, torch.Size, torch.device]] = []
        self._group_of: list[int] = []
        self._whole_rule = whole_rule
        """The name of a rule that needs whole tensors."""
        self.spreads: list[Spread] = []
        """How parameters are spread, of those that are."""
        self.has_owners = False
        """Whether reading the state is collective."""
        self._spread_of: list[Spread | None] = []
        self._owner_of: list[int | None] = []
        self._dealing = Owners()
        self._is_torn = False
        """Whether some owners made a step that failed on others."""

    def add_group(self, listed: Mapping[Tensor, int], names: list[str]) -> int:
        """Appends a group of parameters, each with the number of times it is listed. Returns the group's index."""
        parameters = list(listed)
        group, first = len(self.pushed), len(self.parameters)
        spreads, owners = self._spread(parameters, names)
        held = [self._described_as(*each) for each in zip(parameters, spreads, owners, strict=True)]
        # Shards of one name would be rounded by equal random numbers; replicas must be.
        of_shards = [
            name if spread is None or owner is not None or spread.is_replica else f"{name}[{spread.member}]"
            for name, spread, owner in zip(names, spreads, owners, strict=True)
        ]
        described = schema(held, of_shards, [group] * len(parameters), may_be_unused=True)
        if first == 0:
            self.optimizer = self._make(described)
        else:
            self.optimizer._append(described)
        self.parameters += parameters
        self.names += names
        self.repeats.update({first + i: times for i, times in enumerate(listed.values()) if times > 1})
        if first > 0 and self.count > 0:
            self.behind.update(dict.fromkeys(range(first, len(self.parameters)), 0))
        self._described += map(_description, parameters)
        self._group_of += [group] * len(parameters)
        self._spread_of += spreads
        self._owner_of += owners
        self.spreads += filter(None, spreads)
        self.has_owners = any(owner is not None for owner in self._owner_of)
        self.pushed.append({})
        self.version += 1
        return group

    def _spread(
        self, parameters: Sequence[Tensor], names: Sequence[str]
    ) -> tuple[list[Spread | None], list[int | None]]:
        """How parameters are spread, and their owners."""
        spreads = [
            Spread(f"parameter {name!r}", parameter) if is_spread(parameter) else None
            for name, parameter in zip(names, parameters, strict=True)
        ]
        if self._whole_rule is None:
            return spreads, [None] * len(spreads)
        for spread in filter(None, spreads):
            spread.check_parts(self._whole_rule)
        return spreads, self._dealing.assign(spreads)

    def _described_as(self, parameter: Tensor, spread: Spread | None, owner: int | None) -> Tensor:
        """A tensor of the shape that gradstep steps."""
        if spread is None or owner is None:
            return local(parameter)
        shape = spread.shape if owner == spread.member else (0,) * len(spread.shape)
        return torch.empty(shape, dtype=parameter.dtype, device=self.device)

    def _told(self, i: int, make: Callable[[], Told]) -> Told:
        """What the rank that has the state of parameter i makes. Collective for one that has an owner."""
        spread, owner = self._spread_of[i], self._owner_of[i]
        return make() if spread is None or owner is None else spread.told(owner, make)

    def gradients(self) -> list[Tensor | None]:
        """What this rank has of the gradients. Collective for those that are placed in another way than parameters."""
        if not self.spreads:
            return [parameter.grad for parameter in self.parameters]
        return [
            parameter.grad
            if parameter.grad is None or spread is None
            else spread.local_of(f"gradient of {name!r}", parameter.grad)
            for parameter, spread, name in zip(self.parameters, self._spread_of, self.names, strict=True)
        ]

    def pieces(self, calls: Sequence[Call]) -> list[tuple[Spread | None, Tensor]]:
        """The gradients that calls step by, with how they are spread."""
        found = {i: grads[i] for _, stepped, grads in calls for i in stepped}
        return [(self._spread_of[i], grad) for i, grad in found.items() if grad is not None]

    def push(self, local: int, values: Mapping[str, Number]) -> None:
        """Hands over the hyper-parameters of a group that have changed; those on the device are copied there."""
        pushed = self.pushed[local]
        for name, value in values.items():
            if isinstance(value, Tensor):
                if self.outcome is not None:
                    self._lend(local, name, value)
                    continue
                value = float(value)
            lent = self._lent.pop((name, local), None)
            if lent is not None or pushed.get(name) != value:
                self.optimizer.set_value(name, value, local)
                self.version += not pushed.get(name)  # momentum needs a buffer
                pushed[name] = value

    def _lend(self, local: int, name: str, value: Tensor) -> None:
        """Queues a copy of a number, in the order of the stream of the step that will read it."""
        lent = self._lent.get((name, local))
        if lent is None:
            with torch.inference_mode(False):
                lent = torch.zeros(1, dtype=torch.float64, device=self.device)
            self.optimizer.set_tensor(name, lent, local)
            self._lent[name, local] = lent
            self.version += 1  # momentum needs a buffer
            self.pushed[local].pop(name, None)
        with torch.no_grad():
            lent.copy_(value.detach().reshape(1))

    def outdated(self) -> bool:
        """Whether a parameter has another dtype, shape or device than the one that gradstep knows."""
        return self._described != [*map(_description, self.parameters)]

    def fits(self) -> bool:
        """Whether the next step will take parameters and gradients as they are."""
        for parameter, described in zip(self.parameters, self._described, strict=True):
            _, shape, device = described
            if _description(parameter) != described:
                return False
            grad = parameter.grad
            if grad is None:
                continue
            if grad.layout is not torch.strided or grad.shape != shape or grad.dtype not in FLOATS:
                return False
            if grad.device != device:
                return False
        return True

    def stepped_by(self, calls: Sequence[Call]) -> list[Tensor]:
        """The parameters that calls have stepped."""
        if len(calls) == 1 and len(calls[0][1]) == len(self.parameters):
            return self.parameters
        return [self.parameters[i] for i in sorted({i for _, stepped, _ in calls for i in stepped})]

    def is_level(self) -> bool:
        """Whether all parameters have made the same number of steps, each is listed once, and each has a gradient."""
        return not self.behind and not self.repeats and all(p.grad is not None for p in self.parameters)

    @property
    def count(self) -> int:
        """Steps that the gradstep optimizer has made. Waits for those that are queued."""
        if self._count is None:
            self._count = self.optimizer.step_count
            self._has_stepped = self._count > 0
        return self._count

    @property
    def count_is_known(self) -> bool:
        """Whether `count` does not wait for a device."""
        return self._count is not None

    @property
    def counts(self) -> list[int]:
        return [self.behind.get(i, self.count) for i in range(len(self.parameters))]

    def set_counts(self, counts: Sequence[int]) -> None:
        self._count = most = max(counts, default=0)
        self._has_stepped = most > 0
        self.behind = {i: count for i, count in enumerate(counts) if count != most}
        self.optimizer.step_count = most

    def calls(self, grads: Grads, present: Sequence[bool]) -> list[Call]:
        """The calls of gradstep that make one step of torch: parameters with a gradient, those of like counts at once.

        A parameter that is listed twice is stepped twice, as by torch.
        """
        if not self.behind and not self.repeats and all(present):
            return [(None, range(len(grads)), grads)] if present else []
        counts = self.counts
        made: list[Call] = []
        for turn in range(max(self.repeats.values(), default=1)):
            stepped = [i for i, has in enumerate(present) if has and self.repeats.get(i, 1) > turn]
            # torch's SGD looks for the momenta of all before it steps the first.
            ahead = turn if self._torch_state.counts else 0
            alike: dict[int, list[int]] = {}
            for i in stepped:
                alike.setdefault(self._alike(counts[i], self.pushed), []).append(i)
            for _, chosen in sorted(alike.items()):
                masked = grads
                if turn > 0 or len(chosen) < len(stepped):
                    masked = [None] * len(grads)
                    for i in chosen:
                        masked[i] = grads[i]
                made.append((max(counts[i] for i in chosen) + ahead, chosen, masked))
        return made

    def step(self, calls: Sequence[Call], **options: Any) -> StepResult:
        """Makes the calls. Where one of them fails the counts of those before it stand."""
        if not self.spreads:
            return self._step(self.parameters, calls, **options)
        tensors = [*map(local, self.parameters)]
        if not self.has_owners:
            return self._step(tensors, calls, **options)
        return self._step_wholes(tensors, calls, **options)

    def _step_wholes(self, tensors: list[Tensor], calls: Sequence[Call], **options: Any) -> StepResult:
        """Makes the calls with whole tensors at their owners, and with empty ones elsewhere. Collective."""
        self.check_is_whole()
        grads = {i: grads[i] for _, stepped, grads in calls for i in stepped}
        away, items = [], []
        for i, (spread, owner) in enumerate(zip(self._spread_of, self._owner_of, strict=True)):
            if spread is None or owner is None:
                continue
            grad = grads.get(i)
            if grad is None:  # is not stepped
                tensors[i] = self._described_as(self.parameters[i], spread, owner)
            else:
                away.append(i)
                items.append((spread, owner, (tensors[i], grad)))
        travel = Travel(items)
        travel.gather()
        for i, (parameter, grad) in zip(away, travel.wholes, strict=True):
            tensors[i], grads[i] = parameter, grad
        masked: list[Call] = [
            (count, stepped, [None if grad is None else grads[i] for i, grad in enumerate(given)])
            for count, stepped, given in calls
        ]
        failed = True
        try:
            result = self._step(tensors, masked, **options)
            failed = False
        finally:
            self._is_torn = True
            travel.scatter(failed)
        self._is_torn = False
        return result

    def check_is_whole(self) -> None:
        """Refuses what a step has left that failed on one owner alone."""
        if self._is_torn:
            raise InvalidState("the last step failed on one rank and was made on others: load a state_dict() of before")

    def _step(self, parameters: Sequence[Any], calls: Sequence[Call], **options: Any) -> StepResult:
        if self.outcome is not None:
            options = {**options, "outcome": self.outcome}
            for name in ("grad_norm", "grad_scale_tensor"):
                if isinstance(options.get(name), Tensor):
                    options[name] = options[name].to(self.device, non_blocking=True)
        count, stepped, grads = calls[0]
        if count is None:
            result = self.optimizer.step(parameters, grads, **options)
            self.version += not self._has_stepped
            if self.outcome is not None:
                self._count = None
            else:
                self._count = self.count + 1
                self._has_stepped = True
            return result
        counts = self.counts
        if len(calls) > 1 and self.outcome is None:
            # Reading torch's tensors takes longer than all else in a call that steps few of them.
            parameters = [_native.lend_array(parameter, "params") for parameter in parameters]
        try:
            for count, stepped, grads in calls:
                assert count is not None
                self.optimizer.step_count = count
                again = [i for i in stepped if count == 0 < counts[i]]
                with self._without_momentum(again) if again else nullcontext():
                    result = self.optimizer.step(parameters, grads, **options)
                for i in stepped:
                    self.version += counts[i] == 0
                    counts[i] += 1
        finally:
            self.set_counts(counts)
        return result

    def has_state(self, i: int, from_the_start: bool) -> bool:
        """Whether torch's optimizer would have state of parameter i by now."""
        return from_the_start or self.behind.get(i, self.count) > 0

    @contextmanager
    def _without_momentum(self, again: Sequence[int]) -> Iterator[None]:
        """torch's SGD lets a parameter's first gradient be its momentum, each time that the parameter is listed."""
        for i in again:
            with suppress(InvalidState):  # has none
                self.optimizer.set_state(i, "momentum_buffer", np.zeros(self.optimizer._description(i)[0], np.float32))
        self.optimizer.set_value("dampening", 0)
        try:
            yield
        finally:
            for local, pushed in enumerate(self.pushed):
                lent = self._lent.get(("dampening", local))
                if lent is None:
                    self.optimizer.set_value("dampening", pushed["dampening"], local)
                else:
                    self.optimizer.set_tensor("dampening", lent, local)

    def _kept(self, i: int) -> Iterator[tuple[str, str]]:
        """torch's and gradstep's name of each state that gradstep keeps of parameter i."""
        for name in self.optimizer.state_names_of(i):
            yield self._torch_state.words.get(name, name), name

    def state_names(self, i: int) -> list[str]:
        """torch's names of the state of parameter i, but for its step."""
        return self._told(i, lambda: [*(name for name, _ in self._kept(i)), *self._torch_state.counted])

    def saved(self, i: int) -> dict[str, SavedTensor]:
        """The state of parameter i under torch's names, but for its step."""
        self.check_is_whole()
        spread, owner = self._spread_of[i], self._owner_of[i]
        if spread is None:
            return self._saved(i)
        if owner is None:
            shape, numbers = local(self.parameters[i]).shape, {*NUMBERS, *self._torch_state.counted}
            return {
                name: SavedTensor(spread.shown(kept.tensor), kept.is_copy)
                if name not in numbers and kept.tensor.shape == shape
                else kept
                for name, kept in self._saved(i).items()
            }
        told = spread.told(owner, lambda: {name: kept.tensor.cpu() for name, kept in self._saved(i).items()})
        return {name: SavedTensor(self._shown(spread, whole), True) for name, whole in told.items()}

    def _shown(self, spread: Spread, whole: Tensor) -> Tensor:
        """A state of a parameter that has an owner."""
        whole = whole.to(self.device) if whole.ndim > 0 else whole
        return spread.shown(spread.shard_of(whole).clone()) if whole.shape == spread.shape else whole

    def _saved(self, i: int) -> dict[str, SavedTensor]:
        found = {}
        for name, ours in self._kept(i):
            try:
                if ours in NUMBERS:
                    found[name] = self._scalar(self._number(i, ours), torch.float32)
                else:
                    kept = _tensor(self.optimizer._state(i, ours, bits=True), self.device)
                    if ours in self._torch_state.shapes:
                        kept = kept._replace(tensor=kept.tensor.view(self._shape_of(i, ours)))
                    found[name] = kept
            except InvalidState:  # no such buffer in this group or of this dtype
                continue
        return {**found, **self._counted(i)}

    def _shape_of(self, i: int, ours: str) -> tuple[int, ...]:
        """torch's shape of a state that is no matrix of Shampoo's."""
        shape = self._described[i][1]
        of = self._torch_state.shapes.get(ours)
        return tuple(shape) if of is None else of(shape)

    def _number(self, i: int, ours: str) -> float:
        return float(self.optimizer.get_state(i, ours, "float64")[0])

    def _scalar(self, number: float, dtype: torch.dtype) -> SavedTensor:
        """A number of a parameter as torch keeps it."""
        device = self.device if self.counts_on_device else torch.device("cpu")
        with torch.inference_mode(False):
            return SavedTensor(torch.tensor(number, dtype=dtype, device=device), True)

    def _counted(self, i: int) -> dict[str, SavedTensor]:
        """What torch keeps of parameter i and gradstep computes."""
        if not self._torch_state.counted:
            return {}
        local = self._group_of[i]
        lent = {name: number for (name, group), number in self._lent.items() if group == local}
        numbers = {name: float(number) for name, number in {**self.pushed[local], **lent}.items()}
        count = self.behind.get(i, self.count)
        return {name: self._scalar(of(count, numbers), torch.float32) for name, of in self._torch_state.counted.items()}

    def entry(self, i: int) -> dict[str, Any]:
        """The state of parameter i as load() takes it."""
        tensors = {name: saved.tensor for name, saved in self.saved(i).items()}
        numbers = self._told(i, lambda: {n: self._number(i, ours) for n, ours in self._kept(i) if ours in NUMBERS})
        for name, number in numbers.items():
            tensors[name] = self._scalar(number, torch.float64).tensor  # as gradstep has it
        count = float(self.behind.get(i, self.count))
        return {"step": self._scalar(count, torch.float32).tensor, **tensors}

    def load(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Takes over an entry per parameter, of entry() or of torch's own optimizers; an empty one means none yet."""
        self.set_counts([self._load(i, entry) if entry else 0 for i, entry in enumerate(entries)])
        self._is_torn = False

    def _load(self, i: int, entry: Mapping[str, Any]) -> int:
        label = f"state of parameter {self.names[i]!r}"
        if not any(name in entry for name in ("step", *self.state_names(i))):
            return 0  # a user's own things alone
        count = self._count_of(label, entry)
        spread, owner = self._spread_of[i], self._owner_of[i]
        if spread is not None and owner is not None:
            entry = {
                name: value.full_tensor() if is_spread(value) else value  # collective
                for name, value in entry.items()
            }
            spread.told(owner, lambda: self._set(i, label, entry))
        else:
            self._set(i, label, entry)
        return count

    def _set(self, i: int, label: str, entry: Mapping[str, Any]) -> None:
        """Gives gradstep the state tensors of parameter i."""
        spread = self._spread_of[i]
        for name, ours in self._kept(i):
            value = entry.get(name)
            try:
                if value is None:
                    if self._needs(i, ours):
                        raise Mismatch(f"{label}: has no {name!r}, only {', '.join(map(str, entry))}")
                    continue
                if not isinstance(value, Tensor):
                    raise TypeError(f"{label}: {name!r} is a {type(value).__name__}, expected a tensor")
                if ours in NUMBERS:
                    if value.numel() != 1:
                        raise Mismatch(f"{label}: {name!r} has shape {tuple(value.shape)}, expected one element")
                    value = value.reshape(1)
                elif "." not in name and tuple(value.shape) != (shape := self._shape_of(i, ours)):
                    of = "expected" if ours in self._torch_state.shapes else "the parameter has"
                    raise Mismatch(f"{label}: {name!r} has shape {tuple(value.shape)}, {of} {shape}")
                elif spread is not None and self._owner_of[i] is None and value.shape == spread.shape:
                    value = spread.shard_of(value)
                if ours in self._torch_state.shapes:
                    value = value.reshape(-1)
                self.optimizer.set_state(i, ours, value.detach().cpu())
            except InvalidState:
                continue

    def _needs(self, i: int, name: str) -> bool:
        """Whether an entry without `name` is no state of this rule. Shampoo's matrices may be missing."""
        if name in _OPTIONAL_STATE or "." in name:
            return False
        self.optimizer._state(i, name, bits=True)
        return True

    def _count_of(self, label: str, entry: Mapping[str, Any]) -> int:
        if "step" not in entry:
            if self._torch_state.counts:
                raise Mismatch(f"{label}: has no 'step', only {', '.join(map(str, entry))}")
            return 1
        return step_count(label, entry["step"])


def step_count(label: str, step: Any) -> int:
    """The count that a state's `step` stands for."""
    try:
        count = float(step)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"{label}: 'step' is {step!r}, expected a number or a tensor of one element") from None
    if not (count >= 0 and count.is_integer()):
        raise InvalidArgument(f"{label}: 'step' is {count:g}, expected a whole number of at least 0")
    return int(count)


def _description(parameter: Tensor) -> tuple[torch.dtype, torch.Size, torch.device]:
    return parameter.dtype, parameter.shape, parameter.device


def _tensor(array: NDArray[Any] | DeviceArray, device: torch.device) -> SavedTensor:
    """A tensor over the memory of an array; over a copy's where the array is read-only, being one itself.

    State in int16 is bfloat16, which torch has and NumPy has not.
    """
    if isinstance(array, DeviceArray):
        with torch.inference_mode(False):
            return SavedTensor(torch.from_dlpack(array), False)
    is_copy = not array.flags.writeable
    if is_copy:
        array = array.copy()
    with torch.inference_mode(False):
        tensor = torch.from_numpy(array)
        if array.dtype == np.int16:
            tensor = tensor.view(torch.bfloat16)
        return SavedTensor(tensor.to(device), is_copy)
