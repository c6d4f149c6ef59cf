# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: launched.py DIR. A rank that some launcher starts: connects twice and writes what it found to DIR/RANK."""

import json
import sys
from pathlib import Path

import numpy as np

import gradstep


def main() -> None:
    # docs:begin connect
    comm = gradstep.Communicator.connect()
    x = np.array([comm.rank + 1.0])
    comm.all_reduce(x)  # the sum of 1 to comm.world_size, on all ranks
    # docs:end connect
    second = gradstep.Communicator.connect()
    order = second.all_gather(np.array([second.rank])).ravel().tolist()
    found = {"engine": comm.engine, "sum": x[0], "order": order, "torch": "torch" in sys.modules}
    (Path(sys.argv[1]) / str(comm.rank)).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
