# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    Schedule(kind; init_value, end_value, decay_steps, decay_rate, power, staircase, warmup_steps, boundaries, values)

A number as a function of the step, evaluated by the library. `kind` is `:constant`, `:exponential_decay`,
`:inverse_time`, `:polynomial`, `:cosine` or `:piecewise`; `include/c_api/gradstep/schedule.h` has the formulas. It can be called:
`schedule(t)` is the value at step t, counted from 0.

    Schedule(f; warmup_steps = 0)

`f(t)` itself. Wherever a schedule is expected a function will do.
"""
struct Schedule
    fields::C.gradstep_schedule
    boundaries::Vector{Int64}
    values::Vector{Float64}
    f::Any
end

function Schedule(kind::Union{Symbol, AbstractString}; boundaries = Int64[], values = Float64[], fields...)
    Symbol(kind) === :callback && bad_argument("kind: pass the function itself: Schedule(f)")
    isempty(values) || length(boundaries) + 1 == length(values) || bad_argument(
        "boundaries: ", length(boundaries), " entries, expected ", length(values) - 1, ", one less than values")
    found = with(defaults(C.gradstep_schedule), fields)
    found = with(found, (:kind => Symbol(kind), :n_points => length(values)))
    return Schedule(found, collect(Int64, boundaries), collect(Float64, values), nothing)
end

Schedule(f::Function; fields...) = of_function(f, fields)
of_function(f, fields) =
    Schedule(with(with(defaults(C.gradstep_schedule), fields), (:kind => :callback,)), Int64[], Float64[], f)

as_schedule(schedule::Schedule) = schedule
as_schedule(f) = of_function(f, ())

is_schedule(value) = value isa Schedule || !(value isa Number) && !isempty(methods(value))

@called_by_c function schedule_entry(f::Ptr{Cvoid}, step::Int64, value::Ptr{Float64})
    unsafe_store!(value, Float64(f(step)))
end

"""`call(pointer)` with the schedule as C has it. C keeps a function, unless `call` throws."""
function with_schedule(call, schedule::Schedule)
    GC.@preserve schedule begin
        fields = with(schedule.fields, (:boundaries => pointer(schedule.boundaries), :values => pointer(schedule.values)))
        schedule.f === nothing && return call(Ref(fields))
        return with_root(schedule.f) do user
            call(Ref(with(fields, (
                :function => @cfunction(schedule_entry, Int32, (Ptr{Cvoid}, Int64, Ptr{Float64})),
                :user => user, :release => release_pointer()))))
        end
    end
end

function (schedule::Schedule)(t::Integer)
    value = Ref(0.0)
    with_schedule(schedule) do fields
        # The library neither keeps nor releases a schedule that it only evaluates.
        user = fields[].user
        Base.disable_sigint(() -> check(C.gradstep_schedule_value(fields, t, value)))
        user == C_NULL || release(user)
    end
    return value[]
end
