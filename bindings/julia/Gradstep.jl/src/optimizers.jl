# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
An update rule with its options, to be handed to `setup`: `SGD`, `RMSProp`, `AdaGrad`, `Adam`, `Shampoo`, `AdamW`, `Lion` and
others (typed_rules.jl), or `NamedRule`.

Options are keywords with the names and defaults of the C structs (`Gradstep.options(Adam)` lists them). Every
real number among them may be a schedule: a `Schedule`, or a function of the step.
"""
struct Rule{T}
    name::String
    options::T
    schedules::Vector{Pair{Symbol, Schedule}}
end

"""The first value of a schedule. What rises from 0 needs its buffers from the start."""
function value_at_creation(schedule)
    first_value = schedule(0)
    return first_value == 0 ? floatmin(Float64) : first_value
end

function Rule(name, ::Type{T}, given) where {T}
    schedules = Pair{Symbol, Schedule}[]
    fields = Pair{Symbol, Any}[]
    for (key, value) in pairs(given)
        if key in fieldnames(T) && fieldtype(T, field_index(T, key)) == Float64 && is_schedule(value)
            push!(schedules, key => as_schedule(value))
            value = value_at_creation(schedules[end].second)
        end
        push!(fields, key => value)
    end
    return Rule{T}(name, with(defaults(T), fields), schedules)
end

Base.show(io::IO, rule::Rule) = print(io, rule.name, "(", join(
    ["$name = $(repr(value))" for (name, value) in pairs(record(rule.options))], ", "), ")")

const RULES = (
    (:SGD, :sgd, "Stochastic gradient descent, with `momentum`, `dampening`, `nesterov` and `weight_decay`."),
    (:RMSProp, :rmsprop, "Gradients divided by the root of their running mean square: `rho`, `epsilon`, `centered`, `momentum`."),
    (:AdaGrad, :adagrad, "Gradients divided by the root of the sum of their squares: `epsilon`, `lr_decay`."),
    (:Adam, :adam, "Adam: `beta1`, `beta2`, `epsilon`, `weight_decay`; with `amsgrad = true` AMSGrad."),
    (:Shampoo, :shampoo, "Distributed Shampoo and, with `eigenvalue_corrected = true`, SOAP; docs/shampoo.md has the options."),
)

for (rule, c_name, says) in RULES
    options = Symbol(:gradstep_, c_name, :_options)
    create = Symbol(:gradstep_optimizer_create_, c_name)
    bytes = Symbol(:gradstep_, c_name, :_state_bytes)
    @eval begin
        """
            $($(string(rule)))(learning_rate; options...)

        $($says)
        """
        $rule(learning_rate; options...) =
            Rule($(string(rule)), C.$options, merge((learning_rate = learning_rate,), values(options)))
        creator(::Rule{C.$options}) = C.$create
        byte_counter(::Rule{C.$options}) = C.$bytes
        options(::typeof($rule)) = record(defaults(C.$options))
    end
end

"""Calls `f` with the arguments by which C takes the rule's options."""
with_options(f, rule::Rule) = f(Ref(rule.options))

"""
    shampoo_from_adamw(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, options...)

`Shampoo` in the place of a tuned `AdamW`, whose numbers these are: a step keeps AdamW's length, and only its direction is another
(docs/shampoo.md). `options` are those of Shampoo; with `eigenvalue_corrected = true` the rule is SOAP.
"""
shampoo_from_adamw(learning_rate; beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0, options...) =
    Shampoo(learning_rate; beta1 = beta1, beta2 = beta2, diagonal_epsilon = epsilon, weight_decay = weight_decay,
            graft_beta1 = 0, graft_beta2 = beta2, graft_type = :adam, decoupled_weight_decay = true,
            moving_average_for_momentum = true, nesterov = false, options...)

"""
    Gradstep.options(rule)

The options of a rule, such as `Adam`, with their defaults, as a named tuple. NaN: it must be given.
"""
function options end

"""What a hyper-parameter may be set to."""
const Setting = Union{Float64, Schedule, Base.RefValue{Float64}}

