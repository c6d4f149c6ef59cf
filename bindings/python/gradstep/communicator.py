# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Connections to the other ranks of a job."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from gradstep import _native
from gradstep._arrays import Array, empty, empty_like
from gradstep._deprecated import deprecated
from gradstep._handle import Handle
from gradstep._info import _sized
from gradstep._numbers import integer, real, set_number
from gradstep._options import enum_value, read_record
from gradstep._repr import describe
from gradstep._streams import call_on_arrays
from gradstep.context import Context, context_pointer
from gradstep.errors import Error, InvalidArgument, InvalidState

_RANK_OF_LAUNCHER = -1


class Store(Protocol):
    """A key-value store for rendezvous, shared by all ranks."""

    def set(self, key: str, value: bytes, /) -> object:
        """Stores `value`."""

    def get(self, key: str, timeout: float, /) -> bytes:
        """Waits up to `timeout` seconds for the key. Raises TimeoutError if it does not come."""


class HostCollectives(Protocol):
    """A host's own collectives, for Communicator.host.

    Only these three are required. gradstep uses the following methods too where the object has them, and builds them
    from all_gather where not; buffers are memoryviews that are valid until the method returns:

    - ``all_reduce(data, op, timeout)``: in place; data of format f, d, i or q; op "sum", "max" or "min"
    - ``reduce_scatter(data, out, op, timeout)``: data holds world_size blocks of out's length
    - ``broadcast(data, root, timeout)``: in place, bytes
    - ``send(data, to, timeout)`` and ``recv(data, source, timeout)``: both or none
    - ``exchange(outgoing, incoming, timeout)``: sends outgoing[r] to and fills incoming[r] from every other rank r, all
      at once; None where there is nothing
    - ``barrier(timeout)``
    - ``dup(timeout)``: collective; other collectives of the same ranks, over a channel of their own
    - ``abort()``: makes calls in progress return; may come from any thread
    - ``poll()``: raises if the channel is of no more use, and never waits; called before each call that talks to peers

    and the attributes ``any_thread`` (True: methods may be called on gradstep's own threads, so that waiting calls can
    be interrupted and aborted; with dup and abort a Reducer's exchanges then run behind the caller's work) and
    ``rank_ordered`` (True: sums are in the order of ranks). Methods keep their timeout, in seconds, and raise
    TimeoutError, ConnectionError or anything else; that exception comes out of the gradstep call.
    """

    @property
    def rank(self) -> int: ...

    @property
    def world_size(self) -> int: ...

    def all_gather(self, data: memoryview, timeout: float, /) -> Sequence[bytes | bytearray | memoryview]:
        """The data of all ranks, in their order; all have the same length."""


class CommunicatorStatistics(NamedTuple):
    """What a communicator has done since creation; bytes are those that this rank sent."""

    all_reduces: int
    all_gathers: int
    reduce_scatters: int
    broadcasts: int
    sends: int
    receives: int
    barriers: int
    bytes_sent: int
    nanoseconds: int
    exchanges: int
    rounds: int
    """In each of which all ranks, or all of a host, sent to each other or met."""


