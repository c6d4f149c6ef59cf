# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""What the launcher of this process says in its environment: which rank it is, of how many, and where all meet.

The variables are those of torchrun, Open MPI, MPICH's Hydra (and all that speak PMI) and Slurm.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from gradstep.errors import InvalidArgument

Address = tuple[str, int]


class Launcher(NamedTuple):
    """Variables of one launcher."""

    name: str
    rank: str
    world_size: str
    ranks_here: str = ""
    """How many of the ranks run on this machine."""
    machines: str = ""
    """On how many machines the ranks run, where it does not say the other."""


LAUNCHERS = (
    Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"),
    Launcher("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"),
    Launcher("PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"),
    Launcher("Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", machines="SLURM_STEP_NUM_NODES"),
)
"""The innermost first: one that runs inside another inherits the other's variables."""

_JOB_VARIABLES = (
    "MASTER_ADDR",
    "MASTER_PORT",
    "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_RESTART_COUNT",
    "PMIX_NAMESPACE",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
)
_FIRST_SLURM_PORT, _SLURM_PORTS = 20000, 10000


class Launch(NamedTuple):
    """This process in its job."""

    launcher: Launcher
    rank: int
    world_size: int
    one_machine: bool
    """Whether all ranks are known to run here."""


def read_launch(environment: Mapping[str, str]) -> Launch:
    """The first launcher whose variables are there. Raises InvalidArgument that names those that lack."""
    for launcher in LAUNCHERS:
        if launcher.rank in environment and launcher.world_size in environment:
            return _launch_of(launcher, environment)
    partial = [
        f"{there} is set and {lacks} is not"
        for launcher in LAUNCHERS
        for there, lacks in ((launcher.rank, launcher.world_size), (launcher.world_size, launcher.rank))
        if there in environment and launcher.name != "Slurm"  # a batch script's shell has one of them
    ]
    expected = ", ".join(f"{each.rank} and {each.world_size} ({each.name})" for each in LAUNCHERS)
    raise InvalidArgument(
        "rank: not given, and the environment does not say it: "
        + "".join(f"{each}; " for each in partial)
        + f"expected one pair of {expected}"
    )


def _launch_of(launcher: Launcher, environment: Mapping[str, str]) -> Launch:
    rank, world_size = _number(launcher.rank, environment), _number(launcher.world_size, environment)
    if not 0 <= rank < world_size:
        raise InvalidArgument(f"{launcher.rank}: {rank}, expected 0 to {launcher.world_size} - 1 = {world_size - 1}")
    all_here = environment.get(launcher.ranks_here) == str(world_size) or environment.get(launcher.machines) == "1"
    return Launch(launcher, rank, world_size, all_here)


def _number(variable: str, environment: Mapping[str, str]) -> int:
    text = environment[variable]
    if not re.fullmatch(r"\d{1,9}", text):
        raise InvalidArgument(f"{variable}: {text!r}, expected a number >= 0")
    return int(text)


def agent_store(launch: Launch, environment: Mapping[str, str]) -> Address | None:
    """Where torchrun serves a store of torch.distributed for its workers."""
    if launch.launcher.name != "torchrun" or environment.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return None
    return _master(environment)


def meeting_point(launch: Launch, environment: Mapping[str, str]) -> Address:
    """Host and port at which rank 0 serves what the others ask for.

    GRADSTEP_PORT, else the port after MASTER_PORT, which is torch.distributed's own.
    """
    if launch.launcher.name == "Slurm" and "MASTER_ADDR" not in environment:
        return _slurm_point(environment)
    if "GRADSTEP_PORT" in environment and "MASTER_ADDR" in environment:
        return environment["MASTER_ADDR"], _port("GRADSTEP_PORT", environment)
    host, port = _master(environment)
    return host, port + 1


def _master(environment: Mapping[str, str]) -> Address:
    lacks = [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in environment]
    if lacks:
        raise InvalidArgument(
            f"store: not given, and {' and '.join(lacks)} not set: set MASTER_ADDR (a host name of rank 0's machine) "
            "and MASTER_PORT, or GRADSTEP_STORE (a directory that all ranks share)"
        )
    return environment["MASTER_ADDR"], _port("MASTER_PORT", environment)


def _slurm_point(environment: Mapping[str, str]) -> Address:
    """The step's first machine, which has task 0; a port by the number of the job."""
    lacks = [name for name in ("SLURM_STEP_NODELIST", "SLURM_JOB_ID") if name not in environment]
    if lacks:
        raise InvalidArgument(f"store: not given, and {' and '.join(lacks)} not set, expected of Slurm; or MASTER_ADDR")
    if "GRADSTEP_PORT" in environment:
        port = _port("GRADSTEP_PORT", environment)
    else:
        port = _FIRST_SLURM_PORT + _number("SLURM_JOB_ID", environment) % _SLURM_PORTS
    return first_host(environment["SLURM_STEP_NODELIST"]), port


def first_host(hosts: str) -> str:
    """The first host of Slurm's shorthand: "node[03-07,9],gpu1" begins with node03."""
    host = hosts
    while match := re.match(r"([^,\[]*)\[([^\]\-,]*)[^\]]*\](.*)", host):
        host = "".join(match.groups())
    return host.partition(",")[0]


def _port(variable: str, environment: Mapping[str, str]) -> int:
    port = _number(variable, environment)
    if not 0 < port < 65535:
        raise InvalidArgument(f"{variable}: {port}, expected 1 to 65534")
    return port


def job_name(launch: Launch, environment: Mapping[str, str]) -> str:
    """Equal for the ranks of a job on one machine, and for no others."""
    parts: list[object] = [os.getuid(), launch.world_size, _launcher_process(launch.launcher.rank)]
    parts += [environment.get(name) for name in _JOB_VARIABLES]
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _launcher_process(variable: str) -> int:
    """The nearest ancestor that was started without a rank: the launcher, whatever scripts are in between."""
    process = os.getppid()
    while process > 1:
        try:
            started_with = Path(f"/proc/{process}/environ").read_bytes()
            status = Path(f"/proc/{process}/stat").read_text()
        except OSError:  # another user's: Slurm's daemon
            break
        if not re.search(rb"(^|\0)" + variable.encode() + b"=", started_with):
            break
        process = int(status.rpartition(")")[2].split()[1])
    return process
