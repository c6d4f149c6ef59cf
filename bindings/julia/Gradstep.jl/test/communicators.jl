# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

@testset "collectives of local ranks" begin
    on_ranks(2) do comm
        r = rank(comm)
        @test (world_size(comm), engine(comm), local_rank(comm)) == (2, "local", r)
        @test all_reduce!(comm, Float32[r, 1]) == [1, 2]
        @test all_reduce!(comm, [r]; op = :max) == [1]
        @test all_gather(comm, Int32[r, 10 + r]) == Int32[0 1; 10 11]
        @test all_gather(comm, fill(Float64(r), 2r), [0, 2]) == [1, 1]
        @test reduce_scatter(comm, Float32[1 2; 4 5]) == 2 * Float32[1 2; 4 5][:, (r + 1):(r + 1)]
        @test broadcast!(comm, Int64[r], 1) == [1]
        @test vote(comm, true) && !vote(comm, r != 1)
        barrier(comm)
        r == 0 && send(comm, [1.5], 1)
        r == 1 && @test recv!(comm, [0.0], 0) == [1.5]
        turned = split(comm, 0; key = -r)
        @test (rank(turned), world_size(turned)) == (1 - r, 2)
        alone = split(comm, r == 1 ? -1 : 0)
        @test r == 1 ? alone === nothing : world_size(alone) == 1
        twin = dup(comm)
        close(comm)
        @test all_reduce!(twin, [1.0]) == [2]
        @test statistics(twin).all_reduces == 1
    end
end

@testset "bad arguments of collectives are named" begin
    comm = self_communicator()
    @test engine(comm) == "self"
    @test failure(() -> all_reduce!(comm, ["a"])).text ==
          "x: eltype is String, expected one of Float16, Float32, Float64, Int32, Int64"
    @test failure(() -> all_reduce!(comm, [1.0]; op = :product)).text == "op: :product is unknown; known: sum, max, min"
    @test failure(() -> all_reduce!(comm, view([1.0, 2, 3], 1:2:3))).status === :UNSUPPORTED
    @test failure(() -> all_gather(comm, [1.0], [1, 1])).status === :INVALID_ARGUMENT
    @test failure(() -> broadcast!(comm, [1.0], 1)).status === :INVALID_ARGUMENT
    @test failure(() -> local_communicators(0)).status === :INVALID_ARGUMENT
    @test failure(() -> self_communicator(context = Context(num_threads = -1))).status === :INVALID_ARGUMENT
    @test failure(() -> connect("carrier pigeon", 0, 1, nothing)).status === :INVALID_ARGUMENT
    @test failure(() -> local_communicators(2; timeout = 0)).status === :INVALID_ARGUMENT
end

@testset "abort ends a call that waits, and breaks the communicator" begin
    comms = local_communicators(2)
    waiting = Threads.@spawn failure(() -> barrier(comms[1]))
    abort(comms[1])
    @test fetch(waiting).status === :ABORTED
    @test broken_by(comms[1]).status === :ABORTED
    @test failure(() -> barrier(comms[1])).status === :ABORTED
end

@testset "a rank that waits does not keep others from collecting garbage" begin
    # With a call that is not GC-safe the second rank could not stop the first one's thread, and both would wait for ever.
    on_ranks(2) do comm
        for _ in 1:20
            rank(comm) == 1 && GC.gc()
            barrier(comm)
        end
        @test true
    end
end

@testset "ranks meet by an id, and at a store of their own" begin
    id = unique_id("shm")
    @test length(id) > 16
    values_, condition = Dict{String, Vector{UInt8}}(), Threads.Condition()
    keep(key, bytes) = lock(() -> (values_[key] = bytes; notify(condition)), condition)
    look(key, timeout) = lock(condition) do
        haskey(values_, key) || throw(GradstepError(:TIMEOUT, "no $key"))
        values_[key]
    end
    comm = connect("shm", 0, 1, (set = keep, get = look))
    @test all_reduce!(comm, [1.0]) == [1.0]
    broken = failure(() -> connect("shm", 0, 2, (set = (key, bytes) -> error("no room"), get = look); timeout = 2))
    @test broken.status === :CALLBACK && occursin("no room", sprint(showerror, broken.cause.ex))
end
