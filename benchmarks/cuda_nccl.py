# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: cuda_nccl.py

One rank with NCCL on the first CUDA device, on tensors of PyTorch's: collectives leave a tensor as it is, and two
windows of a reducer of every mode have the bits of a communicator without NCCL. A single rank has no peer to send to:
this shows that NCCL is found, that communicators are made and end, and that reducers put their work into the right
streams.

The exit status is 77 where there is no PyTorch, no GPU, no gradstep or no NCCL, 1 where bits differ.
"""

import sys
from typing import Any

from cuda_contest import missing

NOTHING_TO_RUN_ON = 77
"""The exit status of examples."""

MODES: dict[str, dict[str, Any]] = {
    "dense": {},
    "half": {},
    "bfloat16": {},
    "adasum_tree": {},
    "adasum_nway": {},
    "sparse_topk": {"sparsity": 0.1},
    "sparse_threshold": {"sparsity": 1.0},
    "powersgd": {},
}
SHAPES = [(65, 33), (129,), (7, 5, 3)]


def windows(comm: Any, mode: str, options: dict[str, Any]) -> list[Any]:
    """What the ranks' gradients have become, of the second window."""
    import torch

    import gradstep

    torch.manual_seed(0)
    reducer = None
    for _ in range(2):
        gradients = [torch.randn(shape, device="cuda") for shape in SHAPES]
        reducer = reducer or gradstep.Reducer(comm, gradients, mode=mode, **options)
        reducer.reduce(gradients)
    return [gradient.cpu() for gradient in gradients]


def check_collectives(nccl: Any) -> None:
    import torch

    own = torch.randn(1000, device="cuda")
    x, gathered = own.clone(), torch.zeros(1, 1000, device="cuda")
    nccl.all_reduce(x)
    nccl.broadcast(x, 0)
    nccl.all_gather(x, out=gathered)
    if not torch.equal(x, own) or not torch.equal(gathered[0], own):
        raise SystemExit("collectives of one rank change a tensor")


def main() -> int:
    if reason := missing():
        print(f"nothing to run on: {reason}")
        return NOTHING_TO_RUN_ON
    import torch

    import gradstep

    [host] = gradstep.Communicator.local(1)
    try:
        nccl = host.attach_nccl(0)
    except gradstep.BackendUnavailable as error:
        print(f"nothing to run on: {error}")
        return NOTHING_TO_RUN_ON
    check_collectives(nccl)
    for mode, options in MODES.items():
        by_nccl, by_host = (windows(comm, mode, options) for comm in (nccl, host))
        if not all(torch.equal(a, b) for a, b in zip(by_nccl, by_host, strict=True)):
            raise SystemExit(f"{mode}: by NCCL bits are others")
    print(f"{nccl.engine}: one rank, {len(MODES)} modes: the same bits")
    return 0


if __name__ == "__main__":
    sys.exit(main())
