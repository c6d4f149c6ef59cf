# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""Gradients of all ranks become one."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from numpy.typing import NDArray

from gradstep import _native
from gradstep._arrays import Array, Arrays, Gradients, scalar, schema, view
from gradstep._handle import Handle
from gradstep._options import read_record, read_records, set_options
from gradstep._saved_state import SavedState
from gradstep.communicator import Communicator, CommunicatorStatistics
from gradstep.context import Context, context_pointer


class BucketStatistics(NamedTuple):
    """One fused bucket; numbers are since creation, bytes are those that this rank sent.

    mode and algorithm are values of the C enums gradstep_reducer_mode and gradstep_exchange_algorithm; predicted times
    are one window's, of mode "auto", 0 = not a candidate.
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


class ReducerStatistics(NamedTuple):
    """The buckets, in the order in which they leave, and the reducer's own channel."""

    buckets: list[BucketStatistics]
    communicator: CommunicatorStatistics


class Reducer(SavedState):
    """Sums or averages gradients over the ranks of a communicator, in fused buckets. All ranks get the same bits.

    Creation, reduce() and wait() are collective; push() is where exchanges cannot run behind it (see there). The
    communicator may be shared or closed afterwards.

    mode: "dense", "half", "bfloat16", "sparse_threshold", "sparse_topk", "adasum_tree", "adasum_nway", "powersgd" or
    "auto".
    average: "mean", "sum" or "weighted" (by the weights that ranks give); "unset" is the mode's own: "sum" for Adasum,
    else "mean".
    fuse_threshold: elements; larger parameters travel alone, smaller ones together, up to bucket_elements.
    clip_value, half_sum ("f32", "fp16", "fp16_predivided"): of the half modes.
    sparsity (the threshold, or the fraction that is sent), residual, selection ("bucket", "tensor"), nan_policy
    ("error", "zero", "send"), sparse_exchange ("auto", "gather", "split"), error_feedback ("ef14", "ef21"),
    momentum_correction, warmup_steps: of the sparse modes.
    rank: of "powersgd". candidates: of "auto", a bit set of 1 dense, 2 half and 16 sparse_topk; 0 = all three.
    Defaults: fuse_threshold 2097152, sparsity 0.05, residual 1, rank 2, and the first of each list of names.
    may_be_unused: parameters that some rank may have no gradient for; all, or each on its own.
    """

    _save_file = staticmethod(_native.reducer_save_file)
    _load_file = staticmethod(_native.reducer_load_file)

    def __init__(
        self,
        comm: Communicator,
        parameters: Iterable[Array],
        *,
        mode: str = "dense",
        average: str = "unset",
        names: Iterable[str] | None = None,
        may_be_unused: Iterable[bool] | bool = False,
        context: Context | None = None,
        **options: Any,
    ) -> None:
        struct = _native.reducer_options()
        enums = {
            "mode": "REDUCER_",
            "average": "AVERAGE_",
            "half_sum": "HALF_SUM_",
            "selection": "SELECTION_",
            "nan_policy": "NAN_",
            "sparse_exchange": "SPARSE_EXCHANGE_",
            "error_feedback": "ERROR_FEEDBACK_",
        }
        set_options(struct, "Reducer", {"mode": mode, "average": average, **options}, enums)
        described = schema(parameters, names, None, may_be_unused)
        self._handle = Handle(
            _native.reducer_create(context_pointer(context), comm._pointer, struct, described), _native.reducer_destroy
        )
        self._pointer = self._handle.pointer
        self._size = len(described[0])
        self._borrowed: list[Array] = []

    def reduce(self, grads: Gradients, weight: float = 1.0, *, in_place: bool = True) -> None:
        """Reduces one gradient per parameter; None contributes zeros.

        The outcome is written to the same arrays, unless in_place is false; gradients() shows it without a copy.
        """
        _native.reducer_reduce(self._pointer, grads, grads if in_place else None, weight, None)

    def begin(self, weight: float = 1.0) -> None:
        """Opens a window of pushes with a weight other than 1."""
        _native.reducer_begin(self._pointer, weight, None)

    def push(self, i: int, grad: Array) -> None:
        """Hands in the gradient of parameter i as soon as it is ready, in any order; it is borrowed until wait().

        A bucket that this fills is exchanged while the caller goes on; before push() returns with one rank, after
        split(), with MPI without THREAD_MULTIPLE, and with host collectives without any_thread, dup and abort.
        """
        self._borrowed.append(grad)
        _native.reducer_push(self._pointer, i, grad, None)

    def wait(self, results: Arrays | None = None) -> None:
        """Ends a window of pushes. The outcome is written to `results` if given; see also gradients()."""
        try:
            _native.reducer_wait(self._pointer, results, None)
        finally:
            self._borrowed.clear()

    def cancel(self) -> None:
        """Drops a window of pushes; peers that wait for it get an error."""
        _native.reducer_cancel(self._pointer)
        self._borrowed.clear()

    def gradients(self) -> list[NDArray[Any] | None]:
        """Views of the reduced gradients, valid until the next window; None where no rank had one."""
        return [view(found, self._handle) for found in _native.reducer_gradients(self._pointer, self._size)]

    def residual(self, i: int) -> NDArray[Any]:
        """A view of what this rank has not sent yet of parameter i: its shape, float32 (float64 of a float64 one).

        Writable, valid until the next window. Raises InvalidState inside a window, and where the mode keeps none.
        """
        found = view(_native.reducer_residual(self._pointer, i), self._handle)
        assert found is not None
        return found

    @property
    def norm(self) -> float:
        """The Euclidean norm over all reduced gradients."""
        return scalar(_native.reducer_norm(self._pointer))

    def stats(self) -> ReducerStatistics:
        """What the reducer has done since creation."""
        statistics = _native.comm_statistics()
        _native.reducer_comm_stats(self._pointer, statistics)
        buckets = read_records(_native.reducer_stats, self._pointer)
        return ReducerStatistics(
            [read_record(bucket, BucketStatistics) for bucket in buckets],
            read_record(statistics, CommunicatorStatistics),
        )
