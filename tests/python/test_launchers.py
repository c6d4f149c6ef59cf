# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Communicator.connect() without arguments: under real torchrun and mpirun, and with the variables of others."""

import contextlib
import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import gradstep

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))

import slow_hosts

PROGRAM = Path(__file__).with_name("launched.py")
LAUNCHER_VARIABLES = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_WORLD_SIZE",
    "MASTER_",
    "TORCHELASTIC_",
    "OMPI_",
    "PMI",
    "MPI_",
    "SLURM_",
    "PET_",
    "JOB_COMPLETION_",
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHER_VARIABLES)}

needs_torchrun = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torchrun")
LINK = slow_hosts.best_link()
needs_hosts = pytest.mark.skipif((reason := slow_hosts.why_not(LINK)) is not None, reason=reason or "")
needs_gloo = pytest.mark.skipif(not gradstep.backend_available("gloo"), reason="needs gloo")
needs_mpirun = pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs mpirun")


@pytest.fixture(autouse=True)
def without_launcher(monkeypatch):
    for name in os.environ.keys() - ENVIRONMENT.keys():
        monkeypatch.delenv(name)


def run(folder, *commands, environments=None):
    """Runs commands side by side; returns what the ranks have written, in their order."""
    environments = environments or [{}] * len(commands)
    started = [
        subprocess.Popen(
            [str(word) for word in command],
            env={**ENVIRONMENT, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for command, environment in zip(commands, environments, strict=True)
    ]
    outputs = [process.communicate(timeout=120)[0] for process in started]
    assert not any(process.returncode for process in started), "\n".join(outputs)
    written = sorted(folder.iterdir(), key=lambda path: int(path.name))
    return [json.loads(path.read_text()) for path in written]


def check(found, world_size):
    total = world_size * (world_size + 1) / 2
    expected = {"engine": "shm", "sum": total, "order": list(range(world_size)), "torch": False}
    assert found == [expected] * world_size


def run_ranks_with(folder, world_size, variables):
    """variables(rank): the environment of a rank's process."""
    command = (sys.executable, PROGRAM, folder)
    return run(folder, *[command] * world_size, environments=[variables(rank) for rank in range(world_size)])


def free_port():
    """Two in a row: MASTER_PORT and the one after."""
    while True:
        with socket.socket() as first, socket.socket() as second, contextlib.suppress(OSError):
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            second.bind(("127.0.0.1", port + 1))
            return port


def torchrun(*arguments):
    return (sys.executable, "-m", "torch.distributed.run", *arguments)


@needs_torchrun
def test_torchrun_on_one_machine(tmp_path):
    check(run(tmp_path, torchrun("--standalone", "--nproc-per-node=3", PROGRAM, tmp_path)), 3)


@needs_torchrun
def test_torchrun_on_two_machines(tmp_path):
    shared = ("--nnodes=2", "--nproc-per-node=1", f"--master-port={free_port()}", "--master-addr=127.0.0.1")
    nodes = [torchrun(*shared, f"--node-rank={node}", PROGRAM, tmp_path) for node in range(2)]
    check(run(tmp_path, *nodes), 2)


@needs_mpirun
@pytest.mark.parametrize("through_a_shell", [False, True])
def test_mpirun(tmp_path, through_a_shell):
    program = (sys.executable, PROGRAM, tmp_path)
    if through_a_shell:
        program = ("sh", "-c", " ".join(map(str, (*program, "; true"))))
    permission = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    check(run(tmp_path, ("mpirun", "--oversubscribe", "-n", 3, *program), environments=[permission]), 3)


def test_variables_of_pmi(tmp_path):
    check(run_ranks_with(tmp_path, 2, lambda rank: {"PMI_RANK": str(rank), "PMI_SIZE": "2", "MPI_LOCALNRANKS": "2"}), 2)


def test_variables_of_slurm_on_one_machine(tmp_path):
    step = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "1", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0"}
    check(run_ranks_with(tmp_path, 2, lambda rank: {**step, "SLURM_PROCID": str(rank)}), 2)


def test_variables_of_slurm_on_two_machines(tmp_path):
    step = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "2", "SLURM_JOB_ID": "7"}
    place = {"SLURM_STEP_NODELIST": "localhost,other[1-3]", "GRADSTEP_PORT": str(free_port())}
    check(run_ranks_with(tmp_path, 2, lambda rank: {**step, **place, "SLURM_PROCID": str(rank)}), 2)


def test_variables_of_a_train_job(tmp_path):
    place = {"PET_NNODES": "2", "PET_MASTER_ADDR": "localhost", "PET_MASTER_PORT": str(free_port())}
    check(run_ranks_with(tmp_path, 2, lambda rank: {**place, "PET_NODE_RANK": str(rank)}), 2)


def test_variables_of_a_job_set(tmp_path):
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
    check(run_ranks_with(tmp_path, 2, lambda rank: {**place, "JOB_COMPLETION_INDEX": str(rank)}), 2)


@pytest.mark.parametrize("own_port", [False, True])
def test_rank_0_listens_at_the_master_address(tmp_path, own_port):
    place = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
    if own_port:
        place["GRADSTEP_PORT"] = str(free_port())
    check(run_ranks_with(tmp_path, 2, lambda rank: {**place, "RANK": str(rank), "WORLD_SIZE": "2"}), 2)


OVER_GLOO = """
import gradstep
comm = gradstep.Communicator.from_environment("gloo", timeout=60)
print(comm.engine, comm.vote(True))
"""


@needs_hosts
@needs_gloo
def test_hosts_whose_names_lead_nowhere_else_reach_each_other():
    """On none of these hosts does its name resolve to an address that the other one reaches."""
    with slow_hosts.SlowHosts(2, 125e6, 1e-4, LINK) as hosts:
        place = {"WORLD_SIZE": "3", "MASTER_ADDR": hosts.address(0), "MASTER_PORT": "29500"}
        ranks = [
            subprocess.Popen(
                hosts.command(host, sys.executable, "-c", OVER_GLOO),
                env={**ENVIRONMENT, **place, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                text=True,
            )
            for rank, host in enumerate([0, 0, 1])
        ]
        try:
            assert [rank.communicate(timeout=120)[0] for rank in ranks] == ["gloo True\n"] * 3
        finally:
            slow_hosts.stop(ranks)


def test_a_shared_directory_needs_no_address(tmp_path):
    store, results = tmp_path / "store", tmp_path / "results"
    results.mkdir()
    check(
        run_ranks_with(results, 2, lambda rank: {"GRADSTEP_STORE": str(store), "RANK": str(rank), "WORLD_SIZE": "2"}),
        2,
    )


def test_a_world_of_one_asks_nobody(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    with gradstep.Communicator.from_environment() as comm:
        assert (comm.rank, comm.world_size) == (0, 1)


def test_a_given_store_takes_the_rank_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "1")
    with gradstep.Communicator.connect(store=tmp_path) as comm:
        assert (comm.rank, comm.world_size) == (0, 1)


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({}, r"the environment does not say it: expected one pair of RANK and WORLD_SIZE"),
        ({"RANK": "0"}, r"RANK is set and WORLD_SIZE is not"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, r"MASTER_ADDR and MASTER_PORT not set"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, r"RANK: is 2, expected 0 to WORLD_SIZE - 1 = 1"),
        ({"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}, r"SLURM_STEP_NODELIST and SLURM_JOB_ID not set"),
    ],
)
def test_errors_name_the_variables(monkeypatch, variables, says):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(gradstep.InvalidArgument, match=says):
        gradstep.Communicator.connect(timeout=0.2)


def test_errors_name_the_argument(tmp_path):
    with pytest.raises(gradstep.InvalidArgument, match="store: must be given with rank and world_size"):
        gradstep.Communicator.connect(0, 2)
    with pytest.raises(gradstep.InvalidArgument, match="world_size: must be given with rank"):
        gradstep.Communicator.connect(0, store=tmp_path)
    with pytest.raises(gradstep.InvalidArgument, match="rank: must be given with world_size"):
        gradstep.Communicator.connect(world_size=2, store=tmp_path)


@pytest.mark.parametrize(
    ("rank", "says"),
    [("0", r"rank 1 of 3 did not come .*at localhost:\d+ came rank 0"), ("1", "rank 0 did not answer rank 1 of 3")],
)
def test_a_rank_that_does_not_come_is_named(monkeypatch, rank, says):
    for name, value in {"RANK": rank, "WORLD_SIZE": "3", "MASTER_ADDR": "localhost"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_PORT", str(free_port()))
    with pytest.raises(gradstep.Timeout, match=says):
        gradstep.Communicator.connect(timeout=0.3)


def test_a_port_that_is_taken_is_named(monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "1"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("GRADSTEP_PORT", str(port))
        with pytest.raises(gradstep.InputOutputError, match=rf"cannot listen at 127.0.0.1:{port}: .*GRADSTEP_PORT"):
            gradstep.Communicator.connect(timeout=0.3)
