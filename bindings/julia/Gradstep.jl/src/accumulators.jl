# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    Accumulator(model; steps = 1, mode = :mean_each, trigger = :steps, nonfinite = :none, min_weight, schedule, dtype, keep_sums, ...)

Sums gradients of `model` over the micro-batches of a window.

- `mode`: `:mean_each`, `:sum`, `:mean`, `:running_mean` or `:weighted`;
- `trigger`: what ends a window: `:steps` micro-batches, `:min_weight`, a `:schedule` of window lengths (with `schedule`, a
  `Schedule` or a function of the number of finished windows), or `:manual`, by `flush!` alone;
- `nonfinite`: `:none`, `:poison` or `:skip`;
- `dtype`: of the sums, `Float32` or `Float64`; by default Float32, and Float64 for arrays of Float64.

`names`, `groups` and `context` are those of `setup`.
"""
struct Accumulator{S} <: Owner
    handle::Handle{C.gradstep_accumulator}
    schema::Schema{S}
    gradients::Tensors
end

keywords(::Type{C.gradstep_accumulator_options}) = (:schedule,)

function Accumulator(model; names = nothing, groups = nothing, context = nothing, schedule = nothing,
                     dtype = nothing, options...)
    schema = Schema(model; names = names, groups = groups)
    fields = with(defaults(C.gradstep_accumulator_options), options)
    dtype === nothing || (fields = with(fields, (:dtype => Gradstep.dtype(dtype),)))
    handle = with_context(context) do pointer
        with_parameters(schema) do parameters, n
            create(options) = created(C.gradstep_accumulator_create, C.gradstep_accumulator, "accumulator", pointer,
                                      Ref(options), parameters, n)
            schedule === nothing && return create(fields)
            with_schedule(as_schedule(schedule)) do found
                GC.@preserve found create(with(fields, (
                    :schedule => Base.unsafe_convert(Ptr{C.gradstep_schedule}, found),)))
            end
        end
    end
    return Accumulator(handle, schema, Tensors(schema))
end

"""
    Rows(parameter, indices, values)

Sparse rows of array number `parameter` (from 1 on): slice `indices[j]` of its last axis += slice j of the last axis of
`values`. Slices are counted from 1, and may be repeated.
"""
struct Rows
    parameter::Int
    indices::Vector{Int64} # from 0 on
    values::AbstractArray
    function Rows(parameter::Integer, indices, values)
        one_tensor(values, "values") # or it throws
        return new(parameter, [Int64(index) - 1 for index in indices], values)
    end
end

function check_rows(schema, rows)
    for (i, each) in enumerate(rows)
        check_index(schema, each.parameter)
        begins, ends = schema.begins[each.parameter], schema.begins[each.parameter + 1]
        begins == ends && bad_argument("rows[", i, "]: array ", each.parameter, " has no dimensions")
        for (j, index) in enumerate(each.indices)
            0 <= index < schema.shapes[begins + 1] || bad_argument(
                "rows[", i, "].indices[", j, "]: is ", index + 1, ", the last axis has 1 to ", schema.shapes[begins + 1])
        end
    end
end

"""
    add!(accumulator, grads; weight = 1, rows = ()) -> Bool

