# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Hosts made on one machine: namespaces with names and networks of their own, joined by links that can be slow.

Links are veth pairs with `tc netem` on a bridge where the kernel has netem, else TUN devices joined by slow_link.c,
which is compiled for it. Host i is 10.0.0.(i + 1) at its device "link0". What a host has to send waits in a token
bucket of the kernel's, a little slower than the link: there, as before a real device, TCP knows what waits and lets
its connections send in turns; behind netem and TUN it does not. The namespaces belong to processes that end with this
one, however it ends, and vanish with them.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DEVICE = "link0"
LINKS = ("netem", "program")
MOST_HOSTS = 32
PROGRAM = Path(__file__).with_name("slow_link.c")
OF_BANDWIDTH = 0.97
"""Bytes of IP in full packets, in parts of an Ethernet's: what a host may send."""
CHUNK_SECONDS, LEAST_CHUNK, MOST_CHUNK = 0.2e-3, 8192, 65536
"""Segments of TCP that travel joined, and arrive at once, take no longer than that, but may have so many bytes."""
UNSHARE = ("unshare", "--net", "--uts", "sh", "-ec")
CONGESTION = "/proc/sys/net/ipv4/tcp_congestion_control"
SETTINGS = (
    "echo 4096 131072 6291456 > /proc/sys/net/ipv4/tcp_rmem",
    "echo 4096 16384 4194304 > /proc/sys/net/ipv4/tcp_wmem",
    f"echo cubic 2>/dev/null > {CONGESTION} || echo reno > {CONGESTION}",
)
"""Linux's own defaults, whatever this machine has. Where cubic is not allowed, what comes nearest: nothing is lost."""


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.returncode}")
    return done.stdout


def _works(*command: str) -> bool:
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def _settings(name: str) -> list[str]:
    """Commands that make a host of new namespaces."""
    return [f"echo {name} > /proc/sys/kernel/hostname", *SETTINGS, "ip link set lo up"]


def _has(queue: str) -> bool:
    return _works(*UNSHARE, f"ip link set lo up; tc qdisc add dev lo root {queue}")


def has_netem() -> bool:
    return _has("netem delay 1ms")


def best_link() -> str:
    return LINKS[0] if has_netem() else LINKS[1]


def _token_bucket(bandwidth: float, chunk: int) -> str:
    return f"tbf rate {bandwidth * OF_BANDWIDTH * 8:.0f}bit burst {2 * chunk} limit 256mb"


def why_not(link: str) -> str | None:
    """What is missing for hosts with such links; None = nothing."""
    for program in ("unshare", "nsenter", "setpriv", "ip", "tc"):
        if shutil.which(program) is None:
            return f"needs {program}"
    if not _works(*UNSHARE, "; ".join(_settings("probe"))):
        return "needs the privilege to make namespaces (root, CAP_SYS_ADMIN and CAP_NET_ADMIN)"
    if not _has(_token_bucket(1e6, MOST_CHUNK)):
        return "needs a kernel with tc's tbf"
    if link == "netem":
        return None if has_netem() else "needs a kernel with tc's netem"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "needs /dev/net/tun, for the kernel has no netem"
    return None if shutil.which("cc") else "needs a C compiler, cc, for the kernel has no netem"


class SlowHosts:
    """`count` hosts, each with a link of `bandwidth` bytes a second each way, `delay` seconds from host to host."""

    def __init__(self, count: int, bandwidth: float, delay: float, link: str) -> None:
        self._count, self._bandwidth, self._delay, self._link = count, bandwidth, delay, link
        self._exit = contextlib.ExitStack()
        self._pids: list[int] = []
        self._program: subprocess.Popen[str] | None = None

    def __enter__(self) -> "SlowHosts":
        with contextlib.ExitStack() as begun:
            self._exit = begun
            self._pids = [self._keep(f"host{i}") for i in range(self._count)]
            if self._link == "netem":
                self._join_by_netem()
            else:
                self._join_by_program()
            self._exit = begun.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit.close()

    @staticmethod
    def address(host: int) -> str:
        return f"10.0.0.{host + 1}"

    def command(self, host: int, *command: str) -> list[str]:
        """What runs a command on a host; it ends with this process."""
        return self._inside(self._pids[host], "setpriv", "--pdeathsig", "KILL", *command)

    def congestion_control(self) -> str:
        return _run(*self.command(0, "cat", CONGESTION)).strip()

    def program_report(self) -> dict[str, Any] | None:
        """Ends the links: what slow_link says about its work; None with netem."""
        if self._program is None:
            return None
        said, _ = self._program.communicate(timeout=10)
        return json.loads(said)

    @staticmethod
    def _inside(pid: int, *command: str) -> list[str]:
        return ["nsenter", f"--target={pid}", "--net", "--uts", "--", *command]

    def _start(self, *command: str) -> subprocess.Popen[str]:
        """A process that ends with its standard input, and says when it is ready."""
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self._exit.callback(self._end, process)
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{command[0]} failed")
        return process

    @staticmethod
    def _end(process: subprocess.Popen[str]) -> None:
        with contextlib.suppress(ValueError, subprocess.TimeoutExpired):  # closed already; stuck
            process.communicate(timeout=10)
        process.kill()
        process.wait()

    def _keep(self, name: str) -> int:
        """A process with namespaces of its own."""
        return self._start(*UNSHARE, "; ".join([*_settings(name), "echo ready", "read -r end"])).pid

    def _configure(self, host: int) -> None:
        chunk = min(MOST_CHUNK, max(LEAST_CHUNK, int(self._bandwidth * CHUNK_SECONDS)))
        up = f"ip link set {DEVICE} gso_max_size {chunk} txqueuelen 10000 up"
        queue = f"tc qdisc add dev {DEVICE} root {_token_bucket(self._bandwidth, chunk)}"
        self._on(self._pids[host], f"ip address add {self.address(host)}/24 dev {DEVICE}; {up}; {queue}")

    def _join_by_program(self) -> None:
        folder = self._exit.enter_context(tempfile.TemporaryDirectory())
        program = f"{folder}/slow_link"
        _run("cc", "-O2", "-o", program, str(PROGRAM))
        pids = map(str, self._pids)
        self._program = self._start(program, repr(self._bandwidth), repr(self._delay), *pids)
        for host in range(self._count):
            self._configure(host)

    def _join_by_netem(self) -> None:
        switch = self._keep("switch")
        self._on(switch, "ip link add bridge0 type bridge && ip link set bridge0 up")
        for host, pid in enumerate(self._pids):
            port = f"port{host}"
            self._on(pid, f"ip link add {DEVICE} type veth peer name {port} netns {switch}")
            self._on(switch, f"ip link set {port} master bridge0 up")
            self._configure(host)
            self._on(switch, f"tc qdisc add dev {port} root {self._netem()}")

    def _on(self, pid: int, script: str) -> None:
        _run(*self._inside(pid, "sh", "-ec", script))

    def _netem(self) -> str:
        # Ethernet adds 24 bytes to those that the kernel counts; what waits is never dropped.
        return f"netem delay {self._delay * 1e6:.0f}us rate {self._bandwidth * 8:.0f}bit 24 limit 1000000"


def bytes_sent() -> int:
    """By the link of this process' host since it is up: bytes of IP, segments that travel joined with one header."""
    lines = Path("/proc/net/dev").read_text().splitlines()
    return next(int(line.split()[9]) for line in lines if line.split()[0] == f"{DEVICE}:")


def stop(processes: Sequence[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
