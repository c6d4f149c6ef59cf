# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""The last reference to an optimizer of gradstep.torch frees it, as torch's own: it is in no reference cycle."""

import copy
import gc
import weakref

import pytest

torch = pytest.importorskip("torch")

from conftest import run_ranks  # noqa: E402

import gradstep  # noqa: E402
import gradstep.torch  # noqa: E402


@pytest.fixture(autouse=True)
def no_cyclic_collector():
    """Only reference counts may free anything here."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def parameter():
    made = torch.nn.Parameter(torch.ones(4, 3))
    made.grad = torch.ones_like(made)
    return made


def schedule(optimizer):
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    scheduler.step()


USES = {
    "step": lambda optimizer: None,
    "closure": lambda optimizer: optimizer.step(lambda: 1.0),
    "state": lambda optimizer: optimizer.state,
    "state_dict": lambda optimizer: optimizer.state_dict(),
    "load_state_dict": lambda optimizer: optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict())),
    "deepcopy": copy.deepcopy,
    "scheduler": schedule,
    "add_param_group": lambda optimizer: optimizer.add_param_group({"params": [parameter()]}),
    "edited state": lambda optimizer: optimizer.state.clear(),
    "edited groups": lambda optimizer: optimizer.param_groups[0].update(maximize=True),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("name", ["SGD", "RMSprop", "Adagrad", "Adam", "AdamW", "Shampoo"])
def test_the_last_reference_to_an_optimizer_frees_it(name, use):
    if (name, use) == ("Shampoo", "edited groups"):
        pytest.skip("Shampoo has no such flag")
    optimizer = getattr(gradstep.torch, name)([parameter()], lr=0.1)
    optimizer.step()
    USES[use](optimizer)
    optimizer.step()
    freed = weakref.ref(optimizer)
    del optimizer
    assert freed() is None


def test_the_last_reference_to_a_copy_frees_it():
    optimizer = gradstep.torch.AdamW([parameter()], num_threads=1, state_dtype="int8")
    copied = copy.deepcopy(optimizer)
    copied.step()
    freed = weakref.ref(optimizer), weakref.ref(copied)
    del optimizer, copied
    assert [one() for one in freed] == [None, None]


def test_the_last_reference_to_a_sharded_optimizer_frees_it():
    def body(comm):
        optimizer = gradstep.torch.Adam([parameter()])
        optimizer.step()
        optimizer.shard(comm)
        optimizer.step()
        freed = weakref.ref(optimizer)
        del optimizer
        return freed() is None

    assert run_ranks(2, body) == [True, True]


def test_the_last_reference_to_a_comm_hook_frees_it():
    hook = gradstep.torch.comm_hook([("weight", parameter())], gradstep.Communicator.local(1)[0])
    freed = weakref.ref(hook)
    del hook
    assert freed() is None
