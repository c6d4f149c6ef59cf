# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Communicators over torch.distributed and mpi4py: the bits of the local engine, and errors that keep their meaning."""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import run_ranks
from processes import exercise, run_processes

import gradstep


@pytest.fixture(scope="module")
def local_digest():
    return run_ranks(3, exercise)[0]


def join_group(rank, world_size, path):
    import torch.distributed as dist

    dist.init_process_group("gloo", store=dist.FileStore(path, world_size), rank=rank, world_size=world_size)
    return dist


def over_torch(rank, world_size, path):
    dist = join_group(rank, world_size, path)
    import gradstep.torch

    try:
        comm = gradstep.torch.communicator(reduction_order="engine")
        x = np.full(1000, rank + 1.0, np.float32)
        comm.all_reduce(x)
        assert (x == 6).all(), "torch's own all-reduce"
        part = comm.split(rank % 2)
        assert part is not None and part.vote(True)
        return exercise(gradstep.torch.communicator(dist.new_group()))
    finally:
        dist.destroy_process_group()


def over_a_part_of_torch(rank, world_size, path):
    dist = join_group(rank, world_size, path)
    import gradstep.torch

    part = dist.new_group([1, 2])
    if rank == 0:
        with pytest.raises(gradstep.InvalidArgument, match="process_group"):
            gradstep.torch.communicator(part)
        return 0
    comm = gradstep.torch.communicator(part)
    x = np.full(3, float(rank))
    comm.broadcast(x, 1)
    return comm.rank, comm.world_size, x[0]


def late_over_torch(rank, world_size, path):
    dist = join_group(rank, world_size, path)
    import gradstep.torch

    comm = gradstep.torch.communicator(timeout=1.0)
    dist.barrier()
    if rank == 1:
        time.sleep(4)
        return None
    begin = time.monotonic()
    with pytest.raises(TimeoutError):
        comm.all_reduce(np.ones(100000))
    assert isinstance(comm.error, gradstep.Timeout), comm.error
    return time.monotonic() - begin


def test_torch_gives_the_bits_of_the_local_engine(tmp_path, local_digest):
    pytest.importorskip("torch")
    assert set(run_processes(3, over_torch, str(tmp_path / "store"))) == {local_digest}


def test_a_group_of_some_ranks_is_a_world_of_its_own(tmp_path):
    pytest.importorskip("torch")
    assert run_processes(3, over_a_part_of_torch, str(tmp_path / "store")) == [0, (0, 2, 2.0), (1, 2, 2.0)]


def test_a_late_peer_is_a_timeout_over_torch(tmp_path):
    pytest.importorskip("torch")
    seconds, _ = run_processes(2, late_over_torch, str(tmp_path / "store"))
    assert seconds <= 1.0 + 1.0


def mpirun(ranks, function):
    """Runs a function of this file on ranks that mpirun starts. Returns what they print."""
    if shutil.which("mpirun") is None:
        pytest.skip("needs mpirun")
    command = ["mpirun", "-n", str(ranks), sys.executable, __file__, function]
    environment = os.environ | {
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def over_mpi():
    return exercise(gradstep.Communicator.mpi())


def over_a_communicator_of_mpi4py():
    from mpi4py import MPI

    half = MPI.COMM_WORLD.Split(MPI.COMM_WORLD.rank % 2, -MPI.COMM_WORLD.rank)
    comm = gradstep.Communicator.mpi(half, reduction_order="engine")
    x = np.full(5, MPI.COMM_WORLD.rank)
    comm.all_reduce(x)
    comm.close()
    assert half.allreduce(1) == 2, "it is still the caller's"
    return f"{half.rank}/{half.size}:{x[0]}"


def lent_by_mpi4py():
    from mpi4py import MPI

    import gradstep.mpi4py

    native = gradstep.mpi4py.communicator(MPI.COMM_WORLD, reduction_order="engine")
    x = np.full(1000, MPI.COMM_WORLD.rank + 1.0, np.float32)
    native.all_reduce(x)
    assert (x == 6).all(), "MPI's own all-reduce"
    return exercise(gradstep.mpi4py.communicator(MPI.COMM_WORLD))


def refused_of_mpi4py():
    from mpi4py import MPI

    import gradstep.mpi4py

    world, side = MPI.COMM_WORLD, MPI.COMM_WORLD.rank
    inter = MPI.COMM_SELF.Create_intercomm(0, world, 1 - side)
    for make in (gradstep.mpi4py.communicator, gradstep.Communicator.mpi):
        with pytest.raises(
            gradstep.InvalidArgument, match="comm: is an intercommunicator, of 1 ranks here and 1 there"
        ):
            make(inter, timeout=5)
        with pytest.raises(gradstep.InvalidArgument, match=r"comm: is MPI\.COMM_NULL"):
            make(MPI.COMM_NULL)
        for wrong in (3, "world", MPI.GROUP_EMPTY):
            with pytest.raises(gradstep.InvalidArgument, match=f"comm: is a {type(wrong).__name__}, expected"):
                make(wrong)
    merged = gradstep.mpi4py.communicator(inter.Merge(side == 1), timeout=5)
    x = np.full(2, side + 1.0)
    merged.all_reduce(x)
    return f"{merged.world_size}:{x[0]}"


needs_mpi = pytest.mark.skipif(not gradstep.backend_available("mpi"), reason=f"mpi: {gradstep.backend_status('mpi')}")


@needs_mpi
def test_mpi_gives_the_bits_of_the_local_engine(local_digest):
    assert mpirun(3, "over_mpi") == [local_digest] * 3


@needs_mpi
def test_mpi_takes_a_communicator_of_mpi4py():
    pytest.importorskip("mpi4py")
    assert sorted(mpirun(4, "over_a_communicator_of_mpi4py")) == ["0/2:2", "0/2:4", "1/2:2", "1/2:4"]


def test_mpi4py_lends_its_collectives(local_digest):
    pytest.importorskip("mpi4py")
    assert mpirun(3, "lent_by_mpi4py") == [local_digest] * 3


def test_what_is_no_intracommunicator_is_refused():
    pytest.importorskip("mpi4py")
    assert mpirun(2, "refused_of_mpi4py") == ["2:3.0"] * 2


def test_what_is_no_process_group_is_refused():
    pytest.importorskip("torch")
    import gradstep.torch

    for make in (gradstep.torch.communicator, gradstep.torch.connect):
        with pytest.raises(gradstep.InvalidArgument, match="process_group: is a str, expected"):
            make("gloo")


if __name__ == "__main__":
    print("", globals()[sys.argv[1]](), "", flush=True)  # mpirun may put the lines of two ranks into one
