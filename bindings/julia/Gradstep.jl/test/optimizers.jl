# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

@testset "Adam is Adam" begin
    x, g = [1.0, -2.0], [0.5, 0.25]
    optimizer = setup(Adam(0.1; beta1 = 0.8, beta2 = 0.9, epsilon = 1e-6), (x,))
    expected, m, v = copy(x), zeros(2), zeros(2)
    for t in 1:5
        update!(optimizer, (x,), (g * t,))
        m = 0.8m + 0.2g * t
        v = 0.9v + 0.1 * (g * t) .^ 2
        expected -= 0.1 * (m / (1 - 0.8^t)) ./ (sqrt.(v / (1 - 0.9^t)) .+ 1e-6)
    end
    # f64 in another order of operations
    @test x ≈ expected rtol = 1e-12
    @test get_state(optimizer, 1, "exp_avg") ≈ m rtol = 1e-12
    @test step_count(optimizer) == 5
end

@testset "a rule by its name and options" begin
    x = Float32[1, 2, 3]
    lion = NamedRule("lion"; learning_rate = 0.5, maximize = true, state_dtype = :bf16, seed = typemin(Int64))
    optimizer = setup(lion, x)
    update!(optimizer, x, Float32[3, -0.25, 0])
    @test x == [1.5, 1.5, 3]
    @test memory(optimizer).state_bytes == state_bytes(lion, x) == 6
    @test occursin("NamedRule(\"lion\"; learning_rate = 0.5", sprint(show, lion))
    copied = deepcopy(optimizer)
    update!(copied, x, Float32[1, 1, 1])
    @test x == [2, 2, 3.5] && step_count(optimizer) == 1
    scheduled = setup(NamedRule("lion"; learning_rate = t -> 0.25 * t), x)
    update!(scheduled, x, Float32[1, 1, 1])
    update!(scheduled, x, Float32[1, 1, 1])
    @test x == [1.75, 1.75, 3.25]
    @test occursin("is not known", failure(() -> setup(NamedRule("lions"), x)).text)
    @test occursin("'lr' is not an option of lion", failure(() -> setup(NamedRule("lion"; lr = 1), x)).text)
    @test occursin("learning_rate is not there", failure(() -> setup(NamedRule("lion"), x)).text)
end

@testset "a function of a rule makes the rule of its name" begin
    for (typed, named) in (
            (Lion(0.5; beta1 = 0.5, maximize = true, state_dtype = :bf16, seed = typemin(Int64)),
             NamedRule("lion"; learning_rate = 0.5, beta1 = 0.5, maximize = true, state_dtype = :bf16, seed = typemin(Int64))),
            (Lion(t -> 0.25 * t), NamedRule("lion"; learning_rate = t -> 0.25 * t)),
            (Lamb(0.5; weight_decay = 0.25, decay_mode = :coupled),
             NamedRule("lamb"; learning_rate = 0.5, weight_decay = 0.25, decay_mode = :coupled)))
        x, y = Float32[1, 2, 3], Float32[1, 2, 3]
        a, b = setup(typed, x), setup(named, y)
        for _ in 1:3
            update!(a, x, Float32[3, -0.25, 0])
            update!(b, y, Float32[3, -0.25, 0])
        end
        @test x == y != [1, 2, 3]
    end
    @test occursin("(beta1): is 1", failure(() -> setup(Lion(0.5; beta1 = 1), Float32[1])).text)
    found = Gradstep.options(Lamb)
    @test isnan(found.learning_rate) && found.epsilon == 1e-6 && found.maximize === false && found.state_dtype === :native
end

@testset "a rule for each group, and an average of the weights" begin
    model = (a = Float32[1, 2], b = Float32[3])
    rules = [NamedRule("lion"; learning_rate = 0.5, average_decay = 0.5), NamedRule("sgd"; learning_rate = t -> 0.25 * (t + 1))]
    optimizer = setup(rules, model; groups = [0, 1])
    @test occursin("no step was made", failure(() -> Gradstep.average(setup(rules[1], model.a))).text)
    for _ in 1:2
        update!(optimizer, model, (a = Float32[7, -7], b = Float32[1]))
    end
    @test model.a == [0, 3] && model.b == [2.25]
    @test get_value(optimizer, :beta2; group = 0) == 0.99
    @test get_state(optimizer, 1, "average") == [0.25, 2.75]
    single = setup(rules[1], model.a)
    update!(single, model.a, Float32[1, 1])
    @test Gradstep.average(single) == [model.a]
    @test occursin("its group is 2", failure(() -> setup(rules, model; groups = [0, 2])).text)
    lone = (a = Float32[0], b = Float32[0])
    optimizer = setup([NamedRule("sgd"; learning_rate = t -> 1.0 + t)], lone; groups = [0, 1])
    for _ in 1:2
        update!(optimizer, lone, (a = Float32[1], b = Float32[1]))
    end
    @test lone.a == lone.b == [-3]
