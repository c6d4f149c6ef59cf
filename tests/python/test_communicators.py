# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Engines self, local, shm, host and gloo: the same results, errors that end waits, and no call past its deadline."""

import ctypes
import os
import signal
import socket
import threading
import time

import numpy as np
import pytest
from conftest import run_ranks
from emulated_link import EmulatedLink, run_over_link
from host_collectives import AllGatherOnly, Everything, Exchange
from processes import exercise, run_processes

import gradstep

# The promise: no call outlives its timeout by more than a second.
GRACE = 1.0

engines_of_processes = pytest.mark.parametrize(
    "engine",
    [
        "shm",
        pytest.param(
            "gloo",
            marks=pytest.mark.skipif(
                not gradstep.backend_available("gloo"), reason=f"gloo: {gradstep.backend_status('gloo')}"
            ),
        ),
    ],
)


def connect(engine, rank, world_size, store, **options):
    """Over loopback, where there is a network."""
    if engine == "gloo":
        options["network_interface"] = "lo"
    return getattr(gradstep.Communicator, engine)(rank, world_size, store, **options)


def test_self_is_a_world_of_one():
    comm = gradstep.Communicator.self()
    assert (comm.rank, comm.world_size, comm.local_rank) == (0, 1, 0)
    x = np.arange(3.0)
    comm.all_reduce(x)
    assert x.tolist() == [0.0, 1.0, 2.0] and comm.all_gather(x).shape == (1, 3)
    assert comm.vote(True) and not comm.vote(False)


def test_all_engines_give_the_same_bits(tmp_path):
    local = run_ranks(3, exercise)
    assert len(set(local)) == 1
    for kind in (AllGatherOnly, Everything):
        exchange = Exchange(3)
        hosts = [kind(exchange, rank) for rank in range(3)]
        results = run_ranks(3, lambda comm, hosts=hosts: exercise(gradstep.Communicator.host(hosts[comm.rank])))
        assert set(results) == set(local), kind.__name__
        assert hosts[0].calls["all_gather"] > 0
        if kind is Everything:
            assert {"all_reduce", "broadcast", "barrier"} <= hosts[0].calls.keys()
    for engine in ("shm", "gloo"):
        if gradstep.backend_available(engine):
            assert set(run_processes(3, exercise_processes, engine, str(tmp_path / engine))) == set(local), engine


def test_connect_chooses_shared_memory_on_one_machine(tmp_path):
    def name_of(rank):
        with gradstep.Communicator.connect(rank, 2, tmp_path) as comm, comm.dup() as twin:
            assert comm.split(0).engine == twin.engine == comm.engine
            return comm.engine

    assert run_ranks(2, lambda comm: name_of(comm.rank)) == ["shm", "shm"]
    assert gradstep.Communicator.self().engine == "self"


def test_sums_are_in_the_order_of_ranks():
    values = np.array([1e8, 1.0, -1e8], np.float32)

    def summed(comm):
        x = values[comm.rank : comm.rank + 1].copy()
        comm.all_reduce(x)
        return float(x[0])

    assert run_ranks(3, summed) == [float((values[0] + values[1]) + values[2])] * 3


CLONE_NEWUTS = 0x04000000  # of linux/sched.h


