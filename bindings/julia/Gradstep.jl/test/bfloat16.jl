# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

primitive type BrainFloat <: AbstractFloat 16 end
Gradstep.dtype(::Type{BrainFloat}) = Gradstep.BF16

brain(x::Float32) = reinterpret(BrainFloat, UInt16(reinterpret(UInt32, x) >> 16))
whole(x::BrainFloat) = reinterpret(Float32, UInt32(reinterpret(UInt16, x)) << 16)

@testset "a bfloat16 type of another package's" begin
    x = brain.(Float32[1, 2])
    update!(setup(SGD(0.5), x), x, brain.(Float32[1, 2]))
    @test whole.(x) == [0.5, 1]
end

@testset "Float16 with Float32 master weights" begin
    x = ones(Float16, 2)
    optimizer = setup(SGD(2.0^-13; master_weights = true), x)
    for _ in 1:16
        update!(optimizer, x, ones(Float16, 2))
    end
    @test x == fill(Float16(1 - 2.0^-9), 2)
    @test get_state(optimizer, 1, "master_weights") == fill(1 - 2f0^-9, 2)
end
