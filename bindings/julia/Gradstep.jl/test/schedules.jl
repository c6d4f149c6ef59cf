# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

@testset "schedules are functions of the step" begin
    decay = Schedule(:exponential_decay; init_value = 0.5, decay_steps = 2, decay_rate = 0.25, staircase = true)
    @test [decay(t) for t in 0:4] == [0.5, 0.5, 0.125, 0.125, 0.03125]
    pieces = Schedule(:piecewise; boundaries = [1, 3], values = [1, 0.5, 0.25])
    @test [pieces(t) for t in 0:4] == [1, 1, 0.5, 0.5, 0.25]
    own = Schedule(t -> 1 / (1 + t); warmup_steps = 1)
    @test [own(t) for t in 0:2] == [0.5, 1, 0.5]
    @test failure(() -> decay(-1)).status === :INVALID_ARGUMENT
    @test failure(() -> Schedule(:piecewise; boundaries = [1], values = [1.0])).status === :INVALID_ARGUMENT
    @test occursin("known: ", failure(() -> Schedule(:linear)).text)
end

@testset "hyper-parameters and window lengths follow schedules" begin
    x = zeros(1)
    optimizer = setup(SGD(t -> t + 1.0), x)
    update!(optimizer, x, [1.0])
    update!(optimizer, x, [1.0])
    @test x == [-3.0]
    adjust!(optimizer, Schedule(:constant; init_value = 0.25))
    update!(optimizer, x, [1.0])
    @test x == [-3.25]
    accumulator = Accumulator(x; mode = :sum, trigger = :schedule, schedule = windows -> windows + 1)
    @test [add!(accumulator, [1.0]) for _ in 1:6] == [true, false, true, false, false, true]
end

struct Unlucky <: Exception end

@testset "what a callback throws comes out of the call, and nothing has changed" begin
    x = zeros(1)
    optimizer = setup(SGD(1), x)
    adjust!(optimizer, t -> throw(Unlucky()))
    error = failure(() -> update!(optimizer, x, [1.0]))
    @test error.status === :CALLBACK && error.cause.ex isa Unlucky
    @test occursin("Unlucky", sprint(showerror, error))
    @test x == [0] && step_count(optimizer) == 0
    adjust!(optimizer, t -> "one")
    @test failure(() -> update!(optimizer, x, [1.0])).cause.ex isa MethodError
    adjust!(optimizer, 1)
    update!(optimizer, x, [1.0])
    @test x == [-1]
    # An error that is no callback's does not tell of an earlier one.
    @test failure(() -> adjust!(optimizer; momentum = -1)).cause === nothing
end

@testset "a callback that uses its own handle gets INVALID_STATE" begin
    x = zeros(1)
    optimizer = setup(SGD(1), x)
    adjust!(optimizer, t -> (update!(optimizer, x, [1.0]); 1.0))
    error = failure(() -> update!(optimizer, x, [1.0]))
    @test error.cause.ex isa GradstepError && error.cause.ex.status === :INVALID_STATE
end

@testset "functions are kept as long as C may call them, and no longer" begin
    x = zeros(1)
    before = Gradstep.kept_for_c()
    optimizer = setup(SGD(1), x)
    held = Gradstep.kept_for_c()
    adjust!(optimizer, t -> 0.5)
    @test Gradstep.kept_for_c() == held + 1
    adjust!(optimizer, t -> 0.25)
    @test Gradstep.kept_for_c() == held + 1
    @test failure(() -> adjust!(optimizer; no_such_name = t -> 0.125)).status === :INVALID_ARGUMENT
    @test failure(() -> adjust!(optimizer, t -> 0.125; group = 9)).status === :INVALID_ARGUMENT
    @test Gradstep.kept_for_c() == held + 1
    @test get_value(optimizer, :learning_rate) == 0.25
    adjust!(optimizer, 1)
    @test Gradstep.kept_for_c() == held
    adjust!(optimizer, t -> 0.5)
    updater = Updater(optimizer)
    close(optimizer)
    GC.gc()
    push!(updater, x, [1.0])
    @test x == [-0.5]
    close(updater)
    @test Gradstep.kept_for_c() == held
end

@testset "what never reaches C is not kept" begin
    x = zeros(1)
    optimizer, other = setup(SGD(1), x), setup(SGD(1), x)
    close(optimizer)
    before = Gradstep.kept_for_c()
    for _ in 1:3
        @test failure(() -> adjust!(optimizer, t -> 0.5)).text == "optimizer: is closed"
        @test failure(() -> save(optimizer, IOBuffer())).status === :INVALID_STATE
        @test failure(() -> load!(optimizer, IOBuffer())).status === :INVALID_STATE
        @test_throws ArgumentError adjust!(other; NamedTuple{(Symbol("momentum\0"),)}((t -> 0.5,))...)
        @test failure(() -> connect("shm", 0, 1, (set = 1, get = 2); timeout = -1)).status === :INVALID_ARGUMENT
        @test_throws ArgumentError Context(log = (level, text) -> nothing, log_level = :debug, lapack_library = "a\0")
    end
    @test Gradstep.kept_for_c() == before
end

@testset "a task stays on its thread while C calls back, and only then" begin
    x = zeros(1)
    optimizer = setup(SGD(1), x)
    during = Ref(false)
    adjust!(optimizer, t -> (during[] = current_task().sticky; yield(); 1.0))
    after = fetch(Threads.@spawn (update!(optimizer, x, [1.0]); current_task().sticky))
    @test during[] && !after
    adjust!(optimizer, t -> throw(Unlucky()))
    failed = Threads.@spawn (failure(() -> update!(optimizer, x, [1.0])); current_task().sticky)
    @test !fetch(failed)
end

@testset "a number in memory is read by every step" begin
    model = (a = zeros(1), b = zeros(1))
    optimizer = setup(SGD(1), model; groups = [0, 1])
    rate = Ref(0.5)
    adjust!(optimizer, rate)
    updater = Updater(optimizer)
    push!(updater, model, (a = [1.0], b = [1.0]))
    rate[] = 0.25
    @test get_value(optimizer, :learning_rate; group = 1) == 0.25
    adjust!(optimizer, 1; group = 0)
    push!(updater, model, (a = [1.0], b = [1.0]))
    @test (model.a[1], model.b[1]) == (-1.5, -0.75)
    @test optimizer.handle.keeps.settings[(-1, "learning_rate")] === rate # group 1 reads it
    rate[] = NaN
    @test failure(() -> push!(updater, model, (a = [1.0], b = [1.0]))).status === :NUMERIC
    adjust!(optimizer, 1)
    @test !any(value -> value isa Ref, values(optimizer.handle.keeps.settings))
    @test occursin("RefValue{Int", failure(() -> adjust!(optimizer, Ref(1))).text)
    @test failure(() -> adjust!(optimizer; no_such_name = Ref(1.0))).status === :INVALID_ARGUMENT
    @test !any(value -> value isa Ref, values(optimizer.handle.keeps.settings))
end

"""A number that only C reads, where only C and `optimizer` know it."""
@noinline lend_garbage(optimizer) = (adjust!(optimizer, Ref(0.5)); nothing)

@testset "a number in memory lives as long as C reads it" begin
    x = zeros(1)
    optimizer = setup(SGD(1), x)
    updater = Updater(optimizer)
    lend_garbage(optimizer)
    close(optimizer)
    optimizer = nothing
    GC.gc()
    others = [Ref(i + 0.0) for i in 1:10000]
    push!(updater, x, [1.0])
    @test x == [-0.5] && others[end][] == 10000
end
