# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

using Serialization: Serialization, AbstractSerializer

"""
A C handle: used by one call at a time, and destroyed once, by `close` or by the garbage collector.

`state` is a bit BUSY while a call has the handle for itself, a bit CLOSED, and VISITOR times the calls that may come
during another one. The last to leave a closed handle destroys it, so that no pointer is used after its end. Everything is
done with atomic operations alone: finalizers may run at any point of any thread, and destroying waits for nothing.
"""
mutable struct Handle{T}
    pointer::Ptr{T}
    state::Threads.Atomic{Int}
    what::String
    keeps::Any # what C borrows as long as the handle is there
    function Handle(pointer::Ptr{T}, what) where {T}
        handle = new{T}(pointer, Threads.Atomic{Int}(0), what, nothing)
        finalizer(close, handle)
        return handle
    end
end

const BUSY = 1
const CLOSED = 2
const VISITOR = 4

destroy(pointer::Ptr{C.gradstep_context}) = C.gradstep_context_destroy(pointer)
destroy(pointer::Ptr{C.gradstep_optimizer}) = C.gradstep_optimizer_destroy(pointer)
destroy(pointer::Ptr{C.gradstep_accumulator}) = C.gradstep_accumulator_destroy(pointer)
destroy(pointer::Ptr{C.gradstep_comm}) = C.gradstep_comm_destroy(pointer)
destroy(pointer::Ptr{C.gradstep_reducer}) = C.gradstep_reducer_destroy(pointer)
destroy(pointer::Ptr{C.gradstep_updater}) = C.gradstep_updater_destroy(pointer)

# Ctrl-C. Julia throws InterruptException at safepoints, also those between Julia and C: there it would leave a handle busy,
# lose what C has just made, or jump over C's own frames. So it is put off from before a handle is taken until it is given
# back (Base.sigatomic_begin and _end, which throws what has come meanwhile; an exception undoes a begin by itself), and
# `answer` lets it through while a function of the caller's runs. That takes back one begin: no call is made between
# another one's begin and end.

"""Takes the handle for a call: `bit` BUSY for one that must be alone, VISITOR for one that need not."""
@inline function enter(handle::Handle, bit::Int = BUSY)
    while true
        state = handle.state[]
        state & CLOSED != 0 && refuse(handle, "is closed")
        bit == BUSY && state & BUSY != 0 && refuse(handle, "is in use by another call")
        Threads.atomic_cas!(handle.state, state, state + bit) == state && return handle.pointer
    end
end

@inline function leave(handle::Handle, bit::Int = BUSY)
    Threads.atomic_sub!(handle.state, bit) - bit == CLOSED && destroy(handle.pointer)
    return nothing
end

@noinline refuse(handle, why) = throw(GradstepError(INVALID_STATE, string(handle.what, ": ", why)))

"""
    close(handle)

Gives the handle up at once; calls that are running finish first. Closing again does nothing, and the garbage collector
closes what nobody refers to.
"""
function Base.close(handle::Handle)
    Base.sigatomic_begin()
    Threads.atomic_or!(handle.state, CLOSED) == 0 && destroy(handle.pointer)
    Base.sigatomic_end()
    return nothing
end

Base.isopen(handle::Handle) = handle.state[] & CLOSED == 0

"""`f(pointer)` while nobody else uses the handle."""
@inline function alone(f, handle::Handle)
    Base.sigatomic_begin()
    pointer = enter(handle)
    result = try
        GC.@preserve handle f(pointer)
    finally
        leave(handle)
    end
    Base.sigatomic_end()
    return result
end

"""
`f(pointers...)` while this call has all of the handles, in the order in which they are given: for itself, or those in a
`Visit` beside other calls. `nothing` is a null pointer.
"""
function alone(f, handles...)
    Base.sigatomic_begin()
    result = holding(f, (), handles...)
    Base.sigatomic_end()
    return result
end

struct Visit{T}
    handle::Handle{T}
end

holding(f, pointers) = f(pointers...)
holding(f, pointers, ::Nothing, others...) = holding(f, (pointers..., C_NULL), others...)
holding(f, pointers, handle::Handle, others...) = holding(f, pointers, handle, BUSY, others...)
holding(f, pointers, visit::Visit, others...) = holding(f, pointers, visit.handle, VISITOR, others...)
function holding(f, pointers, handle::Handle, bit::Int, others...)
    pointer = enter(handle, bit)
    try
        return GC.@preserve handle holding(f, (pointers..., pointer), others...)
    finally
        leave(handle, bit)
    end
end

"""Calls `f(pointer, arguments...)`, which returns a status, while nobody else uses the handle."""
@inline call(f, handle::Handle, arguments...) = check(alone(pointer -> f(pointer, arguments...), handle))

"""The number that `f(pointer, result)` writes."""
@inline function number(f, handle::Handle, ::Type{T}) where {T}
    result = Ref{T}()
    call(f, handle, result)
    return result[]
end

"""The handle that `f(arguments..., out)` creates. Called where Ctrl-C is put off, or what was made could be lost."""
function created(f, ::Type{T}, what, arguments...) where {T}
    out = Ref{Ptr{T}}(C_NULL)
    check(f(arguments..., out))
    return Handle(out[], what)
end

"""The text that `f(arguments..., buffer, capacity, length)` writes."""
function text(f, arguments...)
    length = Ref{Csize_t}(0)
    check(f(arguments..., C_NULL, 0, length))
    buffer = Vector{UInt8}(undef, length[])
    check(f(arguments..., buffer, length[], length))
    return String(resize!(buffer, length[] - 1))
end

# A copy of the pointer would be an alias, and point nowhere once the handle is closed.
Base.deepcopy_internal(handle::Handle, ::IdDict) = throw(not_copied(handle))
Serialization.serialize(::AbstractSerializer, handle::Handle) = throw(not_copied(handle))

not_copied(handle) = GradstepError(INVALID_STATE, string(
    handle.what, ": is a handle of the C library, which can be neither copied nor serialized", where_else(handle.pointer)))

where_else(::Ptr) = "; make another one"
where_else(::Ptr{C.gradstep_optimizer}) = "; deepcopy copies an Optimizer, save writes it to a file or an IO for load!"
where_else(::Ptr{<:Union{C.gradstep_accumulator, C.gradstep_reducer, C.gradstep_updater}}) =
    "; save writes what it holds to a file or an IO, load! reads that into another one"

"""Anything with a field `handle`."""
abstract type Owner end

Base.close(owner::Owner) = close(owner.handle)
Base.isopen(owner::Owner) = isopen(owner.handle)