"""
    setup(rule, model; names, groups, context)

An `Optimizer` for the arrays of `model`: tuples, named tuples, vectors and structs of arrays, nested in any way
(`Gradstep.children` says what of a type counts). The arrays stay yours; state starts at zero.

`deepcopy(optimizer)` is an optimizer of its own, with the state, step count and hyper-parameters that the first one has
then. It cannot be made of one that is sharded.

- `names`: one for each array, by which saved state is found again. By default an array has the path to it
  (`"layers.1.weight"`), and those of a plain list `"param.0"` and so on.
- `groups`: one number from 0 on for each array, or a function of its path; each group has hyper-parameters of its own.
- `parts`: where ranks have parts of the arrays (`attach_shards!`), for each array the size of the whole and the indices of
  this rank's part in it, `((6, 10), (1:3, 1:10))`; or a function of its path.
- `context`: a `Context`; `nothing` is `default_context()`.
"""
struct Optimizer{S} <: Owner
    handle::Handle{C.gradstep_optimizer}
    schema::Schema{S}
    parameters::Tensors
    gradients::Tensors
    updates::Tensors
end

Optimizer(handle, schema) = Optimizer(handle, schema, Tensors(schema), Tensors(schema), Tensors(schema))

"""
What is known of C's optimizer: how it was made, how many arrays it has, whether its state is sharded; and its hyper-parameters
that were set since, by group (-1: all) and name. A `Ref` among them is read by C.
"""
mutable struct Kept
    rule::Rule
    context::Context
    arrays::Int
    is_sharded::Bool
    settings::Dict{Tuple{Int, String}, Setting}
end

function setup(rule::Rule, model; names = nothing, groups = nothing, parts = nothing, context = nothing)
    optimizer = created_optimizer(rule, Schema(model; names = names, groups = groups, parts = parts),
                                  context === nothing ? default_context() : context)
    for (name, schedule) in rule.schedules
        set_value!(optimizer, name, schedule)
    end
    return optimizer
end

function created_optimizer(rule, schema, context)
    handle = with_context(context) do pointer
        with_parameters(schema) do parameters, n
            with_options(rule) do options...
                created(creator(rule), C.gradstep_optimizer, "optimizer", pointer, options..., parameters, n)
            end
        end
    end
    handle.keeps = Kept(rule, context, length(schema), false, Dict())
    return Optimizer(handle, schema)
end

function Base.deepcopy_internal(optimizer::Optimizer, copies::IdDict)
    handle = optimizer.handle
    haskey(copies, handle) && return Optimizer(copies[handle], optimizer.schema)
    kept = handle.keeps
    kept.is_sharded && throw(GradstepError(
        INVALID_STATE, "optimizer: is sharded, and cannot be copied by one rank; save writes it to a file, load! reads that"))
    kept.arrays == length(optimizer.schema) || throw(superseded(kept))
    copy = created_optimizer(kept.rule, optimizer.schema, kept.context)
    copies[handle] = copy.handle
    # What was set for all groups before what was set for one.
    for ((group, name), value) in sort!(collect(kept.settings); by = first)
        own = Base.deepcopy_internal(value, copies)
        alone(pointer -> set_hyper_parameter!(pointer, copy.handle.keeps, group, name, own), copy.handle)
    end
    return copy_state!(copy, optimizer)
end

superseded(kept) = GradstepError(INVALID_ARGUMENT, string(
    "optimizer: has ", kept.arrays, " arrays since an earlier add_parameters!; use what that returned"))

Base.show(io::IO, optimizer::Optimizer) = print(
    io, "Optimizer of ", length(optimizer.schema), " arrays", isopen(optimizer) ? "" : ", closed")

"""
    add_parameters!(optimizer, model; names, groups, parts) -> Optimizer

An optimizer for `model`, whose first arrays are those that `optimizer` was made for, and the others new: their state starts at
zero, and groups that are new begin with the hyper-parameters of group 0. It takes the place of `optimizer`, which is of no more
use; both are one handle. `names`, `groups` and `parts` are those of `setup`, of all arrays. Not while the state is sharded.
"""
function add_parameters!(optimizer::Optimizer, model; names = nothing, groups = nothing, parts = nothing)
    schema, old, handle = Schema(model; names = names, groups = groups, parts = parts), optimizer.schema, optimizer.handle
    check_beginning(schema, old)
    alone(handle) do pointer
        handle.keeps.arrays == length(old) || throw(superseded(handle.keeps))
        before, after = Ref{Int32}(0), Ref{Int32}(0)
        check(C.gradstep_optimizer_group_count(pointer, before))
        with_parameters(schema) do parameters, n
            check(C.gradstep_optimizer_add_parameters(pointer, parameters[(length(old) + 1):n], n - length(old)))
        end
        handle.keeps.arrays = length(schema)
        check(C.gradstep_optimizer_group_count(pointer, after))
        # New groups have what group 0 has.
        for ((group, name), value) in collect(handle.keeps.settings), new in before[]:(after[] - 1)
            group == 0 && (handle.keeps.settings[(new, name)] = value)
        end
    end
    return Optimizer(handle, schema)
