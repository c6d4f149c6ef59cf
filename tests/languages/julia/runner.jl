# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: runner.jl --vectors DIR [--trace]. Makes the calls of all scripts in DIR from Julia, and prints a hash for each
# (README.md one folder up). Each rank is a process, because Julia 1.5 has no more threads than there are processors;
# the engine makes no difference to the bits.

using Gradstep

"Bits of a bfloat16: this Julia has no such type."
primitive type BFloat16 <: AbstractFloat 16 end
Gradstep.dtype(::Type{BFloat16}) = Gradstep.BF16

const TYPES = Dict("f32" => Float32, "f64" => Float64, "f16" => Float16, "bf16" => BFloat16)
const NANS = Dict(Float32 => NaN32, Float64 => NaN, Float16 => NaN16, BFloat16 => reinterpret(BFloat16, 0x7FC0))
const RULES = Dict("sgd" => (SGD, Gradstep.C.gradstep_sgd_options),
                   "rmsprop" => (RMSProp, Gradstep.C.gradstep_rmsprop_options),
                   "adagrad" => (AdaGrad, Gradstep.C.gradstep_adagrad_options),
                   "adam" => (Adam, Gradstep.C.gradstep_adam_options),
                   "shampoo" => (Shampoo, Gradstep.C.gradstep_shampoo_options))
const HASH_START = 0xCBF29CE484222325

function hash_bytes(start::UInt64, bytes)
    for byte in bytes
        start = (start ⊻ byte) * 0x00000100000001B3
    end
    return start
end

function mix(x::UInt64)
    x += 0x9E3779B97F4A7C15
    x = (x ⊻ x >> 30) * 0xBF58476D1CE4E5B9
    x = (x ⊻ x >> 27) * 0x94D049BB133111EB
    return x ⊻ x >> 31
end

stored(::Type{T}, value::Float64) where {T <: Union{Float16, Float32, Float64}} = T(value)
stored(::Type{BFloat16}, value::Float64) = reinterpret(BFloat16, UInt16(reinterpret(UInt32, Float32(value)) >> 16))

"An array of the tensor `shape` of C, whose last axis is Julia's first."
function generate(kind, call, rank, parameter, ::Type{T}, shape) where {T}
    tensor = foldl((x, part) -> mix(x ⊻ part % UInt64), (call, rank, parameter); init = mix(UInt64(kind)))
    bits = sizeof(T) == 2 ? 8 : 24
    array = Array{T}(undef, reverse(shape)...)
    for k in 1:length(array)
        word = mix(tensor ⊻ UInt64(k - 1))
        numerator = Int64(word >> (64 - bits)) - (1 << (bits - 1))
        array[k] = stored(T, ldexp(Float64(numerator), -(Int(word & 7) + bits - 1)) + 0.0)
    end
    return array
end

struct Line
    number::Int
    call::String
    keys::Dict{String, String}
end

function Line(number::Integer, text::AbstractString)
    words = split(text)
    return Line(number, words[1], Dict(String.(split(word, '='; limit = 2)) |> Tuple for word in words[2:end]))
end

integers(text) = isempty(text) ? Int[] : parse.(Int, split(text, ','))
numbers(text) = isempty(text) ? Float64[] : parse.(Float64, split(text, ','))
weight_of(line) = parse(Float64, get(line.keys, "weight", "1"))

"The line's keys that are fields of the C struct T, as keywords for the package."
function fields(line::Line, ::Type{T}, known...; prefix = "") where {T}
    found = Pair{Symbol, Any}[]
    for (key, value) in line.keys
        (key in ("times", "only", "fails") || key in known || !startswith(key, prefix)) && continue
        isempty(prefix) && occursin('.', key) && continue
        name = Symbol(key[(length(prefix) + 1):end])
        words = get(Gradstep.C.FIELD_WORDS, (T, name), nothing)
        push!(found, name => words === Bool ? value == "1" : words isa NamedTuple ? Symbol(value) :
                             fieldtype(T, name) == Float64 ? parse(Float64, value) : parse(Int, value))
    end
    return (; found...)
end

