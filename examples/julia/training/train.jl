# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: train.jl. Two processes, connected by shared memory, fit y = sin(3 x) by a small network: each draws
# points of its own; AdamW steps the arrays of the model, two micro-batches to an update.

using Gradstep
using Random

const RANKS, UPDATES, BATCH = 2, 400, 32

new_model(random) = (
    hidden = (weight = randn(random, Float32, 16, 1), bias = zeros(Float32, 16)),
    output = (weight = randn(random, Float32, 1, 16) / 4, bias = zeros(Float32, 1)))

"The mean squared error, and its gradient in the structure of the model."
function loss_and_gradient(model, x, y)
    hidden = tanh.(model.hidden.weight * x .+ model.hidden.bias)
    error = model.output.weight * hidden .+ model.output.bias .- y
    from_output = 2 .* error ./ length(y)
    from_hidden = (model.output.weight' * from_output) .* (1 .- hidden .^ 2)
    gradient = (hidden = (weight = from_hidden * x', bias = vec(sum(from_hidden; dims = 2))),
                output = (weight = from_output * hidden', bias = vec(sum(from_output; dims = 2))))
    return sum(abs2, error) / length(y), gradient
end

function draw(random)
    x = 2 .* rand(random, Float32, 1, BATCH) .- 1
    return x, sin.(3 .* x)
end

# docs:begin train
function train(comm)
    model = new_model(MersenneTwister(1)) # the same on all ranks
    optimizer = setup(AdamW(t -> 0.02 / (1 + t / 200); weight_decay = 1e-4), model)
    updater = Updater(optimizer, Accumulator(model; mode = :mean, steps = 2), Reducer(comm, model); max_norm = 1)
    random = MersenneTwister(100 + rank(comm)) # another one on each
    while step_count(optimizer) < UPDATES
        _, gradient = loss_and_gradient(model, draw(random)...)
        push!(updater, model, gradient)
    end
    return model
end
# docs:end train

# docs:begin ranks
function run_rank(index, folder)
    comm = connect("shm", index, RANKS, folder; timeout = 120)
    model = train(comm)
    largest = map(all_of -> all_reduce!(comm, all_of; op = :max), deepcopy(collect_arrays(model)))
    vote(comm, largest == collect_arrays(model)) || error("the ranks have come apart")
    return model
end
# docs:end ranks

collect_arrays(model) = [model.hidden.weight, model.hidden.bias, model.output.weight, model.output.bias]

function main(arguments)
    isempty(arguments) || return (run_rank(parse(Int, arguments[1]), arguments[2]); nothing)
    mktempdir() do folder
        program = `$(Base.julia_cmd()) --project=$(Base.active_project()) $PROGRAM_FILE`
        others = [run(`$program $index $folder`; wait = false) for index in 1:(RANKS - 1)]
        model = run_rank(0, folder)
        foreach(wait, others)
        all(success, others) || error("a rank has failed")
        loss, _ = loss_and_gradient(model, draw(MersenneTwister(7))...)
        println(UPDATES, " updates on ", RANKS, " ranks with gradstep ", version(), ": squared error ", loss)
        loss < 0.01 || error("expected less than 0.01")
    end
end

main(ARGS)
