# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""
gradstep turns gradients into parameter updates on arrays that you own.

    gradients -> Accumulator -> Reducer -> Optimizer -> your arrays
                 micro-batches  over a
                                Communicator
                 '------- the Updater drives all three -------'

Each is useful alone. Arrays are used where they lie, without a copy. `C` is the C API itself.
"""
module Gradstep

import LinearAlgebra: norm

include("C.jl")
include("errors.jl")
include("callbacks.jl")
include("handles.jl")
include("options.jl")
include("arrays.jl")
include("models.jl")
include("context.jl")
include("schedules.jl")
include("optimizers.jl")
include("named_rules.jl")
include("typed_rules.jl")
include("accumulators.jl")
include("communicators.jl")
include("host_communicators.jl")
include("reducers.jl")
include("updaters.jl")
include("saved_state.jl")
include("info.jl")
include("deprecated.jl")

export GradstepError, Context, default_context, Schedule
export SGD, RMSProp, AdaGrad, Adam, Shampoo, shampoo_from_adamw, NamedRule, define_rule, describe_rules, setup, add_parameters!,
       update!, step!, updates!, set_value!, set_tensor!, get_value, adjust!, group_count, step_count, set_step_count!, state_names,
       get_state, set_state!, average, average!, copy_state!, metrics, memory, state_bytes, shard!, unshard!
export Accumulator, Rows, add!, flush!, reset!, gradients, sums, norm, weight, skipped, poll
export Communicator, self_communicator, local_communicators, connect, from_environment, mpi_communicator, unique_id, rendezvous_pending, rank, world_size,
       local_rank, engine, all_reduce!, all_gather, reduce_scatter, send, recv!, barrier, vote, dup, abort,
       broken_by, statistics, counters, HostCollectives, host_communicator
export Reducer, reduce!, begin!, wait!, cancel!, set_loss_scale!, residual, bucket_statistics, comm_statistics
export Updater, recover!, attach_shards!
export save, load!
export version, build_info, backend_available, backend_status, load_backend, predict_costs, measure_costs, trace_start, trace_stop

__init__() = C.load()

end
