# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    Updater(optimizer, accumulator = nothing, reducer = nothing; sync = :gradients, outer = nothing, max_norm, clip_value, grad_scale, skip_nonfinite, sync_steps, outer_fragments, outer_delay, outer_mix, context)

Accumulator, reducer and optimizer in one `push!`. Without an accumulator every push is a window, without a reducer there is no
network. The handles may be used between pushes, and closed.

`sync`: `:gradients`, `:parameters`, `:parameters_partial` or `:deltas`.

`outer`: an optimizer of the same parameters, for `:deltas`. Each rank makes `sync_steps` steps by itself; what that has changed is
averaged, and `outer` steps with it as the gradient from where the ranks began (DiLoCo). With `outer_fragments` parts of the model do
so in turn; with `outer_delay` a change leaves so many steps before, and travels behind them.
"""
struct Updater{S} <: Owner
    handle::Handle{C.gradstep_updater}
    schema::Schema{S}
    parameters::Tensors
    gradients::Tensors
end

function Updater(optimizer::Optimizer, accumulator::Union{Nothing, Accumulator} = nothing,
                 reducer::Union{Nothing, Reducer} = nothing; outer::Union{Nothing, Optimizer} = nothing,
                 context = nothing, options...)
    fields = with(defaults(C.gradstep_updater_options), options)
    handles = map(handle_of, (optimizer, accumulator, reducer, outer))
    handle = with_context(context, handles...) do pointers...
        complete = Ref(with(fields, (:outer => Ptr{C.gradstep_optimizer}(last(pointers)),)))
        created(C.gradstep_updater_create, C.gradstep_updater, "updater", Base.front(pointers)..., complete)
    end
    handle.keeps = (optimizer.handle.keeps, outer === nothing ? nothing : outer.handle.keeps)
    return Updater(handle, optimizer.schema, Tensors(optimizer.schema), Tensors(optimizer.schema))
end

handle_of(::Nothing) = nothing
handle_of(owner::Owner) = owner.handle

"""
    push!(updater, model, grads; weight = 1) -> Bool

Adds a micro-batch and, at the end of the window, reduces the gradients and steps `model`; true if it was stepped.
Collective when it ends a window.
"""
function Base.push!(updater::Updater, model, grads; weight = 1)
    applied = Ref{Int32}(0)
    call(updater.handle) do pointer
        parameters = bind!(updater.parameters, updater.schema, model, PARAMETERS)
        gradients = bind!(updater.gradients, updater.schema, grads, GRADIENTS)
        GC.@preserve updater parameters gradients C.gradstep_updater_push(
            pointer, updater.parameters.tensors, updater.gradients.tensors, length(updater.schema), weight, C_NULL,
            applied)
    end
    return applied[] != 0
end

"""
    flush!(updater, model) -> Bool

Ends a window that is not full, or tries one again whose exchange failed; true if `model` was stepped. Collective.
"""
function flush!(updater::Updater, model)
    applied = Ref{Int32}(0)
    call(updater.handle) do pointer
        bound = bind!(updater.parameters, updater.schema, model, PARAMETERS)
        GC.@preserve updater bound C.gradstep_updater_flush(
            pointer, updater.parameters.tensors, length(updater.schema), C_NULL, applied)
    end
    return applied[] != 0
end

"""
    recover!(updater, comm, model)

Continues over a new communicator of survivors, ranks that stay and newcomers. Collective among them. `nothing` for `comm`: this rank
goes on alone, without a reducer, and sharded state is gathered with the ranks that recover then. docs/failure.md says what is
recovered.
"""
function recover!(updater::Updater, comm::Union{Nothing, Communicator}, model)
    alone(updater.handle, handle_of(comm)) do pointer, comm_pointer
        bound = bind!(updater.parameters, updater.schema, model, PARAMETERS)
        GC.@preserve updater bound check(C.gradstep_updater_recover(
            pointer, comm_pointer, updater.parameters.tensors, length(updater.schema), C_NULL))
    end
    return updater
end

poll(updater::Updater) = number(C.gradstep_updater_poll, updater.handle, Int32) != 0

statistics(updater::Updater) = statistics(C.gradstep_updater_stats, C.gradstep_updater_statistics, updater.handle)

"""
    shard!(optimizer, comm; gradients = :local, average, preconditioners = :replicated)

Deals the optimizer's state out to the ranks of `comm`: from here on each keeps and steps a share of it, and steps are
collective. `gradients` says whether those of a step are each rank's own (`:local`) or equal on all (`:reduced`). `unshard!` ends
it. Collective.

    shard!(optimizer, reducer; options...)

Deals it out to the ranks of a reducer of the same parameters, which from here on brings each its share of the gradients.
An updater of both makes the steps.
"""
function shard!(optimizer::Optimizer, reducer::Reducer; options...)
    fields = Ref(with(defaults(C.gradstep_sharding_options), options))
    alone(optimizer.handle, reducer.handle) do pointer, reducer_pointer
        check(C.gradstep_optimizer_attach_reducer(pointer, reducer_pointer, fields))
        optimizer.handle.keeps.is_sharded = true
    end
    return optimizer
end

function shard!(optimizer::Optimizer, comm::Communicator; options...)
    fields = Ref(with(defaults(C.gradstep_sharding_options), options))
    alone(optimizer.handle, comm.handle) do pointer, comm_pointer
        check(C.gradstep_optimizer_attach_comm(pointer, comm_pointer, fields))
        optimizer.handle.keeps.is_sharded = true
    end
    return optimizer
end

"""
    unshard!(optimizer)

Gathers the state on every rank again; from here on steps are each rank's own. Collective while the state is sharded.
"""
function unshard!(optimizer::Optimizer)
    alone(optimizer.handle) do pointer
        check(C.gradstep_optimizer_attach_comm(pointer, C_NULL, C_NULL))
        optimizer.handle.keeps.is_sharded = false
    end
    return optimizer
end

"""
    attach_shards!(optimizer, comm)

The ranks of `comm` have parts of the arrays (`parts` of `setup`): from here on each steps its own, and steps are collective.
With `nothing` for `comm` no more. Collective.
"""
function attach_shards!(optimizer::Optimizer, comm::Union{Nothing, Communicator})
    alone(optimizer.handle, handle_of(comm)) do pointer, comm_pointer
        check(C.gradstep_optimizer_attach_shards(pointer, comm_pointer))
        optimizer.handle.keeps.is_sharded = comm !== nothing
    end
    return optimizer
end

counters(updater::Updater; labels = "") = counters_text(C.gradstep_updater_counters, updater.handle, labels)
