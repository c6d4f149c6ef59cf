# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: rules_as_text.py [--steps N]

Steps of Adam and Lion as texts beside those of the library, on 16M and on 16 elements of f32, one thread: the medians,
and how many times as long the text takes.
"""

import argparse
import statistics
import time

import numpy as np

import gradstep

TEXTS = {
    "adam": """
        rule benchmark_adam
        hyper learning_rate; beta1 = 0.9; beta2 = 0.999; epsilon = 1e-8
        state m; v unsigned
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g^2
        p = p - learning_rate * (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon)
        """,
    "lion": """
        rule benchmark_lion
        hyper learning_rate; beta1 = 0.9; beta2 = 0.99
        state m
        u = sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
        p = p - learning_rate * u
        """,
}


def seconds(optimizer: gradstep.Optimizer, p: np.ndarray, g: np.ndarray, repeats: int) -> float:
    begin = time.perf_counter()
    for _ in range(repeats):
        optimizer.step([p], [g])
    return (time.perf_counter() - begin) / repeats


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20, help="measurements of each")
    steps = parser.parse_args().steps
    context = gradstep.Context(num_threads=1)
    for rule, text in TEXTS.items():
        name = gradstep.define_rule(text)
        for size, repeats in ((16 * 1024 * 1024, 1), (16, 2000)):
            p = np.ones(size, np.float32)
            g = np.random.default_rng(1).standard_normal(size, dtype=np.float32)
            both = [gradstep.make_optimizer(each, [p], learning_rate=1e-3, context=context) for each in (rule, name)]
            times: list[list[float]] = [[], []]
            for _ in range(steps):  # in turns, so that both see the same machine
                for own, optimizer in zip(times, both, strict=True):
                    own.append(seconds(optimizer, p, g, repeats))
            compiled, interpreted = map(statistics.median, times)
            print(
                f"{rule}, {size} elements: {compiled * 1e6:.1f} us, as text {interpreted * 1e6:.1f} us: "
                f"{interpreted / compiled:.2f} times"
            )


if __name__ == "__main__":
    main()