function schedule_of(line::Line, prefix, known...)
    keys = line.keys
    values = numbers(get(keys, prefix * "values", ""))
    given = fields(line, Gradstep.C.gradstep_schedule, prefix .* ("kind", "values", "boundaries")..., known...;
                   prefix = prefix)
    kind = keys[prefix * "kind"]
    kind == "callback" && return Schedule(step -> values[step + 1]; given...)
    kind == "piecewise" || return Schedule(kind; given...)
    return Schedule(kind; boundaries = integers(get(keys, prefix * "boundaries", "")), values = values, given...)
end

mutable struct Rank
    directory::String
    index::Int
    comm::Communicator
    context::Context
    values::Vector{Any}
    gradient_types::Vector{DataType}
    groups::Vector{Int}
    handles::Dict{String, Any}
    generated::Int
    saved::Vector{UInt8}
    hash::UInt64
end

Rank(directory, index, comm, context) =
    Rank(directory, index, comm, context, [], [], [], Dict{String, Any}(), 0, UInt8[], HASH_START)

feed(rank::Rank, bytes) = rank.hash = hash_bytes(rank.hash, bytes)
feed_number(rank, number::Union{Int32, Int64}) = feed(rank, reinterpret(UInt8, [number]))
feed_number(rank, number::Float64) = feed(rank, reinterpret(UInt8, isnan(number) ? [0x7FF8000000000000] : [number]))
feed_array(rank, array) = feed(rank, reinterpret(UInt8, collect(vec(array))))
feed_array(rank, ::Nothing) = nothing

function add_parameter(rank::Rank, line::Line)
    type = get(line.keys, "dtype", "f32")
    push!(rank.gradient_types, TYPES[get(line.keys, "gradient", type)])
    push!(rank.groups, parse(Int, get(line.keys, "group", "0")))
    push!(rank.values, generate(1, 0, 0, length(rank.values), TYPES[type], integers(line.keys["shape"])))
end

"Arrays of the model's sizes and these types, from a file in the script's folder."
function read_data(rank::Rank, name, types)
    io = IOBuffer(read(joinpath(rank.directory, name)))
    arrays = Any[read!(io, Array{type}(undef, size(value)...)) for (value, type) in zip(rank.values, types)]
    eof(io) || error("$name is longer than its tensors")
    return arrays
end
Base.read(io::IO, ::Type{BFloat16}) = reinterpret(BFloat16, read(io, UInt16))

"Arrays, of which some may be missing, or the handle whose results they are."
function gradients_of(rank::Rank, line::Line)
    keys = line.keys
    haskey(keys, "from") && return rank.handles[keys["from"]]
    if haskey(keys, "data")
        found = read_data(rank, keys["data"], rank.gradient_types)
    else
        rank.generated += 1
        found = Any[generate(2, rank.generated, rank.index, i - 1, type, reverse(size(value)))
                    for (i, (value, type)) in enumerate(zip(rank.values, rank.gradient_types))]
    end
    if haskey(keys, "nan")
        parameter, element = integers(keys["nan"]) .+ 1
        found[parameter][element] = NANS[eltype(found[parameter])]
    end
    for i in integers(get(keys, "missing", ""))
        found[i + 1] = nothing
    end
    return found
end

function make_optimizer(rank, line)
    rule, T = RULES[line.call]
    options = fields(line, T, "learning_rate")
    learning_rate = parse(Float64, get(line.keys, "learning_rate", "NaN"))
    rank.handles["optimizer"] = setup(rule(learning_rate; options...), rank.values; groups = rank.groups,
                                      context = rank.context)
end

"Options are numbers where a value is one, else texts."
function make_by_name(rank, line)
    options = [Symbol(key) => something(tryparse(Float64, value), value) for (key, value) in line.keys
               if !(key in ("rule", "times", "only", "fails"))]
    rank.handles["optimizer"] = setup(NamedRule(line.keys["rule"]; options...), rank.values; groups = rank.groups,
                                      context = rank.context)
end

function make_accumulator(rank, line)
    options = fields(line, Gradstep.C.gradstep_accumulator_options)
    schedule = haskey(line.keys, "schedule.kind") ? schedule_of(line, "schedule.") : nothing
    rank.handles["accumulator"] = Accumulator(rank.values; context = rank.context, schedule = schedule, options...)
end

make_reducer(rank, line) = rank.handles["reducer"] =
    Reducer(rank.comm, rank.values; context = rank.context, fields(line, Gradstep.C.gradstep_reducer_options)...)