end

function check_beginning(schema, old)
    n = length(old)
    length(schema) >= n || bad_argument("model: has ", length(schema), " arrays, the optimizer ", n)
    n == 0 || schema.are_named == old.are_named || bad_argument(
        "model: its arrays have ", old.are_named ? "no " : "", "names, those of the optimizer ",
        old.are_named ? "have some" : "have none")
    for i in 1:n
        same(list) = getfield(schema, list)[i] == getfield(old, list)[i]
        axes = (schema.begins[i] + 1):schema.begins[i + 1]
        same(:begins) && same(:dtypes) && axes[end] <= length(old.shapes) && schema.shapes[axes] == old.shapes[axes] ||
            bad_argument(place("model", schema, i), ": has another size or eltype than in the optimizer")
        old.are_named && !same(:names) && bad_argument(
            place("model", i, schema.names[i]), ": is named ", old.names[i], " in the optimizer")
        same(:groups) || bad_argument(
            place("model", schema, i), ": is of group ", schema.groups[i], ", in the optimizer of group ", old.groups[i])
    end
end

"""
    state_bytes(rule, model; groups)

How many bytes of state an optimizer of these arguments holds. None are allocated.
"""
function state_bytes(rule::Rule, model; groups = nothing)
    schema = Schema(model; groups = groups)
    bytes = Ref{Int64}(0)
    with_parameters(schema) do parameters, n
        with_options((options...) -> check(byte_counter(rule)(options..., parameters, n, bytes)), rule)
    end
    return bytes[]
end

# Where gradients come from: the caller's arrays, or an accumulator or a reducer, which shows its own for the call.
struct NoSource end
enter_source(grads) = NoSource()
leave_source(::NoSource) = nothing
@inline bind_gradients!(optimizer, ::NoSource, grads) =
    bind!(optimizer.gradients, optimizer.schema, grads, GRADIENTS)

"""
    update!(optimizer, model, grads; stream = C_NULL) -> optimizer, model

Steps the arrays of `model` in place. `stream` is that of a device on which the work is queued, as a pointer; `C_NULL` is its
default stream.

`grads` has the structure of `model`, with `nothing` where there is no gradient (and in named tuples, as Zygote gives them,
names may be missing); or it is an `Accumulator` or a `Reducer`, whose result is used where it lies.
"""
function update!(optimizer::Optimizer, model, grads; stream::Ptr = C_NULL)
    Base.sigatomic_begin()
    pointer = enter(optimizer.handle)
    # A `finally` costs a seventh of a small step, and is not needed where nothing can throw: Ctrl-C is put off.
    if try_bind!(optimizer.parameters, optimizer.schema, model, PARAMETERS) &&
       try_bind!(optimizer.gradients, optimizer.schema, grads, GRADIENTS)
        status = step_bound(optimizer, pointer, model, grads, stream)
        leave(optimizer.handle)
    else
        status = try
            step_from(grads, optimizer, pointer, model, stream)
        finally
            leave(optimizer.handle)
        end
    end
    Base.sigatomic_end()
    check(status)
    return optimizer, model
end

function step_from(grads, optimizer, pointer, model, stream)
    parameters = bind!(optimizer.parameters, optimizer.schema, model, PARAMETERS)
    source = enter_source(grads)
    try
        gradients = bind_gradients!(optimizer, source, grads)
        return step_bound(optimizer, pointer, parameters, gradients, stream)
    finally
        leave_source(source)
    end
end

