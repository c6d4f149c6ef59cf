# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

@testset "a closed handle says so" begin
    x = zeros(Float32, 2)
    optimizer, accumulator, comm = setup(SGD(1), x), Accumulator(x), self_communicator()
    reducer = Reducer(comm, x)
    updater = Updater(optimizer, accumulator, reducer)
    for handle in (optimizer, accumulator, comm, reducer, updater)
        @test isopen(handle)
        close(handle)
        close(handle)
        @test !isopen(handle)
    end
    for use in (() -> update!(optimizer, x, x), () -> add!(accumulator, x), () -> barrier(comm), () -> abort(comm),
                () -> reduce!(reducer, x), () -> push!(updater, x, x), () -> Updater(optimizer))
        error = failure(use)
        @test error.status === :INVALID_STATE && endswith(error.text, "is closed")
    end
    context = Context()
    close(context)
    @test failure(() -> setup(SGD(1), x; context = context)).text == "context: is closed"
end

@testset "handles outlive what they were made of" begin
    x = zeros(Float32, 1)
    context = Context(num_threads = 2)
    optimizer = setup(SGD(1), x; context = context)
    updater = Updater(optimizer; context = context)
    close(context)
    close(optimizer)
    @test push!(updater, x, Float32[1]) && x == [-1]
end

@testset "two threads on one handle: INVALID_STATE for one, never a crash" begin
    x, g = zeros(Float32, 1000), ones(Float32, 1000)
    optimizer = setup(SGD(1), x)
    applied, refused = Threads.Atomic{Int}(0), Threads.Atomic{Int}(0)
    Threads.@threads for _ in 1:4
        for _ in 1:500
            try
                update!(optimizer, x, g)
                Threads.atomic_add!(applied, 1)
            catch error
                error.status === :INVALID_STATE || rethrow()
                Threads.atomic_add!(refused, 1)
            end
        end
    end
    @test applied[] + refused[] == 2000
    @test all(x .== -applied[]) && step_count(optimizer) == applied[]
end

@testset "closing while another thread calls is safe" begin
    for _ in 1:50
        x, g = zeros(Float32, 100), ones(Float32, 100)
        optimizer = setup(Adam(0.1), x)
        stepping = Threads.@spawn begin
            last_error = nothing
            while last_error === nothing
                try
                    update!(optimizer, x, g)
                catch error
                    last_error = error
                end
            end
            last_error
        end
        close(optimizer)
        @test fetch(stepping).status === :INVALID_STATE
    end
end

function leave_garbage(n)
    x = zeros(Float32, 64)
    for i in 1:n
        optimizer = setup(SGD(t -> 0.5; momentum = 0.5), x)
        updater = Updater(optimizer, Accumulator(x), Reducer(self_communicator(), x))
        push!(updater, x, ones(Float32, 64))
    end
end

@testset "garbage is collected while calls run, from many threads" begin
    GC.gc()
    GC.gc()
    before = Gradstep.kept_for_c()
    Threads.@threads for r in 1:4
        for _ in 1:5
            leave_garbage(4)
            GC.gc()
        end
    end
    # What is reached from a thread's last frames may be kept a while; 80 optimizers with a function each were made.
    GC.gc()
    GC.gc()
    @test Gradstep.kept_for_c() < before + 40
end

@testset "arrays stay where they are while a call runs" begin
    # Each array is garbage but for the call that uses it.
    total = zeros(Float32, 4096)
    optimizer = setup(SGD(1), total)
    collecting = Threads.Atomic{Bool}(true)
    collector = Threads.@spawn while collecting[]
        GC.gc(false)
    end
    for i in 1:300
        update!(optimizer, total, ones(Float32, 4096))
    end
    collecting[] = false
    wait(collector)
    @test all(total .== -300)
end

@noinline function tensor_of_garbage()
    array = [2.0]
    return Gradstep.one_tensor(array, "x"), WeakRef(array)
end

@testset "a tensor keeps its array" begin
    tensor, array = tensor_of_garbage()
    GC.gc()
    @test array.value == [2]
    @test tensor.memory === array.value
end

"""A list whose entries are made when asked for."""
struct Made <: AbstractVector{Vector{Float32}}
    length::Int
