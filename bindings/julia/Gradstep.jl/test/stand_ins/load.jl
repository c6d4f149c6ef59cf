# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Loads Functors, Optimisers and the extensions on them: the packages where they are installed, else the stand-ins here.
# Julia before 1.9 knows no extensions, and stand-ins have none: the files are included.

using Gradstep

Base.find_package("Optimisers") === nothing && push!(LOAD_PATH, @__DIR__)
using Functors, Optimisers

for name in ("GradstepFunctorsExt", "GradstepOptimisersExt")
    isdefined(Base, :get_extension) && Base.get_extension(Gradstep, Symbol(name)) !== nothing ||
        include(joinpath(@__DIR__, "..", "..", "ext", name * ".jl"))
end
