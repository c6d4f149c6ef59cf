# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Two ranks need a thread each: julia --threads=2, on two cores (Julia 1.5 starts no more threads than there are). With GRADSTEP_TEST_REPORT a JUnit report of what
# has passed is written there; a failure ends the run with its own words. With --depwarn=yes what old names say is tested, too.

using Gradstep
using LinearAlgebra: LinearAlgebra
using Serialization: deserialize, serialize
using Test

Threads.nthreads() >= 2 || error("start julia with --threads=2: each of two ranks takes a thread of its own")

include("support.jl")
include(joinpath("stand_ins", "load.jl"))

results = @testset "Gradstep" begin
    for name in ("layout", "models", "optimizers", "accumulators", "schedules", "communicators", "host_communicators",
                 "reducers", "updaters", "saved_state", "how_to", "handles", "bfloat16", "deprecated", "tensors", "optimisers", "processes")
        include(name * ".jl")
    end
end

if haskey(ENV, "GRADSTEP_TEST_REPORT")
    open(ENV["GRADSTEP_TEST_REPORT"], "w") do io
        println(io, "<testsuite name=\"julia\">")
        for each in results.results
            println(io, "<testcase classname=\"julia\" name=\"", replace(each.description, r"[<>&\"]" => " "), "\"/>")
        end
        println(io, "</testsuite>")
    end
end