class Communicator:
    """One rank's connection to a group of ranks.

    Calls are collective unless said otherwise: every rank makes them, in one order. No call outlives its timeout by
    more than a second. The first error breaks a communicator for good.

    Made by self(), local(), shm(), gloo(), connect(), mpi() or host(), by split() or dup() of another one, or by
    gradstep.torch.communicator() and gradstep.mpi4py.communicator(). These take, as far as it concerns them:

    rank: this communicator's index, 0 <= rank < world_size. world_size: the number of ranks, >= 1.
    store: where the ranks meet: a directory that all of them share (its path), the bytes of unique_id(), or a Store.
    timeout: seconds, > 0, in steps of a millisecond; of every call.
    network_interface: its name or address; None = the one of the host's name, else loopback. Where that is loopback,
        and the store of a unique_id() is reached from another address of this machine, that address.
    generation: >= 0; a new number for each communicator that is made through the same store.
    reduction_order: "rank" sums in the order of ranks: the same bits on every engine; "engine" as the engine likes;
        "hosts" inside each host, then between hosts: bytes cross the network once for each host.
    context: whose threads work and whose interrupt ends a wait; None = default_context().
    """

    def __init__(self, pointer: Any) -> None:
        self._handle = Handle(pointer, _native.comm_destroy)
        self._place = f"rank {self.rank} of {self.world_size}, engine {self.engine!r}"

    def __repr__(self) -> str:
        closed = getattr(self, "_handle", None) is None or self._handle.pointer is None
        parts = (
            lambda: self._place,
            lambda: "closed" if closed else "",
            lambda: "" if closed or self.error is None else f"broken by {self.error!r}",
        )
        return describe(self, parts)

    @classmethod
    def self(cls, *, context: Context | None = None) -> "Communicator":
        """The caller alone."""
        options = _options(0, 1, 30.0, "rank")
        return cls(_native.create_communicator(context_pointer(context), options, "self", None, None, None, None))

    @classmethod
    def local(
        cls, world_size: int, timeout: float = 30.0, *, reduction_order: str = "rank", context: Context | None = None
    ) -> list["Communicator"]:
        """One communicator for each thread (rank). Not collective.

        world_size: the number of ranks, >= 1. timeout: seconds, > 0, of every call.
        """
        options = _options(0, 1, timeout, reduction_order)
        size = integer("world_size", world_size)
        made = _native.create_local_communicators(context_pointer(context), options, size)
        return [cls(pointer) for pointer in made]

    @classmethod
    def shm(
        cls,
        rank: int,
        world_size: int,
        store: "str | os.PathLike[str] | bytes | Store",
        timeout: float = 30.0,
        *,
        generation: int = 0,
        reduction_order: str = "rank",
        context: Context | None = None,
    ) -> "Communicator":
        """Processes of one machine connected over shared memory.

        rank, world_size: 0 <= rank < world_size.
        store: a directory that all ranks share, the bytes of unique_id("shm"), or a Store.
        timeout: seconds, > 0, of every call.
        generation: a new number for each communicator made through the same store.
        """
        options = _options(rank, world_size, timeout, reduction_order, generation)
        return cls._meet("shm", options, store, None, context)

    @classmethod
    def gloo(
        cls,
        rank: int,
        world_size: int,
        store: "str | os.PathLike[str] | bytes | Store",
        timeout: float = 30.0,
        network_interface: str | None = None,
        *,
        generation: int = 0,
        reduction_order: str = "rank",
        context: Context | None = None,
    ) -> "Communicator":
        """Processes connected over TCP.

        rank, world_size: 0 <= rank < world_size.
        store: a directory that all ranks share, the bytes of unique_id("gloo"), or a Store.
        timeout: seconds, > 0, of every call.
        network_interface: its name or address; None = that of the host's name, else loopback, or as connect() has it.
        generation: a new number for each communicator made through the same store.
        """
        options = _options(rank, world_size, timeout, reduction_order, generation)
        return cls._meet("gloo", options, store, network_interface, context)

    @classmethod
    def connect(
        cls,
        rank: int | None = None,
        world_size: int | None = None,
        store: "str | os.PathLike[str] | bytes | Store | None" = None,
        timeout: float = 30.0,
        network_interface: str | None = None,
        *,
        generation: int = 0,
        reduction_order: str = "rank",
        context: Context | None = None,
    ) -> "Communicator":
        """Processes, wherever they are: as shm if all of them run on one machine, else as gloo.

        Without rank and world_size: as from_environment().

        rank, world_size: 0 <= rank < world_size.
        store: a directory that all ranks share, the bytes of unique_id("auto"), or a Store. None only with rank=None.
        timeout: seconds, > 0, of every call.
        network_interface, generation: as for gloo.
        """
        if (rank is None) != (world_size is None):
            lacks, given = ("rank", "world_size") if rank is None else ("world_size", "rank")
            raise InvalidArgument(f"{lacks}: must be given with {given}")
        if rank is None or world_size is None:
            rank, world_size = _RANK_OF_LAUNCHER, 1
        elif store is None:
            raise InvalidArgument("store: must be given with rank and world_size")
        options = _options(rank, world_size, timeout, reduction_order, generation)
        return cls._meet("auto", options, store, network_interface, context)

    @classmethod
    def from_environment(
        cls,
        engine: str = "auto",
        store: "str | os.PathLike[str] | bytes | Store | None" = None,
        timeout: float = 30.0,
        network_interface: str | None = None,
        *,
        device: int = 0,
        generation: int = 0,
        reduction_order: str = "rank",
        context: Context | None = None,
    ) -> "Communicator":
        """The processes that torchrun, mpirun, Slurm or Kubernetes has started, by what it says in the environment.

        Rank and world size are the first pair that is set of RANK and WORLD_SIZE (torchrun, PyTorchJob),
        OMPI_COMM_WORLD_RANK and _SIZE (Open MPI), PMI_RANK and PMI_SIZE (MPICH), SLURM_PROCID and SLURM_STEP_NUM_TASKS
        (Slurm), PET_NODE_RANK and PET_NNODES (TrainJob), JOB_COMPLETION_INDEX and WORLD_SIZE (JobSet).

        engine: "auto", "shm", "gloo" or "nccl", which uses CUDA device `device`.
        store: a directory that all ranks share, the bytes of unique_id(engine), or a Store. None = the directory
            GRADSTEP_STORE; where all ranks run on one machine, a socket that only they find; else rank 0, which
            listens at MASTER_ADDR (Slurm: the first machine), port GRADSTEP_PORT (MASTER_PORT + 1; Slurm: 20000 + job
            id modulo 10000).
        timeout: seconds, > 0, of every call.
        network_interface, generation: as for gloo. Calls without a store need no generation.
        """
        options = _options(_RANK_OF_LAUNCHER, 1, timeout, reduction_order, generation)
        set_number(options, "device", device, "device")
        return cls._meet(engine, options, store, network_interface, context)

    @classmethod
    def nccl(
        cls,
        rank: int,
        world_size: int,
        store: "str | os.PathLike[str] | bytes | Store",
        device: int,
        timeout: float = 30.0,
        network_interface: str | None = None,
        *,
        generation: int = 0,
        reduction_order: str = "rank",
        context: Context | None = None,
    ) -> "Communicator":
        """Processes with a CUDA device each, whose arrays travel by NCCL; those of the host as by connect().

        device: the number of this rank's.
        store: a directory that all ranks share, the bytes of unique_id("nccl"), or a Store.
        The other arguments are those of connect().
        """
        options = _options(rank, world_size, timeout, reduction_order, generation)
        set_number(options, "device", device, "device")
        return cls._meet("nccl", options, store, network_interface, context)

    def attach_nccl(self, device: int, nccl_comm: int = 0) -> "Communicator":
        """A communicator of the same ranks on which arrays of this rank's CUDA device travel by NCCL. Collective.

        nccl_comm: the address of an ncclComm_t of the same ranks, which stays yours, outlives the result and is in no
            other call during one of the result; 0 = one of its own. An error aborts it.
        """
        return type(self)(_native.attach_nccl_communicator(self._pointer, integer("device", device), nccl_comm))

    @classmethod
    def _meet(
        cls,
        engine: str,
        options: Any,
        store: "str | os.PathLike[str] | bytes | Store | None",
        network_interface: str | None,
        context: Context | None,
    ) -> "Communicator":
        return cls(
            _native.create_communicator(context_pointer(context), options, engine, *_place(store), network_interface)
        )

    @classmethod
    def mpi(
        cls,
        comm: Any = None,
        timeout: float = 30.0,
        *,
        reduction_order: str = "rank",
        context: Context | None = None,
    ) -> "Communicator":
        """The ranks of an MPI job, over the MPI that gradstep was built with.

        comm: an mpi4py communicator of that MPI, which is duplicated; None = all ranks of the job. A rank that dies
        ends the job; see gradstep_comm_wrap_mpi. timeout: seconds, > 0, of every call.
        """
        options = _options(0, 1, timeout, reduction_order)
        pointer = context_pointer(context)
        if comm is None:
            return cls(_native.create_communicator(pointer, options, "mpi", None, None, None, None))
        from mpi4py import MPI

        from gradstep.mpi4py import check_intracommunicator

        check_intracommunicator(comm)
        return cls(_native.wrap_mpi_communicator(pointer, MPI._addressof(comm), options))

    @classmethod
    def host(
        cls,
        collectives: HostCollectives,
        timeout: float = 30.0,
        *,
        reduction_order: str = "rank",
        context: Context | None = None,
    ) -> "Communicator":
        """The host's own collectives; timeout: seconds, > 0, which every method of theirs is given."""
        options = _options(0, 1, timeout, reduction_order)
        return cls(_native.create_host_communicator(context_pointer(context), collectives, options))

    @property
    def _pointer(self) -> Any:
        pointer = self._handle.pointer
        if pointer is None:
            raise InvalidState("comm: the communicator is closed")
        return pointer

    @property
    def rank(self) -> int:
        """This end's index, in [0, world_size)."""
        return _native.comm_rank(self._pointer)

    @property
    def world_size(self) -> int:
        """The number of ranks."""
        return _native.comm_world_size(self._pointer)

    @property
    def engine(self) -> str:
        """What connects the ranks: "self", "local", "shm", "host", "gloo", "mpi" or "nccl"."""
        size, _ = _native.comm_engine(self._pointer, 0)
        return _native.comm_engine(self._pointer, size)[1]

    @property
    def local_rank(self) -> int:
        """The index among the ranks on the same host."""
        return _native.comm_local_rank(self._pointer)

    def all_reduce(self, x: Array, op: str = "sum") -> None:
        """x = the reduction ("sum", "max" or "min") over ranks, in place. All ranks get equal bits."""
        call_on_arrays(_native.comm_all_reduce, x, self._pointer, x, enum_value("REDUCE_", op, "op"))

    def all_gather(self, x: Array, out: Any = None) -> Any:
        """The arrays of all ranks, stacked along a new first axis. All have one shape.

        out: takes the result; a new array if it is not given.
        """
        pointer = self._pointer
        output = empty_like(x, (_native.comm_world_size(pointer),)) if out is None else out
        call_on_arrays(_native.comm_all_gather, x, pointer, x, output)
        return output

    def all_gather_v(self, x: Array, counts: Sequence[int], out: Any = None) -> Any:
        """The elements of all ranks' arrays, one after another, of which rank r has counts[r] >= 0.

        counts: world_size numbers, equal on all ranks. out: takes the result; a new array if it is not given.
        """
        pointer = self._pointer
        ranks = _native.comm_world_size(pointer)
        if len(counts) != ranks:
            raise InvalidArgument(f"counts: {len(counts)} entries, expected {ranks}, one of each rank")
        output = empty((max(0, sum(counts)),), x) if out is None else out
        call_on_arrays(_native.comm_all_gather_v, x, pointer, x, output, counts)
        return output

    def reduce_scatter(self, x: Array, op: str = "sum", out: Any = None) -> Any:
        """This rank's part of the reduction ("sum", "max" or "min") of x over ranks: of world_size on its first axis.

        The bits are those of all_reduce(). out: takes the result; a new array if it is not given.
        """
        pointer = self._pointer
        ranks = _native.comm_world_size(pointer)
        shape, _ = _native.describe_array(x)
        if not shape or shape[0] % ranks:
            raise InvalidArgument(f"x: has shape {shape}, expected a first axis of a multiple of world_size {ranks}")
        output = empty((shape[0] // ranks, *shape[1:]), x) if out is None else out
        call_on_arrays(_native.comm_reduce_scatter, x, pointer, x, output, enum_value("REDUCE_", op, "op"))
        return output

    def broadcast(self, x: Array, root: int) -> None:
        """x = root's x, in place."""
        call_on_arrays(_native.comm_broadcast, x, self._pointer, x, integer("root", root))

    def send(self, x: Array, to: int) -> None:
        """Sends x to rank `to`, which receives it. Not collective."""
        call_on_arrays(_native.send_to, x, self._pointer, x, integer("to", to))

    def recv(self, x: Array, source: int) -> None:
        """x = what rank `source` sends, in place. Not collective."""
        call_on_arrays(_native.comm_recv, x, self._pointer, x, integer("source", source))

    def barrier(self) -> None:
        """Returns when all ranks have entered."""
        _native.comm_barrier(self._pointer)

    def vote(self, yes: bool) -> bool:
        """Whether every rank said yes."""
        return _native.comm_vote(self._pointer, int(yes))

    def split(self, color: int, key: int = 0) -> "Communicator | None":
        """A communicator of the ranks of the same color >= 0, ordered by (key, rank); None for a negative color."""
        pointer = _native.comm_split(self._pointer, integer("color", color), integer("key", key))
        return None if pointer is None else type(self)(pointer)

    def dup(self) -> "Communicator":
        """A communicator of the same ranks with a channel of its own."""
        return type(self)(_native.comm_dup(self._pointer))

    def abort(self) -> None:
        """Ends a waiting call with Aborted and breaks the communicator. Any thread; not collective."""
        _native.comm_abort(self._pointer)

    @property
    def error(self) -> Error | None:
        """The error that broke the communicator, or None."""
        status, size, _ = _native.comm_status(self._pointer, 0)
        if status == _native.OK:
            return None
        _, _, text = _native.comm_status(self._pointer, size)
        classes = {cls.status: cls for cls in Error.__subclasses__()}
        return classes.get(status, Error)(text)

    def statistics(self) -> CommunicatorStatistics:
        """Calls, bytes and time since creation. Not collective."""
        statistics = _native.comm_statistics()
        _native.comm_stats(self._pointer, statistics)
        return read_record(statistics, CommunicatorStatistics)

    @deprecated("Communicator.statistics()")
    def stats(self) -> CommunicatorStatistics:
        return self.statistics()

    def counters(self, labels: str | None = None) -> str:
        """statistics() as text for Prometheus. Not collective.

        labels: put into every line's braces, such as 'job="7"'.
        """
        return str(_sized(_native.comm_counters, self._pointer, labels))

    def close(self) -> None:
        """Lets go of the peers. Never blocks. Not collective."""
        self._handle.close()

    def __enter__(self) -> "Communicator":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def rendezvous_pending(
    world_size: int,
    store: "str | os.PathLike[str] | bytes | Store",
    *,
    generation: int,
    comm: Communicator | None = None,
    engine: str = "auto",
) -> int:
    """How many newcomers wait for a world of this size, and may be joined by connecting to it.

    Newcomers are its ranks from comm's world size on that have called Communicator.connect, shm, gloo or nccl with the
    same world_size, store and generation, and still wait there. The call waits for no rank.

    comm: the present world. Collective over it: rank 0 asks the store, and all ranks get the same answer. None = this
        process asks by itself, for all ranks.
    engine: that of the newcomers, "auto", "shm", "gloo" or "nccl".
    """
    options = _options(0 if comm is None else comm.rank, world_size, 30.0, "rank", generation)
    pointer = None if comm is None else comm._pointer
    return int(_native.rendezvous_pending(pointer, options, engine, *_place(store), None))


def _place(store: "str | os.PathLike[str] | bytes | Store | None") -> tuple[Any, Any, str | None]:
    """Id, store and path, of which one is given."""
    if isinstance(store, (str, os.PathLike)):
        return None, None, os.fspath(store)
    if isinstance(store, (bytes, bytearray, memoryview)):
        return store, None, None
    return None, store, None


def _options(rank: int, world_size: int, timeout: float, reduction_order: str, generation: int = 0) -> Any:
    options = _native.comm_options()
    for name, value in (("rank", rank), ("world_size", world_size), ("generation", generation)):
        set_number(options, name, value, name)
    seconds = real("timeout", timeout)
    options.timeout_ms = max(1, round(seconds * 1000)) if seconds > 0 else 0
    options.reduction_order = enum_value("REDUCTION_", reduction_order, "reduction_order")
    return options