end
Base.size(list::Made) = (list.length,)
Base.getindex(list::Made, i::Int) = (GC.gc(); fill(Float32(i), 64))

@testset "arrays that a list makes when asked are kept for the call" begin
    model = [zeros(Float32, 64) for _ in 1:3]
    update!(setup(SGD(1), model), model, Made(3))
    @test model == [fill(-Float32(i), 64) for i in 1:3]
    accumulator = Accumulator(model; mode = :sum)
    add!(accumulator, Made(3))
    @test gradients(accumulator) == [fill(Float32(i), 64) for i in 1:3]
end

@testset "the log reaches a function, and costs nothing to refuse" begin
    context = Context(log_level = :debug, log = (level, text) -> error("not today"))
    x = zeros(Float32, 1)
    update!(setup(SGD(1), x; context = context), x, Float32[1])
    @test x == [-1]
    @test failure(() -> Context(log_level = :loud)).status === :INVALID_ARGUMENT
end

@testset "what the library says of itself" begin
    @test version() >= v"0.1"
    @test occursin("\"abi_version\"", build_info())
    @test backend_available("cpu") && !backend_available("abacus")
    @test backend_status("cpu") == "ok"
    @test failure(() -> load_backend("/there/is/no/plugin")).status === :BACKEND_UNAVAILABLE
    costs = predict_costs(elements = 1000, ranks = 4, bandwidth = 1e9, latency = 1e-5)
    @test any(cost -> cost.mode === :dense && cost.algorithm === :ring && cost.seconds > 0, costs)
    measured = measure_costs()
    @test length(measured) == 9 && all(0 .<= values(measured) .< 1e-3) && measured.add_seconds > 0
    here = predict_costs(; elements = 1000, ranks = 4, bandwidth = 1e9, latency = 1e-5, measured...)
    @test [cost.network_seconds for cost in here] == [cost.network_seconds for cost in costs]
    @test [cost.seconds for cost in here] != [cost.seconds for cost in costs]
end

@testset "a handle that cannot be copied or serialized says what to do" begin
    x = zeros(Float32, 2)
    optimizer, accumulator, comm, context = setup(SGD(1), x), Accumulator(x), self_communicator(), Context()
    reducer = Reducer(comm, x)
    updater = Updater(optimizer, accumulator, reducer)
    for owner in (accumulator, reducer, updater), copy in (deepcopy, each -> serialize(IOBuffer(), each))
        error = failure(() -> copy(Dict(:state => owner)))
        @test error.status === :INVALID_STATE && occursin("save writes", error.text)
    end
    for owner in (comm, context), copy in (deepcopy, each -> serialize(IOBuffer(), each))
        @test occursin("make another one", failure(() -> copy(owner)).text)
    end
    @test occursin("save writes", failure(() -> serialize(IOBuffer(), optimizer)).text)
    shard!(optimizer, comm)
    @test occursin("is sharded", failure(() -> deepcopy(optimizer)).text)
end

@testset "what holds no handle is copied with its arrays" begin
    values = ones(Float32, 1, 1)
    rows = deepcopy(Rows(1, [2], values))
    values .= NaN
    io = IOBuffer()
    serialize(io, rows)
    for each in (rows, deserialize(seekstart(io)))
        accumulator = Accumulator((zeros(Float32, 1, 3),); mode = :sum)
        add!(accumulator, nothing; rows = (each,))
        @test gradients(accumulator) == [Float32[0 1 0]]
    end
end

@testset "unknown options are told by what may be given" begin
    known(f) = split(failure(f).text, "known: ")[2]
    @test Set(split(known(() -> Context(log_user = 1)), ", ")) ==
          Set(["num_threads", "background_threads", "log_level", "log", "lapack_library"])
    @test known(() -> Context(threads = 1)) == known(() -> Context(log_user = 1))
    x = zeros(Float32, 1)
    @test !occursin("result", known(() -> step!(setup(SGD(1), x), x, x; max = 1)))
end

@testset "the library's texts count arrays from 1" begin
    x = zeros(Float32, 4)
    optimizer = setup(SGD(1), (x, x))
    @test startswith(failure(() -> update!(optimizer, (x, x), (ones(Float32, 4), ones(Float32, 4)))).text,
                     "model[1] overlaps model[2]")
end
