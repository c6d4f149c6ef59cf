/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * updater.h: accumulator, reducer and optimizer in one push.
 *
 * A push adds a micro-batch. When it ends the window, the accumulated gradients are reduced over the ranks and the
 * optimizer steps the host's parameters. The first K - 1 pushes of a window touch no network; the K-th makes one
 * exchange per bucket (mode DENSE: exactly one all-reduce) and at most one control all-reduce. With options.sync other
 * than GRADIENTS the step comes first. Source: Lingvo GradientAggregationOptimizer, SINGA DistOpt.
 *
 * With a reducer over more than one rank every rank counts pushes, so that windows end together: a micro-batch skipped
 * as non-finite counts for the trigger and not for the divisor.
 */
#ifndef GRADSTEP_UPDATER_H
#define GRADSTEP_UPDATER_H

#include "gradstep/accumulator.h"
#include "gradstep/optimizer.h"
#include "gradstep/reducer.h"

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct gradstep_updater gradstep_updater;

enum gradstep_updater_sync {
  GRADSTEP_SYNC_INVALID = -1,
  GRADSTEP_SYNC_GRADIENTS = 0, /* reduce gradients, then step: replicas stay equal bit for bit */
  /* Each rank steps with its own gradients; every sync_steps-th step one partition of the parameters is averaged, the
   * next one in turn. Partitions are the reducer's buckets. Between two averages replicas differ, and states always do.
   * Source: SINGA DistOpt, backward_and_partial_update. */
  GRADSTEP_SYNC_PARAMETERS_PARTIAL = 1,
  GRADSTEP_SYNC_PARAMETERS = 2, /* all parameters at once: local SGD */
  /* Each rank steps a copy with its own gradients; what its parameters would change by is reduced, by the reducer's
   * mode, and added: replicas' parameters stay equal bit for bit, states differ. With Adasum this is Horovod's
   * distributed optimizer.
   * With options.outer it is DiLoCo: each rank steps its parameters for a round of sync_steps windows, and nothing
   * travels. Then the point where the round began minus the parameters is reduced, by the reducer's mode and average;
   * the outer optimizer steps that point with it as the gradient, and the result becomes the parameters of all ranks.
   * Source: Douillard et al., arXiv 2311.08105, algorithm 1. */
  GRADSTEP_SYNC_DELTAS = 3
};

typedef struct gradstep_updater_options {
  uint32_t struct_size;
  int32_t sync;           /* enum gradstep_updater_sync */
  int32_t skip_nonfinite; /* bool: a window whose reduced gradients are not finite makes no step, on all ranks alike;
                           * with outer each rank skips local steps by itself, and a round whose reduced change is not
                           * finite leads back to where it began, on all ranks */
  int32_t sync_steps;     /* PARAMETERS, PARAMETERS_PARTIAL, and DELTAS with outer: >= 1, default 1 */
  double max_norm;        /* >= 0, of the gradients that are stepped: the reduced ones, or the rank's own; 0 = off */
  double clip_value;      /* >= 0; 0 = off */
  double grad_scale;      /* finite; default 1 */
  /* DELTAS: for the same parameters on the same device, any rule; default NULL. The paper's is SGD with learning_rate
   * 0.7, momentum 0.9 and nesterov. max_norm, clip_value and grad_scale are not for its steps. Read by create, which
   * keeps a reference. */
  gradstep_optimizer* outer;
  /* With outer, Streaming DiLoCo (arXiv 2501.18512): the buckets of the reducer are divided into so many parts of the
   * model, in the order of the parameters: default 1, 0 counts as 1; a divisor of sync_steps, and at most the number of
   * buckets. Their rounds end in turn, one every sync_steps / outer_fragments windows. Each step of outer is one of a
   * fragment, and counts as one in its schedules; rules that correct their moments by the step count take step_counting
   * "parameter".
   */
  int32_t outer_fragments;
  /* A change leaves so many windows before its round ends, and travels behind the host's work: 0, the default, to
   * sync_steps / outer_fragments - 1. */
  int32_t outer_delay;
  /* A fragment goes on from (1 - outer_mix) x where the outer step has led + outer_mix x the rank's own parameters: 0,
   * the default, to below 1. */
  double outer_mix;
} gradstep_updater_options;

