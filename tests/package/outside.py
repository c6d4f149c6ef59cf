# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""usage: outside.py [INSTRUCTION_SET]

A foreign program that uses an installed package: it steps Adam, and sums over two processes, by Gloo. Where nothing
connects processes, it sums over two threads. With an argument, that must be what the library has chosen.
"""

import subprocess
import sys
import tempfile
import threading
import time

begin = time.perf_counter()
import numpy as np  # noqa: E402

numpy_imported = time.perf_counter()
import gradstep  # noqa: E402

gradstep_imported = time.perf_counter()


def step() -> None:
    parameters, gradients = [np.zeros(4, np.float32)], [np.array([1, -1, 2, -2], np.float32)]
    gradstep.Adam(parameters, learning_rate=0.25).step(parameters, gradients)
    # Adam's first step is as long as the learning rate, against the gradient's sign, but for epsilon.
    np.testing.assert_allclose(parameters[0], [-0.25, 0.25, -0.25, 0.25], atol=1e-6)


def sum_over_gloo(rank: int, store: str) -> None:
    sum_of_ranks(gradstep.Communicator.gloo(rank, 2, store=store, network_interface="127.0.0.1"))


def sum_of_ranks(comm: gradstep.Communicator) -> None:
    value = np.array([comm.rank + 1.0], np.float32)
    comm.all_reduce(value)
    assert value[0] == 3, value


def sum_over_processes() -> None:
    with tempfile.TemporaryDirectory() as store:
        peer = subprocess.Popen([sys.executable, __file__, "--peer", store])
        sum_over_gloo(0, store)
        assert peer.wait() == 0


def sum_over_threads() -> None:
    failures: list[threading.ExceptHookArgs] = []
    threading.excepthook = failures.append
    threads = [threading.Thread(target=sum_of_ranks, args=[comm]) for comm in gradstep.Communicator.local(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def nothing_connects_processes() -> None:
    """Each engine says so, and what there is instead."""
    engines = {
        "shm": lambda: gradstep.Communicator.shm(0, 2, "store"),
        "gloo": lambda: gradstep.Communicator.gloo(0, 2, "store"),
        "connect": lambda: gradstep.Communicator.connect(0, 2, "store"),
        "mpi": gradstep.Communicator.mpi,
        "nccl": lambda: gradstep.Communicator.nccl(0, 2, "store", device=0),
        "rendezvous_pending": lambda: gradstep.rendezvous_pending(2, "store", generation=0),
        "unique_id": lambda: gradstep.unique_id("shm"),
    }
    for name, connect in engines.items():
        try:
            connect()
        except gradstep.Unsupported as error:
            assert "ranks are threads of one process" in str(error), error
        else:
            sys.exit(f"{name} is there, expected gradstep.Unsupported")


def main() -> None:
    info = gradstep.build_info()
    if len(sys.argv) > 1 and info["instruction_set"] != sys.argv[1]:
        sys.exit(f"the library chose {info['instruction_set']}, expected {sys.argv[1]}")
    step()
    if sys.platform == "linux":
        sum_over_processes()
    else:
        nothing_connects_processes()
        sum_over_threads()
    numpy_ms = 1e3 * (numpy_imported - begin)
    gradstep_ms = 1e3 * (gradstep_imported - numpy_imported)
    print(f"gradstep {gradstep.__version__}, {info['instruction_set']}")
    print(f"imports: NumPy {numpy_ms:.0f} ms, gradstep {gradstep_ms:.0f} ms")


if sys.argv[1:2] == ["--peer"]:
    sum_over_gloo(1, sys.argv[2])
else:
    main()
