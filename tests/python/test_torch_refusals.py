# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep.torch refuses what it cannot do by name, in torch's words, and takes every keyword that torch takes."""

import copy

import pytest

import gradstep

torch = pytest.importorskip("torch")

from gradstep import torch as adapters  # noqa: E402  (imports torch)

NAMES = ["SGD", "RMSprop", "Adagrad", "Adam", "AdamW"]


def parameter(*shape, **options):
    return torch.nn.Parameter(torch.zeros(shape, **options), requires_grad=options.get("dtype") is not torch.int8)


@pytest.mark.parametrize(
    ("name", "keyword", "torchs"),
    [
        ("Adam", "learning_rate", "lr"),
        ("Adam", "beta1", "betas"),
        ("AdamW", "beta2", "betas"),
        ("AdamW", "epsilon", "eps"),
        ("SGD", "learning_rate", "lr"),
        ("RMSprop", "rho", "alpha"),
        ("RMSprop", "epsilon", "eps"),
        ("Adagrad", "initial_accumulator", "initial_accumulator_value"),
        ("Shampoo", "learning_rate", "lr"),
        ("Shampoo", "graft_beta1", "graft_betas"),
    ],
)
def test_gradsteps_own_words_are_refused_with_torchs(name, keyword, torchs):
    make = getattr(adapters, name)
    with pytest.raises(
        TypeError, match=f"{name}: unknown option '{keyword}'; known: .*: say '{torchs}' for '{keyword}'"
    ):
        make([parameter(2)], **{keyword: 0.5})
    with pytest.raises(TypeError, match=f"param_group: unknown option '{keyword}': say '{torchs}'"):
        make([{"params": [parameter(2)], keyword: 0.5}])


def test_foreign_keywords_are_refused_with_those_that_are_known():
    with pytest.raises(
        TypeError, match=r"Adam: unknown option 'momentum'; known: lr, betas, eps, .*, context, num_threads"
    ):
        adapters.Adam([parameter(2)], momentum=0.9)
    with pytest.raises(TypeError, match="'master_weights' is for all groups"):
        adapters.AdamW([{"params": [parameter(2)], "master_weights": True}])
    optimizer = adapters.AdamW([{"params": [parameter(2)], "name": "means", "initial_lr": 1.0}])
    assert optimizer.param_groups[0]["name"] == "means", "a user's own key"


@pytest.mark.parametrize("name", NAMES)
def test_groups_have_the_keys_that_torchs_have_fresh_and_loaded(name):
    ours, theirs = getattr(adapters, name)([parameter(2)]), getattr(torch.optim, name)([parameter(2)])
    fresh = ours.state_dict()["param_groups"]
    assert fresh == theirs.state_dict()["param_groups"]
    ours.load_state_dict(theirs.state_dict())
    assert ours.state_dict()["param_groups"] == fresh
    ours.load_state_dict(copy.deepcopy(ours.state_dict()))
    assert ours.state_dict()["param_groups"] == fresh
    for flag in ("foreach", "fused"):
        for value in (None, False, True) if flag in fresh[0] else ():
            optimizer = getattr(adapters, name)([{"params": [parameter(2)], flag: value}])
            assert optimizer.param_groups[0][flag] is value
            assert getattr(adapters, name)([parameter(2)], **{flag: value}).defaults[flag] is value


@pytest.mark.parametrize("name", NAMES)
def test_what_torchs_flags_ask_for_in_vain_is_refused_by_name(name):
    make = getattr(adapters, name)
    defaults = make([parameter(2)]).defaults
    for flag, where in (("capturable", r"^param_groups\[0\]: "), ("differentiable", "^")):
        if flag not in defaults:
            continue
        with pytest.raises(gradstep.Unsupported, match=f"{where}{flag}: is True"):
            make([parameter(2)], **{flag: True})
        with pytest.raises(gradstep.Unsupported, match=rf"param_groups\[1\]: {flag}: is True"):
            make([{"params": [parameter(2)]}, {"params": [parameter(2)], flag: True}])
    if "fused" in defaults:
        with pytest.raises(ValueError, match="foreach and fused: both are True"):
            make([parameter(2)], foreach=True, fused=True)


def test_values_out_of_range_are_named_as_in_torch():
    for options, text in [
        ({"lr": -1.0}, "Invalid learning rate: -1.0"),
        ({"betas": (0.9, 1.0)}, "Invalid beta parameter at index 1: 1.0"),
        ({"eps": -1.0}, "Invalid epsilon value: -1.0"),
        ({"weight_decay": -0.5}, "Invalid weight_decay value: -0.5"),
    ]:
        with pytest.raises(ValueError, match=text):
            adapters.AdamW([parameter(2)], **options)
    for group, text in [
        ({"lr": -1.0}, r"^lr: is -1, expected a finite number of at least 0 \(param_groups\[0\]\)"),
        ({"betas": (0.9, 1.0)}, r"^betas\[1\]: is 1, expected in \[0, 1\) \(param_groups\[0\]\)"),
        ({"betas": 0.9}, "betas: is 0.9, expected two numbers"),
        ({"eps": -1.0}, "^eps: is -1"),
        ({"lr": "fast"}, r"param_groups\[0\]: lr: is 'fast', expected a number"),
    ]:
        with pytest.raises(gradstep.InvalidArgument, match=text):
            adapters.AdamW([{"params": [parameter(2)], **group}])