end

@testset "rules describe themselves and are made by their descriptions" begin
    rules = describe_rules()
    adam = only(filter(rule -> rule.name == "adam", rules))
    @test occursin("Kingma", adam.source) && occursin("beta1", adam.formula)
    @test adam.states == ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"]
    @test (name = :beta2, kind = :hyper_parameter, meaning = "share of the mean square that a step keeps", choices = Symbol[],
           default = 0.999, minimum = 0.0, limit = 1.0) in adam.options
    for rule in rules
        given = [each.name => each.default === nothing ? each.minimum : each.default for each in rule.options]
        @test state_names(setup(NamedRule(rule.name; given...), Float32[1 2])) ⊆ rule.states
        @test all(each -> each.kind !== :choice || each.default in each.choices, rule.options)
    end
end

@testset "rules are written as text" begin
    text = """
        rule julia_momentum
        hyper learning_rate; share = 0.5 in [0, 1)
        state m
        m = share * m + (1 - share) * g
        p = p - learning_rate * m
        """
    name = define_rule(text)
    @test name == define_rule("# the same\n" * text) == "julia_momentum"
    about = only(filter(rule -> rule.name == name, describe_rules()))
    @test about.formula == text && about.states == ["m"]
    x = Float32[1, 2]
    update!(setup(NamedRule(name; learning_rate = 2), x), x, Float32[0.5, -1])
    @test x == [0.5, 3]
    error = try define_rule("rule julia_bad\np = p + q") catch caught; caught end
    @test error isa GradstepError && occursin("line 2, column 9: expected one of g, p, t, found 'q'", sprint(showerror, error))
end

@testset "every rule steps against the gradient" begin
    for rule in (SGD(0.1), SGD(0.1; momentum = 0.9, nesterov = true), RMSProp(0.1), AdaGrad(0.1; lr_decay = 0.1),
                 Adam(0.1; amsgrad = true), AdamW(0.1; weight_decay = 0.1), Shampoo(0.1; start_preconditioning_step = 0))
        model = (w = ones(Float32, 4, 4),)
        optimizer = setup(rule, model)
        update!(optimizer, model, (w = reshape(Float32.(1:16), 4, 4),))
        @test all(model.w .< 1)
        @test memory(optimizer).state_bytes == state_bytes(rule, model)
    end
end

@testset "AdamW is a name, and Shampoo takes its place" begin
    numbers = (weight_decay = 0.1, epsilon = 1e-6, beta2 = 0.9)
    models = map((AdamW(0.1; beta1 = 0, numbers...), NamedRule("adamw"; learning_rate = 0.1, beta1 = 0, numbers...),
                  shampoo_from_adamw(0.1; beta1 = 0, precondition = 0, numbers...))) do rule
        model = ones(2, 3)
        optimizer = setup(rule, model)
        foreach(i -> update!(optimizer, model, i .* reshape(-2.0:3.0, 2, 3)), 1:3)
        model
    end
    @test models[1] == models[2]
    @test models[1] ≈ models[3] rtol = 1e-12
end

@testset "a step with options tells what it did" begin
    x = zeros(Float32, 2)
    optimizer = setup(SGD(1), x)
    result = step!(optimizer, x, Float32[3, 4]; max_norm = 1)
    @test (result.applied, result.grad_norm) == (true, 5.0)
    @test result.clip_coefficient ≈ 0.2 rtol = 1e-6 # PyTorch adds 1e-6 to the norm
    @test x ≈ [-0.6, -0.8] rtol = 1e-6
    before = copy(x)
    @test !step!(optimizer, x, Float32[NaN, 0]; skip_nonfinite = true).applied
    found_inf = Float32[0]
    @test !step!(optimizer, x, Float32[Inf, 0]; found_inf = found_inf).applied
    @test found_inf == [1] && x == before
    deltas = similar(x)
    @test updates!(deltas, optimizer, x, Float32[1, 2]; grad_scale = 2).applied
    @test deltas == [-2, -4] && x == before
    outcome = zeros(4)
    step!(optimizer, x, Float32[3, 4]; grad_scale = 2, grad_scale_tensor = Float32[0.5], outcome = outcome)
    @test x == before - [3, 4] && isequal(outcome, [1, NaN, 1, 3])
    copyto!(x, before)
    @test step!(optimizer, x, Float32[3, 4]; max_norm = 1, grad_norm = 10, outcome = outcome).grad_norm == 10
    @test outcome[1:2] == [1, 10]
    @test x - before ≈ [-0.3, -0.4] rtol = 1e-6
    @test failure(() -> step!(optimizer, x, Float32[1, 2]; outcome = zeros(3))).status === :INVALID_ARGUMENT
    @test failure(() -> step!(optimizer, x, Float32[1, 2]; grad_scale_tensor = [1.0])).status === :INVALID_ARGUMENT
    @test poll(optimizer) && poll(Accumulator(x)) && poll(Updater(optimizer))
    @test failure(() -> step!(optimizer, x, Float32[1, 2]; max_norm = -1)).status === :INVALID_ARGUMENT
    @test occursin("known: ", failure(() -> step!(optimizer, x, Float32[1, 2]; norm = 1)).text)