make_updater(rank, line) = rank.handles["updater"] =
    Updater((get(rank.handles, part, nothing) for part in ("optimizer", "accumulator", "reducer"))...;
            context = rank.context, fields(line, Gradstep.C.gradstep_updater_options)...)

adjust(rank, line, value) = adjust!(rank.handles["optimizer"]; group = parse(Int, get(line.keys, "group", "-1")),
                                    Symbol(line.keys["name"]) => value)

function make_step(rank, line)
    options = fields(line, Gradstep.C.gradstep_step_options, "missing", "nan", "data", "from")
    optimizer, grads = rank.handles["optimizer"], gradients_of(rank, line)
    isempty(options) && return update!(optimizer, rank.values, grads)
    result = step!(optimizer, rank.values, grads; options...)
    feed_number(rank, Int32(result.applied))
    feed_number(rank, result.grad_norm)
    feed_number(rank, result.clip_coefficient)
end

function make_add(rank, line)
    grads = gradients_of(rank, line)
    rows = ()
    if haskey(line.keys, "rows")
        parameter, indices = parse(Int, line.keys["rows"]), integers(line.keys["indices"])
        shape = (length(indices), reverse(size(rank.values[parameter + 1]))[2:end]...)
        values = generate(3, rank.generated, rank.index, parameter, Float32, shape)
        rows = (Rows(parameter + 1, indices .+ 1, values),)
    end
    feed_number(rank, Int32(add!(rank.handles["accumulator"], grads; weight = weight_of(line), rows = rows)))
end

function make_exchange(rank, line)
    reducer, grads = rank.handles["reducer"], gradients_of(rank, line)
    begin!(reducer; weight = weight_of(line))
    for i in length(grads):-1:1
        grads[i] === nothing || push!(reducer, i, grads[i])
    end
    wait!(reducer)
end

function make_save(rank, line)
    io = IOBuffer()
    save(rank.handles[line.keys["handle"]], io)
    rank.saved = take!(io)
end

function feed_state(rank, name)
    for i in 1:length(rank.values)
        try
            feed_array(rank, get_state(rank.handles["optimizer"], i, name))
        catch problem
            problem isa GradstepError && problem.status === :INVALID_STATE || rethrow() # this parameter has none
        end
    end
end

function make_hash(rank, line)
    keys, handles = line.keys, rank.handles
    what = keys["what"]
    what == "parameters" && return foreach(value -> feed_array(rank, value), rank.values)
    what == "gradients" && return foreach(array -> feed_array(rank, array), gradients(handles[keys["from"]]))
    what == "norm" && return feed_number(rank, norm(handles[keys["from"]]))
    what == "state" && return feed_state(rank, keys["name"])
    what == "value" && return feed_number(
        rank, get_value(handles["optimizer"], keys["name"]; group = parse(Int, get(keys, "group", "0"))))
    what == "step_count" && return feed_number(rank, Int64(step_count(handles["optimizer"])))
    what == "window" && return foreach(of -> feed_number(rank, of(handles["accumulator"])), (count, weight, skipped))
    what == "residual" && return foreach(i -> feed_array(rank, residual(handles["reducer"], i)), 1:length(rank.values))
    error("what: '$what' is unknown")
end

const CALLS = Dict(
    "optimizer" => make_by_name,
    "accumulator" => make_accumulator,
    "reducer" => make_reducer,
    "updater" => make_updater,
    "set" => (rank, line) -> adjust(rank, line, parse(Float64, line.keys["value"])),
    "schedule" => (rank, line) -> adjust(rank, line, schedule_of(line, "", "name", "group")),
    "step" => make_step,
    "add" => make_add,
    "flush" => (rank, line) -> feed_number(rank, Int32(flush!(rank.handles["accumulator"]))),
    "reset" => (rank, line) -> reset!(rank.handles["accumulator"]),
    "reduce" => (rank, line) -> reduce!(rank.handles["reducer"], gradients_of(rank, line); weight = weight_of(line),
                                        results = nothing),
    "exchange" => make_exchange,
    "push" => (rank, line) -> feed_number(
        rank, Int32(push!(rank.handles["updater"], rank.values, gradients_of(rank, line); weight = weight_of(line)))),
    "finish" => (rank, line) -> feed_number(rank, Int32(flush!(rank.handles["updater"], rank.values))),
    "save" => make_save,
    "load" => (rank, line) -> load!(rank.handles[line.keys["handle"]], IOBuffer(rank.saved)),
    "hash" => make_hash,
    "parameters" => (rank, line) -> rank.values = read_data(rank, line.keys["data"], eltype.(rank.values)))
