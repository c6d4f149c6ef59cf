# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

# docs:begin using
using Gradstep
# docs:end using

struct Dense{W, B, F}
    weight::W
    bias::B
    activation::F
end

@testset "a first step of Adam is its rate, by the signs" begin
    # docs:begin step
    model = (weight = Float32[1, 2, 3, 4],)
    optimizer = setup(Adam(0.25), model)
    update!(optimizer, model, (weight = Float32[0.5, -0.5, 1, -1],))
    # docs:end step
    @test isapprox(model.weight, [0.75, 2.25, 2.75, 4.25]; atol = 1e-5)
end

@testset "nested models are stepped in place" begin
    model = (layers = (Dense(ones(Float32, 2, 3), zeros(Float32, 2), tanh), [ones(2), ones(Float32, 1)]), scale = fill(1f0))
    optimizer = setup(SGD(0.5), model)
    @test optimizer.schema.names ==
          ["layers.1.weight", "layers.1.bias", "layers.2.1", "layers.2.2", "scale"]
    grads = (layers = ((weight = ones(Float32, 2, 3), bias = nothing, activation = nothing), [ones(2), nothing]),)
    update!(optimizer, model, grads)
    @test model.layers[1].weight == fill(0.5f0, 2, 3)
    @test model.layers[1].bias == zeros(2)
    @test model.layers[2] == [fill(0.5, 2), ones(1)]
    @test model.scale[] == 1
end

@testset "one array, and arrays without elements or dimensions, are models" begin
    for array in (ones(Float32, 4), ones(Float32, 0, 3), fill(1f0))
        grads = fill!(similar(array), 1)
        update!(setup(SGD(1), array), array, grads)
        @test all(array .== 0)
    end
end

@testset "strided views are stepped where they lie" begin
    whole = reshape(collect(1f0:24f0), 4, 6)
    expected = copy(whole)
    expected[2:3, 1:2:5] .-= 1
    views = (view(whole, 2:3, 1:2:5),)
    update!(setup(SGD(1), views), views, (ones(Float32, 2, 3),))
    @test whole == expected
    expected[1, :] .-= 2
    turned = PermutedDimsArray(view(whole, 1:1, :), (2, 1))
    update!(setup(SGD(1), turned), turned, fill(2f0, 6, 1))
    @test whole == expected
end

@testset "column-major arrays are tensors of reversed shape" begin
    # The file of the state has C's shapes.
    weight = ones(Float32, 2, 3)
    io = IOBuffer()
    save(setup(SGD(0.1; momentum = 0.9), (weight,)), io)
    @test occursin("\"shape\":[3,2]", String(take!(io)))
end

