# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: with_keras.py

Keras 3 on PyTorch: fit() steps the model's weights by gradstep's AdamW.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "torch")

from typing import Any

import keras
import torch
from digits import BATCH, load, report

import gradstep.torch

EPOCHS = 8


# docs:begin keras
class Stepped(keras.Model):  # type: ignore[misc]  # Keras has no types
    """A model whose fit() steps by an optimizer of PyTorch's kind."""

    def step_by(self, optimizer: torch.optim.Optimizer) -> None:
        self.stepper = optimizer

    def train_step(self, data: Any) -> dict[str, float]:
        x, y = data
        self.stepper.zero_grad()
        predicted = self(x, training=True)
        loss = self.compute_loss(x=x, y=y, y_pred=predicted)
        loss.backward()
        self.stepper.step()
        return {"loss": float(loss.detach())}


def make_model() -> Stepped:
    inputs = keras.Input((64,))
    hidden = keras.layers.Dense(128, activation="relu")(inputs)
    model = Stepped(inputs, keras.layers.Dense(10)(hidden))
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    weights = [variable.value for variable in model.trainable_variables]
    model.step_by(gradstep.torch.AdamW(weights, lr=3e-3))
    return model


# docs:end keras


def main() -> None:
    keras.utils.set_random_seed(0)
    torch.set_num_threads(1)
    (x, y), (unseen, _) = load()
    model = make_model()
    model.fit(x, y, batch_size=BATCH, epochs=EPOCHS, verbose=0)
    report("keras", model.predict(unseen, verbose=0))


if __name__ == "__main__":
    main()
