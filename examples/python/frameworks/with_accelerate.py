# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: torchrun --nproc-per-node 2 with_accelerate.py, or accelerate launch

Hugging Face Accelerate: gradstep's optimizer, and gradients of four micro-batches exchanged in 16 bits.
"""

import gc

import torch
from accelerate import Accelerator
from digits import BATCH, load, make_model, report
from torch.nn.parallel import DistributedDataParallel

import gradstep.torch

EPOCHS = 4


def main() -> None:
    torch.set_num_threads(1)
    loader = torch.utils.data.DataLoader(load()[0], BATCH // 4, shuffle=True, drop_last=True)
    # docs:begin accelerate
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
    model: torch.nn.Module = make_model()
    optimizer = gradstep.torch.AdamW(model.parameters(), lr=3e-3)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if isinstance(model, DistributedDataParallel):  # with several processes
        model.register_comm_hook(None, gradstep.torch.comm_hook(model, mode="half"))
    for _ in range(EPOCHS):
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(torch.nn.functional.cross_entropy(model(x), y))
                optimizer.step()
                optimizer.zero_grad()
    # docs:end accelerate
    report(accelerator.process_index, accelerator.num_processes, accelerator.unwrap_model(model))
    del model, optimizer, loader
    accelerator.free_memory()
    gc.collect()  # the model's reducer must go before its process group
    accelerator.end_training()


if __name__ == "__main__":
    main()
