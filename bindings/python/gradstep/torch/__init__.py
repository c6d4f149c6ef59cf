# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep's rules as torch.optim optimizers, for parameters on the CPU and on CUDA devices.

Names, defaults and formulas are torch.optim's; parameters and gradients are used where they lie. What works on a torch
optimizer works on these: parameter groups and state that are edited between steps, learning-rate schedulers, hooks,
torch.amp.GradScaler, and state_dict(), whose tensors have torch's names, so that either side loads the other's.
foreach and fused, which choose among torch's implementations, change no number; differentiable is refused, capturable
is for CUDA devices, where steps are queued on torch's current stream. Shampoo, which torch does not have, takes the
options of gradstep.Shampoo, each of them per group. shard() spreads the state over ranks. DTensors, as of FSDP2, are
stepped shard by shard, or by rules that need whole tensors at an owner.

comm_hook() has DistributedDataParallel exchange gradients in any of gradstep's ways. connect() joins the ranks of a
process group of torch.distributed by gradstep's own connections; communicator() lends gradstep those of the group.
"""

from gradstep._process_group import communicator, connect
from gradstep.torch._comm_hook import CommHook, comm_hook
from gradstep.torch._more_rules import ASGD, Adadelta, Adafactor, Adamax, Muon, NAdam, RAdam, Rprop
from gradstep.torch._optimizer import Optimizer
from gradstep.torch._rules import SGD, Adagrad, Adam, AdamW, RMSprop
from gradstep.torch._shampoo import Shampoo

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "CommHook",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "Shampoo",
    "comm_hook",
    "communicator",
    "connect",
]
