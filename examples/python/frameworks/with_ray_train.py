# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: with_ray_train.py

Ray Train: two workers, whose gradients are exchanged in 16 bits and stepped by gradstep.
"""

import tempfile
from pathlib import Path

import ray
import ray.train
import torch
from digits import accuracy, batches, digest, make_model
from ray.train.torch import TorchConfig, TorchTrainer, prepare_model
from torch.nn.parallel import DistributedDataParallel

import gradstep.torch

WORKERS, STEPS = 2, 100


# docs:begin worker
def train() -> None:
    context = ray.train.get_context()
    model = prepare_model(make_model())
    assert isinstance(model, DistributedDataParallel)  # with several workers
    model.register_comm_hook(None, gradstep.torch.comm_hook(model, mode="half"))
    optimizer = gradstep.torch.AdamW(model.parameters(), lr=3e-3)
    for x, y in batches(STEPS, context.get_world_rank(), context.get_world_size()):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    # docs:end worker
    results: list[tuple[float, str]] = [(0, "")] * WORKERS
    torch.distributed.all_gather_object(results, (accuracy(model.module), digest(model.module)))
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.module.state_dict(), Path(folder, "model.pt"))
        checkpoint = ray.train.Checkpoint.from_directory(folder) if context.get_world_rank() == 0 else None
        ray.train.report({"results": results}, checkpoint=checkpoint)


def main() -> None:
    ray.init(num_cpus=WORKERS + 1, include_dashboard=False)  # the trainer may take one, too
    with tempfile.TemporaryDirectory() as folder:
        # docs:begin trainer
        trainer = TorchTrainer(
            train,
            scaling_config=ray.train.ScalingConfig(num_workers=WORKERS),
            run_config=ray.train.RunConfig(storage_path=folder),
            torch_config=TorchConfig(backend="gloo"),
        )
        found = trainer.fit()
        # docs:end trainer
    assert found.metrics is not None
    for rank, (right, bits) in enumerate(found.metrics["results"]):
        print(f"rank {rank} of {WORKERS}: accuracy {right:.3f}, digest {bits}")
    ray.shutdown()


if __name__ == "__main__":
    main()
