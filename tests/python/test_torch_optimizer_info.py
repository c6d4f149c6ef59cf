# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""torch's own table of optimizer inputs (OptimizerInfo) drives gradstep.torch beside torch.optim."""

import warnings

import pytest

import gradstep

torch = pytest.importorskip("torch")
infos = pytest.importorskip("torch.testing._internal.common_optimizers", exc_type=ImportError)

from torch_twins import STEPS, TOLERANCE  # noqa: E402  (imports torch)

from gradstep import torch as adapters  # noqa: E402

NAMES = ("SGD", "RMSprop", "Adagrad", "Adam", "AdamW")
INFOS = {info.optim_cls.__name__: info for info in infos.optim_db if info.optim_cls.__name__ in NAMES}
DTYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.complex64]
# torch keeps bf16 and f16 state in the parameter's dtype and rounds after every operation; gradstep steps in f32 and
# rounds once: as torch does in f32 if the parameters are rounded after each step. Two units in the last place of the
# largest: where the f32 results lie on either side of a boundary they are rounded apart, and later steps carry that on.
ROUNDED = {dtype: 2 * torch.finfo(dtype).eps for dtype in (torch.bfloat16, torch.float16)}

# What gradstep.torch refuses among the inputs, by a word in their description or options.
REFUSED = {
    "capturable": (gradstep.Unsupported, "capturable: is True"),
    "differentiable": (gradstep.Unsupported, "differentiable: is True"),
    "complex": (gradstep.Unsupported, "is torch.complex64, expected real numbers"),
}
INPUTS = [
    pytest.param(name, flag, index, id=f"{name}-{flag}-{entry.desc or index}".replace(" ", "_"))
    for name, info in INFOS.items()
    for flag in ("", "foreach", "fused", "capturable", "differentiable")
    if flag in ("", *info.supported_impls) or (flag == "capturable" and info.has_capturable_arg)
    for index, entry in enumerate(info.optim_inputs_func(device="cpu"))
    if not (flag == "foreach" and isinstance(entry.kwargs.get("lr"), torch.Tensor))  # not together in torch
]


def options_of(name, flag, index):
    options = INFOS[name].optim_inputs_func(device="cpu")[index].kwargs
    return {**options, flag: True} if flag else options


def model(dtype):
    """Parameters of several shapes and layouts, and gradients for them: transposed, of no elements, scalar."""
    generator = torch.Generator().manual_seed(3)

    def tensor(*shape):
        return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)

    parameters = [tensor(4, 3), tensor(5, 2).t(), tensor(2, 3, 4, 5), tensor(0, 2), tensor(), tensor(7)[::2].clone()]
    parameters[2] = parameters[2].contiguous(memory_format=torch.channels_last)
    parameters = [torch.nn.Parameter(parameter) for parameter in parameters]
    grads = [[tensor(*parameter.shape) for parameter in parameters] for _ in range(STEPS)]
    grads[3][0] = grads[5][2] = None
    return parameters, grads


def train(optimizer, parameters, grads, rounded_to=None):
    for of_step in grads:
        for parameter, grad in zip(parameters, of_step, strict=True):
            # torch's fused kernels read both as they lie, and need them to lie alike.
            parameter.grad = None if grad is None else torch.empty_like(parameter).copy_(grad)
        optimizer.step()
        for parameter in parameters if rounded_to else ():
            parameter.data = parameter.data.to(rounded_to).float()
    return [parameter.detach().double() for parameter in parameters if parameter.numel()]


def refusal_of(flag, dtype):
    # A group's parameters are looked at before its flags.
    return REFUSED.get("complex" if dtype.is_complex and flag != "differentiable" else flag)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "flag", "index"), INPUTS)
def test_twenty_steps_are_those_of_torch_or_refused(name, flag, index, dtype):
    options = options_of(name, flag, index)
    parameters, grads = model(dtype)
    make = getattr(adapters, name)
    if refusal := refusal_of(flag, dtype):
        with pytest.raises(refusal[0], match=refusal[1]):
            make(parameters, **options)
        return
    ours = train(make(parameters, **options), parameters, grads)
    peers, grads = model(dtype)
    if dtype in ROUNDED:
        peers = [torch.nn.Parameter(peer.detach().float()) for peer in peers]
    optimizer = getattr(torch.optim, name)(peers, **options)
    theirs = train(optimizer, peers, grads, dtype if dtype in ROUNDED else None)
    tolerance = ROUNDED.get(dtype) or TOLERANCE[dtype]
    largest = max(float(parameter.abs().max()) for parameter in theirs)
    assert max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True)) <= tolerance * largest


ERRORS = [
    pytest.param(name, index, id=f"{name}-{entry.optimizer_error_input.desc}".replace(" ", "_"))
    for name, info in INFOS.items()
    for index, entry in enumerate(info.optim_error_inputs_func(device="cpu", dtype=torch.float32))
]


@pytest.mark.parametrize(("name", "index"), ERRORS)
def test_what_torch_refuses_is_refused_with_torchs_words(name, index):
    entry = INFOS[name].optim_error_inputs_func(device="cpu", dtype=torch.float32)[index]
    given = entry.optimizer_error_input
    assert entry.error_on is infos.OptimizerErrorEnum.CONSTRUCTION_ERROR
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # some of the errors are warnings
        with pytest.raises(entry.error_type, match=entry.error_regex):
            getattr(adapters, name)(given.params, **given.kwargs)
