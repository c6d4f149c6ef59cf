# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Ranks as processes, and what they do with a communicator of any engine."""

import hashlib
import multiprocessing

import numpy as np


def exercise(comm):
    """Every collective once. Returns a digest of the results, which must be equal on all ranks and engines."""
    rank, size = comm.rank, comm.world_size
    random = np.random.default_rng(rank)
    big = random.standard_normal(70001).astype(np.float32)
    comm.all_reduce(big)
    double = random.standard_normal((3, 5))
    comm.all_reduce(double, op="max")
    integer = np.array([rank, -rank], np.int64)
    comm.all_reduce(integer, op="min")
    half = random.standard_normal(100).astype(np.float16)
    comm.all_reduce(half)
    gathered = comm.all_gather(np.full((2, 3), rank, np.int32))
    assert gathered.shape == (size, 2, 3) and gathered[:, 0, 0].tolist() == list(range(size))
    word = np.full(4, rank, np.float32)
    comm.broadcast(word, size - 1)
    assert (word == size - 1).all()
    comm.barrier()
    assert comm.vote(True) and comm.vote(rank != 0) is False
    assert comm.error is None
    return hashlib.sha256(b"".join(array.tobytes() for array in (big, double, integer, half))).hexdigest()


def run_processes(world_size, target, *arguments, timeout=60, start="spawn"):
    """Runs target(rank, world_size, *arguments) in processes of their own. Returns what they return.

    start: how multiprocessing starts them. What they return must fit into a pipe: it is read when they have ended.
    """
    context = multiprocessing.get_context(start)
    results = context.SimpleQueue()
    processes = [
        context.Process(target=call, args=(target, results, rank, world_size, *arguments), daemon=True)
        for rank in range(world_size)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(timeout)
        assert process.exitcode is not None, "a rank hangs"
    found = {}
    while not results.empty():
        rank, value = results.get()
        found[rank] = value
    for value in found.values():
        if isinstance(value, Exception):
            raise value
    return [found.get(rank) for rank in range(world_size)]


def call(target, results, rank, world_size, *arguments):
    try:
        value = target(rank, world_size, *arguments)
    except Exception as error:
        value = RuntimeError(f"rank {rank}: {type(error).__name__}: {error}")
    results.put((rank, value))
