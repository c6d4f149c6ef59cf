# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: train.jl. Two networks learn y = sin(3 x) in loops of Optimisers.jl, by a rule of Gradstep: layers that have
# their arrays, as in Flux, and parameters that are apart from the layers, as in Lux.

using Gradstep: Gradstep
using Optimisers: Optimisers
using Random

const UPDATES, BATCH = 800, 32

struct Dense{W, B, F}
    weight::W
    bias::B
    activation::F
end

"Takes a mean away, which is not trained."
struct Centre{M}
    mean::M
end
Optimisers.trainable(::Centre) = NamedTuple()

new_layers(random) = (
    Centre(Float32[0.5]),
    Dense(randn(random, Float32, 16, 1), zeros(Float32, 16), tanh),
    Dense(randn(random, Float32, 1, 16) / 4, zeros(Float32, 1), identity))

"The mean squared error, and its gradients in the structure of the layers, as Zygote gives them."
function loss_and_gradient((centre, first, last), x, y)
    x = x .- centre.mean
    hidden = first.activation.(first.weight * x .+ first.bias)
    error = last.weight * hidden .+ last.bias .- y
    from_last = 2 .* error ./ length(y)
    from_first = (last.weight' * from_last) .* (1 .- hidden .^ 2)
    of_dense(from, input) = (weight = from * input', bias = vec(sum(from; dims = 2)), activation = nothing)
    return sum(abs2, error) / length(y), (nothing, of_dense(from_first, x), of_dense(from_last, hidden))
end

function draw(random)
    x = 2 .* rand(random, Float32, 1, BATCH) .- 1
    return x, sin.(3 .* x)
end

rule() = Gradstep.AdamW(0.02; weight_decay = 1e-4)

# docs:begin flux
"Layers that have their arrays: what Flux.train! does."
function train_layers(random)
    model = new_layers(random)
    state = Optimisers.setup(rule(), model)
    for update in 1:UPDATES
        _, gradient = loss_and_gradient(model, draw(random)...)
        Optimisers.update!(state, model, gradient)
        update == UPDATES ÷ 2 && Optimisers.adjust!(state, 0.005)
    end
    return model
end
# docs:end flux

"Parameters that are apart from the layers: what Lux's Training does."
function train_parameters(random)
    layers = new_layers(random)
    parameters = (first = (weight = layers[2].weight, bias = layers[2].bias),
                  last = (weight = layers[3].weight, bias = layers[3].bias))
    state = Optimisers.setup(Optimisers.AbstractRule(rule()), parameters)
    for update in 1:UPDATES
        _, (_, first, last) = loss_and_gradient(layers, draw(random)...)
        gradient = (first = (weight = first.weight, bias = first.bias), last = (weight = last.weight, bias = last.bias))
        state, parameters = Optimisers.update!(state, parameters, gradient)
        update == UPDATES ÷ 2 && Optimisers.adjust!(state, 0.005)
    end
    return layers
end

for train in (train_layers, train_parameters)
    model = train(MersenneTwister(1))
    loss, _ = loss_and_gradient(model, draw(MersenneTwister(7))...)
    println(train, ": squared error ", loss)
    loss < 0.01 || error("expected less than 0.01")
    model[1].mean == [0.5] || error("the mean was trained")
end
