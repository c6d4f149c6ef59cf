# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients of all ranks become one."""

from collections.abc import Iterable
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

from numpy.typing import NDArray

from gradstep import _native
from gradstep._arrays import Array, Flags, Gradients, Parameters, scalar, schema, view
from gradstep._deprecated import deprecated
from gradstep._handle import Handle
from gradstep._info import _sized
from gradstep._keywords import Keyword, documented, enums_of
from gradstep._numbers import real
from gradstep._options import read_record, read_records, set_options
from gradstep._repr import counted, describe
from gradstep._saved_state import SavedState
from gradstep._streams import stream_of
from gradstep._trees import Named
from gradstep.communicator import Communicator, CommunicatorStatistics
from gradstep.context import Context, context_pointer


class BucketStatistics(NamedTuple):
    """One fused bucket; numbers are since creation, bytes are those that this rank sent.

    mode and algorithm are values of the C enums gradstep_reducer_mode and gradstep_exchange_algorithm; predicted times
    are one window's, of mode "auto", 0 = not a candidate. by_hosts: 1 = its sums are by hosts, 0 = they are not.
    """

    mode: int
    elements: int
    parameters: int
    exchanges: int
    bytes_dense: int
    bytes_sent: int
    pack_nanoseconds: int
    exchange_nanoseconds: int
    select_nanoseconds: int
    selected: int
    nonfinite: int
    algorithm: int
    predicted_dense_nanoseconds: int
    predicted_half_nanoseconds: int
    predicted_sparse_gather_nanoseconds: int
    predicted_sparse_split_nanoseconds: int
    wait_nanoseconds: int
    predicted_int8_nanoseconds: int
    predicted_powersgd_nanoseconds: int
    predicted_int4_nanoseconds: int
    predicted_fp8_nanoseconds: int
    by_hosts: int


class ReducerStatistics(NamedTuple):
    """What the deprecated Reducer.stats() returns."""

    buckets: list[BucketStatistics]
    communicator: CommunicatorStatistics


class ReducerOptions(TypedDict, total=False):
    mode: Annotated[str, Keyword("how the gradients of the ranks become one", enum="REDUCER_")]
    average: Annotated[
        str,
        Keyword('"weighted" by the weights that ranks give; "unset" is "sum" for Adasum, else "mean"', enum="AVERAGE_"),
    ]
    fuse_threshold: Annotated[
        int, Keyword("elements: larger parameters travel alone, smaller ones together in a bucket", ">= 1")
    ]
    bucket_elements: Annotated[
        int, Keyword("elements that a bucket has room for: 0, which is the least, or >= 2 * fuse_threshold", ">= 0")
    ]
    control: Annotated[bool, Keyword("every window has a small all-reduce of weights and counts beside the buckets")]
    clip_value: Annotated[
        float, Keyword("of half and bfloat16: clips each element before it is rounded; 0 = off", ">= 0")
    ]
    half_sum: Annotated[str, Keyword("of half: the precision of its sums", enum="HALF_SUM_")]
    sparsity: Annotated[
        float,
        Keyword(
            "of sparse_threshold: the threshold; of sparse_topk and auto: the fraction that is sent, in (0, 1]", ">= 0"
        ),
    ]
    residual: Annotated[bool, Keyword("of the sparse modes: what was not sent is added next time")]
    selection: Annotated[
        str, Keyword("of the sparse modes: what they select from, a bucket or each parameter", enum="SELECTION_")
    ]
    nan_policy: Annotated[
        str,
        Keyword("of the sparse modes: NaN is an error on all ranks, counts as 0, or is sent", enum="NAN_"),
    ]
    sparse_exchange: Annotated[
        str, Keyword("of the sparse modes: the way of the selections; the bits are the same", enum="SPARSE_EXCHANGE_")
    ]
    error_feedback: Annotated[
        str,
        Keyword(
            'of sparse_topk: "ef21" sends of the difference to an estimate that all ranks know (Richtarik et al. 2021)',
            enum="ERROR_FEEDBACK_",
        ),
    ]
    momentum_correction: Annotated[
        float,
        Keyword("of sparse_topk: the momentum, which the optimizer then does not need (Lin et al. 2018)", "in [0, 1)"),
    ]
    warmup_steps: Annotated[
        int, Keyword("windows of sparse_topk in which the fraction falls from 1 to sparsity", ">= 0")
    ]
    rank: Annotated[int, Keyword("of powersgd: columns of its factors", ">= 1")]
    candidates: Annotated[
        int,
        Keyword(
            "of auto: a bit set of 1 dense, 2 half, 16 sparse_topk, 128 powersgd, 512 int8, 1024 int4, 2048 fp8_e4m3 "
            "and 4096 fp8_e5m2, 0 = the first three; "
            '2**30 = also sums in the order of ranks, where the communicator has reduction_order "hosts"',
            ">= 0",
        ),
    ]
    channels: Annotated[
        int,
        Keyword("buckets that may be under way at once; 0 = four over gloo of at most 16 ranks", "0 to 16"),
    ]


