# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

@testset "an old name warns, and does what the new one does" begin
    x = zeros(2)
    optimizer, accumulator, comm = setup(Adam(0.1), x), Accumulator(x), self_communicator()
    reducer = Reducer(comm, x)
    add!(accumulator, [3.0, 4.0])
    deltas = zeros(2)
    for (old, new, arguments) in (
            (channel_statistics, comm_statistics, (reducer,)), (gradient_norm, norm, (accumulator,)),
            (hyper_parameter, get_value, (optimizer, "beta1")), (is_done, poll, (reducer,)),
            (library_version, version, ()), (state, get_state, (optimizer, 1, "exp_avg")))
        @test (@test_deprecated old(arguments...)) == new(arguments...)
    end
    @test keys(@test_deprecated measured_costs()) == keys(measure_costs())
    @test (@test_deprecated duplicate(comm)) isa Communicator
    @test (@test_deprecated deltas!(deltas, optimizer, x, [1.0, 2.0])).applied && all(deltas .< 0) && x == [0, 0]
    @test (@test_deprecated window(accumulator)) == (count = 1, weight = 1.0, skipped = 0)
    @test (@test_deprecated statistics(reducer)) == bucket_statistics(reducer)
    @test (@test_deprecated shard!(shard!(optimizer, comm), nothing)) === optimizer
    on_ranks(2) do comm
        rank(comm) == 0 ? send(comm, [1.5], 1) : @test (@test_deprecated receive!(comm, [0.0], 0)) == [1.5]
    end
end
