# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""The GradstepError that `f` throws."""
function failure(f)
    try
        f()
    catch error
        error isa GradstepError || rethrow()
        return error
    end
    error("nothing was thrown")
end

"""`f(comm)` for each rank, on a thread of its own; the results in the order of ranks."""
function on_ranks(f, comms)
    results = Vector{Any}(undef, length(comms))
    Threads.@threads for i in 1:length(comms)
        results[i] = f(comms[i])
    end
    return results
end

on_ranks(f, world_size::Integer) = on_ranks(f, local_communicators(world_size))
