# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for Optimisers.jl, for tests where that cannot be installed: what its documentation of version 0.4 says of rules
(`init`, `apply!`), of `setup`, `update!`, `update`, `adjust!` and `adjust`, and of `trainable`. Nothing else of it is here.
"""
module Optimisers

using Functors: Functors, functor, fmap

export AbstractRule, Descent, OptimiserChain

abstract type AbstractRule end

mutable struct Leaf
    rule
    state
end

trainable(x) = Functors.children(x)

is_numeric(x) = x isa AbstractArray{<:AbstractFloat} && Functors.isleaf(x)

setup(rule::AbstractRule, model) = state_of(rule, model)
function state_of(rule, x)
    is_numeric(x) && return Leaf(rule, init(rule, x))
    names, of_all = trainable(x), Functors.children(x)
    of_all isa NamedTuple || return map(each -> state_of(rule, each), of_all)
    return NamedTuple{keys(of_all)}(map(name -> haskey(names, name) ? state_of(rule, names[name]) : (), keys(of_all)))
end

function update!(tree, model, grad)
    step!(tree, model, grad)
    return tree, model
end
function step!(leaf::Leaf, x, grad)
    grad === nothing && return
    leaf.state, change = apply!(leaf.rule, leaf.state, x, grad)
    x .-= change
    return
end
function step!(tree, x, grad)
    grad === nothing && return
    inner = Functors.children(x)
    for key in keys(tree)
        tree[key] === () || step!(tree[key], inner[key], grad[key])
    end
end

update(tree, model, grad) = update!(deepcopy(tree), fmap(copy, model; exclude = is_numeric), grad)

adjust!(leaf::Leaf, eta::Real) = (leaf.rule = adjust(leaf.rule, eta); nothing)
adjust!(tree, eta::Real) = foreach(each -> adjust!(each, eta), tree)
adjust!(leaf::Leaf; changes...) = error("the stand-in adjusts learning rates alone")
adjust!(tree; changes...) = foreach(each -> adjust!(each; changes...), tree)
adjust(tree, eta::Real) = (changed = deepcopy(tree); adjust!(changed, eta); changed)
adjust(tree; changes...) = (changed = deepcopy(tree); adjust!(changed; changes...); changed)

struct Descent <: AbstractRule
    eta::Float64
end
init(::Descent, x) = nothing
apply!(rule::Descent, state, x, grad) = state, rule.eta .* grad
adjust(::Descent, eta::Real) = Descent(eta)

struct OptimiserChain{T <: Tuple} <: AbstractRule
    rules::T
end
OptimiserChain(rules::AbstractRule...) = OptimiserChain(rules)
init(chain::OptimiserChain, x) = map(rule -> init(rule, x), chain.rules)

end
