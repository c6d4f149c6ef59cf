# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
One rank's connection to a group of ranks, which are counted from 0. Calls are collective unless said otherwise: every rank
makes them, in one order. No call outlives its timeout by more than a second, and the first error breaks a communicator for good.

Made by `self_communicator`, `local_communicators`, `connect`, `mpi_communicator` and `host_communicator`, or of another
one by `split` and `dup`.
"""
struct Communicator <: Owner
    handle::Handle{C.gradstep_comm}
end

Base.show(io::IO, comm::Communicator) = print(
    io, "Communicator", isopen(comm) ? "(rank $(rank(comm)) of $(world_size(comm)), engine $(engine(comm)))" : "(closed)")

comm_options(timeout, reduction_order) = with(defaults(C.gradstep_comm_options), (
    :timeout_ms => milliseconds("timeout", timeout), :reduction_order => reduction_order))

"""
    self_communicator(; context)

The caller alone.
"""
self_communicator(; context = nothing) = connect("self", 0, 1, nothing; context = context)

"""
    local_communicators(world_size; timeout = 30, reduction_order = :rank, context)

Connected communicators, one for each task that plays a rank. The tasks run at the same time, each on a thread of its own:
a call that waits for the other ranks holds its thread. Not collective.
"""
function local_communicators(world_size::Integer; timeout = 30, reduction_order = :rank, context = nothing)
    options = Ref(comm_options(timeout, reduction_order))
    out = fill(Ptr{C.gradstep_comm}(C_NULL), clamp(world_size, 0, 1024))
    return with_context(context) do pointer
        check(C.gradstep_comm_create_local_ex(pointer, world_size, options, out))
        [Communicator(Handle(each, "communicator")) for each in out]
    end
end

"""
    connect(engine, rank, world_size, store; timeout = 30, network_interface, generation = 0, reduction_order = :rank, context)

Connects processes: `engine` is `"shm"` (of one machine), `"gloo"` (over TCP), `"auto"` (the one or the other), `"mpi"`
(of an MPI job, without a store) or `"self"`.

- `store`: where the ranks meet. A path of a folder that all share; the bytes of `unique_id`; or your own key-value store, a
  named tuple `(set, get)` of functions `set(key, bytes)` and `get(key, timeout)`, which waits for the key and
  returns its bytes, or throws a `GradstepError(:TIMEOUT, ...)`.
- `timeout`: of every call, in seconds.
- `generation`: a new number for each communicator that is made through the same store.
- `reduction_order`: `:rank` sums in the order of ranks, with the same bits on every engine; `:engine` as the engine likes.
"""
function connect(engine, rank::Integer, world_size::Integer, store; timeout = 30, network_interface = nothing,
                 generation = 0, reduction_order = :rank, context = nothing)
    with_rendezvous(engine, rank, world_size, store, timeout, network_interface, generation, reduction_order) do options
        with_context(context) do pointer
            Communicator(created(C.gradstep_comm_create, C.gradstep_comm, "communicator", pointer, options))
        end
    end
end

"`f(options)` with the options as C has them, whose pointers are valid during the call."
function with_rendezvous(f, engine, rank, world_size, store, timeout, network_interface, generation, reduction_order)
    name = Base.cconvert(Cstring, String(engine))
    interface = network_interface === nothing ? nothing : String(network_interface)
    id = store isa AbstractVector{UInt8} ? collect(store) : UInt8[]
    path = store isa AbstractString ? String(store) : nothing
    GC.@preserve name interface id path begin
        options = with(comm_options(timeout, reduction_order), (
            :rank => rank, :world_size => world_size, :generation => generation,
            :engine => text_pointer(name), :network_interface => text_pointer(interface),
            :id => isempty(id) ? C_NULL : Ptr{Cvoid}(pointer(id)), :id_len => length(id),
            :store_path => text_pointer(path)))
        with_store(own -> f(Ref(with(options, (:store => own,)))), store)
    end
end

"""
    rendezvous_pending(comm, engine, world_size, store; generation)