/* Counted since creation; times are of the host's clock. */
typedef struct gradstep_updater_statistics {
  uint32_t struct_size;
  int32_t dropped_windows; /* windows of this rank, begun or complete, that recover has dropped unapplied */
  int64_t pushes;
  int64_t windows;
  int64_t steps; /* with outer: the local ones */
  int64_t skipped_steps;
  int64_t accumulate_nanoseconds;
  int64_t reduce_nanoseconds;
  int64_t step_nanoseconds;
} gradstep_updater_statistics;

/* Writes the defaults into the struct_size bytes at o. Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_updater_options_init(gradstep_updater_options* o,
                                                           size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Chains the handles and keeps references to them: they may be destroyed, and used directly between pushes. accumulator
 * NULL: every push is a window. reducer NULL: no network. options NULL = defaults.
 * *out is the caller's to destroy. Not collective.
 * Returns: INVALID_ARGUMENT (a NULL optimizer, options out of range, outer without DELTAS or the optimizer itself),
 * MISMATCH (the handles' schemas differ, or outer's device: the text names the parameter), UNSUPPORTED (a reducer over
 * several ranks with trigger MIN_WEIGHT or MANUAL; PARAMETERS* with a reducer whose mode is not DENSE or whose average
 * is SUM; PARAMETERS*, or DELTAS without outer, with a sharded optimizer; DELTAS without outer with master weights or
 * averages of the weights).
 */
GRADSTEP_API gradstep_status gradstep_updater_create(gradstep_context* context, gradstep_optimizer* optimizer,
                                                     gradstep_accumulator* accumulator, gradstep_reducer* reducer,
                                                     const gradstep_updater_options* options,
                                                     gradstep_updater** out) GRADSTEP_NOEXCEPT;

/* Gives the handle up, and its references to the optimizers, accumulator and reducer. NULL is nothing. */
GRADSTEP_API void gradstep_updater_destroy(gradstep_updater* updater) GRADSTEP_NOEXCEPT;

/*
 * Adds grads (weighted) and, at the end of the window, reduces and steps params. params and grads are what
 * gradstep_optimizer_step takes, weight what gradstep_accumulator_add and gradstep_reducer_reduce take. *applied_out
 * (may be NULL) = 1 if the parameters were stepped, else 0. Collective when it ends a window.
 * Returns: INVALID_ARGUMENT (nothing happened), INVALID_STATE (one of the handles is in use; or the last window's
 * exchange failed: flush to retry it, reset the accumulator to drop it, or recover; or the optimizer's state is lost),
 * UNSUPPORTED (an optimizer of parts, see gradstep_optimizer_attach_shards, with a reducer, with outer, or with an
 * accumulator that skips micro-batches or whose trigger is MIN_WEIGHT or MANUAL; nothing happened),
 * CALLBACK (a schedule or parallel_for, see gradstep_accumulator_add and gradstep_optimizer_step), NUMERIC (a
 * schedule's value, or a NaN in a sparse mode with NAN_ERROR), and the statuses of a collective call: MISMATCH also
 * where ranks have other rules, hyper-parameters, options or windows, and ABORTED where another rank's schedule failed;
 * these leave the communicator usable.
 *
 * After an error of the exchange the micro-batch is in, the window stays READY and params, state and counters are as
 * before the call. Without an accumulator nothing has kept the gradients, which are the host's: the push itself is to
 * be repeated. (A NaN in a sparse mode comes again from a flush: reset the accumulator.) Where the step comes before
 * the exchange, an error of the exchange finds it done: with PARAMETERS* it stands, and the partition in flight keeps
 * its local values; with DELTAS params are as before the call, and the optimizer's state is one step ahead, but with
 * outer the local step stands. The text says so; flush finishes the exchange, with or without an accumulator, and
 * another push before that is INVALID_STATE.
 */
