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

@testset "ranks of a launcher" begin
    code = """
    using Gradstep
    # docs:begin launched
    comm = from_environment()
    barrier(comm)
    # docs:end launched
    print(rank(comm), " of ", world_size(comm), " by ", engine(comm))
    """
    @test in_processes(code, 2, "LOCAL_WORLD_SIZE" => "2") == ["0 of 2 by shm", "1 of 2 by shm"]
end

@testset "timeline and counters" begin
    mktempdir() do folder
        path = joinpath(folder, "trace.json")
        comm = self_communicator()
        trace_start(path)
        barrier(comm)
        trace_stop()
        @test occursin("\"name\":\"barrier\"", read(path, String))
        @test occursin("gradstep_comm_calls_total{call=\"barrier\",job=\"7\"} 1\n", counters(comm; labels = "job=\"7\""))
        @test_throws GradstepError counters(comm; labels = "{")
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

const INTERRUPTED_IN_PROCESS = """
using Gradstep
Base.exit_on_sigint(false)
strike() = (ccall(:kill, Cint, (Cint, Cint), getpid(), 2); Libc.systemsleep(0.5))
interrupted(f) = try f(); false catch error error isa InterruptException || rethrow() end
still_works(f) = try f(); true catch error false end
const ARRAY, GRADIENT = zeros(4), ones(4)
for (model, grads) in (((ARRAY,), (GRADIENT,)), ((a = ARRAY,), (a = GRADIENT,))), momentum in (0, t -> 0.5)
    optimizer = setup(SGD(1; momentum = momentum), model)
    updater = Updater(optimizer)
    armed = Ref(false)
    adjust!(optimizer, t -> (armed[] && strike(); armed[] = false; 1.0))
    for f in (() -> update!(optimizer, model, grads), () -> step!(optimizer, model, grads; max_norm = 1),
              () -> push!(updater, model, grads), () -> get_value(optimizer, :learning_rate))
        f()
        armed[] = true
        print(interrupted(f) ? "i" : "-", still_works(f) ? "w" : "-")
    end
end
strike_soon() = run(`sh -c "(sleep 1; kill -INT \$(getpid())) &"`)
# A signal that comes while C computes.
large, step_of_large = (zeros(1 << 22),), (ones(1 << 22),)
optimizer = setup(Adam(0.1), large)
strike_soon()
print(interrupted(() -> while true update!(optimizer, large, step_of_large) end) ? "i" : "-")
print(still_works(() -> update!(optimizer, large, step_of_large)) ? "w" : "-")
# And while it waits.
comms = local_communicators(2)
strike_soon()
print(interrupted(() -> barrier(comms[1])), broken_by(comms[1]).status)
"""

@testset "Ctrl-C ends a call, and leaves its handle free" begin
    @test in_processes(INTERRUPTED_IN_PROCESS, 1) == ["iw"^17 * "trueABORTED"]
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