for rule in keys(RULES)
    CALLS[rule] = make_optimizer
end

"Makes one call, which must end as the line says."
function run_line(rank::Rank, line::Line)
    haskey(CALLS, line.call) || error("there is no such call")
    status, text = Int32(0), ""
    try
        CALLS[line.call](rank, line)
    catch problem
        problem isa GradstepError || rethrow()
        status, text = problem.code, problem.text
    end
    found = status == 0 ? "OK" : string(get(Gradstep.STATUS_NAMES, status, :UNKNOWN))
    expected = get(line.keys, "fails", "OK")
    found == expected || error("returned $found, expected $expected: $text")
    feed_number(rank, status)
end

function run_rank(name, rank::Rank, lines, trace)
    for line in lines
        if line.call == "parameter"
            add_parameter(rank, line)
        elseif parse(Int, get(line.keys, "only", string(rank.index))) == rank.index
            for _ in 1:parse(Int, get(line.keys, "times", "1"))
                try
                    run_line(rank, line)
                catch problem
                    println(stderr, name, ".script:", line.number, ": ", line.call, ": ", sprint(showerror, problem))
                    exit(1)
                end
                trace && println(stderr, join((name, rank.index, line.number, line.call,
                                               in_hexadecimal(rank.hash)), ' '))
            end
        end
    end
end

struct Script
    name::String
    number::Int # of the scripts of the folder
    n_ranks::Int
    lines::Vector{Line}
end

function Script(number, path)
    lines = [Line(at, text) for (at, text) in enumerate(eachline(path)) if !isempty(text) && text[1] != '#']
    n_ranks = lines[1].call == "ranks" ? parse(Int, popfirst!(lines).keys["n"]) : 1
    return Script(splitext(basename(path))[1], number, n_ranks, lines)
end

"The hash of one rank. The ranks are processes, which meet in the folder `store`."
function run_script(script::Script, index, directory, store, trace)
    context = Context()
    comm = script.n_ranks == 1 ? self_communicator(; context = context) :
           connect("shm", index, script.n_ranks, store; generation = script.number, timeout = 200, context = context)
    rank = Rank(directory, index, comm, context)
    run_rank(script.name, rank, script.lines, trace)
    foreach(close, values(rank.handles))
    close(comm)
    return rank.hash
end

in_hexadecimal(hash) = string(hash; base = 16, pad = 16)

"Rank 0 of all scripts; what the other processes print are the hashes of their ranks."
function run_scripts(scripts, directory, store, trace)
    program = `$(Base.julia_cmd()) --project=$(Base.active_project()) $PROGRAM_FILE`
    others = [open(`$program $ARGS --rank $rank --store $store`)
              for rank in 1:(maximum(script.n_ranks for script in scripts) - 1)]
    for script in scripts
        hashes = [run_script(script, 0, directory, store, trace)]
        for other in others[1:(script.n_ranks - 1)]
            words = split(readline(other))
            length(words) == 2 && words[1] == script.name || error("$(script.name): a rank's process has ended")
            push!(hashes, parse(UInt64, words[2]; base = 16))
        end
        println(script.name, ' ', in_hexadecimal(hash_bytes(HASH_START, reinterpret(UInt8, hashes))))
    end
end

function main(arguments)
    option(name, otherwise) =
        (place = findfirst(==(name), arguments); place === nothing ? otherwise : arguments[place + 1])
    directory, rank = option("--vectors", ""), parse(Int, option("--rank", "0"))
    isempty(directory) && error("usage: runner.jl --vectors DIR [--trace]")
    files = sort(filter(file -> endswith(file, ".script"), readdir(directory)))
    isempty(files) && error("$directory: there are no scripts")
    scripts = [Script(number, joinpath(directory, file)) for (number, file) in enumerate(files)]
    trace = "--trace" in arguments
    rank == 0 && return mktempdir(store -> run_scripts(scripts, directory, store, trace))
    for script in scripts
        script.n_ranks > rank || continue
        println(script.name, ' ', in_hexadecimal(run_script(script, rank, directory, option("--store", ""), trace)))
        flush(stdout)
    end
end

main(ARGS)