Adds a micro-batch; true when it ended the window. `grads` has the structure of the model, with `nothing` where there is no
gradient; `nothing` alone with `rows` are rows alone. `weight` counts in mode `:weighted` and for `:min_weight`.
"""
function add!(accumulator::Accumulator, grads; weight = 1, rows = ())
    isempty(rows) || return add_rows!(accumulator, grads, weight, collect(Rows, rows))
    ready = Ref{Int32}(0)
    call(accumulator.handle) do pointer
        bound = bind!(accumulator.gradients, accumulator.schema, grads, GRADIENTS)
        GC.@preserve accumulator bound C.gradstep_accumulator_add(
            pointer, accumulator.gradients.tensors, length(accumulator.schema), weight, C_NULL, ready)
    end
    return ready[] != 0
end

function add_rows!(accumulator, grads, weight, rows)
    check_rows(accumulator.schema, rows)
    indices = [one_tensor(each.indices, "indices") for each in rows]
    values = [one_tensor(each.values, "values") for each in rows]
    ready = Ref{Int32}(0)
    call(accumulator.handle) do pointer
        bound = bind!(accumulator.gradients, accumulator.schema, grads, GRADIENTS)
        GC.@preserve accumulator bound indices values begin
            c_rows = [C.gradstep_rows(sizeof(C.gradstep_rows), 0, each.parameter - 1, address_of(index),
                                      address_of(value)) for (each, index, value) in zip(rows, indices, values)]
            C.gradstep_accumulator_add_ex(pointer, accumulator.gradients.tensors, length(accumulator.schema), c_rows,
                                          length(c_rows), weight, C_NULL, ready)
        end
    end
    return ready[] != 0
end

"""
    flush!(accumulator) -> Bool

Ends a window that is not full; true if it has a result.
"""
flush!(accumulator::Accumulator) =
    number((pointer, ready) -> C.gradstep_accumulator_flush(pointer, C_NULL, ready), accumulator.handle, Int32) != 0

"""
    reset!(accumulator)

Drops the window.
"""
reset!(accumulator::Accumulator) = call(C.gradstep_accumulator_reset, accumulator.handle, C_NULL)

"""
    gradients(accumulator)
    gradients(reducer)

Copies of the results, one for each array of the model in order; `nothing` where there was no gradient. `update!` and `step!`
take the accumulator or the reducer itself, without a copy.
"""
gradients(owner) = copies(gradient_function(owner), owner)

gradient_function(::Accumulator) = C.gradstep_accumulator_gradients

"""
    sums(accumulator)

Copies of the undivided sums, as `gradients`.
"""
sums(accumulator::Accumulator) = copies(C.gradstep_accumulator_sums, accumulator)

function copies(f, owner)
    found = fill(zeroed(C.gradstep_tensor), length(owner.schema))
    return alone(owner.handle) do pointer
        check(f(pointer, found, length(found), C_NULL))
        Any[copied(tensor) for tensor in found]
    end
end

function one_copy(f, owner)
    found = Ref(zeroed(C.gradstep_tensor))
    return alone(owner.handle) do pointer
        check(f(pointer, found))
        copied(found[])
    end
end

"""
    norm(accumulator)
    norm(reducer)

The Euclidean norm over all results. A method of `LinearAlgebra.norm`.
"""
norm(owner::Owner) = only(one_copy((pointer, out) -> norm_function(owner)(pointer, out, C_NULL), owner))

norm_function(::Accumulator) = C.gradstep_accumulator_norm

"""
    count(accumulator)

How many micro-batches are in the window.
"""
Base.count(accumulator::Accumulator) = number(C.gradstep_accumulator_count, accumulator.handle, Int64)

"""
    weight(accumulator)

The window's divisor: the sum of weights in mode `:weighted`, else the number of micro-batches.
"""
weight(accumulator::Accumulator) = number(C.gradstep_accumulator_weight, accumulator.handle, Float64)

"""
    skipped(accumulator)

How many micro-batches were skipped as non-finite since creation.
"""
skipped(accumulator::Accumulator) = number(C.gradstep_accumulator_skipped, accumulator.handle, Int64)

poll(accumulator::Accumulator) = number(C.gradstep_accumulator_poll, accumulator.handle, Int32) != 0

enter_source(accumulator::Accumulator) = (enter(accumulator.handle); accumulator)
leave_source(source::Owner) = leave(source.handle)

function bind_gradients!(optimizer, source::Owner, _)
    length(source.schema) == length(optimizer.schema) || bad_argument(
        "grads: is of ", length(source.schema), " arrays, the model has ", length(optimizer.schema))
    check(gradient_function(source)(source.handle.pointer, optimizer.gradients.tensors, length(optimizer.schema), C_NULL))
end
