# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the torch optimizers share.

torch's users own `param_groups` and `state` and may edit both between steps. gradstep's optimizers are made from them:
a step first compares both with what they were, hands over numbers that have changed, and makes the gradstep optimizers
anew where parameters, flags or state are others. What cannot be followed is refused there, before anything has moved.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, overload

import torch
from torch import Tensor

import gradstep
from gradstep._deprecated import warn_of
from gradstep.errors import Error, InvalidArgument, InvalidState, Unsupported
from gradstep.optimizer import StepResult
from gradstep.torch._arguments import (
    EXTRAS,
    Extras,
    Group,
    Parameters,
    Threads,
    Words,
    check_flags,
    check_gradient,
    check_group_keys,
    check_keywords,
    check_parameter,
    in_torch_words,
    number,
)
from gradstep.torch._grad_scaler import note_infinity
from gradstep.torch._layout import Layout, Settings
from gradstep.torch._part import Call, Part, TorchState
from gradstep.torch._sharding import Sharding
from gradstep.torch._shield import shield, unshield
from gradstep.torch._spread import Spread, agree, local, norm
from gradstep.torch._state import Entry, ShownState

Work = list[tuple[Part, list[Call]]]
Loss = TypeVar("Loss")

_SKIPPED = StepResult(False, math.nan, 1.0)


def _gated_scale(scale: Tensor | None, found_inf: Tensor | None) -> Tensor:
    """What gradients are multiplied by: 1 / scale, or NaN, which skips the step, where an infinity was found."""
    with torch.no_grad():
        if scale is None:
            assert found_inf is not None
            factor = torch.ones_like(found_inf, dtype=torch.float32)
        else:
            factor = scale.to(torch.float32).reciprocal()
        if found_inf is not None:
            factor = torch.where(found_inf.to(factor.device, non_blocking=True) == 0, factor, math.nan)
        return factor.reshape(1)


def _with_entries(packed: dict[str, Any], others: Mapping[int, Entry]) -> dict[str, Any]:
    """A state_dict with other entries in the place of some, which go by their id()."""
    return {**packed, "state": {key: others.get(id(entry), entry) for key, entry in packed["state"].items()}}


