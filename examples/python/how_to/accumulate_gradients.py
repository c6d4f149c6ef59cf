# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Eight micro-batches make one step, in PyTorch and in JAX, and must move the model as one large batch does."""

import numpy as np

import gradstep

MICRO_BATCHES, SIZE, RATE = 8, 16, 0.1


def data() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    inputs = random.standard_normal((MICRO_BATCHES * SIZE, 5), dtype=np.float32)
    return inputs, inputs @ np.arange(5, dtype=np.float32)[:, None] + 1


def with_torch() -> float:
    import torch

    inputs, targets = (torch.from_numpy(array) for array in data())
    model, reference = torch.nn.Linear(5, 1), torch.nn.Linear(5, 1)
    reference.load_state_dict(model.state_dict())
    # docs:begin torch
    parameters = list(model.parameters())
    arrays = [parameter.detach() for parameter in parameters]  # the same memory
    updater = gradstep.Updater(
        gradstep.SGD(arrays, learning_rate=RATE), gradstep.Accumulator(arrays, steps=MICRO_BATCHES)
    )
    for x, y in zip(inputs.split(SIZE), targets.split(SIZE), strict=True):
        loss = torch.nn.functional.mse_loss(model(x), y)
        applied = updater.push(arrays, torch.autograd.grad(loss, parameters))
    # docs:end torch
    assert applied, "the last push of the window steps"
    torch.nn.functional.mse_loss(reference(inputs), targets).backward()
    torch.optim.SGD(reference.parameters(), lr=RATE).step()
    return max(
        float((a - b).detach().abs().max()) for a, b in zip(model.parameters(), reference.parameters(), strict=True)
    )


def with_jax() -> float:
    import jax
    import jax.numpy as jnp

    inputs, targets = data()

    def loss(parameters, x, y):
        weight, bias = parameters
        return jnp.mean((x @ weight + bias - y) ** 2)

    # docs:begin jax
    parameters = [np.zeros((5, 1), np.float32), np.zeros(1, np.float32)]  # the host's, stepped in place
    gradient = jax.jit(jax.grad(loss))
    accumulator = gradstep.Accumulator(parameters, steps=MICRO_BATCHES)
    sgd = gradstep.SGD(parameters, learning_rate=RATE)
    for x, y in zip(np.split(inputs, MICRO_BATCHES), np.split(targets, MICRO_BATCHES), strict=True):
        if accumulator.add(gradient(parameters, x, y)):
            sgd.step(parameters, accumulator.gradients())
    # docs:end jax
    whole = jax.grad(loss)([np.zeros((5, 1), np.float32), np.zeros(1, np.float32)], inputs, targets)
    return max(float(np.abs(p + RATE * np.asarray(g)).max()) for p, g in zip(parameters, whole, strict=True))


def main() -> None:
    for name, train in (("PyTorch", with_torch), ("JAX", with_jax)):
        try:
            difference = train()
        except ModuleNotFoundError as missing:
            print(f"{name}: skipped, there is no module {missing.name}")
            continue
        assert difference < 1e-5, difference
        print(f"{name}: 8 micro-batches and one batch of 128 agree to {difference:.1e}")


if __name__ == "__main__":
    main()