@documented(ReducerOptions, _native.reducer_options)
class Reducer(SavedState, Named):
    """Sums or averages gradients over the ranks of a communicator, in fused buckets. All ranks get the same bits.

    Creation, reduce() and wait() are collective; push() is where exchanges cannot run behind it (see there). The
    communicator may be shared or closed afterwards.

    parameters: arrays whose shapes and dtypes count, or a tree of them as in gradstep.SGD; they are not kept.
    names: one str each; None = "param.0", "param.1", ...; all ranks have the same.
    may_be_unused: parameters that some rank may have no gradient for; all, or each on its own.
    context: whose threads work; None = default_context().
    """

    _enums = enums_of(ReducerOptions)
    _kind = "reducer"

    def __init__(
        self,
        comm: Communicator,
        parameters: Parameters,
        *,
        names: Iterable[str] | None = None,
        may_be_unused: Flags = False,
        context: Context | None = None,
        **options: Unpack[ReducerOptions],
    ) -> None:
        struct = _native.reducer_options()
        set_options(struct, "Reducer", options, self._enums)
        described = schema(parameters, names, None, may_be_unused)
        self._lent: list[object] = []
        """Gradients of a window of pushes."""
        pointer = _native.reducer_create(context_pointer(context), comm._pointer, struct, described)
        self._handle = Handle(
            pointer, _native.reducer_destroy, self._lent, stream_of(described[0]), _native.reducer_poll
        )
        self._pointer = self._handle.pointer
        self._size, self._names = len(described[0]), described[1]
        self._place = comm._place
        self._given = {"mode": "dense", **options}

    def __repr__(self) -> str:
        parts = (
            lambda: counted(self._size, "parameter"),
            lambda: f"in {counted(_native.reducer_stats(self._pointer, 0)[1], 'bucket')}",
            lambda: self._place,
        )
        return describe(self, parts, getattr(self, "_given", None))

    def reduce(self, grads: Gradients, weight: float = 1.0, *, in_place: bool = True) -> None:
        """Reduces one gradient per parameter; None contributes zeros.

        The outcome is written to the same arrays, unless in_place is false; gradients() shows it without a copy. If it
        is not finite, as `norm` then is not, what the mode keeps stays what it was.
        """
        grads = self._ordered("grads", grads)
        self._handle.call(_native.reducer_reduce, grads, grads if in_place else None, real("weight", weight))

    def begin(self, weight: float = 1.0) -> None:
        """Opens a window of pushes with a weight other than 1."""
        self._handle.call(_native.reducer_begin, real("weight", weight))

    def push(self, i: int | str, grad: Array) -> None:
        """Hands in the gradient of parameter i, its index or its name, as soon as it is ready, in any order.

        On the CPU it is copied; on a device it is borrowed until wait(), or the flush() of an updater.

        A bucket that this fills is exchanged while the caller goes on; before push() returns with one rank, after
        split(), with MPI without THREAD_MULTIPLE, and with host collectives without any_thread, dup and abort.
        """
        lent = _native.lend_array(grad, "grad")
        if self._handle.stream is not None:
            self._lent.append(lent)
        self._handle.call(_native.reducer_push, self._index_of(i), lent)

    def wait(self, results: Gradients | None = None) -> None:
        """Ends a window of pushes. The outcome is written to `results` where they are not None; see gradients()."""
        try:
            self._handle.call(_native.reducer_wait, self._ordered("results", results))
        finally:
            self._lent.clear()

    def set_loss_scale(self, scale: float) -> None:
        """Says by what a loss scaler multiplies the gradients of the next windows: finite, > 0, the same on all ranks.

        What the mode keeps (residuals, velocities, estimates) is multiplied by the quotient of this scale and the last
        one. 1 until the first call; after load() that of the file. Without a change nothing is done.
        """
        _native.reducer_set_loss_scale(self._pointer, real("scale", scale))

    def poll(self) -> bool:
        """True when no bucket is being exchanged behind the caller's work. Returns at once; errors come from wait()."""
        return _native.reducer_poll(self._pointer)

    def cancel(self) -> None:
        """Drops a window of pushes; peers that wait for it get an error."""
        _native.reducer_cancel(self._pointer)
        self._lent.clear()

    def gradients(self) -> list[NDArray[Any] | None]:
        """Views of the reduced gradients, valid until the next window; None where no rank had one."""
        return [view(one, self._handle) for one in self._handle.call(_native.reducer_gradients, self._size)]

    def residual(self, i: int | str) -> NDArray[Any]:
        """A view of what this rank has not sent yet of parameter i: its shape, float32 (float64 of a float64 one).

        Writable, valid until the next window. Raises InvalidState inside a window, and where the mode keeps none.
        """
        found = view(_native.reducer_residual(self._pointer, self._index_of(i)), self._handle)
        assert found is not None
        return found

    @property
    def norm(self) -> Any:
        """The Euclidean norm over all reduced gradients: a float, or a DeviceArray of one float64."""
        return scalar(self._handle.call(_native.reducer_norm), self._handle)

    def counters(self, labels: str | None = None) -> str:
        """The statistics as text for Prometheus. Not collective.

        labels: put into every line's braces, such as 'job="7"'.
        """
        return str(_sized(_native.reducer_counters, self._pointer, labels))

    def bucket_statistics(self) -> list[BucketStatistics]:
        """What was done with each bucket since creation, in the order in which they leave."""
        return [read_record(bucket, BucketStatistics) for bucket in read_records(_native.reducer_stats, self._pointer)]

    def comm_statistics(self) -> CommunicatorStatistics:
        """What the reducer's own channel has done since creation."""
        statistics = _native.comm_statistics()
        _native.reducer_comm_stats(self._pointer, statistics)
        return read_record(statistics, CommunicatorStatistics)

    @deprecated("Reducer.bucket_statistics() and comm_statistics()")
    def stats(self) -> ReducerStatistics:
        return ReducerStatistics(self.bucket_statistics(), self.comm_statistics())
