# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: cuda_arrays.py

Steps of Adam on arrays of PyTorch, CuPy and JAX on the first CUDA device have the bits of those on NumPy's. JAX's
arrays cannot be written, so there the updates are compared, which tensors of PyTorch take. What is not here is named.

The exit status is 77 where there is no PyTorch, no GPU or no gradstep, 1 where bits differ.
"""

import sys
from collections.abc import Callable
from typing import Any

from cuda_contest import describe, missing

NOTHING_TO_RUN_ON = 77
"""The exit status of examples."""

SHAPES = [(65, 33), (129,), (7, 5, 3)]
STEPS = 3
OPTIONS = {"learning_rate": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True}


def drawn(seed: int) -> list[Any]:
    import numpy as np

    random = np.random.default_rng(seed)
    return [random.standard_normal(shape, np.float32) for shape in SHAPES]


def stepped(put: Callable[[Any], Any], get: Callable[[Any], Any]) -> list[Any]:
    """What the parameters have become; of a device when they are there."""
    import gradstep

    parameters = [put(x) for x in drawn(0)]
    optimizer = gradstep.Adam(parameters, **OPTIONS)
    for k in range(STEPS):
        optimizer.step(parameters, [put(x) for x in drawn(1 + k)], max_norm=1.0)
    return [get(parameter) for parameter in parameters]


def updated(put: Callable[[Any], Any], taken_by: Callable[[Any], Any], get: Callable[[Any], Any]) -> list[Any]:
    """The last of so many updates of the same parameters."""
    import gradstep

    parameters, out = [put(x) for x in drawn(0)], [taken_by(x) for x in drawn(0)]
    optimizer = gradstep.Adam(parameters, **OPTIONS)
    for k in range(STEPS):
        optimizer.update(parameters, [put(x) for x in drawn(1 + k)], max_norm=1.0, out=out)
    return [get(update) for update in out]


def to_torch(x: Any) -> Any:
    import torch

    return torch.from_numpy(x).to("cuda")


def of_torch(x: Any) -> Any:
    return x.cpu().numpy()


def by_torch() -> tuple[list[Any], list[Any]]:
    return stepped(to_torch, of_torch), stepped(lambda x: x.copy(), lambda x: x)


def by_cupy() -> tuple[list[Any], list[Any]]:
    import cupy

    return stepped(cupy.asarray, cupy.asnumpy), stepped(lambda x: x.copy(), lambda x: x)


def by_jax() -> tuple[list[Any], list[Any]]:
    import jax

    try:
        device = jax.devices("cuda")[0]
    except RuntimeError as error:
        raise ImportError(f"JAX finds no GPU: {error}") from error
    theirs = updated(lambda x: jax.device_put(x, device), to_torch, of_torch)
    return theirs, updated(lambda x: x.copy(), lambda x: x.copy(), lambda x: x)


PACKAGES = {"torch": by_torch, "cupy": by_cupy, "jax": by_jax}


def main() -> int:
    if reason := missing():
        print(f"nothing to run on: {reason}")
        return NOTHING_TO_RUN_ON
    import numpy as np

    status = 0
    for name, both in PACKAGES.items():
        try:
            theirs, numpys = both()
        except ImportError as error:
            print(f"{name}: not here ({describe(error)})")
            continue
        except Exception as error:
            print(f"{name}: {describe(error)}")
            status = 1
            continue
        same = all(np.array_equal(a, b) for a, b in zip(theirs, numpys, strict=True))
        print(f"{name}: " + ("the same bits" if same else "bits are others"), flush=True)
        status = status if same else 1
    return status


if __name__ == "__main__":
    sys.exit(main())
