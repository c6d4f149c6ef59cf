# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Arrays of Julia as tensors of C, where they lie.
#
# Julia's first axis is the one whose elements lie side by side, C's the last: an array of size (m, n) is a tensor of
# shape (n, m). So compact arrays are compact tensors, and a column of Julia is a row of C.

const CPU = C.gradstep_device(C.gradstep_device_type.cpu, 0)

const F16 = C.gradstep_dtype(C.gradstep_type_code.float, 16, 1)
const F32 = C.gradstep_dtype(C.gradstep_type_code.float, 32, 1)
const F64 = C.gradstep_dtype(C.gradstep_type_code.float, 64, 1)
const BF16 = C.gradstep_dtype(C.gradstep_type_code.bfloat, 16, 1)
const I32 = C.gradstep_dtype(C.gradstep_type_code.int, 32, 1)
const I64 = C.gradstep_dtype(C.gradstep_type_code.int, 64, 1)
const NO_DTYPE = C.gradstep_dtype(0, 0, 0)

"""
    Gradstep.dtype(T)

What the C library calls the elements of type `T`. Define `Gradstep.dtype(::Type{T}) = Gradstep.BF16` for a type of yours
that has the bits of a bfloat16.
"""
dtype(::Type) = NO_DTYPE
dtype(::Type{Float16}) = F16
dtype(::Type{Float32}) = F32
dtype(::Type{Float64}) = F64
dtype(::Type{Int32}) = I32
dtype(::Type{Int64}) = I64
@static if isdefined(Core, :BFloat16)
    dtype(::Type{Core.BFloat16}) = BF16
end

is_float(type::C.gradstep_dtype) =
    type.code == C.gradstep_type_code.float || type.code == C.gradstep_type_code.bfloat

"""Whether the elements are in memory of the host, at fixed distances."""
is_strided(::Array) = true
is_strided(array::Union{SubArray, Base.ReshapedArray, Base.ReinterpretArray}) =
    array isa StridedArray && is_strided(parent(array))
is_strided(array::PermutedDimsArray) = is_strided(parent(array))
is_strided(array) = false

is_compact(::Array) = true
function is_compact(array)
    expected = 1
    for (extent, stride) in zip(size(array), strides(array))
        extent == 1 || stride == expected || return false
        expected *= extent
    end
    return true
end

"""
Tensors for C, in memory that stays where it is: every call on a handle fills the same ones.

`strides` has room for every axis; tensors point into it, and to the schema's shapes.
"""
mutable struct Tensors
    tensors::Vector{C.gradstep_tensor}
    strides::Vector{Int64}
end

Tensors(n::Integer, axes::Integer) = Tensors(fill(zeroed(C.gradstep_tensor), n), zeros(Int64, axes))

Base.length(tensors::Tensors) = length(tensors.tensors)

"""Writes tensor i: `array`, whose shape stands at `shape`; its strides, if it needs any, go behind `axes`."""
@inline function show!(tensors::Tensors, i, array::AbstractArray{T, N}, shape::Ptr{Int64}, axes) where {T, N}
    steps = Ptr{Int64}(C_NULL)
    if !is_compact(array)
        for axis in 1:N
            tensors.strides[axes + N + 1 - axis] = stride(array, axis)
        end
        steps = pointer(tensors.strides, axes + 1)
    end
    data = Ptr{Cvoid}(pointer(array))
    @inbounds tensors.tensors[i] = C.gradstep_tensor(data, CPU, N, dtype(T), shape, steps, 0)
    return nothing
end

absent!(tensors::Tensors, i) = @inbounds tensors.tensors[i] = zeroed_tensor
const zeroed_tensor = C.gradstep_tensor(C_NULL, C.gradstep_device(0, 0), 0, NO_DTYPE, C_NULL, C_NULL, 0)

@noinline function check_layout(array, argument)
    is_strided(array) || bad_argument(
        argument, ": is a ", typeof(array), ", expected an Array or a strided view of one; copy it, by collect say")
end

"""One array of any dtype that C knows, or one number in memory, as a tensor, which is valid as long as this is kept."""
struct OneTensor
    tensors::Tensors
    shape::Vector{Int64}
    memory::Union{AbstractArray, Base.RefValue{Float64}}
end

function one_tensor(array, argument)
    array isa AbstractArray || bad_argument(argument, ": is a ", typeof(array), ", expected an array")
    check_layout(array, argument)
    dtype(eltype(array)) == NO_DTYPE && bad_argument(
        argument, ": eltype is ", eltype(array), ", expected one of Float16, Float32, Float64, Int32, Int64")
    one = OneTensor(Tensors(1, ndims(array)), collect(Int64, reverse(size(array))), array)
    show!(one.tensors, 1, array, pointer(one.shape), 0)
    return one
end

one_tensor(::Nothing, argument) = nothing

function one_tensor(number::Base.RefValue{Float64})
    one = OneTensor(Tensors(1, 0), Int64[1], number)
    data = Ptr{Cvoid}(Base.unsafe_convert(Ptr{Float64}, number))
    one.tensors.tensors[1] = C.gradstep_tensor(data, CPU, 1, F64, pointer(one.shape), C_NULL, 0)
    return one
end

Base.cconvert(::Type{Ptr{C.gradstep_tensor}}, one::OneTensor) = one
Base.unsafe_convert(::Type{Ptr{C.gradstep_tensor}}, one::OneTensor) = pointer(one.tensors.tensors)

address_of(one::OneTensor) = pointer(one.tensors.tensors)
address_of(::Nothing) = Ptr{C.gradstep_tensor}(C_NULL)

const JULIA_TYPES = Dict(F16 => Float16, F32 => Float32, F64 => Float64)

"""The size in Julia of what a tensor of the library's shows."""
size_of(tensor::C.gradstep_tensor) = reverse([unsafe_load(tensor.shape, axis) for axis in 1:tensor.ndim])

"""A copy of what a tensor of the library's shows; `nothing` where it shows nothing."""
function copied(tensor::C.gradstep_tensor)
    shape = size_of(tensor)
    tensor.data == C_NULL && prod(shape) != 0 && return nothing
    array = Array{JULIA_TYPES[tensor.dtype]}(undef, shape...)
    GC.@preserve array unsafe_copyto!(pointer(array), Ptr{eltype(array)}(tensor.data), length(array))
    return array
end
