# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Cycles in which processes are killed, stop and join while they train; GRADSTEP_CHAOS_CYCLES says how many.

After each cycle all that train have the same bits, and no more descriptors and threads than after the first ones.
At the end nothing is left in shared memory.
"""

import hashlib
import multiprocessing
import os
import random
import signal
from pathlib import Path

import numpy as np
import pytest

import gradstep

CYCLES = int(os.environ.get("GRADSTEP_CHAOS_CYCLES", "2"))
MOST, WINDOWS, TIMEOUT = 4, 2, 20.0
SHAPES = [(20000, 2), (300,)]  # several chunks of a sharded state
MODES = {
    "dense": {},
    "topk": {"reducer": "sparse_topk"},
    "int8": {"reducer": "int8"},
    "deltas": {"sync": "deltas", "reducer": "int8"},
    "rounds": {"sync": "deltas", "outer": True},
    "zero1": {"sharded": "alone"},
    "zero2": {"sharded": "slices"},
    "sharded rounds": {"sync": "deltas", "outer": True, "sharded": "outer"},
}
ENGINES = {
    "shm": (gradstep.Communicator.shm, "rank"),
    "gloo": (gradstep.Communicator.gloo, "rank"),
    "hosts": (gradstep.Communicator.gloo, "hosts"),
}


class Trainee:
    """One rank's host, in a process of its own; the test tells it what to do."""

    def __init__(self, folder: str, engine: str, mode: str, identity: int) -> None:
        self.folder, self.engine, self.mode, self.identity = folder, engine, MODES[mode], identity
        self.parameters = [np.full(shape, identity, np.float32) for shape in SHAPES]
        self.adam = gradstep.Adam(self.parameters, learning_rate=0.01)
        outer = self.mode.get("outer") and gradstep.SGD(self.parameters, learning_rate=0.7, momentum=0.9)
        self.outer = outer or None
        self.sharded = self.outer if self.mode.get("sharded") == "outer" else self.adam
        self.comm = gradstep.Communicator.self()
        self.updater: gradstep.Updater | None = None

    def connect(self, rank: int, size: int, generation: int) -> None:
        connect, order = ENGINES[self.engine]
        self.comm = connect(rank, size, self.folder, TIMEOUT, generation=generation, reduction_order=order)

    def make_updater(self) -> None:
        sharded = self.mode.get("sharded")
        reducer = None
        if sharded != "alone":
            reducer = gradstep.Reducer(self.comm, self.parameters, mode=self.mode.get("reducer", "dense"))
        if self.comm.world_size > 1 and sharded:
            self.sharded.shard(reducer if sharded == "slices" else self.comm)
        sync = {"sync": self.mode.get("sync", "gradients")}
        if self.outer:
            sync.update(outer=self.outer, sync_steps=WINDOWS)
        self.updater = gradstep.Updater(self.adam, reducer=reducer, **sync)

    def begin(self, rank: int, size: int, generation: int) -> None:
        for parameter in self.parameters:
            parameter[:] = 1
        self.connect(rank, size, generation)
        self.make_updater()

    def recover(self, rank: int, size: int, generation: int) -> None:
        if self.updater is None:
            self.make_updater()  # over this process alone
        self.connect(rank, size, generation)
        try:
            self.updater.recover(self.comm, self.parameters)
        except gradstep.InvalidState as error:
            assert "load a saved state" in str(error) and self.mode.get("sharded")
            self.load()
        try:
            self.updater.flush(self.parameters)
        except gradstep.InvalidState as error:
            assert "push them again" in str(error)

    def load(self) -> None:
        """The way on of docs/failure.md, for a state of which a part is gone."""
        for name, optimizer in self.optimizers().items():
            if optimizer is self.sharded:
                optimizer.shard(self.comm)
            optimizer.load(f"{self.folder}/{name}")
        for parameter, saved in zip(self.parameters, np.load(f"{self.folder}/parameters.npz").values(), strict=True):
            parameter[:] = saved
        self.updater = None
        self.sharded.unshard()
        self.make_updater()

    def optimizers(self) -> dict[str, gradstep.Optimizer]:
        return {"adam": self.adam, **({"outer": self.outer} if self.outer else {})}

    def save(self) -> None:
        for name, optimizer in self.optimizers().items():
            if optimizer is self.sharded or self.comm.rank == 0:
                optimizer.save(f"{self.folder}/{name}")
        if self.comm.rank == 0:
            np.savez(f"{self.folder}/parameters.npz", *self.parameters)
        self.comm.barrier()

    def train(self, windows: int, dies_at: int | None) -> None:
        ends_round = False
        for window in range(windows):
            if dies_at == window:
                os.kill(os.getpid(), signal.SIGKILL)
            ends_round = self.push()
        while self.outer and not ends_round:  # a recovery may be anywhere in a round
            ends_round = self.push()

    def push(self) -> bool:
        """True where this ended a round."""
        rounds = self.outer.step_count if self.outer else 0
        rng = np.random.default_rng([self.identity, self.adam.step_count])
        gradients = [rng.standard_normal(shape).astype(np.float32) for shape in SHAPES]
        self.updater.push(self.parameters, gradients)
        return bool(self.outer) and self.outer.step_count > rounds

    def leave(self) -> None:
        if self.mode.get("sharded"):
            self.updater.recover(None, self.parameters)

    def digest(self) -> str:
        return hashlib.sha256(b"".join(parameter.tobytes() for parameter in self.parameters)).hexdigest()


