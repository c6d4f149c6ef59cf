/* SPDX-FileCopyrightText: 2026 The gradstep authors
 * SPDX-License-Identifier: Apache-2.0 */
/*
 * sharding.h: an optimizer's state, dealt out to the ranks of a communicator; parameters that the host has spread.
 */
#ifndef GRADSTEP_SHARDING_H
#define GRADSTEP_SHARDING_H

#include "gradstep/comm.h"
#include "gradstep/optimizer.h"
#include "gradstep/reducer.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* What the gradients of a sharded step are. */
enum gradstep_sharded_gradients {
  GRADSTEP_SHARDED_GRADIENTS_INVALID = -1,
  GRADSTEP_SHARDED_GRADIENTS_LOCAL = 0,  /* each rank's own: the step reduce-scatters them */
  GRADSTEP_SHARDED_GRADIENTS_REDUCED = 1 /* equal on all ranks already */
};

/* What is dealt out to the ranks of a Shampoo. Other rules do not look at it. */
enum gradstep_sharded_preconditioners {
  GRADSTEP_SHARDED_PRECONDITIONERS_INVALID = -1,
  GRADSTEP_SHARDED_PRECONDITIONERS_REPLICATED = 0, /* the roots: each is computed once, and gathered on all ranks */
  GRADSTEP_SHARDED_PRECONDITIONERS_OWNED = 1       /* the blocks: preconditioned gradients are gathered on all ranks */
};

typedef struct gradstep_sharding_options {
  uint32_t struct_size;
  int32_t gradients;       /* enum gradstep_sharded_gradients */
  int32_t average;         /* enum gradstep_average: LOCAL gradients take SUM or MEAN (UNSET) */
  int32_t preconditioners; /* enum gradstep_sharded_preconditioners */
} gradstep_sharding_options;

/* Writes the defaults (LOCAL gradients, of which the mean counts; REPLICATED) into the struct_size bytes at o.
 * Returns: INVALID_ARGUMENT (o NULL, a bad struct_size). */
GRADSTEP_API gradstep_status gradstep_sharding_options_init(gradstep_sharding_options* o,
                                                            size_t struct_size) GRADSTEP_NOEXCEPT;

/*
 * Collective. Shards the state over the ranks of comm: each keeps one contiguous share of the model, in whole chunks of
 * 16384 elements, and drops the rest. Tensors that are stepped as a whole, as Muon's matrices, have one rank each: the
 * costliest first, each to the rank with the least to do. From then on a step is collective: gradients are
 * reduce-scattered (LOCAL), each rank steps its share, and the new parameters are gathered on all. Parameters are
 * written when everything has arrived.
 * With reduction_order RANK the results have the bits of a dense reducer and an unsharded step, clipping included.
 * State and parameters must be equal on all ranks before. A further call shards anew; comm NULL gathers the state and
 * ends it, and does nothing where none is sharded. get_state, set_state and copy_state are collective meanwhile; views
 * (gradstep_optimizer_state) are UNSUPPORTED, and those handed out before become invalid with this call. The optimizer
 * takes a channel of its own (gradstep_comm_dup); options NULL = defaults.
 * Returns: with nothing changed on any rank, INVALID_ARGUMENT (an option outside its enum), INVALID_STATE (one of the
 * handles is in use), MISMATCH (ranks whose parameters, rule or options of it, hyper-parameters or step count differ),
 * OUT_OF_MEMORY, ABORTED (another rank failed, e.g. had no memory: its own status says why), UNSUPPORTED (OWNED with
 * eigenvalue_corrected; a parameter that is a part of a whole), and the statuses of a collective call.
 *
 * A step compares hyper-parameters, guards and the step count first: MISMATCH on all ranks where they differ, and
 * where a rank's schedule fails its own status there and ABORTED on the others, with nothing changed or lost.
 * After a failed step the parameters are as before it and the state is lost: steps, saves, copies and reads of it
 * return INVALID_STATE until state is loaded or copied in, after another attach_comm. That one does not ask peers that
 * are known to be gone, whichever collective call has found it, and no step counts are compared: a state that is lost
 * on one rank of comm is lost on all of them, and dealt out as at creation. Where no rank knows of it yet, this call
 * finds it and goes on so; with comm NULL it returns the error, and succeeds when it is called again. Source: Lingvo
 * ShardedAdam; Rajbhandari et al. 2020 (ZeRO, stage 1).
 *
 * Shampoo deals out other things (options->preconditioners), the costliest first, each to the rank with the least to
 * do. Gradients are all-reduced (LOCAL), and every rank steps the whole model. REPLICATED: each root is computed by one
 * rank and gathered on all. OWNED: each block's statistics and preconditioners are on one rank, and its preconditioned
 * gradient is gathered on all, in every step. The results have the bits of one rank with the reduced gradients; all
 * ranks must have the same options and instruction set, or MISMATCH. Roots that are under way are installed by this
 * call; metrics are as of the last step. Source: Google's distributed_shampoo.py, its pmap and pjit modes.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_attach_comm(gradstep_optimizer* optimizer, gradstep_comm* comm,
                                                            const gradstep_sharding_options* options) GRADSTEP_NOEXCEPT;

/*
 * Collective. Shards the state over the ranks of a reducer of the same parameters, which brings the gradients of each
 * step (ZeRO, stage 2): as gradstep_optimizer_attach_comm, but for this.
 * - Shares are dealt out bucket by bucket. From then on a window of the reducer brings each rank its share alone:
 *   buckets of the modes DENSE, HALF and BFLOAT16 are reduce-scattered, those of other modes go to all ranks as before.
 * - Scattered buckets take turns in a few pieces of memory: gradients have no memory but a rank's share of them once
 *   their bucket has left. The host may free a gradient when gradstep_reducer_push has copied it.
 * - An updater with this optimizer and this reducer makes the steps: by gradstep_updater_push, or, without an
 *   accumulator, by gradstep_reducer_push for each gradient and gradstep_updater_flush. Other steps are INVALID_STATE.
 * - The reducer serves optimizers of these shares alone: its gradients, norm and results are UNSUPPORTED.
 * - options->gradients and options->average do not matter: the reducer's average does.
 * Results have the bits of the reducer's mode and an unsharded step. gradstep_optimizer_attach_comm with comm NULL ends
 * it, for the optimizer.
 * Returns: as gradstep_optimizer_attach_comm; INVALID_ARGUMENT too for a reducer of other parameters, INVALID_STATE if
 * the reducer has an open window, or serves other shares, UNSUPPORTED for a Shampoo, whose ranks need all gradients.
 * Source: Rajbhandari et al. 2020 (ZeRO, stage 2).
 */
