# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Models: tuples, named tuples, vectors and structs of arrays, nested in any way. The library sees the list of their
# arrays. What is known of a model when a handle is made is its skeleton, in which a Leaf stands for an array.

struct Leaf
    index::Int
end

"""Names, shapes and dtypes of a model's arrays, and the skeleton by which models and gradients are walked."""
mutable struct Schema{S}
    skeleton::S
    names::Vector{String}
    shapes::Vector{Int64}
    begins::Vector{Int} # of array i in shapes: begins[i] + 1 to begins[i + 1]
    dtypes::Vector{C.gradstep_dtype}
    devices::Vector{C.gradstep_device}
    groups::Vector{Int32}
    flags::Vector{UInt32}
    are_named::Bool
    wholes::Vector{Int64} # as shapes, of the wholes that arrays are parts of; empty: all arrays are whole
    offsets::Vector{Int64}
end

Base.length(schema::Schema) = length(schema.dtypes)

Tensors(schema::Schema) = Tensors(length(schema), length(schema.shapes))

"""
    Gradstep.children(x)

What of `x` holds arrays, as a tuple, named tuple or vector; `nothing` if there are none in it. By default the fields of a
struct. Define it for a type of yours where that is not so.
"""
children(x::Union{Tuple, NamedTuple, AbstractVector}) = x
children(x::Union{Number, AbstractString, Symbol, Function, Module, Type, Nothing, Missing}) = nothing
children(x::AbstractDict) = bad_argument("model: has a ", typeof(x), ", whose order is not fixed; use a NamedTuple")
@generated function children(x::T) where {T}
    isstructtype(T) && fieldcount(T) > 0 || return nothing
    types = Tuple{(fieldtype(T, i) for i in 1:fieldcount(T))...} # as declared: the compiler knows what comes out
    fields = (:(getfield(x, $i)) for i in 1:fieldcount(T))
    return :(NamedTuple{$(fieldnames(T)), $types}(($(fields...),)))
end

struct Found
    array::AbstractArray
    path::String
end

"""
Functions of a struct, each of which gives the fields that are trained, as a named tuple, or `()`. Extensions add theirs; a
field is trained if all have its name.
"""
const TRAINED = Any[]

names_of(x, found::NamedTuple) = keys(found)
names_of(x, found::Tuple{}) = ()
names_of(x, found) = bad_argument("model: the children of a ", typeof(x), " are a ", typeof(found), ", expected a NamedTuple")

"""The fields of the struct `x`, with `nothing` in the place of those that are not trained."""
function trained(x, fields::NamedTuple)
    (isempty(TRAINED) || x isa NamedTuple || keys(fields) != fieldnames(typeof(x))) && return fields
    kept = [names_of(x, children_of(x)) for children_of in TRAINED]
    return NamedTuple{keys(fields)}(Tuple([all(names -> name in names, kept) ? value : nothing for (name, value) in pairs(fields)]))
end

joined(path, name) = isempty(path) ? string(name) : string(path, ".", name)

"""The skeleton of `x`, which lies in each of `around`; its arrays are added to `found`."""
function skeleton(array::AbstractArray{<:Number}, found, path, around)
    eltype(array) <: Integer && !isempty(path) && return nothing # indices or a mask, say, which are not trained
    push!(found, Found(array, path))
    return Leaf(length(found))
end
function skeleton(x, found, path, around)
    inner = children(x)
    inner === nothing && return nothing
    any(each -> each === x, around) && bad_argument("model: ", isempty(path) ? "" : path * " ", "is a ", typeof(x), " that contains itself")
    push!(around, x)
    tree = if inner isa NamedTuple
        NamedTuple{keys(inner)}(
            Tuple([skeleton(value, found, joined(path, name), around) for (name, value) in pairs(trained(x, inner))]))
    else
        each = [skeleton(value, found, joined(path, i), around) for (i, value) in enumerate(inner)]
        inner isa Tuple ? Tuple(each) : each
    end
    pop!(around)
    return tree
end

