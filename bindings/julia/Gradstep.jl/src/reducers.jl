# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    Reducer(comm, model; mode = :dense, average, may_be_unused = false, names, context, options...)

Makes the gradients of all ranks one. Collective, and so is what it does.

- `mode`: `:dense`, `:half`, `:bfloat16`, `:sparse_threshold`, `:sparse_topk`, `:adasum_tree`, `:adasum_nway`, `:powersgd`,
  `:int8`, `:int4`, `:fp8_e4m3`, `:fp8_e5m2` or `:auto`; docs/gradient_sync.md says which is for what;
- `average`: `:mean`, `:sum` or `:weighted`;
- `may_be_unused`: true, or one for each array: on some rank there may be no gradient for it;
- the other options are those of `gradstep_reducer_options`: `fuse_threshold`, `sparsity`, `half_sum`, `rank` and so on.

The communicator can be used for other things, and closed.
"""
struct Reducer{S} <: Owner
    handle::Handle{C.gradstep_reducer}
    schema::Schema{S}
    gradients::Tensors
    results::Tensors
end

function Reducer(comm::Communicator, model; names = nothing, may_be_unused = false, context = nothing, options...)
    schema = Schema(model; names = names, may_be_unused = may_be_unused)
    fields = Ref(with(defaults(C.gradstep_reducer_options), options))
    handle = with_context(context, comm.handle) do pointer, comm_pointer
        with_parameters(schema) do parameters, n
            created(C.gradstep_reducer_create, C.gradstep_reducer, "reducer", pointer, comm_pointer, fields, parameters, n)
        end
    end
    return Reducer(handle, schema, Tensors(schema), Tensors(schema))
end

gradient_function(::Reducer) = C.gradstep_reducer_gradients
norm_function(::Reducer) = C.gradstep_reducer_norm
enter_source(reducer::Reducer) = (enter(reducer.handle); reducer)

"""
    reduce!(reducer, grads; weight = 1, results = grads)

Reduces a window. The outcome is written to `results`, which has the structure of the model, where it has arrays; with
`results = nothing` it stays in the reducer, for `update!(optimizer, model, reducer)` and `gradients(reducer)`. `grads` may be an
`Accumulator`. `weight` matters for `average = :weighted`.
"""
function reduce!(reducer::Reducer, grads; weight = 1, results = grads isa Owner ? nothing : grads)
    call(reducer.handle) do pointer
        source = enter_source(grads)
        try
            bound = bind_gradients!(reducer, source, grads)
            written, targets = bind_results!(reducer, results)
            GC.@preserve reducer bound targets C.gradstep_reducer_reduce(
                pointer, reducer.gradients.tensors, written, length(reducer.schema), weight, C_NULL)
        finally
            leave_source(source)
        end
    end
    return results
end

"""A pointer for C, and the arrays that are kept while C uses it."""
function bind_results!(reducer, results)
    results === nothing && return Ptr{C.gradstep_tensor}(C_NULL), nothing
    targets = bind!(reducer.results, reducer.schema, results, RESULTS)
    return pointer(reducer.results.tensors), targets
end

"""
    begin!(reducer; weight = 1)
    push!(reducer, i, grad)
    wait!(reducer; results = nothing)

What `reduce!` does, one gradient at a time, as back-propagation gives them: a bucket that is full is exchanged while the
caller computes the next gradient. `i` counts the model's arrays from 1. `begin!` is for a weight. The window ends with
`wait!`, which writes to `results` where they are given.
"""
begin!(reducer::Reducer; weight = 1) = call(C.gradstep_reducer_begin, reducer.handle, weight, C_NULL)

function Base.push!(reducer::Reducer, i::Integer, grad)
    check_index(reducer.schema, i)
    call(reducer.handle) do pointer
        bound = bind!(reducer.gradients, reducer.schema, grad, GRADIENTS, Leaf(i))
        GC.@preserve reducer bound C.gradstep_reducer_push(pointer, i - 1, pointer_to(reducer.gradients, i), C_NULL)
    end
    return reducer
end

pointer_to(tensors::Tensors, i) = pointer(tensors.tensors, i)

"See `begin!`."
function wait!(reducer::Reducer; results = nothing)
    call(reducer.handle) do pointer
        written, targets = bind_results!(reducer, results)
        GC.@preserve reducer targets C.gradstep_reducer_wait(pointer, written, length(reducer.schema), C_NULL)
    end
    return results
end

"""
    set_loss_scale!(reducer, scale)

The gradients of the next windows are multiplied by `scale`; what the mode keeps becomes so, too. All ranks give the same. 1
until the first call; after a load that of the file. Not collective.
"""
set_loss_scale!(reducer::Reducer, scale) = call(C.gradstep_reducer_set_loss_scale, reducer.handle, scale)

"""
    cancel!(reducer)

Drops an open window. Not collective.
"""
cancel!(reducer::Reducer) = call(C.gradstep_reducer_cancel, reducer.handle)

"""
    poll(handle)

Of a `Reducer`: whether no bucket that has left is still being exchanged; of an `Updater`: whether nothing is under way in its
parts; of an `Optimizer` or an `Accumulator`: always, with arrays of the host. Not collective.
"""
poll(reducer::Reducer) = number(C.gradstep_reducer_poll, reducer.handle, Int32) != 0

"""
    residual(reducer, i)

A copy of what the mode has not sent yet of array i (counted from 1).
"""
function residual(reducer::Reducer, i::Integer)
    check_index(reducer.schema, i)
    return one_copy((pointer, out) -> C.gradstep_reducer_residual(pointer, i - 1, out), reducer)
end

"""
    bucket_statistics(reducer)

What was done with each bucket, in the order in which they leave, as named tuples. Counted since creation.
"""
bucket_statistics(reducer::Reducer) =
    alone(pointer -> records(C.gradstep_reducer_stats, C.gradstep_bucket_statistics, pointer), reducer.handle)

"""
    comm_statistics(reducer)

What the reducer's own channel has done, as `statistics` of a communicator.
"""
comm_statistics(reducer::Reducer) =
    statistics(C.gradstep_reducer_comm_stats, C.gradstep_comm_statistics, reducer.handle)

counters(reducer::Reducer; labels = "") = counters_text(C.gradstep_reducer_counters, reducer.handle, labels)
