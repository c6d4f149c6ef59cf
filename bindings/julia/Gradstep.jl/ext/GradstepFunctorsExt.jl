# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""With Functors.jl: a model's structs are walked by what it says of their children, and an optimizer is a leaf."""
module GradstepFunctorsExt

using Functors: Functors
using Gradstep: Gradstep

Functors.@leaf Gradstep.Optimizer

__init__() = push!(Gradstep.TRAINED, Functors.children)

end
