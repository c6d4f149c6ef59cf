# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    HostCollectives(rank, world_size; all_gather, ...)

Collectives of your own, for `host_communicator`. Functions of which only `all_gather` is needed; what is not given is built
from the others. Buffers are vectors that are valid until the function returns, mostly of bytes; timeouts are in seconds; ranks
are counted from 0.

- `all_gather(receive, send, timeout)`: receive = what all ranks sent, in their order
- `all_reduce(data, op, timeout)`: in place; a vector of Float32, Float64, Int32 or Int64, `op` is `:sum`, `:max` or `:min`
- `reduce_scatter(receive, send, op, timeout)`: receive = the reduction of block `rank` of send
- `broadcast(data, root, timeout)`
- `send(data, to, timeout)` and `recv(data, from, timeout)`: both or none
- `send_recv(send, to, receive, from, timeout)`: both at once
- `exchange(send, receive, timeout)`: sends `send[r + 1]` to and fills `receive[r + 1]` from every other rank r, all at once
- `barrier(timeout)`
- `dup(timeout)`: collective; `HostCollectives` of the same ranks over a channel of their own
- `poll()`: throws if the channel is of no more use; never waits

`rank_ordered = true` says that sums are in the order of ranks. A function that throws fails the call, which throws with that
exception as its cause; a `GradstepError(:TIMEOUT, text)` or `GradstepError(:PEER_LOST, text)` gives the call its status.
They are called on the thread that called gradstep, while it waits: `abort` of the communicator does not reach them.
"""
struct HostCollectives
    rank::Int
    world_size::Int
    rank_ordered::Bool
    functions::Dict{Symbol, Any}
end

const HOST_FUNCTIONS = (:all_gather, :all_reduce, :reduce_scatter, :broadcast, :send, :recv, :send_recv, :barrier, :dup,
                        :exchange, :poll)

function HostCollectives(rank::Integer, world_size::Integer; rank_ordered = false, functions...)
    for name in keys(functions)
        name in HOST_FUNCTIONS || bad_argument("unknown function ", name, "; known: ", join(HOST_FUNCTIONS, ", "))
    end
    haskey(functions, :all_gather) || bad_argument("all_gather: is needed")
    return HostCollectives(rank, world_size, rank_ordered, Dict{Symbol, Any}(pairs(functions)))
end

GradstepError(status::Symbol, text) = GradstepError(code_of(status), text, nothing)
function code_of(status)
    for (code, name) in STATUS_NAMES
        name === status && return code
    end
    throw(ArgumentError("$status is no status; known: $(join(values(STATUS_NAMES), ", "))"))
end

bytes_at(data, count) = unsafe_wrap(Array, Ptr{UInt8}(data), count)
elements_at(data, count, type_code, bits) = unsafe_wrap(Array, Ptr{host_type(type_code, bits)}(data), count)

function host_type(type_code, bits)
    is_float_code = type_code == C.gradstep_type_code.float
    return bits == 32 ? (is_float_code ? Float32 : Int32) : (is_float_code ? Float64 : Int64)
end

op_name(op) = enum_name(C.gradstep_reduce_op, op)

@called_by_c function all_gather_entry(host::Ptr{Cvoid}, send::Ptr{Cvoid}, receive::Ptr{Cvoid}, bytes::Int64,
                                       stream::Ptr{Cvoid}, timeout_ms::Int64)
    host.functions[:all_gather](bytes_at(receive, bytes * host.world_size), bytes_at(send, bytes), timeout_ms / 1000)
end

@called_by_c function all_reduce_entry(host::Ptr{Cvoid}, data::Ptr{Cvoid}, count::Int64, type_code::Int32, bits::Int32,
                                       op::Int32, stream::Ptr{Cvoid}, timeout_ms::Int64)
    host.functions[:all_reduce](elements_at(data, count, type_code, bits), op_name(op), timeout_ms / 1000)
end

@called_by_c function reduce_scatter_entry(host::Ptr{Cvoid}, send::Ptr{Cvoid}, receive::Ptr{Cvoid}, count::Int64,
                                           type_code::Int32, bits::Int32, op::Int32, stream::Ptr{Cvoid},
                                           timeout_ms::Int64)
    host.functions[:reduce_scatter](elements_at(receive, count, type_code, bits),
                                    elements_at(send, count * host.world_size, type_code, bits), op_name(op),
                                    timeout_ms / 1000)
end

@called_by_c function broadcast_entry(host::Ptr{Cvoid}, data::Ptr{Cvoid}, bytes::Int64, root::Int32,
                                      stream::Ptr{Cvoid}, timeout_ms::Int64)
    host.functions[:broadcast](bytes_at(data, bytes), Int(root), timeout_ms / 1000)
end

@called_by_c function send_entry(host::Ptr{Cvoid}, data::Ptr{Cvoid}, bytes::Int64, to::Int32, stream::Ptr{Cvoid},
                                 timeout_ms::Int64)
    host.functions[:send](bytes_at(data, bytes), Int(to), timeout_ms / 1000)
end

@called_by_c function recv_entry(host::Ptr{Cvoid}, data::Ptr{Cvoid}, bytes::Int64, from::Int32, stream::Ptr{Cvoid},
                                 timeout_ms::Int64)
    host.functions[:recv](bytes_at(data, bytes), Int(from), timeout_ms / 1000)
end

@called_by_c function send_recv_entry(host::Ptr{Cvoid}, send::Ptr{Cvoid}, send_bytes::Int64, to::Int32,
                                      receive::Ptr{Cvoid}, receive_bytes::Int64, from::Int32, stream::Ptr{Cvoid},
                                      timeout_ms::Int64)
    host.functions[:send_recv](bytes_at(send, send_bytes), Int(to), bytes_at(receive, receive_bytes), Int(from),
                               timeout_ms / 1000)
end

@called_by_c function barrier_entry(host::Ptr{Cvoid}, stream::Ptr{Cvoid}, timeout_ms::Int64)
    host.functions[:barrier](timeout_ms / 1000)
end

@called_by_c function dup_entry(host::Ptr{Cvoid}, timeout_ms::Int64, out::Ptr{C.gradstep_comm_vtable},
                                out_user::Ptr{Ptr{Cvoid}})
    other = host.functions[:dup](timeout_ms / 1000)
    other isa HostCollectives || bad_argument("dup: returned a ", typeof(other), ", expected HostCollectives")
    unsafe_store!(out, vtable(other))
    unsafe_store!(out_user, rooted(other))
end

@called_by_c function exchange_entry(host::Ptr{Cvoid}, send::Ptr{Ptr{Cvoid}}, send_bytes::Ptr{Int64},
                                     receive::Ptr{Ptr{Cvoid}}, receive_bytes::Ptr{Int64}, stream::Ptr{Cvoid},
                                     timeout_ms::Int64)
    buffers(at, bytes) = map(1:(host.world_size)) do r
        count = r == host.rank + 1 ? 0 : unsafe_load(bytes, r)
        count == 0 ? UInt8[] : bytes_at(unsafe_load(at, r), count)
    end
    host.functions[:exchange](buffers(send, send_bytes), buffers(receive, receive_bytes), timeout_ms / 1000)
end

@called_by_c function poll_entry(host::Ptr{Cvoid})
    host.functions[:poll]()
end

function entry(name)
    name === :all_gather && return @cfunction(
        all_gather_entry, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Int64, Ptr{Cvoid}, Int64))
    name === :all_reduce && return @cfunction(
        all_reduce_entry, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Int64, Int32, Int32, Int32, Ptr{Cvoid}, Int64))
    name === :reduce_scatter && return @cfunction(
        reduce_scatter_entry, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Ptr{Cvoid}, Int64, Int32, Int32, Int32, Ptr{Cvoid}, Int64))
    name === :broadcast && return @cfunction(
        broadcast_entry, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Int64, Int32, Ptr{Cvoid}, Int64))
    name === :send && return @cfunction(
        send_entry, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Int64, Int32, Ptr{Cvoid}, Int64))
    name === :recv && return @cfunction(
        recv_entry, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Int64, Int32, Ptr{Cvoid}, Int64))
    name === :send_recv && return @cfunction(
        send_recv_entry, Int32,
        (Ptr{Cvoid}, Ptr{Cvoid}, Int64, Int32, Ptr{Cvoid}, Int64, Int32, Ptr{Cvoid}, Int64))
    name === :barrier && return @cfunction(barrier_entry, Int32, (Ptr{Cvoid}, Ptr{Cvoid}, Int64))
    name === :dup && return @cfunction(
        dup_entry, Int32, (Ptr{Cvoid}, Int64, Ptr{C.gradstep_comm_vtable}, Ptr{Ptr{Cvoid}}))
    name === :exchange && return @cfunction(
        exchange_entry, Int32,
        (Ptr{Cvoid}, Ptr{Ptr{Cvoid}}, Ptr{Int64}, Ptr{Ptr{Cvoid}}, Ptr{Int64}, Ptr{Cvoid}, Int64))
    return @cfunction(poll_entry, Int32, (Ptr{Cvoid},)) # the last of HOST_FUNCTIONS
end

# any_thread stays 0, and so `abort` would never be called: gradstep's own threads are none of Julia's, which before 1.9 lets
# no others in.
function vtable(host::HostCollectives)
    table = with(sized(C.gradstep_comm_vtable), (
        :rank => host.rank, :world_size => host.world_size, :rank_ordered => host.rank_ordered,
        :release => release_pointer()))
    return with(table, [name => entry(name) for name in keys(host.functions)])
end

"""
    host_communicator(collectives; timeout = 30, reduction_order = :rank, context)

A communicator over `HostCollectives`. Collective.
"""
function host_communicator(host::HostCollectives; timeout = 30, reduction_order = :rank, context = nothing)
    options = Ref(comm_options(timeout, reduction_order))
    table = Ref(vtable(host))
    with_context(context) do pointer
        with_root(host) do user
            Communicator(created(C.gradstep_comm_create_host_ex, C.gradstep_comm, "communicator", pointer, table, user,
                                 options))
        end
    end
end
