# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

@testset "a window is the mean of its micro-batches, and steps without a copy" begin
    model = (a = zeros(Float32, 2), b = zeros(Float32, 1))
    accumulator = Accumulator(model; steps = 2, mode = :mean)
    @test !add!(accumulator, (a = Float32[1, 2],))
    @test count(accumulator) == 1 && weight(accumulator) == 1.0 && skipped(accumulator) == 0
    @test add!(accumulator, (a = Float32[3, 6],))
    @test gradients(accumulator) == [Float32[2, 4], nothing]
    @test norm(accumulator) == LinearAlgebra.norm(accumulator) ≈ sqrt(20)
    optimizer = setup(SGD(1), model)
    update!(optimizer, model, accumulator)
    @test model.a == [-2, -4] && model.b == [0]
    @test step!(optimizer, model, accumulator; max_norm = 1).grad_norm ≈ sqrt(20)
    @test !add!(accumulator, (a = Float32[1, 1],))
    @test flush!(accumulator) && gradients(accumulator)[1] == [1, 1]
    reset!(accumulator)
    @test failure(() -> gradients(accumulator)).status === :INVALID_STATE
end

@testset "weights, sums, f64 sums and skipped micro-batches" begin
    x = zeros(Float32, 1)
    accumulator = Accumulator(x; mode = :weighted, trigger = :manual, dtype = Float64, nonfinite = :skip)
    add!(accumulator, Float32[1]; weight = 3)
    add!(accumulator, Float32[NaN]; weight = 1)
    add!(accumulator, Float32[5]; weight = 1)
    @test sums(accumulator) == [[8.0]]
    @test flush!(accumulator) && gradients(accumulator) == [[2.0]]
    @test skipped(accumulator) == 1
    @test failure(() -> add!(accumulator, Float32[1]; weight = -1)).status === :INVALID_ARGUMENT
    @test failure(() -> Accumulator(x; steps = 0)).status === :INVALID_ARGUMENT
end

@testset "sparse rows are slices of the last axis, counted from 1" begin
    table = zeros(Float32, 2, 4)
    accumulator = Accumulator((table,); mode = :sum)
    rows = Rows(1, [3, 1, 3], Float32[1 2 3; 10 20 30])
    @test add!(accumulator, nothing; rows = [rows])
    @test gradients(accumulator)[1] == Float32[2 0 4 0; 20 0 40 0]
    bad = failure(() -> add!(accumulator, nothing; rows = [Rows(1, [5], zeros(Float32, 2, 1))]))
    @test bad.text == "rows[1].indices[1]: is 5, the last axis has 1 to 4"
    @test failure(() -> add!(accumulator, nothing; rows = [Rows(2, [1], zeros(Float32, 2, 1))])).status ===
          :INVALID_ARGUMENT
end