GRADSTEP_API gradstep_status gradstep_updater_push(gradstep_updater* updater, const gradstep_tensor* params,
                                                   const gradstep_tensor* grads, size_t n, double weight, void* stream,
                                                   int32_t* applied_out) GRADSTEP_NOEXCEPT;

/*
 * Ends a partial window, or retries a READY one whose exchange failed. Without an accumulator it ends the window that
 * gradstep_reducer_push has begun, and steps: an error of its exchange drops that window. Collective with
 * a reducer: all ranks flush after the same number of pushes. An empty window on all ranks is OK and applies nothing.
 * *applied_out as in push.
 *
 * Returns: INVALID_ARGUMENT, INVALID_STATE (as push; or the last push failed, its window was not finished since, and
 * there is no accumulator that would have kept its gradients: push them again), UNSUPPORTED (as push), CALLBACK,
 * NUMERIC (as push), and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_updater_flush(gradstep_updater* updater, const gradstep_tensor* params, size_t n,
                                                    void* stream, int32_t* applied_out) GRADSTEP_NOEXCEPT;

/*
 * Continues over `comm`, a new communicator of any world size: of the survivors of a failure, of those that stay where
 * others leave, and of newcomers. Collective. The ranks tell each other their step counts, and where they stand:
 * windows are numbered by how many the updater has finished before (saved and loaded with it).
 *
 * All at the same push of the same window: they keep their windows, and flush retries a READY one. With GRADIENTS
 * parameters and state, with DELTAS parameters, with outer its state and the point where the round began, become those
 * of the lowest rank that is furthest, which changes nothing unless the replicas had come apart; what is each rank's
 * own, by the sync, stays so. Else they drop their windows (dropped_windows counts); and if steps or finished windows
 * differ, parameters and state of all ranks become those of the lowest rank that is furthest (most rounds, then steps,
 * then windows). The window of a rank behind is in these parameters or dropped; it is never applied again.
 *
 * A newcomer, whose updater has no history, takes over everything, and its residuals are zero. Sharded state is dealt
 * anew from what the ranks have. Residuals stay each rank's own; where a peer has finished the exchange that failed
 * here, they become what they would be had it succeeded here too. The updater's reducer is another one from here on,
 * with the same options (without one: the defaults); the old handle is the host's to destroy. comm NULL = this rank
 * goes on alone, without a reducer, whose options stay; sharded state is gathered with the ranks that recover then, and
 * what was stepped and not exchanged is this rank's own: flush ends its window. docs/failure.md has the whole promise.
 *
 * Returns: INVALID_ARGUMENT (params), INVALID_STATE (no rank with a whole state; a part of a sharded one is gone: the
 * text names it), MISMATCH (reducers or states differ, or a partition comes next that the reducer does not have),
 * UNSUPPORTED (as gradstep_updater_create; an optimizer of parts, whose host spreads them anew), ABORTED (another rank
 * could not), OUT_OF_MEMORY, and the statuses of a collective call: nothing has changed then, and the updater still
 * needs a recover, which may be with peers on which this one has succeeded.
 */
GRADSTEP_API gradstep_status gradstep_updater_recover(gradstep_updater* updater, gradstep_comm* comm,
                                                      const gradstep_tensor* params, size_t n,
                                                      void* stream) GRADSTEP_NOEXCEPT;

/* *done = 1 when nothing is under way in the updater, its accumulator, reducer and optimizer. Not collective.
 * Returns: INVALID_ARGUMENT (done NULL), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_updater_poll(gradstep_updater* updater, int32_t* done) GRADSTEP_NOEXCEPT;

/* *stats = the counts; stats->struct_size is set by the caller.
 * Returns: INVALID_ARGUMENT (stats NULL, a bad struct_size), INVALID_STATE (in use). */
GRADSTEP_API gradstep_status gradstep_updater_stats(gradstep_updater* updater,
                                                    gradstep_updater_statistics* stats) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_UPDATER_H */
