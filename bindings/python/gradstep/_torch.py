# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the optimizers of torch.py share.

The groups whose flags (maximize, nesterov, centered, amsgrad, ...) are equal share one gradstep optimizer, in which
each of them is a group; usually that is all of them, and a step is a single call.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeAlias, TypedDict

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import gradstep
from gradstep.errors import InvalidState, Mismatch, Unsupported
from gradstep.optimizer import StepResult

Parameters: TypeAlias = Iterable[Any]
"""Tensors, named tensors, or groups of them, as every torch optimizer takes them."""

Group: TypeAlias = dict[str, Any]

# State that a saved entry need not have: it is made when it is first used.
_OPTIONAL_STATE = {"master_weights", "momentum_buffer", "momentum"}


class Threads(TypedDict, total=False):
    """num_threads: threads of a context of this optimizer's own; not together with `context`."""

    context: gradstep.Context | None
    num_threads: int | None


class Extras(Threads, total=False):
    """Keywords beyond torch's, for all groups; see the rules of gradstep."""

    master_weights: bool
    state_dtype: str
    stochastic_rounding: bool
    seed: int


class _Part:
    """One gradstep optimizer and the groups that it steps.

    torch counts the steps of every parameter; gradstep those of an optimizer. `count` is the optimizer's, `behind` has
    the parameters that have made fewer: gradients were missing, or they joined later.
    """

    def __init__(self, optimizer: gradstep.Optimizer) -> None:
        self.optimizer = optimizer
        self.groups: list[Group] = []
        self.pushed: list[dict[str, float]] = []
        self.count = 0
        self.behind: dict[int, int] = {}

    def parameters(self) -> list[Tensor]:
        return [parameter for group in self.groups for parameter in group["params"]]

    def push(self, local: int, values: dict[str, float]) -> None:
        """Hands over the hyper-parameters of a group that have changed."""
        pushed = self.pushed[local]
        for name, value in values.items():
            if pushed.get(name) != value:
                self.optimizer.set_value(name, value, local)
                pushed[name] = value

    def set_counts(self, counts: list[int]) -> None:
        self.count = max(counts, default=0)
        self.behind = {i: count for i, count in enumerate(counts) if count != self.count}
        self.optimizer.step_count = self.count

    def step(self, parameters: list[Tensor], grads: list[Tensor | None], **options: Any) -> StepResult | None:
        """Steps parameters that have a gradient; those of equal counts together. None if there is no gradient."""
        missing = [i for i, grad in enumerate(grads) if grad is None]
        if len(missing) == len(grads):
            return None
        if not missing and not self.behind:
            whole = self.optimizer.step(parameters, grads, **options)
            self.count += 1
            return whole
        counts = [self.behind.get(i, self.count) for i in range(len(grads))]
        result: StepResult | None = None
        try:
            for count in sorted({counts[i] for i, grad in enumerate(grads) if grad is not None}):
                chosen = [grad if counts[i] == count else None for i, grad in enumerate(grads)]
                self.optimizer.step_count = count
                result = self.optimizer.step(parameters, chosen, **options)
                stepped = [grad is not None for grad in chosen]
                grads = [None if done else grad for done, grad in zip(stepped, grads, strict=True)]
                counts = [count + done for count, done in zip(counts, stepped, strict=True)]
        finally:
            self.set_counts(counts)
        return result

    def saved(self, i: int, from_the_start: bool) -> dict[str, Tensor]:
        """The state of parameter i as torch names it. Tensors are views where gradstep has views."""
        count = self.behind.get(i, self.count)
        if count == 0 and not from_the_start:
            return {}
        entry = {"step": torch.tensor(float(count), dtype=torch.float32)}
        for name in self.optimizer.state_names_of(i):
            try:
                entry[name] = _tensor(self.optimizer.state(i, name))
            except InvalidState:  # no such buffer in this group or of this dtype
                continue
        return entry

    def load(self, saved: list[Mapping[str, Any]]) -> None:
        """Takes over one entry per parameter, made by saved() or by torch's own optimizers."""
        counts = []
        for i, entry in enumerate(saved):
            # torch's SGD does not count.
            counts.append(int(entry.get("step", bool(entry))))
            for name in self.optimizer.state_names_of(i) if entry else ():
                value = entry.get(name)
                try:
                    if value is not None:
                        self.optimizer.set_state(i, name, value.detach().cpu())
                    elif name not in _OPTIONAL_STATE and "." not in name:  # nor need it have Shampoo's matrices
                        self.optimizer.state(i, name)
                        raise Mismatch(f"state of parameter {i}: has no {name!r}, only {', '.join(entry)}")
                except InvalidState:
                    continue
        self.set_counts(counts)