GRADSTEP_API gradstep_status gradstep_optimizer_attach_reducer(gradstep_optimizer* optimizer, gradstep_reducer* reducer,
                                                               const gradstep_sharding_options* options)
    GRADSTEP_NOEXCEPT;

/*
 * Collective. For parameters that the host has spread over the ranks of comm itself (whole_shape and offset of
 * gradstep_parameter): the ranks tell each other which part of each parameter they have. The parts of all ranks make up
 * each whole: every element of it is in one part. Ranks with the same part are replicas: each steps it. Nothing
 * moves: each rank keeps its parts, and their state. From then on a step is collective:
 * - grads are those of this rank's parts, reduced by the host. A parameter has a gradient on all ranks or on none; a
 *   part without elements has one of its shape.
 * - Each rank steps its parts where they lie. Element-wise rules have the bits of a step of the whole parameters.
 * - A rule that works on whole tensors (Muon, Dion, Adafactor, adaptive_clip, center_gradients) has an owner for each
 *   parameter of which ranks have parts: the costliest first, each to the rank with the least to do. Ranks send it
 *   their parts of gradient, in the arithmetic type, and parameter; it steps the whole, and sends the parts of the
 *   parameter back. Results have the bits of a step of the whole parameters.
 * - max_norm and grad_norm, skip_nonfinite and found_inf, trust ratios, cautious updates and what else a rule measures
 *   of a tensor count each element of the whole once. Sums are folded in the order of parameters and ranks: all ranks
 *   have the same bits, which may differ in the last ones from those of another way to spread the parameters. Tensors
 *   with an owner are measured as wholes, with the bits of those.
 * - stochastic_rounding has random numbers of its own for each part, the same for ranks with the same part. Tensors
 *   with an owner have those of the whole.
 * A step makes one all-reduce of a few numbers and one number for each parameter. Rules that measure tensors also send
 * a number for each 16384 elements. Tensors with owners take two exchanges, for all of them together, with a gradient
 * or without; their parameters are written when everything has arrived. Other parameters are stepped before: after a
 * failure load all of them with the state. A save is collective, and the file is that of the whole parameters: any way
 * to spread them, or none, loads it. gradstep_optimizer_load makes no exchange: all ranks load the same file.
 *
 * State names, views, get_state and set_state are of this rank's parts, without an exchange. State of a tensor with an
 * owner is of the whole, and its owner's alone. Memory is taken by the first call of this function;
 * gradstep_*_state_bytes does not count it. While no ranks are attached, it is neither read, set, loaded nor copied
 * (INVALID_STATE, but on a rank that has the whole tensor). get_state copies the whole to every rank, and is
 * collective, as is gradstep_optimizer_average, which still copies this rank's part; set_state takes the whole on every
 * rank; views are UNSUPPORTED. Numbers of a parameter, such as its "step", are on all ranks.
 *
 * comm NULL detaches the optimizer, which keeps its parts and their state; it does nothing where none are attached. A
 * further call finds the same owners, whatever their ranks in comm. The optimizer steps parts only while ranks are
 * attached (else INVALID_STATE). It takes a channel of its own (gradstep_comm_dup). A step compares what
 * gradstep_optimizer_attach_comm says, and fails as it says there. Where some ranks may have stepped and others not,
 * the state is lost.
 * Returns: with nothing changed on any rank, MISMATCH (parts overlap, or leave elements of a whole out: the text has
 * the parameter, ranks, shapes and offsets, and is the same on all ranks; ranks whose wholes, names, dtypes, rule or
 * options of it, hyper-parameters or step count differ), UNSUPPORTED (for a parameter of which ranks have parts:
 * Shampoo and SOAP; state in 8-bit codes, unless it has an owner; an owner, where comm's engine only gathers),
 * INVALID_STATE (in use; an owner that has state is not among the ranks), OUT_OF_MEMORY, ABORTED (as
 * gradstep_optimizer_attach_comm), and the statuses of a collective call.
 */
GRADSTEP_API gradstep_status gradstep_optimizer_attach_shards(gradstep_optimizer* optimizer,
                                                              gradstep_comm* comm) GRADSTEP_NOEXCEPT;

#if defined(__cplusplus)
}
#endif

#endif /* GRADSTEP_SHARDING_H */
