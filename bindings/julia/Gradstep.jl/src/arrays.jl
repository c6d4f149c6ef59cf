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

"""
    Gradstep.Tensor{T}(address, size; device = :cpu, device_id = 0, strides = those of an Array)

An array by its address, for memory that Julia has no `Array` of: that of a CUDA device, say. It stands wherever an array
does in models and gradients. The caller keeps the memory until the work that a call queued on its `stream` is done; on
the CPU that is when the call returns.

- `T`: `Float16`, `Float32`, `Float64`, or a type with a `Gradstep.dtype`;
- `address`: a `Ptr`, or an integer, of the first element;
- `size` and `strides`: in elements, in Julia's order of axes;
- `device`: `:cpu`, `:cuda` or `:cuda_host`, and its number `device_id`.
"""
struct Tensor{T, N} <: AbstractArray{T, N}
    address::Ptr{T}
    size::NTuple{N, Int}
    strides::NTuple{N, Int}
    device::C.gradstep_device
end

function Tensor{T}(address::Union{Ptr, Integer}, size::Tuple{Vararg{Integer, N}};
                   device = :cpu, device_id = 0, strides = Base.size_to_strides(1, size...)) where {T, N}
    dtype(T) == NO_DTYPE && bad_argument("T: is ", T, ", expected a type that has a Gradstep.dtype")
    all(extent -> extent >= 0, size) || bad_argument("size: is ", size, ", expected extents from 0 on")
    length(strides) == N || bad_argument("strides: has ", length(strides), " entries, expected ", N, ", one of each axis")
    known = (:cpu, :cuda, :cuda_host)
    device in known || bad_argument("device: is ", repr(device), ", expected one of ", join(known, ", "))
    place = C.gradstep_device(getfield(C.gradstep_device_type, device), device_id)
    return Tensor{T, N}(Ptr{T}(UInt(address)), Int.(size), Int.(strides), place)
end

Base.size(tensor::Tensor) = tensor.size
Base.strides(tensor::Tensor) = tensor.strides
Base.stride(tensor::Tensor, axis::Integer) = tensor.strides[axis]
Base.unsafe_convert(::Type{Ptr{T}}, tensor::Tensor{T}) where {T} = tensor.address
Base.show(io::IO, tensor::Tensor) =
    print(io, "Gradstep.Tensor{", eltype(tensor), "}(", repr(UInt(tensor.address)), ", ", tensor.size, ")")
Base.show(io::IO, ::MIME"text/plain", tensor::Tensor) = show(io, tensor) # and no elements, which a device may have

device_of(::AbstractArray) = CPU
device_of(tensor::Tensor) = tensor.device
device_of(array::PermutedDimsArray) = device_of(parent(array))

"""Whether the elements are those of a Tensor, which Julia can neither read nor copy."""
is_by_address(::Tensor) = true
is_by_address(array) = parent(array) !== array && is_by_address(parent(array))

"""Whether the elements are at an address, at fixed distances."""
is_strided(::Union{Array, Tensor}) = true
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
    @inbounds tensors.tensors[i] = C.gradstep_tensor(data, device_of(array), N, dtype(T), shape, steps, 0)
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
    tensor.device.device_type == C.gradstep_device_type.cuda && throw(GradstepError(
        UNSUPPORTED, "the result is on CUDA device $(tensor.device.device_id); this package copies what is in the host's memory"))
    array = Array{JULIA_TYPES[tensor.dtype]}(undef, shape...)
    GC.@preserve array unsafe_copyto!(pointer(array), Ptr{eltype(array)}(tensor.data), length(array))
    return array
end