@inline step_bound(optimizer, pointer, parameters, gradients, stream) =
    GC.@preserve optimizer parameters gradients C.gradstep_optimizer_step(
        pointer, optimizer.parameters.tensors, optimizer.gradients.tensors, length(optimizer.schema), stream)

"""
What a step did: `applied` (false: it was skipped), `grad_norm` (before `grad_scale`; NaN where the step had no need to know
it) and `clip_coefficient` (what `max_norm` multiplied the gradients by).
"""
struct StepResult
    applied::Bool
    grad_norm::Float64
    clip_coefficient::Float64
end

"""
    step!(optimizer, model, grads; options...) -> StepResult

`update!` with options:

- `grad_scale`: multiplies every gradient;
- `max_norm`: clips the norm over all gradients; 0 = off;
- `clip_value`: then clips each element; 0 = off;
- `skip_nonfinite`: an infinity or NaN anywhere skips the whole step;
- `grad_norm`: the norm before `grad_scale`, where it is known already;
- `found_inf`: a `Vector{Float32}` of one element: non-zero skips the step, and non-finite gradients set it to 1;
- `grad_scale_tensor`: a `Vector{Float32}` of one element, a factor of `grad_scale`;
- `outcome`: a `Vector{Float64}` of four elements, into which the step writes what `StepResult` says (`applied` as 1 or 0), and
  the step count after it;
- `disjoint`: you promise that no array overlaps one that is written, and nobody looks;
- `stream`: as that of `update!`.
"""
step!(optimizer::Optimizer, model, grads; options...) = step_with(optimizer, model, grads, nothing; options...)

"""
    updates!(updates, optimizer, model, grads; options...) -> StepResult

Writes what `step!` would add to the arrays of `model` into `updates`, which has its structure, and leaves `model` as it
is. `updates` may be `grads`. Other languages call it `update`; `update!` steps here, as that of Optimisers.jl does.
"""
updates!(updates, optimizer::Optimizer, model, grads; options...) = step_with(optimizer, model, grads, updates; options...)

keywords(::Type{C.gradstep_step_options}) = (:grad_norm, :found_inf, :grad_scale_tensor, :outcome)

function step_with(optimizer, model, grads, updates; grad_norm = nothing, found_inf = nothing, grad_scale_tensor = nothing,
                   outcome = nothing, stream::Ptr = C_NULL, options...)
    norm = one_tensor(grad_norm isa Real ? [Float64(grad_norm)] : grad_norm, "grad_norm")
    found = one_tensor(found_inf, "found_inf")
    scale = one_tensor(grad_scale_tensor, "grad_scale_tensor")
    told = one_tensor(outcome, "outcome")
    result = Ref(sized(C.gradstep_step_result))
    given = with(defaults(C.gradstep_step_options), options)
    call(optimizer.handle) do pointer
        source = enter_source(grads)
        try
            parameters = bind!(optimizer.parameters, optimizer.schema, model, PARAMETERS)
            gradients = bind_gradients!(optimizer, source, grads)
            targets = updates === nothing ? nothing : bind!(optimizer.updates, optimizer.schema, updates, UPDATES)
            written = updates === nothing ? Ptr{C.gradstep_tensor}(C_NULL) : optimizer.updates.tensors
            GC.@preserve optimizer parameters gradients targets norm found scale told result begin
                fields = with(given, (:grad_norm => address_of(norm), :found_inf => address_of(found),
                                      :grad_scale_tensor => address_of(scale), :outcome => address_of(told),
                                      :result => Base.unsafe_convert(Ptr{C.gradstep_step_result}, result)))
                C.gradstep_optimizer_step_ex(pointer, optimizer.parameters.tensors, optimizer.gradients.tensors,
                                             written, length(optimizer.schema), Ref(fields), stream)
            end
        finally
            leave_source(source)
        end
    end
    return StepResult(result[].applied != 0, result[].grad_norm, result[].clip_coefficient)
end

"""
    set_value!(optimizer, name, value; group = -1)

Sets a hyper-parameter of one group, or of all groups with -1, to a number, a `Schedule` or a function of the step. A function
is kept as long as the optimizer may call it; one that is refused is not kept.
"""
function set_value!(optimizer::Optimizer, name, value; group = -1)
    setting = hyper_parameter_value(name, value)
    alone(pointer -> set_hyper_parameter!(pointer, optimizer.handle.keeps, group, string(name), setting), optimizer.handle)
    return optimizer
