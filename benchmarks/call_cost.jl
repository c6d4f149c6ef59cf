# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# call_cost: nanoseconds of one optimizer step on one array of 16 elements from Julia, and the bytes that a call
# allocates. As call_cost.c, in rounds of many calls; the best and the median round are printed as JSON.

using Gradstep

const ELEMENTS, ROUNDS, CALLS = 16, 101, 20_000
const LEARNING_RATE = 2.0^-20 # a power of two, so that the sums of steps are exact

function steps(optimizer, model, grads)
    for _ in 1:CALLS
        update!(optimizer, model, grads)
    end
end

function main()
    context = Context(; num_threads = 1)
    grads = (ones(Float32, ELEMENTS),)
    models = [(zeros(Float32, ELEMENTS),) for _ in 1:2]
    rules = (SGD(LEARNING_RATE), Adam(LEARNING_RATE))
    optimizers = [setup(rule, model; context = context) for (rule, model) in zip(rules, models)]
    rounds, bytes = [Float64[] for _ in 1:2], zeros(Int, 2)
    for round in 0:ROUNDS, k in 1:2 # round 0 compiles
        measured = @timed steps(optimizers[k], models[k], grads)
        round == 0 && continue
        push!(rounds[k], measured.time * 1e9 / CALLS)
        bytes[k] += measured.bytes
    end
    expected = -(ROUNDS + 1) * CALLS * LEARNING_RATE
    models[1][1][1] == expected && isapprox(models[2][1][1], expected; rtol = 1e-3) ||
        error("the steps computed $models, expected $expected")
    entries = map(1:2) do k
        sorted = sort(rounds[k])
        best, median, each = round.((sorted[1], sorted[ROUNDS ÷ 2 + 1], bytes[k] / (ROUNDS * CALLS)); digits = 2)
        "\"$(("sgd_step", "adam_step")[k])\": {\"best_ns\": $best, \"median_ns\": $median, \"bytes\": $each}"
    end
    println('{', join(entries, ", "), '}')
end

main()