class Optimizer(torch.optim.Optimizer):
    """What the adapters share. Not made by itself.

    `state` is read anew from gradstep at each access: change its tensors, not the mapping.
    """

    _rule: ClassVar[type[gradstep.Optimizer]]
    _state_from_the_start: ClassVar[bool] = False
    # torch.amp.GradScaler then leaves unscaling and skipping to step().
    _step_supports_amp_scaling = True

    def __init__(
        self,
        params: Parameters,
        defaults: Group,
        extras: Extras | Threads,
        *,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        if capturable or differentiable:
            raise Unsupported(f"{'capturable' if capturable else 'differentiable'}: gradstep's steps leave no graph")
        options: dict[str, Any] = {**extras}
        context, self._num_threads = options.pop("context", None), options.pop("num_threads", None)
        if context is not None and self._num_threads is not None:
            raise TypeError(f"{type(self).__name__}: give context or num_threads, not both")
        self._context = context if self._num_threads is None else gradstep.Context(self._num_threads)
        self._options = options
        self._parts: dict[tuple[Any, ...], _Part] = {}
        self.last_step: StepResult | None = None
        super().__init__(params, defaults)

    def _values(self, group: Group) -> dict[str, Any]:
        """gradstep's hyper-parameters of a group."""
        raise NotImplementedError

    def _constants(self, group: Group) -> dict[str, Any]:
        """gradstep's options that an optimizer keeps for good."""
        raise NotImplementedError

    def step(
        self,
        closure: Callable[[], Any] | None = None,
        *,
        grad_scale: float = 1.0,
        max_norm: float | None = None,
        clip_value: float | None = None,
    ) -> Any:
        """Steps the parameters that have a gradient. Returns what the closure returned.

        grad_scale: multiplies every gradient; the gradients themselves stay as they are.
        max_norm: clips the norm over all scaled gradients, as torch.nn.utils.clip_grad_norm_ does.
        clip_value: then clips each element.

        `last_step` tells what was done, the norm included.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        # Both are tensors that a GradScaler sets for this call.
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        if found_inf is not None and float(found_inf) != 0:
            self.last_step = StepResult(False, math.nan, 1.0)
            return loss
        if scale is not None:
            grad_scale /= float(scale)
        self._follow_groups()

        calls = []
        for part in self._parts.values():
            parameters = part.parameters()
            grads = [parameter.grad for parameter in parameters]
            for grad in grads:
                if grad is not None and grad.layout is not torch.strided:
                    raise Unsupported(f"gradients: found {grad.layout}, expected dense ones (sparse=False)")
            calls.append((part, parameters, grads))
        norm = None
        if max_norm and not (len(calls) == 1 and not calls[0][0].behind):
            norm = _norm(grad for _, _, grads in calls for grad in grads if grad is not None)
        for part, parameters, grads in calls:
            result = part.step(
                parameters, grads, grad_scale=grad_scale, max_norm=max_norm, grad_norm=norm, clip_value=clip_value
            )
            if result is not None:
                self.last_step = result
                # What autograd saved of the old values must not be used any more.
                touched = [p for p, grad in zip(parameters, grads, strict=True) if grad is not None]
                torch.autograd.graph.increment_version(touched)
        return loss

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group, whose state starts at zero."""
        super().add_param_group(param_group)
        try:
            self._join(self._parts, len(self.param_groups) - 1)
        except BaseException:
            self.param_groups.pop()
            raise

    def _join(self, parts: dict[tuple[Any, ...], _Part], index: int) -> None:
        """Gives the parameters of a group to the gradstep optimizer of its flags, which is made if there is none."""
        group = self.param_groups[index]
        parameters = group["params"]
        if not parameters:
            return
        start = sum(len(earlier["params"]) for earlier in self.param_groups[:index])
        names = group.get("param_names") or [f"param.{start + i}" for i in range(len(parameters))]
        for name, parameter in zip(names, parameters, strict=True):
            _check(name, parameter)
        constants = self._constants(group)
        values = {name: float(value) for name, value in self._values(group).items()}
        key = tuple(constants.items())
        options = {**values, **constants, **self._options}
        part = parts.get(key)
        if part is None:
            part = _Part(self._rule(parameters, names=names, context=self._context, **options))
            parts[key] = part
        else:
            self._rule([], context=self._context, **options)  # refuses bad values while nothing has changed
            joined = range(len(part.parameters()), len(part.parameters()) + len(parameters))
            part.optimizer.add_parameters(parameters, names=names, groups=[len(part.groups)] * len(parameters))
            if part.count > 0:
                part.behind.update(dict.fromkeys(joined, 0))
        part.groups.append(group)
        part.pushed.append({})
        part.push(len(part.groups) - 1, values)

    def _follow_groups(self) -> None:
        """Hands over what has changed in param_groups since the last step."""
        for key, part in self._parts.items():
            for local, group in enumerate(part.groups):
                if tuple(self._constants(group).items()) != key:
                    self._rebuild(self.state)
                    return
                part.push(local, {name: float(value) for name, value in self._values(group).items()})

    def _rebuild(self, state: Mapping[Any, Mapping[str, Any]]) -> None:
        """New gradstep optimizers for the groups as they are now, with the given state."""
        parts: dict[tuple[Any, ...], _Part] = {}
        for index in range(len(self.param_groups)):
            self._join(parts, index)
        for part in parts.values():
            part.load([state.get(parameter, {}) for parameter in part.parameters()])
        self._parts = parts

    @property
    def state(self) -> defaultdict[Any, Any]:
        """State tensors and the step count by parameter, as torch has them; parameters without a step have none."""
        state: defaultdict[Any, Any] = defaultdict(dict)
        for part in self._parts.values():
            for i, parameter in enumerate(part.parameters()):
                entry = part.saved(i, self._state_from_the_start)
                if entry:
                    state[parameter] = entry
        return state

    @state.setter
    def state(self, state: Mapping[Any, Mapping[str, Any]]) -> None:
        if state or self._parts:  # torch assigns an empty one first
            self._rebuild(state)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over hyper-parameters and state of a state_dict(), of this class or of torch's."""
        # torch would round state to the dtype of its parameter; after all hooks of the user it is hidden from that.
        shield = self.register_load_state_dict_pre_hook(_shield)
        try:
            super().load_state_dict(state_dict)
        finally:
            shield.remove()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_options": self._options, "_num_threads": self._num_threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        others = {name: value for name, value in state.items() if name != "state"}
        if "_context" not in self.__dict__:  # a copy or an unpickled optimizer
            threads = others["_num_threads"]
            self._context = None if threads is None else gradstep.Context(threads)
            self.last_step = None
        super().__setstate__(others)
        for group in self.param_groups:
            self._complete(group)
        self._rebuild({key: _unshield(entry) for key, entry in state["state"].items()})

    def _complete(self, group: Group) -> None:
        """Adds what a group of an older or another optimizer's state_dict() lacks."""
        for name, value in self.defaults.items():
            group.setdefault(name, value)


def _check(name: str, parameter: Tensor) -> None:
    if parameter.device.type != "cpu":
        raise Unsupported(f"parameter {name!r}: is on {parameter.device}, gradstep steps on the CPU alone so far")
    if parameter.layout is not torch.strided:
        raise Unsupported(f"parameter {name!r}: is {parameter.layout}, expected a dense tensor")


def _tensor(array: NDArray[Any]) -> Tensor:
    """A tensor over the memory of an array; over a copy's where the array is read-only."""
    if not array.flags.writeable:
        array = array.copy()
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def _norm(grads: Iterable[Tensor]) -> NDArray[np.float64]:
    """The norm over gradients that no single call sees together."""
    with torch.no_grad():
        norms = [float(torch.linalg.vector_norm(grad, dtype=torch.float64)) for grad in grads]
    return np.array([math.hypot(*norms)])


class _Shielded:
    """Hides a tensor from torch's load_state_dict."""

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


def _shield(optimizer: torch.optim.Optimizer, state_dict: dict[str, Any]) -> dict[str, Any]:
    state = {
        key: {name: _Shielded(value) if isinstance(value, Tensor) else value for name, value in entry.items()}
        for key, entry in state_dict["state"].items()
    }
    return {**state_dict, "state": state}


def _unshield(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.tensor if isinstance(value, _Shielded) else value for name, value in entry.items()}
