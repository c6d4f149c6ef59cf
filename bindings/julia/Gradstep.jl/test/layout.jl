# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

const RECORDED_LAYOUT = normpath(joinpath(@__DIR__, "..", "..", "..", "..", "tests", "abi", "layout.txt"))

@testset "structs have the recorded layout" begin
    structs = fields = 0
    for line in eachline(RECORDED_LAYOUT)
        if (found = match(r"^struct (\w+) = (\d+) bytes", line)) !== nothing
            structs += 1
            @test sizeof(getfield(Gradstep.C, Symbol(found[1]))) == parse(Int, found[2])
        elseif (found = match(r"^field (\w+)\.(\w+) = at (\d+), (\d+) bytes", line)) !== nothing
            fields += 1
            T = getfield(Gradstep.C, Symbol(found[1]))
            i = findfirst(==(Symbol(found[2])), fieldnames(T))
            @test (fieldoffset(T, i), sizeof(fieldtype(T, i))) == (parse(Int, found[3]), parse(Int, found[4]))
        end
    end
    @test structs > 20 && fields > 200
end

@testset "every function of the headers is there" begin
    recorded = [match(r"^function (\w+)", line)[1] for line in eachline(RECORDED_LAYOUT) if startswith(line, "function ")]
    @test sort(recorded) == sort([string(name) for (name, _) in Gradstep.C.FUNCTIONS])
    @test all(address[] != C_NULL for (_, address) in Gradstep.C.FUNCTIONS)
end

@testset "enumerators have the recorded numbers" begin
    named = Dict{String, Dict{Int, String}}()
    for line in eachline(RECORDED_LAYOUT)
        found = match(r"^enumerator (\w+)\.(\w+) = (-?\d+)", line)
        found === nothing || endswith(found[2], "_INVALID") && found[3] == "-1" ||
            (get!(named, found[1], Dict())[parse(Int, found[3])] = lowercase(found[2]))
    end
    for (enum, numbers) in named
        words = getfield(Gradstep.C, Symbol(enum))
        @test Set(Int.(values(words))) == Set(keys(numbers))
        @test all(endswith(numbers[number], string(word)) for (word, number) in pairs(words))
    end
end
