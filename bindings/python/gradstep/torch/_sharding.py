# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the ranks that share a torch optimizer's state must agree on before each step."""

from collections.abc import Collection, Sequence
from itertools import chain

import numpy as np

import gradstep
from gradstep.errors import Mismatch, Unsupported
from gradstep.torch._part import Part


class Sharding:
    """How the state is spread, and a channel of its own to the other ranks."""

    def __init__(self, comm: gradstep.Communicator, gradients: str, average: str, preconditioners: str) -> None:
        self._comm = comm.dup()
        self.local = gradients == "local"
        self._options = (gradients, average, preconditioners)

    def attach(self, parts: Collection[Part]) -> None:
        """Spreads the state of gradstep optimizers. Collective."""
        for spread in chain.from_iterable(part.spreads for part in parts):
            raise Unsupported(f"shard: {spread.label} is a DTensor, whose state is spread as it is")
        for part in parts:
            part.optimizer.shard(self._comm, *self._options)

    def agree(self, found_inf: bool, factor: float, present: Sequence[bool]) -> tuple[bool, list[bool]]:
        """Whether any rank found an infinity, and which parameters have a gradient on any rank. Collective.

        factor: what gradients will be multiplied by, on all ranks alike.
        """
        n = len(present)
        had = np.array(present, np.float64)
        # The largest of each, and of its opposite: both tell whether ranks differ.
        most = np.concatenate(([found_inf, factor, -factor], had, 1 - had))
        self._comm.all_reduce(most, "max")
        if most[1] != -most[2]:
            factors = self._comm.all_gather(np.array([factor]))[:, 0]
            shown = ", ".join(f"{each:g} on rank {rank}" for rank, each in enumerate(factors))
            raise Mismatch(
                f"grad_scale: is {shown}, expected one number on all ranks; it is divided by the scale of a "
                "GradScaler, which must back off on all ranks where one has found an infinity"
            )
        here, lacking = most[3 : 3 + n] > 0, most[3 + n :] > 0
        if not self.local and (here & lacking).any():
            i = int(np.flatnonzero(here & lacking)[0])
            having, ranks = self._comm.all_gather(had[i : i + 1]).sum(), self._comm.world_size
            raise Mismatch(f"gradients[{i}]: {having:g} of {ranks} ranks have one, which were to be reduced already")
        return bool(most[0]), here.tolist()
