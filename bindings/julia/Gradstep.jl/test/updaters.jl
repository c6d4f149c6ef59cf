# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

function trained(comm; sharded = nothing, steps = 6)
    model = (w = reshape(Float32.(1:12), 3, 4) ./ 8, b = zeros(Float32, 3))
    optimizer = setup(AdamW(0.01; weight_decay = 0.1), model)
    reducer = Reducer(comm, model)
    sharded === :state && shard!(optimizer, comm; gradients = :reduced)
    sharded === :gradients && shard!(optimizer, reducer)
    updater = Updater(optimizer, Accumulator(model; steps = 2), reducer; max_norm = 1)
    applied = [push!(updater, model, (w = model.w .* (rank(comm) + t), b = Float32[1, 2, t])) for t in 1:steps]
    @test applied == [iseven(t) for t in 1:steps]
    @test statistics(updater).steps == steps ÷ 2
    return model
end

@testset "ranks step their parts by the norm of the whole" begin
    on_ranks(2) do comm
        column = rank(comm) + 1
        model, gradient = Float32[8, 8][:, :], Float32[3 0; 0 4][:, column:column]
        optimizer = setup(SGD(1.0), (model,); parts = [((2, 2), (1:2, column:column))])
        @test failure(() -> update!(optimizer, (model,), (gradient,))).status === :INVALID_STATE
        attach_shards!(optimizer, comm)
        @test step!(optimizer, (model,), (gradient,); max_norm = 2.5).grad_norm == 5
        @test model[column] ≈ (6.5, 6)[column]
        attach_shards!(optimizer, nothing)
        @test occursin("parts[1]", failure(() -> setup(SGD(1.0), (model,); parts = [((2, 2), (1:2, 1:2))])).text)
    end
end

@testset "ranks stay equal, and sharded state and gradients have the same bits" begin
    models = on_ranks(trained, 2)
    @test models[1] == models[2]
    for sharded in (:state, :gradients)
        @test on_ranks(comm -> trained(comm; sharded), 2) == models
    end
end

function trained_in_rounds(comm)
    x = Float32[8, 8]
    outer = setup(SGD(0.5), x)
    updater = Updater(setup(SGD(1), x), nothing, Reducer(comm, x); sync = :deltas, sync_steps = 2, outer)
    gradient = Float32[1, 2rank(comm)]
    applied = push!(updater, x, gradient)
    inside = copy(x)
    return (applied && push!(updater, x, gradient), inside, x, step_count(outer))
end

@testset "an outer optimizer steps by what a round has changed" begin
    # Half of the mean change, which is 2 of both.
    @test on_ranks(trained_in_rounds, 2) == [(true, [7, 8], [7, 7], 1), (true, [7, 6], [7, 7], 1)]
    x = zeros(Float32, 1)
    @test failure(() -> Updater(setup(SGD(1), x); outer = setup(SGD(1), x))).status === :INVALID_ARGUMENT
end

@testset "flush ends a window that is not full" begin
    x = zeros(Float32, 1)
    updater = Updater(setup(SGD(1), x), Accumulator(x; steps = 4, mode = :mean))
    @test !push!(updater, x, Float32[2])
    @test flush!(updater, x) && x == [-2]
    @test !flush!(updater, x)
    @test failure(() -> push!(updater, x, Float32[1, 2])).text == "grads[1]: size is (2,), expected (1,)"
    @test failure(() -> Updater(setup(SGD(1), x), Accumulator(zeros(Float32, 2)))).status === :MISMATCH
end

@testset "a rank goes on alone after its peer is gone" begin
    comms = local_communicators(2)
    x = zeros(Float32, 1)
    updaters = on_ranks(comm -> Updater(setup(SGD(1), x), Accumulator(x), Reducer(comm, x)), comms)
    abort(comms[1])
    @test failure(() -> push!(updaters[1], x, Float32[1])).status === :ABORTED
    recover!(updaters[1], nothing, x)
    flush!(updaters[1], x)
    push!(updaters[1], x, Float32[1])
    @test x[1] < 0
end
