# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# The extensions on Functors.jl and Optimisers.jl.

struct Scale{A}
    factor::A
    mean::A
end
Optimisers.trainable(scale::Scale) = (factor = scale.factor,)

struct Masked{A}
    weight::A
    mask::A
end
Functors.@functor Masked (weight,)

@testset "what Optimisers.jl calls not trainable, and Functors.jl no child, is left alone" begin
    model = (Scale(ones(Float32, 2), ones(Float32, 2)), Masked(ones(Float32, 3), ones(Float32, 3)), tanh)
    optimizer = Optimisers.setup(Gradstep.SGD(1; weight_decay = 0.5), model)
    @test optimizer.schema.names == ["1.factor", "2.weight"]
    # As Zygote gives them: with all fields.
    grads = ((factor = ones(Float32, 2), mean = ones(Float32, 2)), (weight = ones(Float32, 3), mask = nothing), nothing)
    Optimisers.update!(optimizer, model, grads)
    @test model[1].factor == fill(-0.5f0, 2) && model[1].mean == ones(2)
    @test model[2].weight == fill(-0.5f0, 3) && model[2].mask == ones(3)
end

@testset "rules of either leave arrays of integers alone" begin
    model = (weight = [1.0], indices = [1, 2], mask = [true])
    for rule in (Optimisers.Descent(0.5), Gradstep.SGD(0.5))
        state = Optimisers.setup(rule, model)
        Optimisers.update!(state, model, (weight = [1.0], indices = nothing, mask = nothing))
    end
    @test model == (weight = [0.0], indices = [1, 2], mask = [true])
end

@testset "a loop of Optimisers.jl runs with rules of either" begin
    ends = map((Optimisers.Descent(0.25), Gradstep.SGD(0.25), Optimisers.AbstractRule(Gradstep.SGD(0.25)))) do rule
        model = (layers = (Scale([1.0, 2.0], zeros(2)), [3.0]), f = tanh)
        state = Optimisers.setup(rule, model)
        for t in 1:3
            t == 3 && Optimisers.adjust!(state, 0.5)
            grads = (layers = ((factor = model.layers[1].factor .* t, mean = nothing), nothing), f = nothing)
            state, model = Optimisers.update!(state, model, grads)
        end
        (model.layers[1].factor, model.layers[2])
    end
    @test ends[1] == ends[2] == ends[3] != ([1.0, 2.0], [3.0])
end

@testset "one optimizer steps the whole model, and clips by the norm over all" begin
    model = (a = zeros(2), b = zeros(2))
    state = Optimisers.setup(Optimisers.AbstractRule(Gradstep.SGD(1)), model)
    @test state isa Gradstep.Optimizer
    step!(state, model, (a = [3.0, 0.0], b = [0.0, 4.0]); max_norm = 1)
    # The norm has 1e-6 added.
    @test isapprox(model.a, [-0.6, 0.0]; atol = 1e-6) && isapprox(model.b, [0.0, -0.8]; atol = 1e-6)
    @test step_count(state) == 1
end

@testset "update and adjust leave their arguments as they are" begin
    model = (a = [1.0],)
    state = Optimisers.setup(Gradstep.SGD(0.5; momentum = 0.5), model)
    state, _ = Optimisers.update!(state, model, (a = [1.0],))
    other_state, other = Optimisers.update(state, model, (a = [1.0],))
    @test model.a == [0.5] && step_count(state) == 1
    @test other.a == [-0.25] && step_count(other_state) == 2
    slower = Optimisers.adjust(state, 0.25)
    @test get_value(slower, "learning_rate") == 0.25 && get_value(state, "learning_rate") == 0.5
    Optimisers.adjust!(state; momentum = 0.25)
    @test get_value(state, "momentum") == 0.25
    @test get_value(Optimisers.adjust(state; momentum = 0.75), "momentum") == 0.75
    # Only the address would be copied.
    GC.@preserve model begin
        by_address = (a = Gradstep.Tensor{Float64}(pointer(model.a), (1,)),)
        error = failure(() -> Optimisers.update(state, by_address, (a = [1.0],)))
        @test occursin("model[1] (a): is a Gradstep.Tensor", error.text) && occursin("use update!", error.text)
        Optimisers.update!(state, by_address, (a = [0.0],))
    end
    @test model.a == [0.375] && step_count(state) == 2
end

@testset "rules by group" begin
    rules = [NamedRule("sgd"; learning_rate = 1), NamedRule("sgd"; learning_rate = 0.5)]
    model = (weight = [1.0], bias = [1.0])
    state = Optimisers.setup(rules, model; groups = path -> endswith(path, "bias") ? 1 : 0)
    Optimisers.update!(state, model, (weight = [1.0], bias = [1.0]))
    @test model == (weight = [0.0], bias = [0.5])
end

@testset "a rule of Gradstep's is no part of a chain, and an optimizer a leaf" begin
    rule = Optimisers.AbstractRule(Gradstep.SGD(1))
    text = failure(() -> Optimisers.setup(OptimiserChain(Descent(1), rule), [1.0])).text
    @test occursin("steps a whole model", text) && occursin("OptimiserChain", text)
    state = Optimisers.setup(rule, [1.0])
    @test Functors.isleaf(state) && fmap(identity, (state = state,)).state === state
end

@testset "an array that a model has twice is refused" begin
    shared = [1.0]
    state = Optimisers.setup(Gradstep.SGD(1), (a = shared, b = shared))
    error = failure(() -> Optimisers.update!(state, (a = shared, b = shared), (a = [1.0], b = [1.0])))
    @test occursin("overlap", error.text) && shared == [1.0]
end

struct Old
    weight::Vector{Float64}
end
Optimisers.trainable(old::Old) = (old.weight,)

@testset "children without names are refused" begin
    @test occursin("expected a NamedTuple", failure(() -> Optimisers.setup(Gradstep.SGD(1), Old([1.0]))).text)
end

const EXAMPLE = joinpath(@__DIR__, "..", "..", "..", "..", "examples", "julia", "optimisers", "train.jl")

# Throws unless both networks have learnt.
@testset "the example's networks learn" begin
    @test Base.include(Module(:Example), EXAMPLE) === nothing
end
