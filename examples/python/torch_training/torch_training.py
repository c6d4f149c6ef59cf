# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A small network trained by torch.optim.AdamW and by gradstep, with a schedule, clipping and a resumed checkpoint."""

import io
from typing import Any

import torch
from torch.optim.lr_scheduler import CosineAnnealingLR

import gradstep.torch

STEPS = 200
# 200 steps of f32 arithmetic in another order, each of which the next ones carry on.
TOLERANCE = 1e-4

Parts = tuple[torch.nn.Sequential, gradstep.torch.AdamW, CosineAnnealingLR]


def make_model() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))


def make_batches() -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Points, and the product of their coordinates."""
    torch.manual_seed(1)
    points = torch.rand(STEPS, 64, 2) * 2 - 1
    return [(batch, batch.prod(dim=1, keepdim=True)) for batch in points]


def train_with_torch(batches: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.nn.Module:
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = CosineAnnealingLR(optimizer, T_max=STEPS)
    for inputs, targets in batches:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(inputs), targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return model


def train_with_gradstep(
    batches: list[tuple[torch.Tensor, torch.Tensor]], save_at: int | None = None
) -> torch.nn.Module:
    model = make_model()
    # docs:begin train
    optimizer = gradstep.torch.AdamW(model.parameters(), lr=0.01)
    scheduler = CosineAnnealingLR(optimizer, T_max=STEPS)
    for step, (inputs, targets) in enumerate(batches):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step(max_norm=1.0)  # clips as it steps
        scheduler.step()
        # docs:end train
        if step == save_at:
            model, optimizer, scheduler = resume(model, optimizer, scheduler)
    assert optimizer.last_step is not None
    print(f"last loss {loss.item():.5f}, norm of its gradients {optimizer.last_step.grad_norm:.5f}")
    return model


def resume(model: torch.nn.Sequential, optimizer: gradstep.torch.AdamW, scheduler: CosineAnnealingLR) -> Parts:
    """What a program that was stopped and started again would do."""
    file = io.BytesIO()
    # docs:begin save
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    torch.save({name: part.state_dict() for name, part in parts.items()}, file)
    # docs:end save
    file.seek(0)
    model = make_model()
    # docs:begin resume
    optimizer = gradstep.torch.AdamW(model.parameters())
    scheduler = CosineAnnealingLR(optimizer, T_max=STEPS)
    saved = torch.load(file)
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    for name, part in parts.items():
        part.load_state_dict(saved[name])
    # docs:end resume
    return model, optimizer, scheduler


def difference(a: torch.nn.Module, b: torch.nn.Module) -> float:
    pairs = zip(a.parameters(), b.parameters(), strict=True)
    return max(float((p - q).detach().abs().max()) for p, q in pairs)


def main() -> None:
    batches = make_batches()
    uninterrupted = train_with_gradstep(batches)
    resumed = train_with_gradstep(batches, save_at=STEPS // 2)
    beside_torch = difference(uninterrupted, train_with_torch(batches))
    print(f"largest difference to torch.optim {beside_torch:.1e}, allowed {TOLERANCE:g}")
    if not beside_torch <= TOLERANCE:
        raise SystemExit("gradstep and torch disagree")
    if difference(uninterrupted, resumed) != 0:
        raise SystemExit("the resumed run differs from the uninterrupted one")
    print("resumed in the middle: the same bits")


if __name__ == "__main__":
    main()
