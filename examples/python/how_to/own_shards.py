# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""A host that shards parameters itself: each rank steps its rows; the norm and the skipped steps are those of all."""

import numpy as np
import ranks

import gradstep

ROWS, COLUMNS, RANKS, STEPS, OVERFLOW_AT = 7, 5, 3, 20, 4
LARGEST_ERROR = 1e-6  # roundings of f32 where the norms of parts are summed in another order than that of the whole


def gradient(step: int) -> np.ndarray:
    made = np.random.default_rng(step).standard_normal((ROWS, COLUMNS)).astype(np.float32)
    if step == OVERFLOW_AT:
        made[ROWS - 1, 0] = np.inf
    return made


def train(comm: gradstep.Communicator) -> np.ndarray:
    begin, end = (ROWS * place // comm.world_size for place in (comm.rank, comm.rank + 1))
    shard = np.ones((end - begin, COLUMNS), np.float32)
    # docs:begin parts
    part = ((ROWS, COLUMNS), (begin, 0))  # the shape of the whole, and where this rank's rows begin in there
    optimizer = gradstep.Adam.of_parts([shard], [part], learning_rate=0.1)
    optimizer.attach_shards(comm)
    # docs:end parts
    for step in range(STEPS):
        slope = gradient(step)[begin:end]
        # docs:begin step
        optimizer.step([shard], [slope], max_norm=1.0, skip_nonfinite=True)  # by the norm of the whole
        # docs:end step
    return shard


def main() -> None:
    whole = ranks.run(1, train)[0]
    shards = np.concatenate(ranks.run(RANKS, train))
    error = np.abs(shards - whole).max()
    if not error <= LARGEST_ERROR:
        raise SystemExit(f"the shards differ from the whole by {error}, expected at most {LARGEST_ERROR}")
    print(f"{RANKS} ranks with shards have the numbers of one with the whole")


if __name__ == "__main__":
    main()
