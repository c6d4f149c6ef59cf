# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""One rank of the data-parallel run, and the same training by one process with the big batch.

How their gradients are added up differs: in another order, and divided by 8 and by 4 instead of by 128 at once. So the
two runs differ by roundings of f32, about 1e-7 each. With SGD, training neither damps nor blows them up on this task:
its recipe allows 1e-5. Adam and Shampoo divide by the size of gradients; where that is small, its roundings count for
more: their recipes allow 1e-3 and 1e-2.
"""

import time
import traceback
from dataclasses import dataclass
from multiprocessing.queues import Queue
from typing import Any

import numpy as np
from digits import Digits, Floats, Perceptron, big_batches
from recipes import TABLES, Recipe

import gradstep


@dataclass(frozen=True)
class Plan:
    table: str = "rules"
    """A key of recipes.TABLES: workers look their recipes up there."""
    world_size: int = 4
    micro_batches: int = 8
    micro_batch_size: int = 4
    updates: int = 220

    @property
    def recipes(self) -> list[Recipe]:
        return TABLES[self.table]

    @property
    def big_batch_size(self) -> int:
        return self.world_size * self.micro_batches * self.micro_batch_size


@dataclass(frozen=True)
class Progress:
    """Sent by every rank after every update."""

    recipe_index: int
    rank: int
    update: int
    loss: float
    """The mean over this rank's micro-batches."""


@dataclass(frozen=True)
class Outcome:
    """What a rank reports at the end of a recipe."""

    recipe_index: int
    rank: int
    parameters: list[Floats]
    all_reduces: int
    bytes_sent: int
    seconds: float
    gradstep_seconds: float
    """Inside calls of gradstep; of these:"""
    exchange_seconds: float
    accuracies: list[float]
    """On the test images after each update, of rank 0's parameters; empty on the other ranks."""


@dataclass(frozen=True)
class Failure:
    rank: int
    text: str


def run_rank(rank: int, plan: Plan, digits: Digits, rendezvous: list[bytes], reports: "Queue[Any]") -> None:
    """The target of a worker process: one recipe after another, each with a communicator of its own."""
    try:
        for recipe_index, meeting_point in enumerate(rendezvous):
            reports.put(train_rank(rank, recipe_index, plan, digits, meeting_point, reports))
    except Exception:
        reports.put(Failure(rank, traceback.format_exc()))


def train_rank(
    rank: int, recipe_index: int, plan: Plan, digits: Digits, rendezvous: bytes, reports: "Queue[Any]"
) -> Outcome:
    recipe = plan.recipes[recipe_index]
    model = Perceptron()
    comm = gradstep.Communicator.gloo(rank, plan.world_size, rendezvous, network_interface="lo")
    optimizer = recipe.rule(model.parameters, names=model.names, **recipe.options)
    accumulator = gradstep.Accumulator(model.parameters, names=model.names, steps=plan.micro_batches)
    reducer = gradstep.Reducer(comm, model.parameters, names=model.names, **recipe.reducer)
    updater = gradstep.Updater(optimizer, accumulator, reducer, sync=recipe.sync)

    inside = 0.0
    parameters_after: list[list[Floats]] = []
    begin = time.perf_counter()
    batches = big_batches(plan.big_batch_size, len(digits.train_labels), plan.updates)
    for update, batch in enumerate(batches):
        loss = 0.0
        for micro_batch in batch.reshape(plan.world_size, plan.micro_batches, -1)[rank]:
            micro_loss, gradients = model.loss_and_gradients(
                digits.train_images[micro_batch], digits.train_labels[micro_batch]
            )
            loss += micro_loss / plan.micro_batches
            entered = time.perf_counter()
            updater.push(model.parameters, gradients)
            inside += time.perf_counter() - entered
        reports.put(Progress(recipe_index, rank, update, loss))
        if rank == 0:
            parameters_after.append([parameter.copy() for parameter in model.parameters])
    seconds = time.perf_counter() - begin
    channel = reducer.comm_statistics()
    return Outcome(
        recipe_index=recipe_index,
        rank=rank,
        parameters=model.parameters,
        all_reduces=channel.all_reduces,
        bytes_sent=channel.bytes_sent,
        seconds=seconds,
        gradstep_seconds=inside,
        exchange_seconds=updater.statistics().reduce_nanoseconds / 1e9,
        accuracies=[accuracy_of(parameters, digits) for parameters in parameters_after],
    )


def accuracy_of(parameters: list[Floats], digits: Digits) -> float:
    model = Perceptron()
    model.parameters = parameters
    return model.accuracy(digits.test_images, digits.test_labels)


def train_alone(recipe: Recipe, plan: Plan, digits: Digits) -> Perceptron:
    """Runs the updates of all ranks in one process, each as one big batch."""
    model = Perceptron()
    optimizer = recipe.rule(model.parameters, **recipe.options)
    for batch in big_batches(plan.big_batch_size, len(digits.train_labels), plan.updates):
        _, gradients = model.loss_and_gradients(digits.train_images[batch], digits.train_labels[batch])
        optimizer.step(model.parameters, gradients)
    return model


def distance(a: list[Floats], b: list[Floats]) -> float:
    """max|a - b| / max|b| over all parameters."""
    difference = max(float(np.abs(x - y).max()) for x, y in zip(a, b, strict=True))
    return difference / max(float(np.abs(y).max()) for y in b)
