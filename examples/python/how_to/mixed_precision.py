# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Mixed precision with a GradScaler: an overflow skips a step and halves the scale, and training goes on."""

import torch

import gradstep.torch

STEPS, OVERFLOW_AT = 200, 5


def main() -> None:
    torch.manual_seed(1)
    inputs = torch.randn(64, 5)
    targets = inputs @ torch.arange(5.0)[:, None] + 1
    model = torch.nn.Linear(5, 1)
    # docs:begin scaler
    optimizer = gradstep.torch.AdamW(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu")  # on a GPU "cuda" here and below, and torch.float16
    # docs:end scaler
    step = 0
    model.weight.register_hook(
        lambda gradient: torch.full_like(gradient, torch.inf) if step == OVERFLOW_AT else gradient
    )
    before, scale = model.weight.detach().clone(), scaler.get_scale()
    # docs:begin loop
    for step in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = torch.nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer, max_norm=100.0)  # unscales and clips as it steps; skips what is not finite
        scaler.update()
        # docs:end loop
        is_skipped = torch.equal(before, model.weight)
        if is_skipped != (step == OVERFLOW_AT) or is_skipped != (scaler.get_scale() < scale):
            raise SystemExit(f"step {step}: skipped {is_skipped}, scale {scale} -> {scaler.get_scale()}")
        before, scale = model.weight.detach().clone(), scaler.get_scale()
    if loss.item() > 0.05:
        raise SystemExit(f"loss {loss.item()}, expected less than 0.05")
    print(f"skipped step {OVERFLOW_AT} and halved the scale; last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