"""Refuses a model of which `deepcopy` would step the caller's own memory."""
function check_copyable(model)
    found = Found[]
    skeleton(model, found, "", [])
    for (i, each) in enumerate(found)
        is_by_address(each.array) && bad_argument(
            place("model", i, each.path), ": is a ", typeof(each.array), ", whose memory cannot be copied; use update!")
    end
end

is_flat(skeleton) = skeleton isa Leaf || (!(skeleton isa NamedTuple) && skeleton !== nothing && all(is_leaf, skeleton))
is_leaf(x) = x isa Leaf

function Schema(model; names = nothing, groups = nothing, may_be_unused = false, parts = nothing)
    found = Found[]
    tree = skeleton(model, found, "", [])
    n = length(found)
    shapes, begins = Int64[], [0]
    for (i, each) in enumerate(found)
        argument = place("model", i, each.path)
        check_layout(each.array, argument)
        is_float(dtype(eltype(each.array))) || bad_argument(
            argument, ": eltype is ", eltype(each.array), ", expected Float16, Float32 or Float64")
        append!(shapes, reverse(size(each.array)))
        push!(begins, length(shapes))
    end
    paths = String[each.path for each in found]
    return Schema(tree, names === nothing ? paths : entries("names", String, names, n, paths), shapes, begins,
                  C.gradstep_dtype[dtype(eltype(each.array)) for each in found],
                  C.gradstep_device[device_of(each.array) for each in found],
                  groups === nothing ? zeros(Int32, n) : entries("groups", Int32, groups, n, paths),
                  may_be_unused isa Bool ? fill(UInt32(may_be_unused), n) :
                  UInt32.(entries("may_be_unused", Bool, may_be_unused, n, paths)),
                  names !== nothing || !is_flat(tree), parts_of(parts, found, paths)...)
end

"""The shapes of wholes and where parts begin in them, in C's order of axes."""
function parts_of(parts, found, paths)
    wholes, offsets = Int64[], Int64[]
    parts === nothing && return wholes, offsets
    for (i, part) in enumerate(entries("parts", Tuple, parts, length(found), paths))
        whole, indices = part
        array = found[i].array
        all(each -> each isa AbstractUnitRange, indices) && length(whole) == length(indices) == ndims(array) && map(length, indices) == size(array) || bad_argument(
            "parts[", i, "]: has indices ", indices, " of a whole of ", whole, " for an array of ", size(array))
        append!(wholes, reverse(whole))
        append!(offsets, reverse(map(each -> first(each) - 1, indices)))
    end
    return wholes, offsets
end

"""What a caller gives for every array: a list, or a function of its path."""
function entries(argument, ::Type{T}, given, n, paths) where {T}
    found = given isa Function ? map(given, paths) : collect(given)
    length(found) == n || bad_argument(argument, ": ", length(found), " entries, expected ", n, ", one of each array")
    return T[converted(T, string(argument, "[", i, "]"), each) for (i, each) in enumerate(found)]
end

converted(::Type{String}, name, value::Union{AbstractString, Symbol}) = String(value)
converted(::Type{Tuple}, name, value::Tuple{Tuple, Tuple}) = value

"""`f(parameters, n)` with the schema as C has it."""
function with_parameters(f, schema::Schema)
    n = length(schema)
    any(name -> '\0' in name, schema.names) && bad_argument("names: one has a NUL in it")
    GC.@preserve schema begin
        parameters = C.gradstep_parameter[C.gradstep_parameter(
            sizeof(C.gradstep_parameter), schema.flags[i],
            schema.are_named ? pointer(schema.names[i]) : Ptr{UInt8}(C_NULL), shape_of(schema, i),
            schema.begins[i + 1] - schema.begins[i], schema.groups[i], schema.dtypes[i], schema.devices[i], 0,
            numbers_of(schema.wholes, schema, i), numbers_of(schema.offsets, schema, i)) for i in 1:n]
        f(parameters, n)
    end
end

@inline shape_of(schema, i) = pointer(schema.shapes) + sizeof(Int64) * schema.begins[i]
numbers_of(list, schema, i) = isempty(list) ? Ptr{Int64}(C_NULL) : pointer(list) + sizeof(Int64) * schema.begins[i]

