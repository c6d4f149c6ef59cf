# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: torchrun --nproc-per-node 2 with_trainer.py, or python with_trainer.py

Hugging Face Trainer: gradstep's optimizer and a schedule of PyTorch's by `optimizers`.
"""

import gc
import tempfile
from typing import Any

import torch
from digits import BATCH, load, make_model, report
from transformers import Trainer, TrainingArguments

import gradstep.torch

STEPS = 150
SETTINGS: dict[str, Any] = {  # on the CPU, without files and reports
    "use_cpu": True,
    "ddp_backend": "gloo",
    "dataloader_pin_memory": False,
    "save_strategy": "no",
    "logging_strategy": "no",
    "report_to": [],
    "disable_tqdm": True,
}


class Classifier(torch.nn.Module):
    """What Trainer asks of a model: a loss and logits."""

    def __init__(self) -> None:
        super().__init__()
        self.network = make_model()

    def forward(self, x: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        logits = self.network(x)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


def main() -> None:
    torch.set_num_threads(1)
    images = [{"x": x, "labels": y} for x, y in zip(*load()[0].tensors, strict=True)]
    model = Classifier()
    with tempfile.TemporaryDirectory() as folder:
        # docs:begin trainer
        optimizer = gradstep.torch.AdamW(model.parameters(), lr=3e-3)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
        options = TrainingArguments(
            folder, max_steps=STEPS, per_device_train_batch_size=BATCH // 2, max_grad_norm=1.0, **SETTINGS
        )
        trainer = Trainer(model, options, train_dataset=images, optimizers=(optimizer, schedule))
        trainer.train()
        # docs:end trainer
        report(options.process_index, options.world_size, model.network)
    del trainer, optimizer, schedule
    gc.collect()  # the model's reducer must go before its process group
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
