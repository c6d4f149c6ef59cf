# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Functions of Julia that C calls. C gets a `Root` as its `user` and gives it back in every call. Ctrl-C is put off around
# every call of C that may call back (handles.jl): no InterruptException may leave a callback.

"""What C may call into, kept alive until C has called `release` for it."""
mutable struct Root
    value::Any
    released::Int32
end

const ROOTS = Root[]
const ROOTS_LOCK = ReentrantLock()

function root_of(value)
    root = Root(value, 0)
    lock(ROOTS_LOCK) do
        filter!(each -> each.released == 0, ROOTS)
        push!(ROOTS, root)
    end
    return root
end

"""A pointer for C that stands for `value` until C releases it."""
rooted(value) = pointer_from_objref(root_of(value))

"""
`f(user)`, which hands the pointer `user` to C, to stand for `value` until C releases it. If it throws, C has not kept the
pointer: the call was not made, or has failed, and who fails has released it, or never looked at it.
"""
function with_root(f, value)
    root = root_of(value)
    try
        return GC.@preserve root f(pointer_from_objref(root))
    catch
        root.released = Int32(1)
        rethrow()
    end
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
        on_this_thread() do
            Base.sigatomic_end()
            f(value_of(user), arguments...)
            Base.sigatomic_begin()
        end
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

"""`f()` on a task that stays on its thread, also where it yields and is one of @spawn (Julia 1.7): C's frames lie on it."""
function on_this_thread(f)
    task = current_task()
    was_sticky = task.sticky
    task.sticky = true
    try
        return f()
    finally
        task.sticky = was_sticky
    end
end

"""The exception of a callback that the failing call's text tells of, or that interrupted it, if there is one."""
function take_exception(status, text)
    storage = task_local_storage()
    haskey(storage, EXCEPTION) || return nothing
    told, captured = pop!(storage, EXCEPTION)
    is_interrupt = status == ABORTED && captured.ex isa InterruptException
    return is_interrupt || occursin(told, text) || isempty(told) ? captured : nothing
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