def rename_machine(name):
    """The calling thread is on a machine of this name from here on. Returns False without the privilege."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUTS) != 0:
        return False
    socket.sethostname(name)
    return True


def sum_on_host(rank, world_size, store, values):
    if not rename_machine("ab"[rank % 2]):
        return None
    with connect("gloo", rank, world_size, store, reduction_order="hosts") as comm:
        x = values[rank : rank + 1].copy()
        comm.all_reduce(x)
        return float(x[0]), comm.local_rank


@pytest.mark.skipif(not gradstep.backend_available("gloo"), reason="needs gloo")
def test_sums_are_in_the_order_of_hosts_of_different_names(tmp_path):
    values = np.array([1e8, 1.0, -1e8, 2.0], np.float32)
    results = run_processes(4, sum_on_host, str(tmp_path), values)
    if None in results:
        pytest.skip("needs the privilege to rename a machine (CAP_SYS_ADMIN)")
    expected = float((values[0] + values[2]) + (values[1] + values[3]))
    assert expected != float(((values[0] + values[1]) + values[2]) + values[3])
    assert results == [(expected, place) for place in (0, 0, 1, 1)]


HOSTS_OF_RANKS = "abaac"


def gradients_of(rank):
    random = np.random.default_rng(rank)
    return [(1 + rank) * random.standard_normal(n).astype(np.float32) + np.float32(0.7) for n in (5, 70_000)]


def adasum_on_hosts(rank, world_size, store, mode):
    if not rename_machine(HOSTS_OF_RANKS[rank]):
        return None
    with connect("gloo", rank, world_size, store, reduction_order="hosts") as comm:
        grads = gradients_of(rank)
        gradstep.Reducer(comm, grads, mode=mode).reduce(grads)
        return [grads[0], grads[1][::100].copy()]  # what fits into a pipe


def host_means(parameter):
    """In f32, hosts in the order of their first ranks."""
    means = []
    for host in sorted(set(HOSTS_OF_RANKS)):
        ranks = [rank for rank, name in enumerate(HOSTS_OF_RANKS) if name == host]
        total = gradients_of(ranks[0])[parameter]
        for rank in ranks[1:]:
            total = total + gradients_of(rank)[parameter]
        means.append((total / np.float32(len(ranks))).astype(np.float64))
    return means


def merged_pair(a, b):
    """Maleki et al. 2021."""
    return (1 - a @ b / (2 * (a @ a))) * a + (1 - a @ b / (2 * (b @ b))) * b


def merged_at_once(vectors):
    """Trax."""
    total = sum(vectors)
    return sum((1 - (g @ total - g @ g) / (len(vectors) * (g @ g))) * g for g in vectors)


@pytest.mark.skipif(not gradstep.backend_available("gloo"), reason="needs gloo")
@pytest.mark.parametrize("mode", ["adasum_tree", "adasum_nway"])
def test_adasum_merges_the_means_of_hosts(tmp_path, mode):
    results = run_processes(5, adasum_on_hosts, str(tmp_path), mode)
    if None in results:
        pytest.skip("needs the privilege to rename a machine (CAP_SYS_ADMIN)")
    for parameter, stride in ((0, 1), (1, 100)):
        a, b, c = host_means(parameter)
        expected = merged_pair(merged_pair(a, c), b) if mode == "adasum_tree" else merged_at_once([a, b, c])
        for grads in results:
            assert grads[parameter].tobytes() == results[0][parameter].tobytes()
            np.testing.assert_allclose(grads[parameter], expected[::stride], atol=2e-6 * np.abs(expected).max())


def test_send_and_recv_meet_in_order():
    def exchange(comm):
        peer = 1 - comm.rank
        got = np.zeros(2)
        if comm.rank == 0:
            first, second = np.array([1.0, 2.0]), np.array([3.0, 4.0])
            first.flags.writeable = False
            comm.send(first, peer)
            comm.send(second, peer)
            return None
        comm.recv(got, peer)
        comm.recv(got, peer)
        return got.tolist()

    assert run_ranks(2, exchange)[1] == [3.0, 4.0]


def test_split_and_dup():
    def split(comm):
        part = comm.split(comm.rank % 2, key=-comm.rank)
        assert comm.split(-1) is None
        with comm.dup() as twin:
            assert twin.vote(True)
        return part.rank, part.world_size

    assert run_ranks(4, split) == [(1, 2), (1, 2), (0, 2), (0, 2)]


def test_statistics_count_calls_and_bytes():
    def count(comm):
        comm.all_reduce(np.ones(1000, np.float32))
        comm.barrier()
        return comm.statistics()

    for stats in run_ranks(2, count):
        assert stats.all_reduces == 1 and stats.barriers == 1
        assert stats.bytes_sent >= 4000, "2 (P - 1) / P of 4000 bytes"
        assert stats.nanoseconds > 0


def test_a_missing_peer_is_a_timeout_and_breaks_the_communicator():
    comm, _absent = gradstep.Communicator.local(2, timeout=0.3)
    begin = time.monotonic()
    with pytest.raises(gradstep.Timeout):
        comm.barrier()
    assert time.monotonic() - begin <= 0.3 + GRACE
    assert isinstance(comm.error, gradstep.Timeout)
    with pytest.raises(gradstep.Timeout):
        comm.vote(True)


def test_a_peer_that_left_is_lost():
    comm, peer = gradstep.Communicator.local(2, timeout=20)
    peer.close()
    with pytest.raises(gradstep.PeerLost, match="rank 1"):
        comm.barrier()


def test_abort_from_another_thread_ends_a_wait():
    comm, _absent = gradstep.Communicator.local(2, timeout=20)
    timer = threading.Timer(0.2, comm.abort)
    timer.start()
    begin = time.monotonic()
    with pytest.raises(gradstep.Aborted):
        comm.barrier()
    assert time.monotonic() - begin <= 5, "the wait ended long before its timeout"
    timer.join()


def test_other_threads_run_python_while_a_call_waits():
    ends = gradstep.Communicator.local(2, timeout=20)
    count = 0

    def work():
        nonlocal count
        while count < 1000:
            count += 1
        ends[1].barrier()

    thread = threading.Thread(target=work)
    thread.start()
    ends[0].barrier()
    thread.join()
    assert count == 1000, "the second rank came to its barrier while the first waited"


def test_a_second_thread_on_one_handle_is_refused():
    comm, _absent = gradstep.Communicator.local(2, timeout=20)

    def wait():
        with pytest.raises(gradstep.Aborted):
            comm.barrier()

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.2)
    with pytest.raises(gradstep.InvalidState):
        comm.barrier()
    comm.abort()
    waiting.join()


@pytest.fixture
def interrupts():
    """SIGINT as at a terminal: who starts the tests in the background may have it ignored or blocked."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    blocked = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
    signal.signal(signal.SIGINT, handler)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_ends_a_wait():
    comm, _absent = gradstep.Communicator.local(2, timeout=20)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        comm.barrier()
    assert time.monotonic() - begin <= 0.3 + GRACE
    timer.join()
    with pytest.raises(gradstep.Aborted):
        comm.barrier()