place(argument, i, path) = isempty(path) || path == string(i) ? string(argument, "[", i, "]") :
                           string(argument, "[", i, "] (", path, ")")
@noinline place(argument, schema::Schema, i) = place(argument, i, schema.names[i])

# Walking: values hang on the skeleton as the arrays did on the model. `role` says what they are.

"""What a value is to the schema: an array of the model, of its size and dtype, or a gradient of it."""
mutable struct Role
    argument::String
    is_optional::Bool # nothing is no gradient
    is_exact::Bool # the model's own eltype, else any float
    is_written::Bool # else a copy will do
    bound::Vector{Any} # arrays whose tensors were filled
end

Role(argument, is_optional, is_exact, is_written) = Role(argument, is_optional, is_exact, is_written, [])

const PARAMETERS = Role("model", false, true, true)
const GRADIENTS = Role("grads", true, false, false)
const RESULTS = Role("results", true, false, true)
const UPDATES = Role("updates", false, true, true)

"""
Fills `tensors` with the arrays of `values`, or of the part of it that `tree` is a skeleton of. Returns these arrays, which
the caller keeps while C uses them: `children`, a vector of arrays, or a copy may have made them just now.
"""
@inline function bind!(tensors::Tensors, schema::Schema, values, role::Role, tree = schema.skeleton)
    bound = sizehint!([], length(schema))
    walk!(tensors, schema, tree, values, Role(role.argument, role.is_optional, role.is_exact, role.is_written, bound))
    return bound
end

# A walk must cost little more than one over a list of arrays. So nothing is passed whose size a call of a function unknown to
# the compiler would have to copy to the heap (schemas, tensors and roles are mutable for that), and tuples are walked by
# code with a line for each entry: recursion gives up being inferred at 16 entries.

walk!(tensors, schema, ::Nothing, values, role) = nothing

@inline function walk!(tensors, schema, leaf::Leaf, values, role)
    if values isa AbstractArray
        bind_array!(tensors, schema, leaf.index, values, role)
    else
        role.is_optional && (values === nothing || values === missing) || refuse_value(schema, leaf, values, role)
        absent!(tensors, leaf.index)
    end
    return nothing
end

@noinline refuse_value(schema, leaf, values, role) =
    bad_argument(place(role.argument, schema, leaf.index), ": is a ", typeof(values), ", expected an array")

const Absent = Union{Nothing, Missing}

"""Lines that walk entry i of `tree` with what `value_of(i)` says."""
walks(tree, value_of) =
    [:(walk_entry!(tensors, schema, getfield(tree, $i), $(value_of(i)), role)) for i in 1:fieldcount(tree)]

walk!(tensors, schema, tree::Tuple, ::Absent, role) = walk_absent!(tensors, schema, tree, role)
walk!(tensors, schema, tree::NamedTuple, ::Absent, role) = walk_absent!(tensors, schema, tree, role)

# Calls, not copies, or a model of a hundred layers takes the compiler minutes.
@noinline walk_entry!(tensors, schema, tree, values, role) = walk!(tensors, schema, tree, values, role)
@noinline try_walk_entry!(tensors, schema, tree, values, role) = try_walk!(tensors, schema, tree, values, role)

@generated walk_absent!(tensors, schema, tree, role) = Expr(:block, walks(tree, i -> nothing)..., nothing)

@generated function walk!(tensors, schema, tree::Tuple, values::Tuple, role)
    fieldcount(tree) == fieldcount(values) || return :(refuse_length(tree, values, role))
    return Expr(:block, walks(tree, i -> :(getfield(values, $i)))..., nothing)
end

@generated function walk!(tensors, schema, tree::NamedTuple, values::NamedTuple, role)
    for name in fieldnames(values)
        name in fieldnames(tree) || return :(refuse_name($(QuoteNode(name)), role))
    end
    value_of(i) = fieldname(tree, i) in fieldnames(values) ? :(getfield(values, $(QuoteNode(fieldname(tree, i))))) : nothing
    return Expr(:block, walks(tree, value_of)..., nothing)
end

@noinline refuse_name(name, role) = bad_argument(role.argument, ": has a ", name, ", the model has none")

