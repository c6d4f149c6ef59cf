# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# What the pages of docs/how_to quote.

@testset "micro-batches are one step" begin
    model = (weight = fill(5f0, 4),)
    gradients_of_batches = [(weight = Float32[1, 2, 3, 4],), (weight = Float32[3, 2, 1, 0],)]
    # docs:begin accumulate
    optimizer = setup(SGD(1), model)
    accumulator = Accumulator(model; mode = :mean, steps = 2)
    for gradient in gradients_of_batches
        add!(accumulator, gradient) && step!(optimizer, model, accumulator)
    end
    # docs:end accumulate
    @test model.weight == [3, 3, 3, 3]
end

@testset "an overflow skips the step and halves the scale" begin
    model = (weight = fill(5f0, 4),)
    optimizer = setup(SGD(1), model)
    scale = 1024.0
    for (last, expected) in ((0f0, 1024), (Inf32, 512))
        grads = (weight = Float32[1024, 2048, 0, last],) # of the scaled loss
        # docs:begin scaler
        result = step!(optimizer, model, grads; skip_nonfinite = true, grad_scale = 1 / scale, max_norm = 100)
        result.applied || (scale /= 2) # an overflow: nothing has changed
        # docs:end scaler
        @test scale == expected && model.weight == [4, 3, 5, 5]
    end
end

@testset "a run is saved and resumed" begin
    mktempdir() do folder
        model = (weight = fill(5f0, 4),)
        grads = (weight = Float32[1, 2, 3, 4],)
        optimizer = setup(Adam(0.5), model)
        update!(optimizer, model, grads)
        # docs:begin save
        save(optimizer, joinpath(folder, "adam.safetensors"))
        resumed = load!(setup(Adam(0.5), model), joinpath(folder, "adam.safetensors"))
        # docs:end save
        copy_ = deepcopy(model)
        update!(optimizer, model, grads)
        update!(resumed, copy_, grads)
        @test copy_ == model && step_count(resumed) == 2
    end
end

function sharded_step(comm)
    model = (weight = fill(5f0, 4),)
    grads = (weight = fill(1f0 + 2rank(comm), 4),)
    # docs:begin shard
    optimizer = setup(Adam(1), model)
    shard!(optimizer, comm) # this rank's share of the state, from here on
    update!(optimizer, model, grads) # collective: averages, steps, and gathers the parameters
    # docs:end shard
    return model.weight, get_state(optimizer, 1, "exp_avg")
end

@testset "each rank keeps a share of the state" begin
    for (weight, moment) in on_ranks(sharded_step, 2)
        @test weight ≈ fill(4, 4)
        @test moment ≈ fill(0.2, 4) # 0.1 of the mean gradient, 2
    end
end

function saved_on_two_ranks(comm, grads, file)
    model = (weight = fill(5f0, 4),)
    # docs:begin save_shared
    # On two ranks:
    optimizer = setup(Adam(0.5), model)
    shard!(optimizer, comm; gradients = :reduced)
    update!(optimizer, model, grads)
    save(optimizer, file) # collective; rank 0 writes the state of the whole
    # docs:end save_shared
    return model.weight
end

function resumed_elsewhere(comm, model, grads, file)
    # docs:begin resume_elsewhere
    # Later, on another number:
    optimizer = setup(Adam(0.5), model)
    shard!(optimizer, comm; gradients = :reduced)
    load!(optimizer, file) # collective; each rank keeps its share
    update!(optimizer, model, grads)
    # docs:end resume_elsewhere
    return model.weight
end

@testset "state of two ranks is resumed on one" begin
    mktempdir() do folder
        file = joinpath(folder, "adam.safetensors")
        grads = (weight = Float32[1, 2, 3, 4],) # reduced already: equal on all ranks
        model = (weight = fill(5f0, 4),)
        whole = setup(Adam(0.5), model)
        update!(whole, model, grads)
        saved = on_ranks(comm -> saved_on_two_ranks(comm, grads, file), 2)
        @test saved == [model.weight, model.weight]
        update!(whole, model, grads)
        @test resumed_elsewhere(self_communicator(), (weight = saved[1],), grads, file) == model.weight
    end
end

function own_rows_step(comm)
    r = rank(comm)
    model = (matrix = Float32[8 8],)
    grads = (matrix = r == 0 ? Float32[3 0] : Float32[0 4],)
    # docs:begin own_shards
    part = ((2, 2), ((r + 1):(r + 1), 1:2)) # the size of the whole, and the indices of this rank's row in there
    optimizer = setup(SGD(1), model; parts = [part])
    attach_shards!(optimizer, comm)
    step!(optimizer, model, grads; max_norm = 2.5) # clips by the norm of the whole
    # docs:end own_shards
    return sum(model.matrix)
end

@testset "each rank steps its rows of a whole" begin
    @test on_ranks(own_rows_step, 2) ≈ [14.5, 14] # half of the gradient, whose norm is 5
end

@testset "Shampoo keeps the length of an AdamW's step" begin
    model = (matrix = fill(5f0, 2, 2),)
    grads = (matrix = Float32[1 2; 2 4],)
    # docs:begin shampoo
    recipe = (beta2 = 0.99, weight_decay = 1e-4)
    optimizer = setup(AdamW(0.02; recipe...), model)
    shampoo = setup(shampoo_from_adamw(0.02; recipe..., preconditioning_compute_steps = 10), model)
    soap = setup(shampoo_from_adamw(0.02; recipe..., eigenvalue_corrected = true), model)
    # docs:end shampoo
    lengths = map((optimizer, shampoo, soap)) do each
        stepped, before = deepcopy(model), nothing
        for _ in 1:100
            before = copy(stepped.matrix)
            update!(each, stepped, grads)
        end
        sqrt(sum(abs2, before .- stepped.matrix))
    end
    @test isapprox(lengths[2], lengths[1]; atol = 1e-4)
    @test lengths[3] > 0