end

"""
    set_tensor!(optimizer, name, number; group = -1)

Lets every step read a hyper-parameter of one group, or of all groups with -1, from a `Ref{Float64}`, which may change, but is not
to be written to during a call.
"""
set_tensor!(optimizer::Optimizer, name, number::Base.RefValue{Float64}; group = -1) =
    set_value!(optimizer, name, number; group = group)

"""
    adjust!(optimizer, learning_rate; group)
    adjust!(optimizer; group, name = value, ...)

What `set_value!` does, or for a `Ref{Float64}` `set_tensor!`, for the learning rate or for several hyper-parameters, as
`adjust!` of Optimisers.jl.
"""
adjust!(optimizer::Optimizer, learning_rate; group = -1) = adjust!(optimizer; learning_rate = learning_rate, group = group)

function adjust!(optimizer::Optimizer; group = -1, changes...)
    for (name, value) in pairs(changes)
        set_value!(optimizer, name, value; group = group)
    end
    return optimizer
end

hyper_parameter_value(name, value::Real) = Float64(value)
hyper_parameter_value(name, value::Union{Schedule, Base.RefValue{Float64}}) = value
function hyper_parameter_value(name, value)
    is_schedule(value) && return as_schedule(value)
    bad_argument(name, ": is a ", typeof(value),
                 ", expected a number, a Schedule, a function of the step or a Ref{Float64}")
end

function set_hyper_parameter!(pointer, kept, group, name, value::Float64)
    check(C.gradstep_optimizer_set_value(pointer, group, name, value))
    keep!(kept, group, name, value)
end

function set_hyper_parameter!(pointer, kept, group, name, value::Schedule)
    with_schedule(schedule -> check(C.gradstep_optimizer_set_schedule(pointer, group, name, schedule)), value)
    keep!(kept, group, name, value)
end

function set_hyper_parameter!(pointer, kept, group, name, value::Base.RefValue{Float64})
    check(C.gradstep_optimizer_set_tensor(pointer, group, name, one_tensor(value)))
    keep!(kept, group, name, value)
end

"""What is set for all groups replaces what was set for one; the other way round others may still have it."""
function keep!(kept, group, name, value)
    group == -1 && filter!(each -> each[1][2] != name, kept.settings)
    kept.settings[(group, name)] = value
    return nothing
end

"""
    get_value(optimizer, name; group = 0)

The value of a hyper-parameter that the next step would use.
"""
get_value(optimizer::Optimizer, name; group = 0) =
    number((pointer, value) -> C.gradstep_optimizer_get_value(pointer, group, string(name), value),
           optimizer.handle, Float64)

"""
    step_count(optimizer)

How many steps were applied: the t of schedules and bias corrections.
"""
step_count(optimizer::Optimizer) = number(C.gradstep_optimizer_step_count, optimizer.handle, Int64)

"""
    set_step_count!(optimizer, count)

t = count >= 0.
"""
set_step_count!(optimizer::Optimizer, count::Integer) =
    call(C.gradstep_optimizer_set_step_count, optimizer.handle, count)

poll(optimizer::Optimizer) = number(C.gradstep_optimizer_poll, optimizer.handle, Int32) != 0

"""
    group_count(optimizer)

How many groups of hyper-parameters there are: one more than the largest group of an array.
"""
group_count(optimizer::Optimizer) = Int(number(C.gradstep_optimizer_group_count, optimizer.handle, Int32))

"""
    state_names(optimizer)

The names of the rule's state, for `get_state`; where there is one for each block and axis, its pattern.
"""
function state_names(optimizer::Optimizer)
    names = exclusive_text(C.gradstep_optimizer_state_names, optimizer.handle)
    return String.(split(names, ','; keepempty = false))
end

exclusive_text(f, handle::Handle) = alone(pointer -> text(f, pointer), handle)

