# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

const SAVED = ((:Optimizer, :optimizer), (:Accumulator, :accumulator), (:Reducer, :reducer), (:Updater, :updater))

for (T, name) in SAVED
    c_function(verb) = Symbol(:gradstep_, name, :_, verb)
    @eval begin
        save_functions(::$T) = (C.$(c_function(:save)), C.$(c_function(:save_file)))
        load_functions(::$T) = (C.$(c_function(:load)), C.$(c_function(:load_file)))
    end
end

@called_by_c function write_entry(io::Ptr{Cvoid}, data::Ptr{UInt8}, size::Csize_t)
    written = unsafe_write(io, data, size)
    written == size || error("$written bytes were written, expected $size")
end

@called_by_c function read_entry(io::Ptr{Cvoid}, data::Ptr{UInt8}, size::Csize_t, got::Ptr{Csize_t})
    bytes = read(io, size)
    GC.@preserve bytes unsafe_copyto!(data, pointer(bytes), length(bytes))
    unsafe_store!(got, Csize_t(length(bytes)))
end

"""Calls `f(pointer, stream)`, which returns a status, with the handle's pointer and `io` as C has it."""
with_stream(f, handle::Handle, io::IO) = alone(handle) do pointer
    with_root(io) do user
        check(f(pointer, Ref(with(sized(C.gradstep_stream), (
            :user => user, :release => release_pointer(),
            :write => @cfunction(write_entry, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t)),
            :read => @cfunction(read_entry, Int32, (Ptr{Cvoid}, Ptr{UInt8}, Csize_t, Ptr{Csize_t})))))))
    end
end

"""
    save(handle, path)
    save(handle, io)

Writes what an `Optimizer`, `Accumulator`, `Reducer` or `Updater` holds, as safetensors with a checksum. A file is replaced as a
whole or not at all. What is shared by ranks (sharded state, an updater with a reducer) is saved collectively: rank 0 gives
the place, the others `nothing`.
"""
save(owner::Owner, path::AbstractString) = call(save_functions(owner)[2], owner.handle, String(path))
save(owner::Owner, io::IO) = with_stream(save_functions(owner)[1], owner.handle, io)
save(owner::Owner, ::Nothing) = call(save_functions(owner)[1], owner.handle, C_NULL)

"""
    load!(handle, path; allow_unchecked = false)
    load!(handle, io; allow_unchecked = false)

Reads what `save` has written into a handle of the same kind and model. Everything is checked before anything is changed.
Hyper-parameters stay as they are. Every rank gives the whole file.

`allow_unchecked`: takes a file without a checksum, made or edited by another program.
"""
function load!(owner::Owner, path::AbstractString; options...)
    call(load_functions(owner)[2], owner.handle, String(path), Ref(with(defaults(C.gradstep_load_options), options)))
    return owner
end
function load!(owner::Owner, io::IO; options...)
    fields = Ref(with(defaults(C.gradstep_load_options), options))
    with_stream((pointer, stream) -> load_functions(owner)[1](pointer, stream, fields), owner.handle, io)
    return owner
end