end

function sparse_step(comm)
    model = (weight = fill(5f0, 4),)
    grads = (weight = Float32[1, 4, 2, 3],)
    # docs:begin sparse
    reducer = Reducer(comm, model; mode = :sparse_topk, sparsity = 0.25)
    updater = Updater(setup(SGD(1), model), nothing, reducer)
    push!(updater, model, grads)
    # docs:end sparse
    return model.weight
end

@testset "a sparse reducer sends the largest" begin
    @test on_ranks(sparse_step, 2) == [[5, 1, 5, 5], [5, 1, 5, 5]]
end

function adasum_step(comm)
    model = (weight = fill(5f0, 4),)
    grads = (weight = rank(comm) == 0 ? Float32[1, 1, -1, 0] : Float32[1, 0, 0, 0],)
    # docs:begin adasum
    reducer = Reducer(comm, model; mode = :adasum_tree)
    updater = Updater(setup(SGD(1), model), nothing, reducer)
    # docs:end adasum
    push!(updater, model, grads)
    return model.weight
end

@testset "Adasum adds what ranks do not agree on" begin
    # a (1 - ab / 2 aa) + b (1 - ab / 2 bb) with ab = 1, aa = 3, bb = 1
    for weight in on_ranks(adasum_step, 2)
        @test weight[1:2] ≈ [5 - 5 / 6 - 1 / 2, 5 - 5 / 6]
    end
end

@testset "a rank that is left goes on" begin
    mktempdir() do folder
        comms = local_communicators(2)
        model = (weight = fill(5f0, 4),)
        grads = (weight = Float32[1, 2, 3, 4],)
        updaters = on_ranks(comm -> Updater(setup(SGD(1), model), Accumulator(model), Reducer(comm, model)), comms)
        close(updaters[2]) # and so the other rank loses a peer
        close(comms[2])
        updater = updaters[1]
        # docs:begin recover
        try
            push!(updater, model, grads) # ends the window
        catch error
            error isa GradstepError && error.status in (:PEER_LOST, :TIMEOUT) || rethrow()
            # This rank alone is left: your launcher's to know. Each communicator has another generation.
            left = connect("auto", 0, 1, folder; generation = 1)
            recover!(updater, left, model)
            flush!(updater, model) # finishes the window that failed, or finds it finished
        end
        # docs:end recover
        @test model.weight == [4, 3, 2, 1]
    end
end

function founder(folder, grads)
    model = (weight = fill(5f0, 4),)
    comm = connect("auto", 0, 1, folder)
    updater = Updater(setup(SGD(1), model), nothing, Reducer(comm, model))
    grown = nothing
    deadline = time_ns() + 60 * 10^9
    while grown === nothing
        time_ns() < deadline || error("no newcomer came")
        # docs:begin grow
        push!(updater, model, grads)
        if rendezvous_pending(comm, "auto", 2, folder; generation = 1) == 1 # newcomers that wait, the same on all ranks
            grown = connect("auto", rank(comm), 2, folder; generation = 1)
            recover!(updater, grown, model)
        end
        # docs:end grow
        GC.safepoint()
    end
    push!(updater, model, grads)
    return model.weight
end

function newcomer(folder, grads)
    model = (weight = zeros(Float32, 4),)
    # docs:begin join
    reducer = Reducer(self_communicator(), model) # says how this rank reduces
    updater = Updater(setup(SGD(1), model), nothing, reducer)
    comm = connect("auto", 1, 2, folder; generation = 1) # waits for the others
    recover!(updater, comm, model) # parameters, state and step count are theirs from here on
    # docs:end join
    push!(updater, model, grads)
    return model.weight
end

@testset "a newcomer joins between two windows" begin
    mktempdir() do folder
        grads = (weight = Float32[1, 2, 3, 4],)
        weights = on_ranks(play -> play(folder, grads), [founder, newcomer])
        @test weights[1] == weights[2]
        @test weights[1][1] < 4 # a step before the newcomer came, and one with it
    end
end

function trained_by_rounds(comm)
    model = (weight = fill(8f0, 4),)
    grads = (weight = fill(1f0 + 2rank(comm), 4),)
    # docs:begin local_steps
    outer = setup(SGD(0.5), model)
    updater = Updater(setup(SGD(1), model), nothing, Reducer(comm, model); sync = :deltas, sync_steps = 2, outer)
    # docs:end local_steps
    push!(updater, model, grads)
    push!(updater, model, grads)
    return model.weight
end

@testset "rounds of local steps meet an outer optimizer" begin
    @test on_ranks(trained_by_rounds, 2) == [fill(6, 4), fill(6, 4)] # half of the mean change, which is 4
end

function summed_over_own_transport(meeting, r)
    round = 0
    # docs:begin collectives
    function all_gather(receive, send, timeout) # receive = the bytes of rank 0, then those of rank 1, ...
        deadline = time_ns() + ceil(UInt64, 1e9 * timeout)
        meeting.brought[r + 1] = send
        meet(meeting, round += 1, deadline) # all have brought theirs
        copyto!(receive, reduce(vcat, meeting.brought))
        meet(meeting, round += 1, deadline) # all have taken
    end
    comm = host_communicator(HostCollectives(r, meeting.world_size; all_gather = all_gather))
    # docs:end collectives
    return all_reduce!(comm, Float32[1, r])
end

@testset "one function is a transport" begin
    meeting = Meeting(2)
    @test on_ranks(r -> summed_over_own_transport(meeting, r), 0:1) == [[2, 1], [2, 1]]
end