@testset "what does not fit is refused by argument and index" begin
    model = (a = zeros(Float32, 2), b = zeros(Float32, 3, 2))
    optimizer = setup(SGD(1), model)
    says(f) = failure(f).text
    refused(grads) = says(() -> update!(optimizer, model, grads))
    @test refused((a = ones(Float32, 2), b = ones(Float32, 2, 3))) == "grads[2] (b): size is (2, 3), expected (3, 2)"
    @test refused((a = ones(2),)) == "grads[1] (a): eltype is Float64, expected a float of at most 32 bits"
    @test refused((a = ones(Int32, 2),)) == "grads[1] (a): eltype is Int32, expected a float of at most 32 bits"
    scattered = (a = view(zeros(Float32, 4), [1, 3]), b = zeros(Float32, 2, 3)')
    @test occursin("model[1] (a): is a SubArray", says(() -> update!(optimizer, scattered, nothing)))
    @test occursin("expected an Array or a strided view", says(() -> setup(SGD(1), scattered)))
    @test occursin("results[1] (a): is a SubArray", says(() -> reduce!(Reducer(self_communicator(), model), scattered)))
    @test refused((a = 1f0,)) == "grads[1] (a): is a Float32, expected an array"
    @test refused((c = ones(Float32, 2),)) == "grads: has a c, the model has none"
    @test says(() -> update!(optimizer, (a = model.a,), nothing)) == "model[2] (b): is a Nothing, expected an array"
    @test says(() -> update!(optimizer, (a = zeros(2), b = model.b), nothing)) ==
          "model[1] (a): eltype is Float64, expected Float32"
    @test says(() -> setup(SGD(1), (zeros(Float32, 2), [1im, 2]))) ==
          "model[2]: eltype is Complex{Int64}, expected Float16, Float32 or Float64"
    @test says(() -> setup(SGD(1), [1, 2])) == "model[1]: eltype is Int64, expected Float16, Float32 or Float64"
    @test says(() -> setup(SGD(1), (zeros(Float32, 2), Dict(:a => [1f0])))) isa String
    @test all(iszero, model.a) && all(iszero, model.b) && step_count(optimizer) == 0
end

@testset "arrays of integers are left alone" begin
    model = (weight = ones(2), indices = [1, 2], inner = ([true, false], ones(1)))
    optimizer = setup(SGD(0.5), model)
    @test optimizer.schema.names == ["weight", "inner.2"]
    update!(optimizer, model, (weight = ones(2), indices = nothing, inner = (nothing, ones(1))))
    @test model == (weight = [0.5, 0.5], indices = [1, 2], inner = ([true, false], [0.5]))
end

@testset "gradients without addresses are copied" begin
    model = (a = zeros(2), b = zeros(3, 2), c = zeros(1, 2), d = zeros(Float32, 2))
    grads = (a = view([1.0, 2.0, 3.0], [1, 3]), b = [1.0 2.0 3.0; 4.0 5.0 6.0]', c = transpose([7.0, 8.0]), d = 1f0:2f0)
    update!(setup(SGD(1), model), model, grads)
    @test model == map(each -> -each, grads)
end

@testset "models without arrays" begin
    for model in ((), 1f0, nothing, (a = (), f = tanh), Any[])
        optimizer = setup(Adam(0.1), model)
        @test update!(optimizer, model, nothing) === (optimizer, model)
        @test step_count(optimizer) == 1 && state_bytes(Adam(0.1), model) == 0
        accumulator, reducer = Accumulator(model), Reducer(self_communicator(), model)
        @test add!(accumulator, nothing) && isempty(gradients(accumulator))
        reduce!(reducer, nothing)
        @test isempty(gradients(reducer))
    end
end

mutable struct Node
    weight::Vector{Float32}
    next::Any
end

@testset "a model that contains itself is refused" begin
    node = Node(ones(Float32, 1), nothing)
    node.next = (back = node,)
    @test failure(() -> setup(SGD(1), node)).text == "model: next.back is a $Node that contains itself"
    list = Any[ones(Float32, 1)]
    push!(list, list)
    @test occursin("contains itself", failure(() -> setup(SGD(1), list)).text)
    # Twice is not within.
    shared = Dense(ones(Float32, 1), nothing, tanh)
    @test length(setup(SGD(1), (shared, shared)).schema) == 2
end

struct Untyped
    weight
    bias
end

@testset "a step of structs allocates no more than one of a list of their arrays" begin
    function allocated(model, grads)
        optimizer = setup(Adam(0.1), model)
        update!(optimizer, model, grads)
        return @allocated update!(optimizer, model, grads)
    end
    n = 20
    layer(make) = make(ones(Float32, 2, 2), ones(Float32, 2))
    named(weight, bias) = (weight = weight, bias = bias)
    list() = [ones(Float32, 2) for _ in 1:(2n)]
    limit = 3 * allocated(list(), list())
    for make in (Untyped, named, (weight, bias) -> Dense(weight, bias, tanh))
        @test allocated(Tuple(layer(make) for _ in 1:n), Tuple(layer(named) for _ in 1:n)) <= limit
        @test allocated([layer(make) for _ in 1:n], [layer(named) for _ in 1:n]) <= limit
    end
end
