# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the torch optimizers accept, and the words in which they refuse the rest: torch's."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict

import torch
from torch import Tensor

import gradstep
from gradstep.errors import Error, InvalidArgument, Unsupported
from gradstep.torch._spread import is_spread, local

Parameters: TypeAlias = Iterable[Any]
"""Tensors, named tensors, or groups of them, as every torch optimizer takes them."""

Group: TypeAlias = dict[str, Any]

Words: TypeAlias = Mapping[str, str]
"""torch's word for each of gradstep's."""

Number: TypeAlias = float | Tensor
"""A hyper-parameter: a tensor is on a CUDA device, where steps read it."""

FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


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


THREADS = tuple(Threads.__annotations__)
EXTRAS = (*THREADS, *(name for name in Extras.__annotations__ if name not in THREADS))


def check_keywords(owner: str, given: Iterable[str], known: Sequence[str], words: Words) -> None:
    """Raises TypeError for a keyword that is not one of `known`."""
    for name in given:
        if name not in known:
            hint = f": say {words[name].split('[')[0]!r} for {name!r}" if name in words else ""
            raise TypeError(f"{owner}: unknown option {name!r}; known: {', '.join(known)}{hint}")


def check_group_keys(group: Group, words: Words, for_all_groups: Sequence[str]) -> None:
    """Refuses what torch would carry along unused, though it is meant for gradstep. Other keys are the user's own."""
    for name in group:
        if name in words:
            raise TypeError(f"param_group: unknown option {name!r}: say {words[name].split('[')[0]!r}")
        if name in for_all_groups:
            raise TypeError(f"param_group: {name!r} is for all groups: give it to the optimizer")


def check_flags(where: str, flags: Group) -> None:
    """Refuses the implementations of torch that gradstep cannot stand in for."""
    if flags.get("differentiable"):
        raise Unsupported(f"{where}differentiable: is {flags['differentiable']}, gradstep's steps leave no graph")
    if flags.get("foreach") and flags.get("fused"):
        raise InvalidArgument(f"{where}foreach and fused: both are True, torch takes one of them at most")


def check_parameter(label: str, parameter: Any) -> None:
    """Refuses what is no dense tensor of real numbers in this process's memory."""
    if not isinstance(parameter, Tensor):
        raise TypeError(f"{label}: is a {type(parameter).__name__}, expected a tensor")
    parameter = local(parameter)
    if hasattr(parameter, "__tensor_flatten__"):  # a tensor made of others: quantised and masked ones
        raise Unsupported(f"{label}: is a {type(parameter).__name__}, expected a plain tensor")
    if isinstance(parameter, torch.nn.parameter.UninitializedTensorMixin):
        raise InvalidArgument(f"{label}: is not initialised yet: run the lazy module once, then make the optimizer")
    if parameter.device.type not in ("cpu", "cuda"):
        raise Unsupported(f"{label}: is on {parameter.device}, gradstep steps on the CPU and on CUDA devices")
    if parameter.layout is not torch.strided:
        raise Unsupported(f"{label}: is {parameter.layout}, expected a dense tensor")
    if parameter.is_neg():
        raise Unsupported(
            f"{label}: has the negative bit, as the imaginary part of a conjugate: give resolve_neg() of it"
        )
    if parameter.is_complex():
        raise Unsupported(f"{label}: is {parameter.dtype}, expected real numbers: give torch.view_as_real of it")
    if parameter.dtype not in FLOATS:
        raise Unsupported(f"{label}: is {parameter.dtype}, expected one of {', '.join(map(str, FLOATS))}")
    if overlaps_itself(parameter):
        shape, strides = tuple(parameter.shape), parameter.stride()
        raise Unsupported(
            f"{label}: has elements that share memory (shape {shape}, strides {strides}), as by expand(): "
            "give a clone()"
        )


def overlaps_itself(tensor: Tensor) -> bool:
    """Whether two elements of a tensor have one address."""
    axes = sorted((stride, size) for stride, size in zip(tensor.stride(), tensor.shape, strict=True) if size != 1)
    if tensor.numel() == 0:
        return False
    reach = 0
    for stride, size in axes:
        if stride <= reach:
            break
        reach += stride * (size - 1)
    else:
        return False  # each axis steps over all that the ones before it reach
    if axes[0][0] == 0:
        return True
    # Strides that only as_strided() makes.
    offsets = torch.zeros(1, dtype=torch.int64)
    for stride, size in axes:
        offsets = (offsets[:, None] + stride * torch.arange(size)).reshape(-1)
    return offsets.unique().numel() < offsets.numel()


def check_capturable(where: str, group: Group, label: str, parameter: Tensor) -> None:
    """Refuses the promise of a capture where there are no CUDA graphs, as torch does."""
    if group.get("capturable") and not parameter.is_cuda:
        raise Unsupported(
            f"{where}capturable: is {group['capturable']}, {label} is on {parameter.device}: CUDA graphs capture steps "
            "on CUDA devices"
        )


def check_gradient(label: str, parameter: Tensor, grad: Tensor) -> None:
    """Refuses what cannot step the parameter."""
    if grad.layout is not torch.strided:
        raise Unsupported(f"{label}: found {grad.layout}, expected dense ones (sparse=False)")
    if hasattr(grad, "__tensor_flatten__") and not (is_spread(grad) and is_spread(parameter)):
        raise Unsupported(f"{label}: is a {type(grad).__name__}, expected a plain tensor")
    if grad.device != parameter.device or grad.dtype not in FLOATS or grad.shape != parameter.shape:
        found = f"{grad.dtype} of shape {tuple(grad.shape)} on {grad.device}"
        raise InvalidArgument(f"{label}: is {found}, the parameter {tuple(parameter.shape)} on {parameter.device}")


def number(name: str, value: Any) -> Number:
    """A hyper-parameter that is a number or a tensor of one element; as it is where only a device could read it."""
    if isinstance(value, Tensor) and value.is_cuda and value.numel() == 1:
        return value
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        shown = f"a tensor of shape {tuple(value.shape)}" if isinstance(value, Tensor) else repr(value)
        raise InvalidArgument(f"{name}: is {shown}, expected a number or a tensor of one element") from None


def pair(name: str, value: Any) -> tuple[Any, Any]:
    """Two hyper-parameters under one name, as betas."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name}: is {value!r}, expected two numbers") from None
    return first, second


def in_torch_words(error: Error, words: Words, index: int) -> Error:
    """This error as a user of torch reads it."""
    found = re.compile(r"\b(?:options\.)?(" + "|".join(words) + r")\b")
    text = found.sub(lambda match: words[match[1]], str(error)).removeprefix("options.")
    return type(error)(f"{text} (param_groups[{index}])")