How many newcomers wait for a world of this size, and may be joined by `connect` with the same arguments: those of its
ranks from the world size of `comm` on that are there. Nobody is waited for. Collective over `comm`: rank 0 asks the store,
and all ranks get the same answer. `nothing`: this process asks by itself, for all ranks.
"""
function rendezvous_pending(comm, engine, world_size::Integer, store; generation)
    waiting = Ref{Int32}(0)
    own = comm === nothing ? 0 : rank(comm)
    with_rendezvous(engine, own, world_size, store, 30, nothing, generation, :rank) do options
        ask(pointer = C_NULL) = check(C.gradstep_rendezvous_pending(pointer, options, waiting))
        comm === nothing ? ask() : alone(ask, comm.handle)
    end
    return Int(waiting[])
end

"""
    from_environment(engine = "auto"; store, timeout = 30, network_interface, generation = 0, reduction_order = :rank, context)

Connects the processes that torchrun, mpirun, Slurm or Kubernetes has started, by what it says in the environment;
`gradstep_comm_create` in `comm.h` lists the variables. Without a `store` they meet where the environment says.
"""
from_environment(engine = "auto"; store = nothing, options...) = connect(engine, -1, 1, store; options...)

text_pointer(::Nothing) = Ptr{UInt8}(C_NULL)
text_pointer(text::String) = Ptr{UInt8}(Base.unsafe_convert(Cstring, text))

@called_by_c function store_set_entry(store::Ptr{Cvoid}, key::Ptr{UInt8}, data::Ptr{UInt8}, len::Csize_t)
    store.set(unsafe_string(key), copy(unsafe_wrap(Array, data, len)))
end

@called_by_c function store_get_entry(store::Ptr{Cvoid}, key::Ptr{UInt8}, data::Ptr{UInt8}, len::Ptr{Csize_t},
                                      timeout_ms::Int64)
    value = collect(UInt8, store.get(unsafe_string(key), timeout_ms / 1000))
    capacity = unsafe_load(len)
    length(value) <= capacity || bad_argument("store: a value of ", length(value), " bytes, expected at most ", capacity)
    GC.@preserve value unsafe_copyto!(data, pointer(value), length(value))
    unsafe_store!(len, Csize_t(length(value)))
end

"""`f(pointer)` with the caller's own store as C has it, null where there is none."""
with_store(f, ::Union{Nothing, AbstractString, AbstractVector{UInt8}}) = f(Ptr{C.gradstep_store}(C_NULL))
with_store(f, store) = with_root(store) do user
    own = Ref(with(sized(C.gradstep_store), (
        :user => user, :release => release_pointer(),
        :set => @cfunction(store_set_entry, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Ptr{UInt8}, Csize_t)),
        :get => @cfunction(store_get_entry, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Ptr{UInt8}, Ptr{Csize_t}, Int64)))))
    GC.@preserve own f(Base.unsafe_convert(Ptr{C.gradstep_store}, own))
end

"""
    mpi_communicator(comm_address = C_NULL; timeout = 30, reduction_order = :rank, context)

The ranks of an MPI job: all of them, or those of the `MPI_Comm` at an address, of the MPI library that gradstep was
built with. It is duplicated and stays yours.
"""
function mpi_communicator(comm_address = C_NULL; timeout = 30, reduction_order = :rank, context = nothing)
    comm_address == C_NULL && return connect("mpi", 0, 1, nothing; timeout = timeout, reduction_order = reduction_order,
                                             context = context)
    options = Ref(comm_options(timeout, reduction_order))
    with_context(context) do pointer
        Communicator(created((out) -> C.gradstep_comm_wrap_mpi_ex(pointer, Ptr{Cvoid}(comm_address), options, out),
                             C.gradstep_comm, "communicator"))
    end
end

