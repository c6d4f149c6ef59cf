# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

const REDUCED = (a = zeros(Float32, 6, 5), b = zeros(Float32, 7))
gradients_of(r) = (a = reshape(Float32.(1:30), 6, 5) ./ 32 .* (r + 1), b = Float32.(1:7) .* (2r - 1))

@testset "the mean of all ranks, in every mode the same bits on all" begin
    for mode in (:dense, :half, :bfloat16, :sparse_threshold, :sparse_topk, :adasum_tree, :adasum_nway, :powersgd, :auto,
                 :int8, :int4, :fp8_e4m3, :fp8_e5m2)
        results = on_ranks(2) do comm
            reducer = Reducer(comm, REDUCED; mode = mode)
            grads = gradients_of(rank(comm))
            close(comm)
            reduce!(reducer, grads)
            @test [grads.a, grads.b] == gradients(reducer)
            grads
        end
        @test results[1] == results[2]
        mode === :dense && @test results[1].a ≈ 1.5 .* gradients_of(0).a
        mode === :dense && @test all(iszero, results[1].b)
    end
end

@testset "pushed gradients have the bits of reduced ones" begin
    whole = on_ranks(comm -> (r = Reducer(comm, REDUCED; fuse_threshold = 4);
                              reduce!(r, gradients_of(rank(comm)); results = nothing);
                              (gradients(r), norm(r))), 2)
    pushed = on_ranks(2) do comm
        reducer = Reducer(comm, REDUCED; fuse_threshold = 4)
        grads = gradients_of(rank(comm))
        begin!(reducer)
        push!(reducer, 2, grads.b)
        push!(reducer, 1, grads.a)
        wait!(reducer)
        @test poll(reducer) && bucket_statistics(reducer)[1].mode === :dense
        @test comm_statistics(reducer).bytes_sent > 0
        (gradients(reducer), norm(reducer))
    end
    @test whole == pushed
end

@testset "weights, residuals and missing gradients" begin
    results = on_ranks(2) do comm
        r = rank(comm)
        weighted = Reducer(comm, (zeros(1),); average = :weighted)
        @test reduce!(weighted, ([4.0r],); weight = 1 + 2r)[1] == [3.0]
        sparse = Reducer(comm, (zeros(Float32, 4),); mode = :sparse_topk, sparsity = 0.25, average = :sum)
        reduce!(sparse, (Float32[1, 2, 3, 4],))
        @test residual(sparse, 1) == [1, 2, 3, 0]
        loose = Reducer(comm, REDUCED; may_be_unused = true)
        reduce!(loose, (a = r == 0 ? gradients_of(0).a : nothing,); results = nothing)
        @test gradients(loose)[2] === nothing && gradients(loose)[1] ≈ gradients_of(0).a / 2
        failure(() -> Reducer(comm, (zeros(Float32, r + 1),))).status
    end
    @test results == [:MISMATCH, :MISMATCH]
end

@testset "an accumulator feeds a reducer, which feeds a step, without copies" begin
    models = on_ranks(2) do comm
        model = (zeros(Float32, 3),)
        accumulator = Accumulator(model; steps = 2)
        reducer = Reducer(comm, model)
        optimizer = setup(SGD(1), model)
        add!(accumulator, (Float32[1, 2, 3] .* rank(comm),))
        add!(accumulator, (Float32[1, 2, 3],))
        reduce!(reducer, accumulator)
        update!(optimizer, model, reducer)
        model[1]
    end
    @test models == fill(Float32[-0.75, -1.5, -2.25], 2)
end
