# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the ranks that share a torch optimizer's state must agree on before each step."""

from collections.abc import Sequence

import numpy as np

import gradstep
from gradstep.errors import Mismatch


class Sharding:
    """How the state is spread, and a channel of its own to the other ranks."""

    def __init__(self, comm: gradstep.Communicator, gradients: str, average: str, preconditioners: str) -> None:
        self._comm = comm.dup()
        self.local = gradients == "local"
        self._options = (gradients, average, preconditioners)

    def attach(self, optimizer: gradstep.Optimizer) -> None:
        """Spreads the state of one gradstep optimizer. Collective."""
        optimizer.shard(self._comm, *self._options)

    def agree(self, found_inf: bool, present: Sequence[bool]) -> tuple[bool, list[bool]]:
        """Whether any rank found an infinity, and which parameters have a gradient on any rank. Collective."""
        flags = np.array([found_inf, *present], np.float32)
        self._comm.all_reduce(flags, "sum")
        ranks = self._comm.world_size
        for i, having in enumerate(flags[1:]):
            if not self.local and having not in (0, ranks):
                raise Mismatch(
                    f"gradients[{i}]: {having:g} of {ranks} ranks have one, which were to be reduced already"
                )
        return bool(flags[0]), [bool(having) for having in flags[1:]]
