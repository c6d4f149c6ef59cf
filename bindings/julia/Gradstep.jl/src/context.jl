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
@called_by_c function interrupt_entry(context::Ptr{Cvoid})
    GC.safepoint()
end

function log_entry(user::Ptr{Cvoid}, level::Int32, text::Ptr{UInt8})::Cvoid
    state = ccall(:jl_gc_unsafe_enter, Int8, ())
    log(user, level, text)
    ccall(:jl_gc_unsafe_leave, Cvoid, (Int8,), state)
    return nothing
end

@noinline function log(user, level, text)
    try
        on_this_thread(() -> value_of(user)(enum_name(C.gradstep_log_level, level), unsafe_string(text)))
    catch
    end
    return nothing
end

keywords(::Type{C.gradstep_context_options}) = (:log, :lapack_library)

function Context(; log = nothing, lapack_library = nothing, options...)
    fields = with(defaults(C.gradstep_context_options), options)
    path = lapack_library === nothing ? nothing : String(lapack_library)
    GC.@preserve path begin
        fields = with(fields, (:lapack_library => text_pointer(path),))
        return Base.disable_sigint(() -> Context(create_context(fields, log)))
    end
end

function create_context(fields, log)
    create(fields) = created(C.gradstep_context_create, C.gradstep_context, "context", Ref(fields))
    with_root(nothing) do user
        interruptible = with(fields, (:interrupt => @cfunction(interrupt_entry, Int32, (Ptr{Cvoid},)),
                                      :interrupt_user => user, :interrupt_release => release_pointer()))
        log === nothing && return create(interruptible)
        with_root(log) do user
            create(with(interruptible, (:log => @cfunction(log_entry, Cvoid, (Ptr{Cvoid}, Int32, Ptr{UInt8})),
                                        :log_user => user, :log_release => release_pointer())))
        end
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
`f(pointer, pointers...)` with the context's pointer, which any number of threads may use at once, and those of handles that
this call has for itself; `nothing` is the default context.
"""
with_context(f, context, handles...) =
    alone(f, Visit((context === nothing ? default_context() : context::Context).handle), handles...)
