# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

@testset "a loaded optimizer goes on with the same bits" begin
    mktempdir() do folder
        for place in (joinpath(folder, "state.safetensors"), IOBuffer())
            x = Float32[1, 2, 3]
            first_ = setup(Adam(0.1), (w = x,))
            update!(first_, (w = x,), (w = Float32[1, -2, 3],))
            save(first_, place)
            copy_ = (w = copy(x),)
            place isa IO && seekstart(place)
            second_ = load!(setup(Adam(0.1), copy_), place)
            update!(first_, (w = x,), (w = Float32[4, 5, 6],))
            update!(second_, copy_, (w = Float32[4, 5, 6],))
            @test copy_.w == x && step_count(second_) == 2
        end
    end
end

@testset "accumulators, reducers and updaters are saved too" begin
    x = zeros(Float32, 2)
    accumulator = Accumulator(x; steps = 2, mode = :sum)
    add!(accumulator, Float32[1, 2])
    io = IOBuffer()
    save(accumulator, io)
    resumed = load!(Accumulator(x; steps = 2, mode = :sum), seekstart(io))
    @test add!(resumed, Float32[1, 1]) && gradients(resumed)[1] == [2, 3]
    saved = on_ranks(2) do comm
        updater = Updater(setup(SGD(1; momentum = 0.5), x), nothing, Reducer(comm, x))
        push!(updater, copy(x), Float32[1, 2])
        place = rank(comm) == 0 ? IOBuffer() : nothing
        save(updater, place)
        place
    end
    alone = Updater(setup(SGD(1; momentum = 0.5), x))
    load!(alone, seekstart(saved[1]))
    @test push!(alone, x, Float32[0, 0]) && x == [-0.5, -1]
end

@testset "what cannot be loaded or saved changes nothing" begin
    x = zeros(Float32, 2)
    optimizer = setup(SGD(1; momentum = 0.5), x)
    io = IOBuffer()
    save(optimizer, io)
    bytes = take!(io)
    bytes[end] ⊻= 0x01
    @test failure(() -> load!(optimizer, IOBuffer(bytes))).status === :CORRUPT
    bytes[end] ⊻= 0x01
    other = setup(SGD(1; momentum = 0.5), zeros(Float32, 3))
    @test failure(() -> load!(other, IOBuffer(bytes))).status === :MISMATCH
    @test failure(() -> load!(optimizer, "/there/is/no/such/file")).status === :IO
    closed = IOBuffer()
    close(closed)
    refused = failure(() -> save(optimizer, closed))
    @test refused.status === :CALLBACK && refused.cause.ex isa ArgumentError
    load!(optimizer, IOBuffer(bytes))
end