end

@testset "options are checked by name and word" begin
    @test Gradstep.options(Adam).beta2 == 0.999
    @test occursin("unknown option lr; known: bias_correction", failure(() -> Adam(0.1; lr = 1)).text)
    @test occursin("known: native, bf16, int8", failure(() -> Adam(0.1; state_dtype = :f8)).text)
    @test occursin("is no Bool", failure(() -> Adam(0.1; amsgrad = 1)).text)
    @test occursin("is no Float64", failure(() -> Adam(0.1; beta1 = "0.9")).text)
    error = failure(() -> setup(Adam(0.1; beta1 = 1.5), zeros(Float32, 2)))
    @test error.status === :INVALID_ARGUMENT && occursin("beta1", error.text) && error.code == -1
    @test failure(() -> setup(SGD(NaN), zeros(Float32, 2))).status === :INVALID_ARGUMENT
    @test failure(() -> setup(Adam(0.1; state_dtype = :int8), zeros(2))).status === :UNSUPPORTED
end

@testset "groups have hyper-parameters of their own" begin
    model = (a = zeros(Float32, 1), b = zeros(Float32, 1))
    optimizer = setup(SGD(1), model; groups = path -> path == "b" ? 1 : 0)
    adjust!(optimizer, 0.5; group = 1)
    update!(optimizer, model, (a = Float32[1], b = Float32[1]))
    @test (model.a[1], model.b[1]) == (-1, -0.5)
    @test get_value(optimizer, :learning_rate; group = 1) == 0.5
    @test failure(() -> adjust!(optimizer; beta1 = 0.5)).status === :INVALID_ARGUMENT
    @test failure(() -> adjust!(optimizer; momentum = "much")).status === :INVALID_ARGUMENT
end

@testset "state is read, written and copied" begin
    x = zeros(Float32, 3, 2)
    optimizer = setup(SGD(1; momentum = 0.5), x)
    @test state_names(optimizer) == ["momentum_buffer"]
    buffer = reshape(Float32.(1:6), 3, 2)
    set_state!(optimizer, 1, "momentum_buffer", buffer)
    other = setup(SGD(1; momentum = 0.5), x)
    copy_state!(other, optimizer)
    @test get_state(other, 1, "momentum_buffer") == buffer
    update!(other, x, zero(x))
    @test x == -buffer / 2
    @test failure(() -> get_state(optimizer, 2, "momentum_buffer")).text == "i: is 2, the model has 1 arrays"
    set_step_count!(optimizer, 7)
    @test step_count(optimizer) == 7
    @test metrics(optimizer)[1].name == "step_count" && metrics(optimizer)[1].value == 7
end

@testset "a state of another size than its array" begin
    model = (w = reshape(Float32.(1:12), 3, 4),)
    optimizer = setup(Shampoo(0.1; best_effort_shape_interpretation = false), model)
    update!(optimizer, model, (w = ones(Float32, 3, 4),))
    @test size(get_state(optimizer, 1, "statistics.0.0")) == (4, 4) # the axes of C, from 0 on
    @test size(get_state(optimizer, 1, "statistics.0.1")) == (3, 3)
    @test size(get_state(optimizer, 1, "momentum")) == (3, 4)
    @test occursin("no_such_state", failure(() -> get_state(optimizer, 1, "no_such_state")).text)
    @test !occursin("size = ", failure(() -> get_state(optimizer, 1, "no_such_state")).text)
    quantized = setup(Shampoo(0.1; best_effort_shape_interpretation = false, quantize_statistics = true), model)
    update!(quantized, model, (w = ones(Float32, 3, 4),))
    @test occursin("size = ", failure(() -> get_state(quantized, 1, "statistics.0.0")).text)
    @test size(get_state(quantized, 1, "statistics.0.0"; size = (4, 4))) == (4, 4)