def work(pipe, *arguments) -> None:
    trainee = Trainee(*arguments)
    while True:
        what, *details = pipe.recv()
        try:
            getattr(trainee, what)(*details)
            pipe.send(("ok", trainee.adam.step_count, trainee.digest()))
        except (gradstep.PeerLost, gradstep.Timeout, gradstep.Aborted):
            pipe.send(("lost", 0, ""))
        except BaseException as error:
            pipe.send((f"{type(error).__name__}: {error}", 0, ""))
        if what == "leave":
            return


class Workers:
    """The processes of a job."""

    def __init__(self, folder: Path, engine: str, mode: str) -> None:
        self.context = multiprocessing.get_context("spawn")
        self.arguments = (str(folder), engine, mode)
        self.live: dict[int, tuple] = {}  # by identity
        self.known = 0
        self.generation = 0

    def start(self) -> int:
        here, there = self.context.Pipe()
        process = self.context.Process(target=work, args=(there, *self.arguments, self.known), daemon=True)
        process.start()
        self.live[self.known] = (process, here)
        self.known += 1
        return self.known - 1

    def ask(self, each: int, *what) -> None:
        self.live[each][1].send(what)

    def answer(self, each: int) -> tuple:
        assert self.live[each][1].poll(3 * TIMEOUT), "a rank hangs"
        return self.live[each][1].recv()

    def connect(self, what: str, members: list[int]) -> None:
        self.generation += 1
        for rank, each in enumerate(members):
            self.ask(each, what, rank, len(members), self.generation)

    def end(self, each: int) -> int:
        process, pipe = self.live.pop(each)
        process.join(3 * TIMEOUT)
        pipe.close()
        return process.exitcode

    def all_equal(self, members: list[int]) -> None:
        answers = [self.answer(each) for each in members]
        assert [answer[0] for answer in answers] == ["ok"] * len(members)
        assert len(set(answers)) == 1, "the ranks differ"

    def holdings(self, each: int) -> tuple[int, int]:
        at = Path(f"/proc/{self.live[each][0].pid}")
        return len(list((at / "fd").iterdir())), len(list((at / "task").iterdir()))


def run_cycle(workers: Workers, members: list[int], luck: random.Random) -> list[int]:
    for each in members:
        workers.ask(each, "save")
    workers.all_equal(members)
    kills = len(members) > 1 and luck.random() < 0.5
    victim = luck.choice(members) if kills else None
    for each in members:
        workers.ask(each, "train", WINDOWS, luck.randrange(WINDOWS) if each == victim else None)
    stay = [each for each in members if each != victim]
    answers = {workers.answer(each)[0] for each in stay}
    assert answers <= {"ok", "lost"}, answers
    if kills:
        assert workers.end(victim) == -signal.SIGKILL
    stops = [each for each in stay if len(stay) > 1 and not kills and luck.random() < 0.3][: len(stay) - 1]
    stay = [each for each in stay if each not in stops]
    joins = [workers.start() for _ in range(luck.randint(0 if len(stay) > 1 else 1, MOST - len(stay)))]
    now = stay + joins
    luck.shuffle(now)
    for each in stops:
        workers.ask(each, "leave")
    workers.connect("recover", now)
    for each in stops:
        assert workers.answer(each)[0] == "ok"
        assert workers.end(each) == 0
    assert [workers.answer(each)[0] for each in now] == ["ok"] * len(now)
    for each in now:
        workers.ask(each, "train", WINDOWS, None)
    workers.all_equal(now)
    return now


def shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir()}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mode", MODES)
def test_ranks_are_killed_stop_and_join(engine, mode, tmp_path):
    if engine != "shm" and not gradstep.backend_available("gloo"):
        pytest.skip("needs gloo")
    before = shared_memory()
    luck = random.Random(f"{engine} {mode}")
    workers = Workers(tmp_path, engine, mode)
    members = [workers.start() for _ in range(2)]
    workers.connect("begin", members)
    workers.all_equal(members)
    held: dict[int, tuple[int, int]] = {}
    for _ in range(CYCLES):
        members = run_cycle(workers, members, luck)
        for each in members:
            descriptors, threads = workers.holdings(each)
            first = held.setdefault(each, (descriptors, threads))
            # One for each peer over gloo, and the store's.
            assert descriptors <= first[0] + 4 * MOST and threads <= first[1] + 4
    for each in members:
        workers.ask(each, "leave")
    for each in members:
        assert workers.answer(each)[0] == "ok"
        assert workers.end(each) == 0
    assert shared_memory() <= before
