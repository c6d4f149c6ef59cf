# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: torchrun --nproc-per-node 2 with_lightning.py

PyTorch Lightning: gradstep's optimizer, and a callback that has DistributedDataParallel exchange by PowerSGD.
"""

import logging
import os
import warnings
from typing import Any

import pytorch_lightning as lightning
import torch
from digits import BATCH, load, make_model, report

import gradstep.torch

EPOCHS = 6


class Digits(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.model = make_model()

    def training_step(self, batch: list[torch.Tensor], _: int) -> torch.Tensor:
        x, y = batch
        return torch.nn.functional.cross_entropy(self.model(x), y)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return gradstep.torch.AdamW(self.parameters(), lr=3e-3)


# docs:begin lightning
class CommHook(lightning.Callback):
    """Lightning's own ddp_comm_hook is for CUDA only, and made before the ranks have met."""

    def __init__(self, **options: Any) -> None:
        self._options = options

    def on_train_start(self, trainer: lightning.Trainer, _: lightning.LightningModule) -> None:
        model = trainer.strategy.model
        if isinstance(model, torch.nn.parallel.DistributedDataParallel):
            model.register_comm_hook(None, gradstep.torch.comm_hook(model, **self._options))


# docs:end lightning


def main() -> None:
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning")
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(load()[0], BATCH, shuffle=True, drop_last=True)
    module = Digits()
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("LOCAL_WORLD_SIZE", "1")),
        strategy="ddp" if "LOCAL_WORLD_SIZE" in os.environ else "auto",
        max_epochs=EPOCHS,
        callbacks=[CommHook(mode="powersgd", rank=4)],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(module, loader)
    report(trainer.global_rank, trainer.world_size, module.model)


if __name__ == "__main__":
    main()