def test_an_interrupt_of_the_context_ends_a_wait():
    calls = []
    context = gradstep.Context(interrupt=lambda: calls.append(None) or len(calls) >= 2)
    comm, _absent = gradstep.Communicator.local(2, timeout=20, context=context)
    with pytest.raises(gradstep.Aborted):
        comm.barrier()
    assert len(calls) == 2

    def failing():
        raise LookupError("interrupt")

    comm, _absent = gradstep.Communicator.local(2, timeout=20, context=gradstep.Context(interrupt=failing))
    with pytest.raises(LookupError, match="interrupt"):
        comm.barrier()


def test_bad_use_is_refused():
    comm = gradstep.Communicator.self()
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    with pytest.raises(gradstep.InvalidArgument, match="tensor: ndarray is read-only"):
        comm.all_reduce(frozen)
    with pytest.raises(gradstep.InvalidArgument, match="op: 'product' is unknown; known: sum, max, min"):
        comm.all_reduce(np.zeros(2), op="product")
    with pytest.raises(gradstep.InvalidArgument, match="root"):
        comm.broadcast(np.zeros(2), 1)
    with pytest.raises(gradstep.Unsupported, match="contiguous"):
        comm.all_reduce(np.zeros((4, 4))[:, 0])
    with pytest.raises(gradstep.InvalidArgument, match="world_size"):
        gradstep.Communicator.local(0)
    with pytest.raises(gradstep.InvalidArgument, match="timeout"):
        gradstep.Communicator.local(2, timeout=0)
    with pytest.raises(gradstep.InvalidArgument, match="known: rank, engine"):
        gradstep.Communicator.local(2, reduction_order="fast")
    comm.close()
    comm.close()
    with pytest.raises(gradstep.InvalidState, match="closed"):
        comm.barrier()


class Failing(AllGatherOnly):
    """Raises `error` in the next all_gather, if there is one."""

    error: Exception | None = None

    def all_gather(self, data, timeout):
        if self.error is not None:
            raise self.error
        return super().all_gather(data, timeout)


@pytest.mark.parametrize("any_thread", [False, True])
@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (LookupError, gradstep.CallbackError),
        (TimeoutError, gradstep.Timeout),
        (ConnectionError, gradstep.PeerLost),
        (gradstep.Aborted, gradstep.Aborted),
    ],
)
def test_exceptions_of_host_collectives_come_out_as_they_were(error, kept, any_thread):
    exchange = Exchange(2)

    def fail(end):
        host = Failing(exchange, end.rank)
        host.any_thread = any_thread
        comm = gradstep.Communicator.host(host)
        host.error = error(f"the host's own, rank {host.rank}")
        with pytest.raises(error) as caught:
            comm.barrier()
        assert caught.value is host.error
        assert isinstance(comm.error, kept)
        with pytest.raises(kept, match=str(host.error)):
            comm.barrier()

    run_ranks(2, fail)


class Watched(AllGatherOnly):
    """Knows before the next call when its link is gone."""

    error: Exception | None = None

    def poll(self):
        if self.error is not None:
            raise self.error


def test_what_a_host_tells_by_poll_ends_the_next_call_before_it_begins():
    exchange = Exchange(2)

    def lose_the_link(end):
        host = Watched(exchange, end.rank)
        comm = gradstep.Communicator.host(host)
        comm.barrier()
        calls = dict(host.calls)
        host.error = ConnectionError("the link went down")
        with pytest.raises(ConnectionError, match="the link went down") as caught:
            comm.barrier()
        assert caught.value is host.error
        assert host.calls == calls
        assert isinstance(comm.error, gradstep.PeerLost)

    run_ranks(2, lose_the_link)


