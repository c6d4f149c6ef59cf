# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""gradstep turns gradients into parameter updates on arrays that you own.

    host gradients -> Accumulator -> Reducer -> Adam, ... -> host parameters
                      micro-batches  over a
                                     Communicator
                      '------ the Updater drives all three ------'

Each class is useful alone. Arrays are anything with the buffer protocol or ``__dlpack__`` (NumPy, PyTorch, JAX, ...);
they are used where they lie, without a copy. What is written must be writable. Calls release the interpreter lock.

``gradstep.torch`` has the rules as torch.optim optimizers, ``gradstep.optax`` as optax transformations;
``gradstep.plan`` says what synchronisation will cost. Each is there when it is imported.
"""

from gradstep import rules as _rules
from gradstep import schedule
from gradstep._arrays import DeviceArray
from gradstep._info import (
    backend_available,
    backend_status,
    build_info,
    load_backend,
    unique_id,
    version,
)
from gradstep._named_optimizer import RuleDescription, RuleOption, define_rule, describe_rules
from gradstep.accumulator import Accumulator
from gradstep.communicator import (
    Communicator,
    CommunicatorStatistics,
    HostCollectives,
    Store,
    rendezvous_pending,
)
from gradstep.context import Context, default_context
from gradstep.errors import (
    Aborted,
    BackendUnavailable,
    CallbackError,
    Corrupt,
    DeviceError,
    Error,
    InputOutputError,
    InternalError,
    InvalidArgument,
    InvalidState,
    Mismatch,
    NumericError,
    OutOfMemory,
    PeerLost,
    Timeout,
    Unsupported,
)
from gradstep.named_rules import make_optimizer, optimizer_class
from gradstep.optimizer import Memory, Metric, Optimizer, StepResult
from gradstep.reducer import BucketStatistics, Reducer, ReducerStatistics
from gradstep.rules import *  # noqa: F403
from gradstep.shampoo import Shampoo
from gradstep.updater import Updater, UpdaterStatistics

__version__ = version()

__all__ = [
    "Aborted",
    "Accumulator",
    "BackendUnavailable",
    "BucketStatistics",
    "CallbackError",
    "Communicator",
    "CommunicatorStatistics",
    "Context",
    "Corrupt",
    "DeviceArray",
    "DeviceError",
    "Error",
    "HostCollectives",
    "InputOutputError",
    "InternalError",
    "InvalidArgument",
    "InvalidState",
    "Memory",
    "Metric",
    "Mismatch",
    "NumericError",
    "Optimizer",
    "OutOfMemory",
    "PeerLost",
    "Reducer",
    "ReducerStatistics",
    "RuleDescription",
    "RuleOption",
    "Shampoo",
    "StepResult",
    "Store",
    "Timeout",
    "Unsupported",
    "Updater",
    "UpdaterStatistics",
    "backend_available",
    "backend_status",
    "build_info",
    "default_context",
    "define_rule",
    "describe_rules",
    "load_backend",
    "make_optimizer",
    "optimizer_class",
    "rendezvous_pending",
    "schedule",
    "unique_id",
    "version",
]
__all__ += _rules.__all__