class Optimizer(torch.optim.Optimizer):
    """What the adapters share. Not made by itself."""

    _rule: ClassVar[type[gradstep.Optimizer]]
    _twin: ClassVar[type[torch.optim.Optimizer] | None] = None
    """torch's own optimizer of this rule: the judge of constructor arguments, and the source of their defaults."""
    _probe: ClassVar[tuple[int, ...]] = (0,)
    """A shape that the twin takes."""
    _words: ClassVar[Words]
    _for_all_groups: ClassVar[tuple[str, ...]] = EXTRAS
    """Keywords that a group cannot have of its own."""
    _state_from_the_start: ClassVar[bool] = False
    _needs_whole: ClassVar[bool] = False
    """Whether the rule needs whole tensors, and not each element by itself."""
    _torch_state: ClassVar[TorchState] = TorchState(counts=True, words={}, counted={})
    # torch.amp.GradScaler then leaves unscaling and skipping to step().
    _step_supports_amp_scaling = True

    def __init__(self, params: Parameters, options: Group, extras: Extras | Threads) -> None:
        name = type(self).__name__
        check_keywords(name, extras, (*options, *self._for_all_groups), self._words)
        check_flags("", options)
        further: dict[str, Any] = {**extras}
        context, self._num_threads = further.pop("context", None), further.pop("num_threads", None)
        if context is not None and self._num_threads is not None:
            raise TypeError(f"{name}: give context or num_threads, not both")
        self._context = context if self._num_threads is None else gradstep.Context(self._num_threads)
        self._options = further
        self._layout = Layout()
        self._shown = ShownState(self._state_from_the_start)
        self._sharding: Sharding | None = None
        self._viewed = False
        """Whether a user may have views of the state."""
        self._last: StepResult | Tensor | None = None
        super().__init__(params, self._torch_defaults(options))

    def _torch_defaults(self, options: Group) -> Group:
        """What torch's own optimizer makes of the arguments; it refuses what torch refuses, in torch's words."""
        if self._twin is None:
            return options
        taken = inspect.signature(self._twin).parameters  # an older torch knows fewer
        given = {name: value for name, value in options.items() if name in taken}
        twin: Any = self._twin
        return {**options, **twin([torch.empty(self._probe, device="cpu")], **given).defaults}

    def _values(self, group: Group) -> dict[str, Any]:
        """gradstep's hyper-parameters of a group."""
        raise NotImplementedError

    def _constants(self, group: Group) -> dict[str, Any]:
        """gradstep's options that an optimizer keeps for good."""
        return {"maximize": group["maximize"]}

    @staticmethod
    def _alike(count: int, groups: Sequence[Mapping[str, Any]]) -> int:
        """Equal numbers for counts of steps with which the rule's step is equal."""
        return count

    @overload
    def step(
        self,
        closure: None = None,
        *,
        grad_scale: float = 1.0,
        max_norm: float | None = None,
        clip_value: float | None = None,
    ) -> None: ...

    @overload
    def step(
        self,
        closure: Callable[[], Loss],
        *,
        grad_scale: float = 1.0,
        max_norm: float | None = None,
        clip_value: float | None = None,
    ) -> Loss: ...

    def step(
        self,
        closure: Callable[[], Loss] | None = None,
        *,
        grad_scale: float = 1.0,
        max_norm: float | None = None,
        clip_value: float | None = None,
    ) -> Loss | None:
        """Steps the parameters that have a gradient. Returns what the closure returned.

        grad_scale: multiplies every gradient; the gradients themselves stay as they are.
        max_norm: clips the norm over all scaled gradients, as torch.nn.utils.clip_grad_norm_ does.
        clip_value: then clips each element.

        `last_step` tells what was done, the norm included. Collective while the state is sharded. With DTensors it is
        collective under a GradScaler, with max_norm, and for rules that need whole tensors; the norm and what a
        GradScaler has found are those of all ranks.

        On a CUDA device the step is queued on torch's current stream and not waited for, a GradScaler's or a
        scheduler's numbers on the device included; it may be captured in a CUDA graph.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        self._check_capture()
        self._follow()
        options: dict[str, Any] = {}
        # Both are tensors that a GradScaler sets for this call.
        scale, found_inf = getattr(self, "grad_scale", None), getattr(self, "found_inf", None)
        has_scaler = found_inf is not None
        if not isinstance(found_inf, Tensor):
            found_inf = None  # 0: it has seen no gradient
        skip = False
        if self._is_decided_on_device(scale, found_inf):
            options["grad_scale_tensor"] = _gated_scale(scale, found_inf)
        else:
            if scale is not None:
                grad_scale /= float(scale)
            skip = found_inf is not None and float(found_inf) != 0
            if has_scaler and (spreads := self._spreads()):
                skip = agree(spreads, skip, grad_scale)
                note_infinity(skip)
            if skip and self._sharding is None:
                self._last = _SKIPPED
                return loss
        if grad_scale != 1.0 or max_norm or clip_value:
            options |= {"grad_scale": grad_scale, "max_norm": max_norm, "clip_value": clip_value}
        work = self._work(skip, grad_scale)
        is_spread = any(part.spreads for part, _ in work)
        if len(work) == 1 and len(work[0][1]) == 1 and not is_spread:
            try:
                self._run(work, options)
            except InvalidArgument:
                try:
                    is_settled = self._settle()
                except Exception as reason:
                    raise reason from None  # says it all
                if not is_settled:
                    raise
                self._run(self._work(skip, grad_scale), options)
        elif work:
            # An error in a later call would come when the earlier ones have stepped.
            if not all(part.fits() for part, _ in work) and self._settle():
                work = self._work(skip, grad_scale)
            self._run(work, {**options, "grad_norm": self._norm(work) if max_norm else None})
        self._shown.after_step(self._layout.parts.values(), readable=self._is_readable)
        return loss

    @property
    def last_step(self) -> StepResult | None:
        """What the last step did; on a CUDA device this waits for it, and knows of replays of a captured one."""
        if isinstance(self._last, Tensor):
            applied, norm, coefficient, _ = self._last.tolist()
            return StepResult(applied != 0, norm, coefficient)
        return self._last

    def _check_capture(self) -> None:
        """Refuses a capture that a group does not know of, as torch does."""
        if not any(part.device.type == "cuda" for part in self._layout.parts.values()):
            return
        if not torch.cuda.is_current_stream_capturing():
            return
        for index, group in enumerate(self.param_groups):
            if not group.get("capturable", True):
                raise InvalidState(
                    f"param_groups[{index}]: capturable: is {group['capturable']}, and the current stream is being "
                    "captured in a CUDA graph"
                )

    def _is_decided_on_device(self, scale: Tensor | None, found_inf: Tensor | None) -> bool:
        """Whether a GradScaler's numbers stay on the device: the host need not know whether the step is made."""
        given = [tensor for tensor in (scale, found_inf) if tensor is not None]
        parts = self._layout.parts.values()
        return (
            bool(given)
            and all(tensor.is_cuda for tensor in given)
            and self._sharding is None
            and not self._spreads()
            and all(part.device.type == "cuda" and part.is_level() for part in parts)
        )

    def _work(self, skip: bool, grad_scale: float) -> Work:
        """The gradstep calls of this step; none if there is no gradient, or an infinity on any rank."""
        if self._sharding is not None:
            return self._agreed_work(self._sharding, skip, grad_scale)
        work = []
        for part in self._layout.parts.values():
            grads = part.gradients()
            calls = part.calls(grads, [grad is not None for grad in grads])
            if calls:
                work.append((part, calls))
        return work

    def _agreed_work(self, sharding: Sharding, skip: bool, grad_scale: float) -> Work:
        """Makes equal calls on all ranks: for parameters that have a gradient on any of them."""
        parts = list(self._layout.parts.values())
        grads = [[parameter.grad for parameter in part.parameters] for part in parts]
        had = [grad is not None for of_part in grads for grad in of_part]
        skip, present = sharding.agree(skip, grad_scale, had)
        note_infinity(skip)
        if skip:
            self._last = _SKIPPED
            return []
        rest = iter(present)
        work = [(part, part.calls(g, [next(rest) for _ in g])) for part, g in zip(parts, grads, strict=True)]
        return [(part, calls) for part, calls in work if calls]

    def _run(self, work: Work, options: Mapping[str, Any]) -> None:
        for part, calls in work:
            result = part.step(calls, **options)
            self._last = result if part.outcome is None else part.outcome
            # What autograd saved of the old values must not be used any more.
            stepped = part.stepped_by(calls)
            torch.autograd.graph.increment_version(stepped)
            if part.spreads:
                torch.autograd.graph.increment_version([*map(local, stepped)])

    def _settle(self) -> bool:
        """Refuses gradients that no step can use, and follows parameters to another dtype. True if there were any."""
        for part in self._layout.parts.values():
            for name, parameter in zip(part.names, part.parameters, strict=True):
                check_parameter(f"parameter {name!r}", parameter)
                if parameter.grad is not None:
                    check_gradient(f"gradient of {name!r}", parameter, parameter.grad)
        if not any(part.outdated() for part in self._layout.parts.values()):
            return False
        self._rebuild()
        return True

    def _norm(self, work: Work) -> Tensor:
        """The norm over gradients that no single call sees together."""
        if self._sharding is not None and self._sharding.local:
            raise Unsupported(
                "max_norm: of local gradients, while parameters differ in flags or in their numbers of steps; "
                "reduce them first, and shard with gradients='reduced'"
            )
        return norm([piece for part, calls in work for piece in part.pieces(calls)])

    def _spreads(self) -> list[Spread]:
        """How parameters are spread over ranks, of those that are."""
        return [spread for part in self._layout.parts.values() for spread in part.spreads]

    @property
    def _is_readable(self) -> bool:
        """Whether reading the state takes no other ranks."""
        return self._sharding is None and not any(part.has_owners for part in self._layout.parts.values())

    def shard(
        self,
        comm: gradstep.Communicator | None,
        gradients: str = "local",
        average: str = "mean",
        preconditioners: str = "replicated",
    ) -> None:
        """Spreads the state over the ranks of a communicator, each of which then steps its share. Collective.

        From then on step() is collective, and so are reading `state`, state_dict(), load_state_dict() and copies; edits
        of groups and state must be the same on all ranks. Parameters must be equal on all ranks, and stay so.

        comm: may be shared or closed afterwards. None is deprecated: use unshard().
        gradients: "local" (each rank's own, which the step reduces) or "reduced" (equal already, as under
            DistributedDataParallel).
        average: "mean" or "sum" of local gradients.
        preconditioners: of Shampoo; see gradstep.Optimizer.shard.
        """
        if comm is None:
            warn_of("Optimizer.shard(None)", "Optimizer.unshard()")
            self.unshard()
            return
        self._follow()
        self._deal_out(Sharding(comm, gradients, average, preconditioners))

    def unshard(self) -> None:
        """Gathers the state on every rank, and ends the sharding. Collective while the state is sharded."""
        self._follow()
        self._deal_out(None)

    def _deal_out(self, sharding: Sharding | None) -> None:
        if self._sharding is None and (self._viewed or self._shown.handed_out):
            self._rebuild(sharding=sharding)  # views that users may have keep their memory
            self._viewed = False
            return
        if sharding is not None:
            sharding.attach(self._layout.parts.values())
        else:
            for part in self._layout.parts.values():
                part.optimizer.unshard()
        self._sharding = sharding
        self._shown.start_anew(self._layout.parts.values(), readable=self._is_readable)

    def add_param_group(self, param_group: Group) -> None:
        """Adds a group, whose state starts at zero."""
        if isinstance(param_group, dict):
            check_group_keys(param_group, self._words, self._for_all_groups)
        super().add_param_group(param_group)
        try:
            if self._sharding is None and self._layout.lists(self.param_groups[:-1]) and not self._shown.edited():
                self._layout.add(param_group, self._settings(len(self.param_groups) - 1), self._make_part)
                if self._shown.handed_out:
                    self._shown.show(self._layout.parts.values())
            else:
                self._follow()
        except BaseException:
            self.param_groups.pop()
            raise

    def _follow(self) -> None:
        """Takes over what was edited in param_groups and in state."""
        edits: dict[Tensor, Entry] = {}
        if self._shown.edited():
            edits = self._shown.edits(self._layout.parts.values())
            if not edits:
                self._shown.accept()
        if edits or not self._layout.lists(self.param_groups):
            self._rebuild(edits)
            return
        for index, place in enumerate(self._layout.places):
            constants, values = self._settings(index)
            if not place.members:
                continue
            if constants != place.constants or not place.is_captured_as(self.param_groups[index]):
                self._rebuild()
                return
            try:
                for part, local in place.members:
                    part.push(local, values)
            except Error as error:
                raise in_torch_words(error, self._words, index) from None

    def _rebuild(self, edits: dict[Tensor, Entry] | None = None, sharding: Sharding | None = None) -> None:
        """Makes the gradstep optimizers anew, with the state that parameters have now, or that was edited (taken)."""
        old = self._layout.place_of()
        edits = {} if edits is None else edits

        def entry_of(parameter: Tensor) -> Entry:
            if parameter in edits:
                return edits[parameter]
            if parameter not in old:
                return self._shown.entry(parameter)
            part, i = old[parameter]
            return part.entry(i) if part.has_state(i, self._state_from_the_start) else {}

        sharding = sharding or self._sharding
        layout = self._made_layout(entry_of, sharding)
        kept = layout.place_of()
        self._shown.leave([place for parameter, place in old.items() if parameter not in kept])
        self._layout, self._sharding = layout, sharding
        edits.clear()  # or else it would be unknown whether a user has the tensors in there
        self._shown.start_anew(layout.parts.values(), readable=self._is_readable, follow=True)

    def _made_layout(self, entry_of: Callable[[Tensor], Entry], sharding: Sharding | None) -> Layout:
        layout = Layout()
        for index, group in enumerate(self.param_groups):
            layout.add(group, self._settings(index), self._make_part)
        for part in layout.parts.values():
            part.load([entry_of(parameter) for parameter in part.parameters])
        if sharding is not None:
            sharding.attach(layout.parts.values())
        return layout

    def _settings(self, index: int) -> Settings:
        """What gradstep reads in a group."""
        group = self.param_groups[index]
        if not isinstance(group, dict):
            raise TypeError(f"param_groups[{index}]: is a {type(group).__name__}, expected a dict")
        try:
            if group.get("differentiable") or (group.get("foreach") and group.get("fused")):
                check_flags(f"param_groups[{index}]: ", group)
            constants, values = self._constants(group), self._values(group)
        except KeyError as error:
            raise InvalidArgument(
                f"param_groups[{index}]: has no {error}; add_param_group fills in what is missing"
            ) from None
        for name, value in values.items():
            if type(value) is not float:
                values[name] = number(f"param_groups[{index}]: {self._words.get(name, name)}", value)
        return constants, values

    def _make_part(self, index: int, settings: Settings, device: torch.device, counts_on_device: bool) -> Part:
        """A part without parameters. Refuses settings out of range."""
        constants, values = settings
        numbers = {name: value for name, value in values.items() if not isinstance(value, Tensor)}
        options: dict[str, Any] = {"learning_rate": 0.0, **numbers, **constants, **self._options}
        try:
            self._rule([], context=self._context, **options)
        except Error as error:
            raise in_torch_words(error, self._words, index) from None
        rule, context = self._rule, self._context  # not self: the last reference to an optimizer frees it
        return Part(
            lambda described: rule._of(described, context, options),
            device,
            counts_on_device,
            self._torch_state,
            Optimizer._alike if self._options.get("stochastic_rounding") else self._alike,  # whose bits go by the count
            type(self).__name__ if self._needs_whole else None,
        )

    @property
    def state(self) -> Any:
        """State tensors and the step count by parameter, as torch has them; parameters without a step have none.

        Tensors are views of gradstep's memory, or copies where state is kept in another form (8 bits, sharded). What is
        edited is taken over, or refused, by the next step. Collective while the state is sharded, and where DTensors
        are stepped by a rule that needs whole tensors.
        """
        for part in self._layout.parts.values():
            part.check_is_whole()
        self._viewed = True
        return self._shown.hand_out(self._layout.parts.values())

    @state.setter
    def state(self, state: Any) -> None:
        if state or self._layout.parts:  # torch assigns an empty one first
            self._shown.take(state, self._layout.parts.values())

    def state_dict(self) -> dict[str, Any]:
        """Hyper-parameters and state, as torch's; the tensors are those of `state`, which go on changing.

        State that `state` shows as copies (8 bits, sharded) does not: its entries are what they were at the call.
        """
        was_handed_out = self._shown.handed_out
        listed = {id(parameter) for group in self.param_groups for parameter in group["params"]}
        for key in self.state:
            if isinstance(key, Tensor) and id(key) not in listed:
                raise InvalidState(
                    f"state: has a tensor of shape {tuple(key.shape)} that is in no group any more: delete its entry"
                )
        frozen = self._shown.frozen(shared=was_handed_out)
        if not frozen:
            result = super().state_dict()
        else:
            # Before any hook of the user's.
            hook = self.register_state_dict_post_hook(lambda _, packed: _with_entries(packed, frozen), prepend=True)
            try:
                result = super().state_dict()
            finally:
                hook.remove()
        if not was_handed_out and not self._optimizer_state_dict_pre_hooks:
            self._shown = self._shown.taken_back()
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes over hyper-parameters and state of a state_dict(), of this class or of torch's."""
        # torch would round state to the dtype of its parameter; after all hooks of the user it is hidden from that.
        hook = self.register_load_state_dict_pre_hook(shield)
        try:
            super().load_state_dict(state_dict)
        finally:
            hook.remove()

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_options": self._options, "_num_threads": self._num_threads}

    def __setstate__(self, state: dict[str, Any]) -> None:
        others = {name: value for name, value in state.items() if name != "state"}
        if "_context" not in self.__dict__:  # a copy or an unpickled optimizer
            threads = others["_num_threads"]
            self._context = None if threads is None else gradstep.Context(threads)
            self._sharding = None
            self._viewed = False
            self._last = None
        before = dict(self.__dict__)
        try:
            super().__setstate__(others)
            for group in self.param_groups:
                self._complete(group)
            entries = {key: unshield(entry) for key, entry in state["state"].items()}
            self._layout = self._made_layout(lambda parameter: entries.get(parameter) or {}, self._sharding)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._shown = ShownState(self._state_from_the_start)
        self._shown.adopt(entries, self._layout.parts.values(), readable=self._is_readable)

    def _complete(self, group: Group) -> None:
        """Adds what a group of an older or another optimizer's state_dict() lacks."""
        for name, value in self.defaults.items():
            group.setdefault(name, value)