"""
    unique_id(engine; network_interface)

The bytes of a rendezvous for `connect` with this engine (`"shm"`, `"gloo"` or `"auto"`): made by one rank, and carried to
all by any means. This process serves the store behind it meanwhile.
"""
function unique_id(engine; network_interface = nothing)
    interface = network_interface === nothing ? Cstring(C_NULL) : String(network_interface)
    length_ = Ref{Csize_t}(0)
    check(C.gradstep_comm_unique_id_ex(engine, interface, C_NULL, 0, length_))
    bytes = zeros(UInt8, length_[])
    GC.@preserve bytes check(C.gradstep_comm_unique_id_ex(engine, interface, pointer(bytes), length(bytes), length_))
    return resize!(bytes, length_[])
end

"""
    rank(comm)

This rank, from 0.
"""
rank(comm::Communicator) = Int(number(C.gradstep_comm_rank, comm.handle, Int32))

"""
    world_size(comm)

The number of ranks.
"""
world_size(comm::Communicator) = Int(number(C.gradstep_comm_world_size, comm.handle, Int32))

"""
    local_rank(comm)

The index of this rank among those of the same host.
"""
local_rank(comm::Communicator) = Int(number(C.gradstep_comm_local_rank, comm.handle, Int32))

"""
    engine(comm)

What connects the ranks: `"self"`, `"local"`, `"shm"`, `"host"`, `"gloo"` or `"mpi"`.
"""
engine(comm::Communicator) = exclusive_text(C.gradstep_comm_engine, comm.handle)

"""A call on arrays that stand for `tensors` of C."""
collective(f, comm::Communicator, tensors...) = GC.@preserve tensors call(f, comm.handle, tensors...)

"""
    all_reduce!(comm, x; op = :sum)

x = the reduction over ranks (`:sum`, `:max` or `:min`), in place. Float16, Float32, Float64, Int32, Int64.
"""
function all_reduce!(comm::Communicator, x; op = :sum)
    number = enum_value(C.gradstep_reduce_op, "op", op)
    GC.@preserve x collective((pointer, tensor) -> C.gradstep_comm_all_reduce(pointer, tensor, number, C_NULL), comm,
                              one_tensor(x, "x"))
    return x
end

"""
    all_gather(comm, x)

The arrays of all ranks, stacked along a new last axis. All have one size.
"""
function all_gather(comm::Communicator, x)
    input = one_tensor(x, "x")
    result = Array{eltype(x)}(undef, size(x)..., world_size(comm))
    GC.@preserve x result collective((pointer, in, out) -> C.gradstep_comm_all_gather(pointer, in, out, C_NULL), comm,
                                     input, one_tensor(result, "result"))
    return result
end

"""
    all_gather(comm, x, counts)

The elements of all ranks' arrays, one after another, of which rank r has `counts[r + 1]`.
"""
function all_gather(comm::Communicator, x, counts::AbstractVector{<:Integer})
    ranks = world_size(comm)
    length(counts) == ranks || bad_argument("counts: ", length(counts), " entries, expected ", ranks, ", one of each rank")
    all(>=(0), counts) || bad_argument("counts: one is negative")
    input = one_tensor(x, "x")
    result = Vector{eltype(x)}(undef, sum(counts))
    numbers = collect(Int64, counts)
    GC.@preserve x result collective(
        (pointer, in, out) -> C.gradstep_comm_all_gather_v(pointer, in, out, numbers, C_NULL), comm, input,
        one_tensor(result, "result"))
    return result
end

"""
    reduce_scatter(comm, x; op = :sum)

This rank's part of the reduction of x over ranks: of `world_size` parts of its last axis.
"""
function reduce_scatter(comm::Communicator, x; op = :sum)
    number = enum_value(C.gradstep_reduce_op, "op", op)
    input = one_tensor(x, "x")
    ranks = world_size(comm)
    ndims(x) > 0 && size(x, ndims(x)) % ranks == 0 || bad_argument(
        "x: size is ", size(x), ", expected a last axis of a multiple of the world size ", ranks)
    result = Array{eltype(x)}(undef, Base.front(size(x))..., size(x, ndims(x)) ÷ ranks)
    GC.@preserve x result collective(
        (pointer, in, out) -> C.gradstep_comm_reduce_scatter(pointer, in, out, number, C_NULL), comm, input,
        one_tensor(result, "result"))
    return result
