# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""
A stand-in for Functors.jl, for tests where that cannot be installed: what its documentation of version 0.5 says of `functor`,
`children`, `isleaf`, `fmap`, `@functor` and `@leaf`. Nothing else of it is here.
"""
module Functors

export @functor, @leaf, fmap

"""The children of `x`, and a function that makes one like it of others."""
functor(x) = functor(typeof(x), x)
functor(::Type{<:Union{Tuple, NamedTuple, AbstractArray}}, x) = x, identity
functor(::Type{<:Union{Number, AbstractString, AbstractArray{<:Number}}}, x) = (), _ -> x
function functor(T, x)
    names = fieldnames(T)
    isempty(names) && return (), _ -> x
    return NamedTuple{names}(map(name -> getfield(x, name), names)), children -> Base.typename(T).wrapper(children...)
end

children(x) = functor(x)[1]
isleaf(x) = children(x) === ()

macro leaf(T)
    return :(Functors.functor(::Type{<:$(esc(T))}, x) = ((), _ -> x))
end

"""Only the named fields are children."""
macro functor(T, names)
    fields = QuoteNode(Tuple(names.args))
    return quote
        function Functors.functor(::Type{<:$(esc(T))}, x)
            remake(children) = typeof(x)(map(name -> name in $fields ? children[name] : getfield(x, name), fieldnames(typeof(x)))...)
            return NamedTuple{$fields}(map(name -> getfield(x, name), $fields)), remake
        end
    end
end

"""`f` of every leaf of `x`, in the structure of `x`; what is shared stays shared."""
function fmap(f, x; exclude = isleaf, cache = IdDict())
    haskey(cache, x) && return cache[x]
    found = if exclude(x)
        f(x)
    else
        inner, remake = functor(x)
        remake(map(each -> fmap(f, each; exclude = exclude, cache = cache), inner))
    end
    isbits(x) || (cache[x] = found)
    return found
end

end
