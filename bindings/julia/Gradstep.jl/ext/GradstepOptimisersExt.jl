# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""
With Optimisers.jl: a rule of Gradstep in the place of one of its own, in the loops of Flux and Lux too.

The state tree is one `Gradstep.Optimizer`, for the whole model. A leaf for each array would take a call for each, and could
neither clip by the norm over all, nor shard, nor reduce.
"""
module GradstepOptimisersExt

using Gradstep: Gradstep, GradstepError, Optimizer, Rule
using Optimisers: Optimisers, AbstractRule

const Rules = Union{Rule, AbstractVector{<:Rule}}

"""Rules for what takes an `AbstractRule` alone: `Flux.setup` and Lux's `TrainState`."""
struct WholeModel{R <: Rules} <: AbstractRule
    rules::R
end

Optimisers.AbstractRule(rules::Rules) = WholeModel(rules)

Base.show(io::IO, rule::WholeModel) = print(io, "AbstractRule(Gradstep.", rule.rules, ")")

Optimisers.setup(rules::Rules, model; options...) = Gradstep.setup(rules, model; options...)
Optimisers.setup(rule::WholeModel, model; options...) = Gradstep.setup(rule.rules, model; options...)

Optimisers.update!(optimizer::Optimizer, model, grads) = Gradstep.update!(optimizer, model, grads)
function Optimisers.update(optimizer::Optimizer, model, grads)
    Gradstep.check_copyable(model)
    return Gradstep.update!(deepcopy(optimizer), deepcopy(model), grads)
end

Optimisers.adjust!(optimizer::Optimizer, eta::Real) = (Gradstep.adjust!(optimizer, eta); nothing)
Optimisers.adjust!(optimizer::Optimizer; changes...) = (Gradstep.adjust!(optimizer; changes...); nothing)
Optimisers.adjust(optimizer::Optimizer, eta::Real) = Gradstep.adjust!(deepcopy(optimizer), eta)
Optimisers.adjust(optimizer::Optimizer; changes...) = Gradstep.adjust!(deepcopy(optimizer); changes...)

Optimisers.init(rule::WholeModel, array) = throw(GradstepError(Gradstep.UNSUPPORTED, string(
    "rule: ", rule, " steps a whole model, and cannot be a part of another rule, such as an OptimiserChain")))

__init__() = push!(Gradstep.TRAINED, Optimisers.trainable)

end
