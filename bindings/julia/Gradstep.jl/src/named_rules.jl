# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Rules by their names, and what the library says of them.

"""What a rule by its name is given: numbers and texts by the names of its options."""
struct NamedOptions
    rule::String
    given::Vector{Tuple{String, Float64, Union{Nothing, String}}}
end

"""
    NamedRule(name; options...)

The rule of that name, such as `"lion"`, for configurations; `Lion` and others are functions, too. Options have the
names, ranges and defaults that `describe_rules` lists; texts and symbols are names of choices. Schedules serve as for the
other rules.
"""
function NamedRule(name; options...)
    given = Tuple{String, Float64, Union{Nothing, String}}[]
    schedules = Pair{Symbol, Schedule}[]
    for (key, value) in pairs(options)
        if value isa Union{AbstractString, Symbol}
            push!(given, (String(key), 0.0, String(value)))
        elseif value isa Integer && !(-2^53 <= value <= 2^53)
            push!(given, (String(key), 0.0, string(value)))
        elseif is_schedule(value)
            push!(schedules, key => as_schedule(value))
            push!(given, (String(key), value_at_creation(schedules[end].second), nothing))
        else
            push!(given, (String(key), Float64(value), nothing))
        end
    end
    return Rule{NamedOptions}(String(name), NamedOptions(String(name), given), schedules)
end

"""
    describe_rules()

The rules that `NamedRule` makes: for each a named tuple of its `name`, `source`, `formula` (g: gradient; p: parameter; t: steps
before this one), the names of the `states` that it can have, and its `options`, those that all rules share last. An option is a
named tuple of its `name`, `kind` (`:hyper_parameter`, which takes a schedule too, `:setting`, `:choice`, `:flag` or `:integer`),
`meaning`, `choices` (a choice's values), `default` (`nothing`: it must be given), `minimum`, and `limit`, below which legal
numbers are.
"""
function describe_rules()
    count = Ref{Csize_t}(0)
    check(C.gradstep_rule_count(count))
    return [described_rule(index) for index in 1:count[]]
end

function described_rule(index)
    rule = Ref(sized(C.gradstep_rule))
    check(C.gradstep_rule_describe(index - 1, rule))
    name, source, formula, states = record(rule[])
    return (name = name, source = source, formula = formula, states = split_names(states), options = described_options(name))
end

described_options(name) = map(described_option, records(C.gradstep_rule_options, C.gradstep_rule_option, name))

function described_option(option)
    choices = split_names(option.choices)
    default = isnan(option.initial) ? nothing :
        option.kind === :choice ? Symbol(choices[Int(option.initial) + 1]) :
        option.kind === :flag ? option.initial != 0 :
        option.kind === :integer ? Int(option.initial) : option.initial
    return (name = Symbol(option.name), kind = option.kind, meaning = option.meaning, choices = Symbol.(choices), default = default,
            minimum = option.minimum, limit = option.limit)
end

"""
    define_rule(text; context)

Makes a rule of its text (docs/rules_as_text.md) and returns its name, for `NamedRule`. The rule is the process's; the same text
gives the same name. A text that is no rule is an error that says line, column, what was expected and what was found.
"""
function define_rule(text::AbstractString; context = nothing)
    name = Ref{Ptr{UInt8}}(C_NULL)
    with_context(context) do pointer
        check(C.gradstep_rule_define(pointer, text, name))
    end
    return unsafe_string(name[])
end

"""The options of a rule with their defaults; NaN: it must be given."""
function options_by_name(name)
    described = described_options(name)
    return NamedTuple{Tuple(each.name for each in described)}(
        map(each -> each.default === nothing ? NaN : each.default, described))
end

split_names(text) = text === nothing ? String[] : String.(split(text, ','; keepempty = false))

Base.show(io::IO, rule::Rule{NamedOptions}) = print(io, "NamedRule(", repr(rule.name), "; ", join(
    ["$name = $(repr(text === nothing ? value : text))" for (name, value, text) in rule.options.given], ", "), ")")

creator(::Rule{NamedOptions}) = C.gradstep_optimizer_create
byte_counter(::Rule{NamedOptions}) = C.gradstep_rule_state_bytes

function with_options(f, rule::Rule{NamedOptions})
    given = rule.options.given
    check_texts(given)
    GC.@preserve given begin
        options = c_options(given)
        return f(rule.options.rule, options, length(options))
    end
end

function check_texts(given)
    for text in Iterators.flatten(((option, text) for (option, _, text) in given))
        text === nothing || !Base.containsnul(text) || throw(ArgumentError("NamedRule: $(repr(text)) has a NUL"))
    end
end

"""Valid as long as `given`."""
c_options(given) = [C.gradstep_option(pointer(option), value, text === nothing ? C_NULL : pointer(text))
                    for (option, value, text) in given]

"""The rules of an optimizer that has one for each group."""
struct RulesByGroup
    rules::Vector{Rule{NamedOptions}}
end

"""
    setup(rules, model; names, groups, parts, context)

One optimizer of several `NamedRule`s, by group from 0 on: one norm, one clip, one step count, one saved state.
"""
function setup(rules::AbstractVector{<:Rule{NamedOptions}}, model; names = nothing, groups = nothing, parts = nothing,
               context = nothing)
    all = Rule{RulesByGroup}("by group", RulesByGroup(rules), Pair{Symbol, Schedule}[])
    optimizer = setup(all, model; names = names, groups = groups, parts = parts, context = context)
    for (i, rule) in enumerate(rules), (name, schedule) in rule.schedules
        set_value!(optimizer, name, schedule; group = length(rules) > 1 ? i - 1 : -1)  # a lone rule is that of all groups
    end
    return optimizer
end

creator(::Rule{RulesByGroup}) = C.gradstep_optimizer_create_by_group

function with_options(f, rule::Rule{RulesByGroup})
    rules = [each.options for each in rule.options.rules]
    foreach(each -> check_texts(each.given), rules)
    any(each -> Base.containsnul(each.rule), rules) && throw(ArgumentError("NamedRule: a name has a NUL"))
    GC.@preserve rules begin
        options = [c_options(each.given) for each in rules]
        GC.@preserve options begin
            groups = [C.gradstep_group_rule(pointer(each.rule), pointer(own), length(own))
                      for (each, own) in zip(rules, options)]
            return f(groups, length(groups))
        end
    end
end
