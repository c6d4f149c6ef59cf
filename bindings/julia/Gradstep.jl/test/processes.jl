# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

const PROJECT = dirname(dirname(pathof(Gradstep)))

"""Runs the code in processes with RANK and WORLD_SIZE; what they print."""
function in_processes(code, world_size, environment...)
    command = `$(Base.julia_cmd()) --startup-file=no --project=$PROJECT -e $code`
    processes = map(0:(world_size - 1)) do r
        output = IOBuffer()
        ranked = addenv_(command, "RANK" => string(r), "WORLD_SIZE" => string(world_size), environment...)
        run(pipeline(ranked; stdout = output, stderr = stderr); wait = false), output
    end
    foreach(each -> wait(each[1]), processes)
    @test all(each -> success(each[1]), processes)
    return [String(take!(each[2])) for each in processes]
end

# Base.addenv is of Julia 1.6.
addenv_(command, pairs...) = setenv(command, merge(Dict(ENV), Dict(pairs)))

const ALL_REDUCE_IN_PROCESS = """
using Gradstep
rank_, size_ = parse(Int, ENV["RANK"]), parse(Int, ENV["WORLD_SIZE"])
comm = connect(ENV["ENGINE"], rank_, size_, ENV["STORE"]; timeout = 120)
print(engine(comm), all_reduce!(comm, Float32[rank_ + 1, 0.5]))
"""

for engine_name in ("shm", "gloo")
    @testset "processes over $engine_name" begin
        if backend_available(engine_name)
            mktempdir() do folder
                printed = in_processes(ALL_REDUCE_IN_PROCESS, 2, "ENGINE" => engine_name, "STORE" => folder)
                @test printed == fill("$(engine_name)Float32[3.0, 1.0]", 2)
            end
        else
            @warn "skipped: $engine_name is not there: $(backend_status(engine_name))"
        end
    end
end

@testset "one rank of MPI" begin
    if backend_available("mpi")
        code = """
        using Gradstep
        comm = mpi_communicator()
        print(engine(comm), world_size(comm), all_reduce!(comm, [2.5]))
        """
        @test in_processes(code, 1) == ["mpi1[2.5]"]
    else
        @warn "skipped: mpi is not there: $(backend_status("mpi"))"
    end
end

@testset "a library of another ABI, or none, is refused by name" begin
    code = "using Gradstep"
    command = `$(Base.julia_cmd()) --startup-file=no --project=$PROJECT -e $code`
    output = IOBuffer()
    run(pipeline(ignorestatus(addenv_(command, "GRADSTEP_LIB" => "/there/is/no/library")); stderr = output))
    said = String(take!(output))
    @test occursin("GRADSTEP_LIB", said) && occursin("/there/is/no/library", said)
    @test Gradstep.C.shown(0x00010002) == "1.2"
end
