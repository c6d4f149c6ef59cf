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
import threading
from pathlib import Path

import pytest

import gradstep
from gradstep import _handover, _launcher

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
)
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHER_VARIABLES)}

needs_torchrun = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs torchrun")
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


def check(found, world_size, torch=False):
    """torch: whether the ranks had to import it, for its store."""
    total = world_size * (world_size + 1) / 2
    expected = {"engine": "shm", "sum": total, "order": list(range(world_size)), "torch": torch}
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
def test_torchrun_on_two_machines_lends_its_store(tmp_path):
    shared = ("--nnodes=2", "--nproc-per-node=1", f"--master-port={free_port()}", "--master-addr=127.0.0.1")
    nodes = [torchrun(*shared, f"--node-rank={node}", PROGRAM, tmp_path) for node in range(2)]
    check(run(tmp_path, *nodes), 2, torch=True)


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


@pytest.mark.parametrize("own_port", [False, True])
def test_rank_0_listens_at_the_master_address(tmp_path, own_port):
    place = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port())}
    if own_port:
        place["GRADSTEP_PORT"] = str(free_port())
    check(run_ranks_with(tmp_path, 2, lambda rank: {**place, "RANK": str(rank), "WORLD_SIZE": "2"}), 2)


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
    with gradstep.Communicator.connect() as comm:
        assert (comm.rank, comm.world_size) == (0, 1)


def test_a_given_store_takes_the_rank_from_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("PMI_RANK", "0")
    monkeypatch.setenv("PMI_SIZE", "1")
    with gradstep.Communicator.connect(store=tmp_path) as comm:
        assert (comm.rank, comm.world_size) == (0, 1)


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({}, r"rank: not given, and the environment does not say it: expected one pair of RANK and WORLD_SIZE"),
        ({"RANK": "0"}, r"RANK is set and WORLD_SIZE is not"),
        ({"OMPI_COMM_WORLD_SIZE": "2"}, r"OMPI_COMM_WORLD_SIZE is set and OMPI_COMM_WORLD_RANK is not"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, r"store: not given, and MASTER_ADDR and MASTER_PORT not set"),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a"}, r"store: not given, and MASTER_PORT not set"),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "x"}, r"MASTER_PORT: 'x', expected a num"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, r"RANK: 2, expected 0 to WORLD_SIZE - 1 = 1"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, r"RANK: '-1', expected a number >= 0"),
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
    ("rank", "says"), [("0", r"ranks \[1, 2\] of 3 did not come to"), ("1", "rank 0 did not answer")]
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


def test_first_host_of_slurms_shorthand():
    hosts = {"a": "a", "a,b": "a", "node[03-07,9],gpu1": "node03", "n[2,4]-x": "n2-x", "r[1-2]n[05-06]": "r1n05"}
    assert {text: _launcher.first_host(text) for text in hosts} == hosts


@pytest.mark.parametrize("local", [False, True])
def test_the_id_is_handed_to_ranks_that_ask_for_this_call(local):
    place = f"test-{os.getpid()}" if local else ("127.0.0.1", free_port())
    server = threading.Thread(target=_handover.serve, args=(b"secret", place, 5, 2, 20.0))
    server.start()
    with pytest.raises(gradstep.Timeout, match="rank 0 did not answer rank 1 at"):
        _handover.fetch(place, 4, 1, 0.3)
    stranger = _handover._connect(place, 5.0)
    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
    with contextlib.suppress(ConnectionError):
        assert stranger.recv(100) == b""
    stranger.close()
    assert _handover.fetch(place, 5, 1, 10.0) == b"secret"
    server.join(10)
    assert not server.is_alive()
