# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    Context(; num_threads = 0, background_threads = 1, log_level = :off, log = nothing, lapack_library = nothing)

Threads, log and backends that handles share.

- `num_threads`: of gradstep's own; 0 is the number of cores, at most 8; 1 is the caller alone. Results do not depend on it.
- `log`: a function `(level::Symbol, text::String)` that is called up to `log_level` (`:error`, `:warning`, `:info`,
  `:debug`). It must not call gradstep; what it throws is dropped.
- `lapack_library`: path of a LAPACK for Shampoo's larger roots.

Calls that wait for other ranks end with an `InterruptException` on Ctrl-C, where Julia throws one.
"""
struct Context <: Owner
    handle::Handle{C.gradstep_context}
end

# Julia throws the InterruptException of a Ctrl-C at a safepoint.
poll_interrupt(_) = GC.safepoint()

function interrupt_entry(user::Ptr{Cvoid})::Int32
    state = ccall(:jl_gc_unsafe_enter, Int8, ())
    status = answer(poll_interrupt, user)
    ccall(:jl_gc_unsafe_leave, Cvoid, (Int8,), state)
    return status
end

function log_entry(user::Ptr{Cvoid}, level::Int32, text::Ptr{UInt8})::Cvoid
    state = ccall(:jl_gc_unsafe_enter, Int8, ())
    log(user, level, text)
    ccall(:jl_gc_unsafe_leave, Cvoid, (Int8,), state)
    return nothing
end

@noinline function log(user, level, text)
    try
        value_of(user)(enum_name(C.gradstep_log_level, level), unsafe_string(text))
    catch
    end
    return nothing
end

function Context(; log = nothing, lapack_library = nothing, options...)
    fields = with(defaults(C.gradstep_context_options), options)
    fields = with(fields, (:interrupt => @cfunction(interrupt_entry, Int32, (Ptr{Cvoid},)),
                           :interrupt_user => rooted(nothing), :interrupt_release => release_pointer()))
    if log !== nothing
        fields = with(fields, (:log => @cfunction(log_entry, Cvoid, (Ptr{Cvoid}, Int32, Ptr{UInt8})),
                               :log_user => rooted(log), :log_release => release_pointer()))
    end
    path = lapack_library === nothing ? nothing : Base.cconvert(Cstring, String(lapack_library))
    GC.@preserve path begin
        path === nothing || (fields = with(fields, (:lapack_library => Ptr{UInt8}(pointer(path)),)))
        return Context(created(C.gradstep_context_create, C.gradstep_context, "context", Ref(fields)))
    end
end

const DEFAULT_CONTEXT = Ref{Union{Nothing, Context}}(nothing)
const DEFAULT_CONTEXT_LOCK = ReentrantLock()

"""
    default_context()

The context of all that is made without one.
"""
function default_context()
    lock(DEFAULT_CONTEXT_LOCK) do
        context = DEFAULT_CONTEXT[]
        context !== nothing && isopen(context) && return context
        return DEFAULT_CONTEXT[] = Context()
    end
end

"""
`f(pointer)` with the context's pointer, which any number of threads may use at once; `nothing` is the default context.
"""
function with_context(f, context)
    handle = (context === nothing ? default_context() : context::Context).handle
    pointer = enter(handle, VISITOR)
    try
        return f(pointer)
    finally
        leave(handle, VISITOR)
    end
end
