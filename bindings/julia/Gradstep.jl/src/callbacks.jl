# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Functions of Julia that C calls. C gets a `Root` as its `user` and gives it back in every call.

"""What C may call into, kept alive until C has called `release` for it."""
mutable struct Root
    value::Any
    released::Int32
end

const ROOTS = Root[]
const ROOTS_LOCK = ReentrantLock()

"""A pointer for C that stands for `value` until C releases it."""
function rooted(value)
    root = Root(value, 0)
    lock(ROOTS_LOCK) do
        filter!(each -> each.released == 0, ROOTS)
        push!(ROOTS, root)
    end
    return pointer_from_objref(root)
end

"""How many values C holds. Forgets those that it has released."""
kept_for_c() = lock(() -> length(filter!(each -> each.released == 0, ROOTS)), ROOTS_LOCK)

# May be called by a finalizer, that is at any point: it takes no lock and allocates nothing.
release(user::Ptr{Cvoid}) = (unsafe_pointer_to_objref(user)::Root).released = Int32(1)

value_of(user::Ptr{Cvoid}) = (unsafe_pointer_to_objref(user)::Root).value

const EXCEPTION = :gradstep_exception

"""
Runs `f(value, arguments...)` for C, with the value that `user` stands for. An exception stays here: C gets `failed` (and
the exception's text, and a status where that is what it wants), and the call that has called back throws it.
"""
@noinline function answer(f, user::Ptr{Cvoid}, arguments...)
    try
        f(value_of(user), arguments...)
        return Int32(0)
    catch exception
        text = sprint(showerror, exception)
        # C keeps the text up to its first NUL.
        C.gradstep_set_last_error(replace(text, '\0' => ' '))
        captured = CapturedException(exception, catch_backtrace())
        task_local_storage(EXCEPTION, (replace(text, '\0' => ' '), captured))
        return exception isa GradstepError && exception.code != 0 ? exception.code : CALLBACK
    end
end

"""The exception of a callback that the failing call's text tells of, if there is one."""
function take_exception(text)
    storage = task_local_storage()
    haskey(storage, EXCEPTION) || return nothing
    told, captured = pop!(storage, EXCEPTION)
    return occursin(told, text) || isempty(told) ? captured : nothing
end

"""
    @called_by_c function name(user::Ptr{Cvoid}, argument::Type, ...) body end

Defines `name` as `body` of a call from C: `user` is the value that was `rooted`. It leaves the GC-safe state in which
calls to C are made, and returns a status.
"""
macro called_by_c(definition)
    signature, body = definition.args
    name, user, arguments = signature.args[1], signature.args[2].args[1], signature.args[3:end]
    names = [argument.args[1] for argument in arguments]
    inner = Symbol(name, :_body)
    esc(quote
        function $inner($user, $(arguments...))
            $body
        end
        function $name($user::Ptr{Cvoid}, $(arguments...))::Int32
            state = ccall(:jl_gc_unsafe_enter, Int8, ())
            status = answer($inner, $user, $(names...))
            ccall(:jl_gc_unsafe_leave, Cvoid, (Int8,), state)
            return status
        end
    end)
end

function release_callback(user::Ptr{Cvoid})::Cvoid
    state = ccall(:jl_gc_unsafe_enter, Int8, ())
    release(user)
    ccall(:jl_gc_unsafe_leave, Cvoid, (Int8,), state)
    return nothing
end

release_pointer() = @cfunction(release_callback, Cvoid, (Ptr{Cvoid},))