@inline function walk!(tensors, schema, tree::NamedTuple, values, role)
    inner = children(values)
    inner isa Union{NamedTuple, Nothing} || refuse_fields(tree, values, role)
    return walk!(tensors, schema, tree, inner, role)
end

@noinline refuse_fields(tree, values, role) =
    bad_argument(role.argument, ": has a ", typeof(values), " where the model has fields ", join(keys(tree), ", "))

walk!(tensors, schema, tree::AbstractVector, ::Absent, role) =
    foreach(each -> walk!(tensors, schema, each, nothing, role), tree)

function walk!(tensors, schema, tree::Union{Tuple, AbstractVector}, values, role)
    inner = values isa Union{Tuple, AbstractVector} ? values : children(values)
    inner isa Union{Tuple, AbstractVector} || refuse_list(tree, values, role)
    length(tree) == length(inner) || refuse_length(tree, inner, role)
    for (each, value) in zip(tree, inner)
        walk!(tensors, schema, each, value, role)
    end
    return nothing
end

@noinline refuse_list(tree, values, role) =
    bad_argument(role.argument, ": has a ", typeof(values), " where the model has a list of ", length(tree))

@noinline refuse_length(tree, values, role) =
    bad_argument(role.argument, ": ", length(values), " entries, the model has ", length(tree))

@inline function bind_array!(tensors, schema, i, array::AbstractArray, role)
    has_size(schema, i, array) || refuse_size(schema, i, array, role)
    has_dtype(schema, i, array, role) || refuse_dtype(schema, i, array, role)
    is_strided(array) || return bind_copy!(tensors, schema, i, array, role)
    push!(role.bound, array)
    show!(tensors, i, array, shape_of(schema, i), schema.begins[i])
    return nothing
end

"""A gradient without addresses, an adjoint say, is copied."""
@noinline function bind_copy!(tensors, schema, i, array, role)
    (role.is_written || is_by_address(array)) && check_layout(array, place(role.argument, schema, i))
    return bind_array!(tensors, schema, i, collect(array), role)
end

@inline function has_size(schema, i, array::AbstractArray{T, N}) where {T, N}
    begins = schema.begins[i]
    fits = schema.begins[i + 1] - begins == N
    for axis in 1:N
        fits = fits && schema.shapes[begins + N + 1 - axis] == size(array, axis)
    end
    return fits
end

@inline function has_dtype(schema, i, ::AbstractArray{T}, role) where {T}
    type, expected = dtype(T), schema.dtypes[i]
    return role.is_exact ? type == expected : is_float(type) && (type != F64 || expected == F64)
end

"""`bind!` of arrays in tuples, which does not throw: false, if `values` are something else, or do not fit."""
@inline try_bind!(tensors, schema, values, role) = try_walk!(tensors, schema, schema.skeleton, values, role)

@inline function try_walk!(tensors, schema, leaf::Leaf, array::Array, role)
    i = leaf.index
    has_size(schema, i, array) && has_dtype(schema, i, array, role) || return false
    show!(tensors, i, array, shape_of(schema, i), schema.begins[i])
    return true
end
@generated function try_walk!(tensors, schema, tree::Tuple, values::Tuple, role)
    fieldcount(tree) == fieldcount(values) || return false
    walks = [:(try_walk_entry!(tensors, schema, getfield(tree, $i), getfield(values, $i), role) || return false)
             for i in 1:fieldcount(tree)]
    return Expr(:block, walks..., true)
end
try_walk!(tensors, schema, tree, values, role) = false

@noinline function refuse_size(schema, i, array, role)
    expected = Tuple(reverse(schema.shapes[(schema.begins[i] + 1):schema.begins[i + 1]]))
    bad_argument(place(role.argument, schema, i), ": size is ", size(array), ", expected ", expected)
end

@noinline function refuse_dtype(schema, i, array, role)
    own = get(JULIA_TYPES, schema.dtypes[i], "bfloat16")
    bad_argument(place(role.argument, schema, i), ": eltype is ", eltype(array), ", expected ",
                 role.is_exact ? own : own === Float64 ? "a float" : "a float of at most 32 bits")
end
