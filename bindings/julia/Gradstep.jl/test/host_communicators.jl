# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""What ranks of this process share: a place for what each has brought, and a barrier."""
struct Meeting
    world_size::Int
    brought::Vector{Any}
    arrived::Threads.Atomic{Int}
end

Meeting(world_size) = Meeting(world_size, Vector{Any}(undef, world_size), Threads.Atomic{Int}(0))

# docs:begin meet
function meet(meeting, round, deadline)
    Threads.atomic_add!(meeting.arrived, 1)
    while meeting.arrived[] < meeting.world_size * round
        time_ns() < deadline || throw(GradstepError(:TIMEOUT, "a rank did not come"))
        GC.safepoint()
    end
end
# docs:end meet

"""Collectives over a Meeting. Its functions are called in one order, so rounds can be counted."""
function collectives(meeting, r, given)
    round = Ref(0)
    together(f, mine, timeout) = begin
        deadline = time_ns() + ceil(UInt64, 1e9 * timeout)
        meeting.brought[r + 1] = mine
        meet(meeting, round[] += 1, deadline)
        f(meeting.brought)
        meet(meeting, round[] += 1, deadline)
    end
    all_gather(receive, send, timeout) = together(all -> copyto!(receive, reduce(vcat, all)), send, timeout)
    all_reduce(data, op, timeout) = begin
        choose = Dict(:sum => +, :max => max, :min => min)[op]
        result = similar(data)
        together(all -> (result .= reduce((a, b) -> choose.(a, b), all)), copy(data), timeout)
        copyto!(data, result)
    end
    exchange(send, receive, timeout) =
        together(all -> foreach(from -> copyto!(receive[from], all[from][r + 1]), 1:(meeting.world_size)), send,
                 timeout)
    reduce_scatter(receive, send, op, timeout) = together(send, timeout) do all
        n = length(receive)
        receive .= sum(each[(r * n + 1):((r + 1) * n)] for each in all)
    end
    available = (all_gather = all_gather, all_reduce = all_reduce, exchange = exchange, reduce_scatter = reduce_scatter)
    return HostCollectives(r, meeting.world_size; NamedTuple{(:all_gather, given...)}(available)...)
end

@testset "host collectives have the sums of local ranks, whatever is given" begin
    expected = on_ranks(comm -> all_reduce!(comm, Float32[0.1, 0.2, 0.3] .* (rank(comm) + 1)), 2)
    for given in ((), (:exchange,), (:all_reduce,), (:reduce_scatter, :exchange))
        meeting = Meeting(2)
        results = on_ranks(0:1) do r
            comm = host_communicator(collectives(meeting, r, given))
            @test engine(comm) == "host"
            (all_reduce!(comm, Float32[0.1, 0.2, 0.3] .* (r + 1)), reduce_scatter(comm, Float32[1, 2]),
             all_gather(comm, [r]), vote(comm, r != 1), broadcast!(comm, [r], 1))
        end
        for (r, result) in enumerate(results)
            @test result[1] == expected[r]
            @test result[2:end] == (Float32[2r], [0 1], false, [1])
        end
    end
end

@testset "collectives give up at the deadline" begin
    late = failure(() -> host_communicator(collectives(Meeting(2), 0, ()); timeout = 0.03))
    @test late.status === :TIMEOUT && occursin("a rank did not come", late.text)
end

@testset "what a collective throws comes out of the call" begin
    alone(receive, send, timeout) = copyto!(receive, send)
    host = HostCollectives(0, 1; all_gather = alone, barrier = timeout -> error("the cable is cut"))
    comm = host_communicator(host)
    @test world_size(comm) == 1
    lost(receive, send, timeout) = throw(GradstepError(:PEER_LOST, "rank 1 is gone"))
    failed = failure(() -> host_communicator(HostCollectives(0, 2; all_gather = lost)))
    @test failed.status === :PEER_LOST && occursin("rank 1 is gone", failed.text)
    torn(receive, send, timeout) = error("the cable is cut")
    failed = failure(() -> host_communicator(HostCollectives(0, 2; all_gather = torn)))
    @test failed.status === :CALLBACK && failed.cause.ex isa ErrorException
    @test occursin("unknown function gather", failure(() -> HostCollectives(0, 1; gather = alone)).text)
    @test failure(() -> HostCollectives(0, 1)).text == "all_gather: is needed"
end