def test_hosts_that_break_the_protocol_are_refused():
    class NoAllGather:
        rank, world_size = 0, 2

    class WrongCount(NoAllGather):
        def all_gather(self, data, timeout):
            return []

    class WrongLength(NoAllGather):
        def all_gather(self, data, timeout):
            return [bytes(data) + b"!"] * 2

    with pytest.raises(gradstep.InvalidArgument, match="all_gather"):
        gradstep.Communicator.host(NoAllGather())
    with pytest.raises(AttributeError, match="rank"):
        gradstep.Communicator.host(object())
    with pytest.raises(ValueError, match="0 buffers, expected 2"):
        gradstep.Communicator.host(WrongCount())
    with pytest.raises(ValueError, match=r"all_gather: \d+ bytes, expected"):
        gradstep.Communicator.host(WrongLength())


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_hosts_that_exchange_at_once_give_the_same_bits(ranks):
    [lent] = set(run_over_link(EmulatedLink.world(ranks, 1e10, 0.0), exercise))
    [local] = set(run_ranks(ranks, exercise))
    assert lent == local


def test_lent_buffers_are_taken_back():
    kept = []

    class Keeping(AllGatherOnly):
        def all_gather(self, data, timeout):
            kept.append(data)
            return super().all_gather(data, timeout)

    exchange = Exchange(2)
    run_ranks(2, lambda end: exercise(gradstep.Communicator.host(Keeping(exchange, end.rank))))
    with pytest.raises(ValueError, match="released"):
        bytes(kept[0])


def exercise_processes(rank, world_size, engine, store):
    return exercise(connect(engine, rank, world_size, store))


def live_on_after_a_kill(rank, world_size, engine, unique_id):
    comm = connect(engine, rank, world_size, unique_id, timeout=20)
    begin = time.monotonic()
    try:
        comm.barrier()
        if rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        while True:
            comm.all_reduce(np.ones(1000))
    except gradstep.Error as error:
        return type(error).__name__, time.monotonic() - begin


def exercise_two_generations(rank, world_size, engine, store):
    return [exercise(connect(engine, rank, world_size, store, generation=generation)) for generation in (1, 2)][-1]


@engines_of_processes
def test_processes_meet_through_a_unique_id(engine):
    results = run_processes(2, exercise_processes, engine, gradstep.unique_id(engine, "lo"))
    assert len(set(results)) == 1


@engines_of_processes
def test_processes_meet_twice_in_one_directory(engine, tmp_path):
    assert len(set(run_processes(2, exercise_two_generations, engine, str(tmp_path)))) == 1


@engines_of_processes
def test_processes_meet_through_a_store_of_the_host(engine):
    values, changed = {}, threading.Condition()

    class DictStore:
        def set(self, key, value):
            with changed:
                values[key] = value
                changed.notify_all()

        def get(self, key, timeout):
            with changed:
                if not changed.wait_for(lambda: key in values, timeout):
                    raise TimeoutError(key)
                return values[key]

    results = run_ranks(2, lambda comm: exercise_processes(comm.rank, 2, engine, DictStore()))
    assert results[0] == results[1] and values


@engines_of_processes
def test_a_rank_that_does_not_come_is_a_timeout(engine, tmp_path):
    begin = time.monotonic()
    with pytest.raises(gradstep.Timeout):
        connect(engine, 0, 2, tmp_path, timeout=0.5)
    assert time.monotonic() - begin <= 0.5 + GRACE

    class Broken:
        def set(self, key, value):
            raise LookupError("store")

        def get(self, key, timeout):
            raise LookupError("store")

    with pytest.raises(LookupError, match="store"):
        connect(engine, 0, 2, Broken(), timeout=0.5)


@engines_of_processes
def test_survivors_of_a_killed_peer_get_an_error(engine):
    survivors = run_processes(3, live_on_after_a_kill, engine, gradstep.unique_id(engine, "lo"))
    assert survivors[1] is None
    for name, seconds in (survivors[0], survivors[2]):
        assert name in ("PeerLost", "Timeout") and seconds <= 20 + GRACE


@pytest.mark.parametrize("engine", ["shm", "gloo"])
def test_arguments_are_checked(engine, tmp_path):
    with pytest.raises(gradstep.InvalidArgument, match="rank"):
        connect(engine, 2, 2, tmp_path)
    with pytest.raises(gradstep.InvalidArgument):
        gradstep.unique_id("carrier pigeon")