"""
    get_state(optimizer, i, name; size)

A copy of state `name` of array i (counted from 1) of the model, shaped as the array unless the rule says else, in Float32, or
Float64 for arrays of Float64. Collective while the state is sharded.

`size`: that of the state. It is needed where the state is not of the array's own size, and is sharded, or quantized.
"""
function get_state(optimizer::Optimizer, i::Integer, name; size = nothing)
    schema = optimizer.schema
    check_index(schema, i)
    extents = size === nothing ? size_of_state(optimizer, i, string(name)) : size
    guess = extents === nothing ? reverse(schema.shapes[(schema.begins[i] + 1):schema.begins[i + 1]]) : extents
    found = Array{schema.dtypes[i] == F64 ? Float64 : Float32}(undef, guess...)
    status = alone(optimizer.handle) do pointer
        C.gradstep_optimizer_get_state(pointer, i - 1, string(name), one_tensor(found, "state"), C_NULL)
    end
    try
        check(status)
    catch error
        extents === nothing && status == INVALID_ARGUMENT && occursin("has shape", error.text) || rethrow()
        bad_argument(error.text, "; give the reverse of that: get_state(optimizer, i, name; size = (...))")
    end
    return found
end

"""
    average!(arrays, optimizer)

Writes the averages of the weights that the option `average_decay` keeps, or the rules asgd and schedule_free, to `arrays`, which
are shaped as those of the model, of any float eltype, or `nothing`. For schedule_free they hold the model's numbers when the call
begins. Returns `arrays`. Collective while the state is sharded.
"""
function average!(arrays, optimizer::Optimizer)
    tensors = C.gradstep_tensor[]
    kept = [array === nothing ? nothing : one_tensor(array, "arrays") for array in arrays]
    for one in kept
        push!(tensors, one === nothing ? zeroed_tensor : only(one.tensors.tensors))
    end
    GC.@preserve kept call(C.gradstep_optimizer_average, optimizer.handle, tensors, length(tensors), C_NULL)
    return arrays
end

"""
    average(optimizer)

The averages of the weights that `average_decay` or `average_equal` keeps: a copy for each array of the model. Collective
while the state is sharded.
"""
function average(optimizer::Optimizer)
    return map(1:length(optimizer.schema)) do i
        only(get_state(optimizer, i, "average_count"; size = (1,))) > 0 ||
            throw(GradstepError(INVALID_STATE, "average: no step was made yet"))
        get_state(optimizer, i, "average")
    end
end

"""Nothing, if the library has no view of the state, as of one that is sharded or quantized."""
function size_of_state(optimizer, i, name)
    view = Ref(zeroed(C.gradstep_tensor))
    return alone(optimizer.handle) do pointer
        status = C.gradstep_optimizer_state(pointer, i - 1, name, view)
        status == 0 ? size_of(view[]) : nothing
    end
end

"""
    set_state!(optimizer, i, name, value)

Replaces state `name` of array i (counted from 1) by an array of its size. Collective while the state is sharded.
"""
function set_state!(optimizer::Optimizer, i::Integer, name, value)
    check_index(optimizer.schema, i)
    call(C.gradstep_optimizer_set_state, optimizer.handle, i - 1, string(name), one_tensor(value, "value"), C_NULL)
end

check_index(schema, i) =
    1 <= i <= length(schema) || bad_argument("i: is ", i, ", the model has ", length(schema), " arrays")

"""
    copy_state!(destination, source)

State, step count and skip counter of `destination` become those of `source`.
"""
function copy_state!(destination::Optimizer, source::Optimizer)
    destination.handle === source.handle && return destination
    alone((to, from) -> check(C.gradstep_optimizer_copy_state(to, from)), destination.handle, source.handle)
    return destination
end

"""
    metrics(optimizer)

Numbers about the optimizer and its arrays, as named tuples `(name, parameter, block, axis, value)`; the indices are C's,
from 0 on, and -1 where one does not apply.
"""
metrics(optimizer::Optimizer) =
    alone(pointer -> records(C.gradstep_optimizer_metrics, C.gradstep_metric, pointer), optimizer.handle)

"""
    memory(optimizer)

`(state_bytes, other_bytes)` that this rank holds now.
"""
memory(optimizer::Optimizer) = statistics(C.gradstep_optimizer_memory, C.gradstep_memory, optimizer.handle)

function statistics(f, ::Type{T}, handle) where {T}
    found = Ref(sized(T))
    call(f, handle, found)
    return record(found[])
end