end

@testset "arrays are added to an optimizer" begin
    model = (a = zeros(Float32, 2),)
    optimizer = setup(SGD(1; momentum = 0.5), model)
    rate = Ref(1.0)
    adjust!(optimizer, rate; group = 0)
    update!(optimizer, model, (a = Float32[1, 2],))
    grown = (a = model.a, b = zeros(2, 3))
    larger = add_parameters!(optimizer, grown; groups = [0, 1])
    adjust!(larger, 1; group = 0)
    rate[] = 2 # of group 1 alone now
    @test larger.handle.keeps.settings[(1, "learning_rate")] === rate
    update!(larger, grown, (a = Float32[0, 0], b = ones(2, 3)))
    @test model.a == [-1.5, -3] && grown.b == fill(-2.0, 2, 3) && step_count(larger) == 2
    @test get_state(larger, 2, "momentum_buffer") == ones(2, 3)
    @test failure(() -> update!(optimizer, model, (a = Float32[0, 0],))).status === :INVALID_ARGUMENT
    @test occursin("earlier add_parameters!", failure(() -> add_parameters!(optimizer, grown; groups = [0, 1])).text)
    refused(model; options...) = failure(() -> add_parameters!(larger, model; options...)).text
    @test refused((a = model.a,)) == "model: has 1 arrays, the optimizer 2"
    @test refused((a = model.a, b = zeros(3, 2)); groups = [0, 1]) ==
          "model[2] (b): has another size or eltype than in the optimizer"
    @test refused((a = model.a, c = zeros(2, 3)); groups = [0, 1]) == "model[2] (c): is named b in the optimizer"
    @test refused(grown) == "model[2] (b): is of group 0, in the optimizer of group 1"
    @test occursin("have some", refused((model.a, grown.b)))
    list = (zeros(1), zeros(2))
    unnamed = add_parameters!(setup(SGD(1), list[1]), list)
    update!(unnamed, list, ([1.0], [2.0, 3]))
    @test list == ([-1], [-2, -3])
end

function allocated_by_steps(optimizer, model, grads, n)
    for _ in 1:n
        update!(optimizer, model, grads)
    end
    return @allocated for _ in 1:n
        update!(optimizer, model, grads)
    end
end

@testset "a step allocates nothing" begin
    model, grads = (zeros(Float32, 16),), (ones(Float32, 16),)
    @test allocated_by_steps(setup(Adam(1e-3), model), model, grads, 100) == 0
end

@testset "a deepcopy of an optimizer is one of its own" begin
    model, grads = (Float32[1 2; 3 4], Float32[5]), (ones(Float32, 2, 2), Float32[1])
    rate = Ref(0.5)
    optimizer = setup(Adam(t -> 0.1 / (1 + t); weight_decay = 0.01), model; groups = [0, 1])
    adjust!(optimizer; beta1 = 0.8)
    adjust!(optimizer; group = 1, learning_rate = rate)
    update!(optimizer, model, grads)
    best, best_model, best_rate = deepcopy((optimizer, model, rate))
    update!(optimizer, model, grads)
    @test step_count(optimizer) == 2 && step_count(best) == 1
    rate[] = 0.25
    @test get_value(best, :learning_rate; group = 1) == 0.5 && best_rate !== rate
    best_rate[] = 0.125
    @test get_value(optimizer, :learning_rate; group = 1) == 0.25
    @test get_value(best, :learning_rate; group = 1) == 0.125
    best_rate[] = 0.5
    close(optimizer)
    # It goes on as the original did.
    update!(best, best_model, grads)
    @test best_model == model
    @test get_value(best, :beta1) == 0.8 && get_value(best, :learning_rate) == 0.1 / 3
    @test failure(() -> deepcopy(optimizer)).text == "optimizer: is closed"
end

@testset "a deepcopy of a grown optimizer has its groups" begin
    model = (ones(Float32, 2), ones(Float32, 2))
    old = setup(SGD(0.5; momentum = 0.5), model[1:1]; names = ["a"])
    adjust!(old, 0.25; group = 0)
    grown = add_parameters!(old, model; names = ["a", "b"], groups = [0, 1])
    @test occursin("add_parameters!", failure(() -> deepcopy(old)).text)
    copy = deepcopy(Dict(:best => grown))[:best]
    @test get_value(copy, :learning_rate; group = 1) == 0.25
    update!(copy, model, (ones(Float32, 2), ones(Float32, 2)))
    @test step_count(grown) == 0 && model == (fill(0.75f0, 2), fill(0.75f0, 2))
end