end

"""
    broadcast!(comm, x, root)

x = that of rank `root`, in place.
"""
function Base.broadcast!(comm::Communicator, x, root::Integer)
    GC.@preserve x collective((pointer, tensor) -> C.gradstep_comm_broadcast(pointer, tensor, root, C_NULL), comm,
                              one_tensor(x, "x"))
    return x
end

"""
    send(comm, x, to)

Sends x to rank `to`, which receives it. Not collective.
"""
function send(comm::Communicator, x, to::Integer)
    GC.@preserve x collective((pointer, tensor) -> C.gradstep_comm_send(pointer, tensor, to, C_NULL), comm,
                              one_tensor(x, "x"))
end

"""
    recv!(comm, x, from)

x = what rank `from` sends, in place. Not collective.
"""
function recv!(comm::Communicator, x, from::Integer)
    GC.@preserve x collective((pointer, tensor) -> C.gradstep_comm_recv(pointer, tensor, from, C_NULL), comm,
                              one_tensor(x, "x"))
    return x
end

"""
    barrier(comm)

Returns when all ranks have entered.
"""
barrier(comm::Communicator) = call(C.gradstep_comm_barrier, comm.handle)

"""
    vote(comm, yes) -> Bool

Whether every rank said yes.
"""
vote(comm::Communicator, yes::Bool) =
    number((pointer, all_yes) -> C.gradstep_comm_vote(pointer, yes, all_yes), comm.handle, Int32) != 0

"""
    split(comm, color; key = 0)

A communicator of the ranks of the same color >= 0, ordered by (key, rank); `nothing` for a negative color.
"""
function Base.split(comm::Communicator, color::Integer; key::Integer = 0)
    out = Ref{Ptr{C.gradstep_comm}}(C_NULL)
    return alone(comm.handle) do pointer
        check(C.gradstep_comm_split(pointer, color, key, out))
        out[] == C_NULL ? nothing : Communicator(Handle(out[], "communicator"))
    end
end

"""
    dup(comm)

A communicator of the same ranks with a channel of its own.
"""
dup(comm::Communicator) = Communicator(
    alone(pointer -> created(C.gradstep_comm_dup, C.gradstep_comm, "communicator", pointer), comm.handle))

"""
    abort(comm)

Ends a waiting call with `:ABORTED` and breaks the communicator. From any task, at any time; not collective.
"""
abort(comm::Communicator) = alone(pointer -> check(C.gradstep_comm_abort(pointer)), Visit(comm.handle))

"""
    broken_by(comm)

The `GradstepError` that broke the communicator, or `nothing`. From any task, at any time; not collective.
"""
function broken_by(comm::Communicator)
    status = Ref{Int32}(0)
    said = alone(Visit(comm.handle)) do pointer
        # Between the question for the length and the text itself an error may come.
        buffer, length_ = zeros(UInt8, 4096), Ref{Csize_t}(0)
        check(C.gradstep_comm_status(pointer, status, buffer, length(buffer), length_))
        String(buffer[1:(length_[] - 1)])
    end
    return status[] == 0 ? nothing : GradstepError(status[], said)
end

"""
    statistics(handle)

Of a communicator: its calls, bytes and time; of an `Updater`: its pushes, windows, steps and time. A named tuple, counted since
creation. A `Reducer` has `bucket_statistics` and `comm_statistics`.
"""
statistics(comm::Communicator) = statistics(C.gradstep_comm_stats, C.gradstep_comm_statistics, comm.handle)

"""
    counters(handle; labels = "")

The statistics of a communicator, reducer or updater as text for Prometheus. `labels` go into the braces of every line:
`"job=\\"7\\""`.
"""
counters(comm::Communicator; labels = "") = counters_text(C.gradstep_comm_counters, comm.handle, labels)

counters_text(f, handle, labels) = exclusive_text((pointer, arguments...) -> f(pointer, String(labels), arguments...), handle)
