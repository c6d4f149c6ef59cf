# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Keywords as fields of the C library's structs.

"""A zeroed C struct."""
zeroed(::Type{T}) where {T} = only(reinterpret(T, zeros(UInt8, sizeof(T))))

"""A zeroed C struct with its size in `struct_size`."""
sized(::Type{T}) where {T} = with(zeroed(T), (:struct_size => UInt32(sizeof(T)),))

"""The options struct T with the library's defaults."""
function defaults(::Type{T}) where {T}
    init = getfield(C, T === C.gradstep_schedule ? :gradstep_schedule_init : Symbol(nameof(T), :_init))
    options = Ref(zeroed(T))
    check(init(options, sizeof(T)))
    return options[]
end

"""The struct with some fields replaced, by pairs of a name and what a keyword may be."""
function with(struct_::T, fields) where {T}
    values = Any[getfield(struct_, i) for i in 1:fieldcount(T)]
    for (name, value) in pairs_of(fields)
        values[field_index(T, name)] = field_value(T, name, value)
    end
    return T(values...)
end

pairs_of(fields::Union{NamedTuple, Base.Iterators.Pairs}) = pairs(fields)
pairs_of(fields) = fields

# Fields that are pointers are set by this package alone, some of them by keywords of another type.
is_given(::Type{T}, name) where {T} = is_option(name) && !(fieldtype(T, name) <: Ptr) || name in keywords(T)
keywords(::Type) = ()

is_option(name) = name !== :struct_size && !startswith(string(name), "reserved")

function field_index(::Type{T}, name) where {T}
    index = findfirst(==(name), fieldnames(T))
    return index === nothing ? unknown_option(T, name) : index
end

@noinline unknown_option(::Type{T}, name) where {T} = bad_argument(
    "unknown option ", name, "; known: ", join(filter(each -> is_given(T, each), fieldnames(T)), ", "))

function field_value(::Type{T}, name, value) where {T}
    words = get(C.FIELD_WORDS, (T, name), nothing)
    words isa NamedTuple && return enum_value(words, name, value)
    words === Bool && !(value isa Bool) && bad_argument(name, ": ", repr(value), " is no Bool")
    fieldtype(T, field_index(T, name)) <: Ptr && !(value isa Ptr) && unknown_option(T, name)
    return converted(fieldtype(T, field_index(T, name)), name, value)
end

converted(::Type{F}, name, value::F) where {F} = value
converted(::Type{Float64}, name, value::Real) = Float64(value)
function converted(::Type{F}, name, value::Integer) where {F <: Integer}
    typemin(F) <= value <= typemax(F) || bad_argument(name, ": ", value, " is out of range")
    return F(value)
end
converted(::Type{F}, name, value) where {F} = bad_argument(name, ": ", repr(value), " is no ", F)

enum_value(words, name, value::Int32) = value # a number of C itself
function enum_value(words, name, value)
    word = Symbol(value)
    haskey(words, word) || bad_argument(name, ": ", repr(value), " is unknown; known: ", join(keys(words), ", "))
    return words[word]
end

"""The name of an enum's number."""
function enum_name(words, number)
    index = findfirst(==(number), values(words))
    return index === nothing ? Symbol(number) : keys(words)[index]
end

"""
A result struct as a named tuple: enums by name, bools as Bool, texts as String, without `struct_size` and what is
reserved.
"""
function record(struct_::T) where {T}
    names = filter(is_option, fieldnames(T))
    return NamedTuple{names}(map(name -> shown_field(T, name, getfield(struct_, name)), names))
end

function shown_field(::Type{T}, name, value) where {T}
    words = get(C.FIELD_WORDS, (T, name), nothing)
    words isa NamedTuple && return enum_name(words, value)
    words === Bool && return value != 0
    value isa Ptr{UInt8} && return value == C_NULL ? nothing : unsafe_string(value)
    value isa NTuple{N, UInt8} where {N} && return String(UInt8[byte for byte in Iterators.takewhile(!=(0), value)])
    return value
end

"""The records that `f(arguments..., records, record_size, capacity, count)` writes, as named tuples."""
function records(f, ::Type{T}, arguments...) where {T}
    count = Ref{Csize_t}(0)
    check(f(arguments..., C_NULL, sizeof(T), 0, count))
    found = fill(sized(T), count[])
    check(f(arguments..., found, sizeof(T), length(found), count))
    return map(record, found)
end

"""Seconds as the library's milliseconds."""
function milliseconds(name, seconds)
    seconds isa Real && 0 < seconds < 9e15 || bad_argument(name, ": ", repr(seconds), " is no positive number of seconds")
    return max(Int64(1), round(Int64, seconds * 1000))
end
