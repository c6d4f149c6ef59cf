# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""call_cost: nanoseconds of one step on one array of 16 elements from Python, and the bytes that a call takes.

As call_cost.c, in rounds of many calls; the best and the median round are printed as JSON. Bytes are those that a call
has at most at one time, by tracemalloc: what it takes it also gives back.
"""

import json
import statistics
import time
import tracemalloc

import numpy as np

import gradstep

ELEMENTS, ROUNDS, CALLS = 16, 31, 5000
LEARNING_RATE = 2.0**-20  # a power of two, so that the sums of steps are exact


class Subject:
    def __init__(self, rule: type, context: gradstep.Context) -> None:
        self.params = [np.zeros(ELEMENTS, np.float32)]
        self.optimizer = rule(self.params, learning_rate=LEARNING_RATE, context=context)
        self.rounds: list[float] = []

    def time(self, grads: list[np.ndarray]) -> None:
        step, params = self.optimizer.step, self.params
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            step(params, grads)
        self.rounds.append((time.perf_counter_ns() - begin) / CALLS)

    def bytes_of_a_call(self, grads: list[np.ndarray]) -> int:
        tracemalloc.start()
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        self.optimizer.step(self.params, grads)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return max(0, peak - before)


def main() -> None:
    context = gradstep.Context(num_threads=1)
    subjects = {"sgd_step": Subject(gradstep.SGD, context), "adam_step": Subject(gradstep.Adam, context)}
    grads = [np.ones(ELEMENTS, np.float32)]
    for _ in range(ROUNDS):
        for subject in subjects.values():
            subject.time(grads)
    found = float(subjects["sgd_step"].params[0][0])
    if found != -ROUNDS * CALLS * LEARNING_RATE:
        raise SystemExit(f"the steps computed {found}")
    print(
        json.dumps(
            {
                name: {
                    "best_ns": round(min(subject.rounds), 2),
                    "median_ns": round(statistics.median(subject.rounds), 2),
                    "bytes": subject.bytes_of_a_call(grads),
                }
                for name, subject in subjects.items()
            }
        )
    )


if __name__ == "__main__":
    main()