def test_tensors_that_are_not_dense_and_real_are_refused_by_name():
    class Wrapped(torch.Tensor):
        def __tensor_flatten__(self):
            raise NotImplementedError

    for refused, error, text in [
        (
            parameter(2, dtype=torch.complex64),
            gradstep.Unsupported,
            "'param.1': is torch.complex64, expected real .*view_as_real",
        ),
        (parameter(2, device="meta"), gradstep.Unsupported, "'param.1': is on meta"),
        (torch.eye(2).to_sparse(), gradstep.Unsupported, "'param.1': is torch.sparse_coo, expected a dense tensor"),
        (
            parameter(2, dtype=torch.int8),
            gradstep.Unsupported,
            "'param.1': is torch.int8, expected one of torch.float64",
        ),
        (torch.zeros(2).as_subclass(Wrapped), gradstep.Unsupported, "'param.1': is a Wrapped, expected a plain tensor"),
        (torch.nn.LazyLinear(2).weight, gradstep.InvalidArgument, "'param.1': is not initialised yet"),
    ]:
        with pytest.raises(error, match=text):
            adapters.Adam([parameter(2), refused])


def test_gradients_that_cannot_step_are_refused_before_anything_moves():
    first, second = parameter(5, 3), parameter(5, 3)
    optimizer = adapters.SGD([{"params": [first]}, {"params": [second], "maximize": True}], lr=0.1)
    first.grad, second.grad = torch.ones(5, 3), torch.eye(5, 3).to_sparse()
    with pytest.raises(
        gradstep.Unsupported, match=r"gradient of 'param.1': found torch.sparse_coo, expected dense ones"
    ):
        optimizer.step()
    assert (first == 0).all()


def test_a_sparse_gradient_is_told_without_the_errors_on_the_way():
    parameter_ = parameter(5, 3)
    optimizer = adapters.SGD([parameter_], lr=0.1)
    parameter_.grad = torch.eye(5, 3).to_sparse()
    with pytest.raises(gradstep.Unsupported, match=r"found torch\.sparse_coo") as caught:
        optimizer.step()
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_state_dict_that_does_not_fit_changes_nothing():
    ours = adapters.Adam([parameter(2)], lr=0.5)
    weight = ours.param_groups[0]["params"][0]
    weight.grad = torch.ones(2)
    ours.step()
    saved = copy.deepcopy(ours.state_dict())
    wrong = copy.deepcopy(saved)
    wrong["param_groups"][0]["lr"] = 0.1
    wrong["state"][0]["exp_avg"] = torch.zeros(3)
    with pytest.raises(gradstep.Mismatch, match=r"'param.0': 'exp_avg' has shape \(3,\), the parameter has \(2,\)"):
        ours.load_state_dict(wrong)
    assert ours.param_groups[0]["lr"] == 0.5 and ours.state[weight]["step"] == 1
    ours.step()
    assert ours.state[weight]["step"] == 2


def test_state_of_a_parameter_that_is_in_no_group_is_named_before_it_is_saved():
    old, new = parameter(2), parameter(2)
    optimizer = adapters.Adam([old])
    old.grad = new.grad = torch.ones(2)
    optimizer.step()
    optimizer.param_groups[0]["params"][0] = new
    optimizer.step()
    with pytest.raises(gradstep.InvalidState, match=r"a tensor of shape \(2,\) that is in no group"):
        optimizer.state_dict()
    del optimizer.state[old]
    assert optimizer.state_dict()["state"][0]["step"] == 1


def test_parameters_with_the_negative_bit_are_refused_and_gradients_are_not():
    negative = torch.complex(torch.zeros(3), torch.ones(3)).conj().imag
    with pytest.raises(gradstep.Unsupported, match=r"parameter 'param\.0': has the negative bit"):
        adapters.SGD([torch.nn.Parameter(negative)], lr=1.0)
    one = parameter(3)
    one.grad = negative
    adapters.SGD([one], lr=1.0).step()
    assert one.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(1).expand(4),
        torch.zeros(3, 1).expand(3, 4),
        torch.zeros(6).as_strided((4, 3), (1, 1)),
        torch.zeros(9).as_strided((3, 3), (2, 2)),
    ],
)
def test_parameters_whose_elements_share_memory_are_refused(tensor):
    with pytest.raises(gradstep.Unsupported, match=r"parameter 'param\.0': has elements that share memory"):
        adapters.SGD([torch.nn.Parameter(tensor)], lr=1.0)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.zeros(4, 3)[::2, 1:],
        torch.zeros(4, 3, 2).permute(2, 0, 1),
        torch.zeros(1, 3).expand(1, 3),
        torch.zeros(9).as_strided((3, 2), (2, 3)),
        torch.zeros(1).expand(0),
        torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last),
    ],
)
def test_parameters_may_lie_in_any_other_way(tensor):
    tensor.zero_()
    one = torch.nn.Parameter(tensor)
    one.grad = torch.ones(tensor.shape)
    adapters.SGD([one], lr=1.0).step()
    assert (one == -1).all()
