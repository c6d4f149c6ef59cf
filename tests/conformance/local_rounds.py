# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Recorded runs of workers that step by themselves between exchanges: each is a rank, on a thread of its own."""

import threading
from typing import Any

import numpy as np
from rule_translations import Skip

import gradstep

Case = dict[str, Any]


class Worker:
    """The parameters after each step, of a rank, and the momentum of the outer optimizer at the end."""

    def __init__(self, comm: gradstep.Communicator, file: Any, case: Case, dtype: type) -> None:
        count = sum(name.startswith("p0_") for name in file.files)
        self.parameters = [file[f"p0_{i}"].astype(dtype) for i in range(count)]
        self.gradients = [file[f"g{comm.rank}_{i}"].astype(dtype) for i in range(count)]
        self.after: list[list[np.ndarray]] = []
        self.momenta: list[np.ndarray] = []
        inner = case["inner"]
        self.inner = gradstep.Adam(
            self.parameters,
            learning_rate=inner["lr"],
            beta1=inner["betas"][0],
            beta2=inner["betas"][1],
            epsilon=inner["eps"],
            weight_decay=inner["weight_decay"],
            decay_mode="decoupled",
        )
        self.outer = None
        if case["kind"] == "diloco":
            outer = case["outer"]
            self.outer = gradstep.SGD(
                self.parameters,
                learning_rate=outer["lr"],
                momentum=outer.get("momentum", 0.0),
                nesterov=outer.get("nesterov", False),
            )
        rounds = {
            "outer": self.outer,
            "outer_fragments": case["fragments"],
            "outer_delay": case.get("fragment_sync_delay", 0),
            "outer_mix": case.get("fragment_update_alpha", 0.0),
        }
        self.updater = gradstep.Updater(
            self.inner,
            None,
            gradstep.Reducer(comm, self.parameters, fuse_threshold=1),  # each parameter is a bucket
            "deltas" if self.outer is not None else "parameters",
            sync_steps=case["sync_every"],
            **(rounds if self.outer is not None else {}),
        )

    def run(self, has_momentum: bool) -> None:
        for step in range(len(self.gradients[0])):
            self.updater.push(self.parameters, [np.ascontiguousarray(each[step]) for each in self.gradients])
            self.after.append([array.copy() for array in self.parameters])
        if self.outer is not None and has_momentum:
            self.momenta = [self.outer.get_state(i, "momentum_buffer") for i in range(len(self.parameters))]


def error_of(file: Any, name: str, case: Case, workers: int, dtype: type) -> float:
    """The worst of an element after any step of any worker, of momenta too."""
    if case["kind"] not in ("diloco", "local"):
        raise Skip(f"no exchange of kind {case['kind']!r}")
    has_momentum = f"{name}/outer_0" in file.files
    done: list[Worker | None] = [None] * workers

    def work(comm: gradstep.Communicator) -> None:
        worker = Worker(comm, file, case, dtype)
        worker.run(has_momentum)
        done[comm.rank] = worker

    threads = [threading.Thread(target=work, args=(comm,)) for comm in gradstep.Communicator.local(workers, 20.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    worst = 0.0
    for k, worker in enumerate(done):
        if worker is None:
            raise RuntimeError(f"worker {k} has failed")
        for i in range(len(worker.parameters)):
            worst = max(worst, worst_of(np.array([each[i] for each in worker.after]), file[f"{name}/p{k}_{i}"]))
        for i, momentum in enumerate(worker.momenta):
            worst = max(worst, worst_of(momentum, file[f"{name}/outer_{i}"]))
    return worst


def worst_of(got: np.ndarray, want: np.ndarray) -> float:
    return float((abs(got - want) / np.maximum(1, abs(want))).max(initial=0))
