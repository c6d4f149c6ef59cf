# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: torchrun --nproc-per-node 2 fsdp2.py

FSDP2: each rank has shards of the parameters, and gradstep's optimizers step them. AdamW treats each element by itself;
Muon needs whole matrices, which travel to the rank that steps them. Half-way the run is saved, and goes on from there.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from digits import batches, make_model, report
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

import gradstep.torch

STEPS = 60


def make(mesh: DeviceMesh) -> tuple[torch.nn.Module, list[gradstep.torch.Optimizer]]:
    # docs:begin fsdp2
    model = make_model()
    for layer in model:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    matrices = [p for p in model.parameters() if p.ndim == 2]
    others = [p for p in model.parameters() if p.ndim != 2]
    optimizers: list[gradstep.torch.Optimizer] = [
        gradstep.torch.Muon(matrices, lr=0.02),
        gradstep.torch.AdamW(others, lr=3e-3),
    ]
    # docs:end fsdp2
    return model, optimizers


def train(
    model: torch.nn.Module, optimizers: list[gradstep.torch.Optimizer], data: list[tuple[torch.Tensor, torch.Tensor]]
) -> None:
    # docs:begin train
    for x, y in data:
        torch.nn.functional.cross_entropy(model(x), y).backward()
        for optimizer in optimizers:
            optimizer.step(max_norm=1.0)  # clips by the norm of this optimizer's gradients over all shards
            optimizer.zero_grad()
    # docs:end train


def main() -> None:
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, world_size = dist.get_rank(), dist.get_world_size()
    mesh = init_device_mesh("cpu", (world_size,))
    data = list(batches(STEPS, rank, world_size))
    model, optimizers = make(mesh)
    train(model, optimizers, data[: STEPS // 2])

    folder = [tempfile.mkdtemp() if rank == 0 else ""]
    dist.broadcast_object_list(folder)
    checkpoint = Path(folder[0]) / "checkpoint"
    # docs:begin save
    weights, states = get_state_dict(model, optimizers)
    dcp.save({"model": weights, "optimizers": states}, checkpoint_id=checkpoint)
    # docs:end save

    model, optimizers = make(mesh)
    # docs:begin load
    weights, states = get_state_dict(model, optimizers)
    found: dict[str, Any] = {"model": weights, "optimizers": states}
    dcp.load(found, checkpoint_id=checkpoint)
    set_state_dict(model, optimizers, model_state_dict=found["model"], optim_state_dict=found["optimizers"])
    # docs:end load
    train(model, optimizers, data[STEPS // 2 :])

    whole = make_model()
    whole.load_state_dict({name: p.full_tensor() for name, p in model.state_dict().items()})
    report(rank, world_size, whole)
    dist.barrier()
    if rank == 0:
        shutil.rmtree(folder[0])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
