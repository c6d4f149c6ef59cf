# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# Arrays by their addresses, in the host's memory and on the emulated CUDA device of GRADSTEP_EMULATED_CUDA.

@testset "an array by its address is stepped where it lies" begin
    weight, bias = Float32[1 2 3; 4 5 6], Float32[1]
    arrays, grads = (weight = weight, bias = bias), (weight = Float32[1 0 1; 0 1 0], bias = Float32[2])
    by_address(array) = Gradstep.Tensor{eltype(array)}(pointer(array), size(array))
    GC.@preserve arrays grads begin
        model = map(by_address, arrays)
        optimizer = setup(SGD(1; momentum = 0.5), model)
        update!(optimizer, model, map(by_address, grads))
        @test weight == [0 2 2; 4 4 6] && bias == [-1]
        # Either stands for the other.
        update!(optimizer, arrays, (weight = grads.weight, bias = nothing))
        @test weight == [-1.5 2 0.5; 4 2.5 6]
        @test get_state(optimizer, 1, "momentum_buffer") == 1.5 .* grads.weight
        rows = Gradstep.Tensor{Float32}(UInt(pointer(weight)), (1, 3); strides = (1, 2))
        update!(setup(SGD(1), rows), rows, ones(Float32, 1, 3); stream = C_NULL)
        @test weight == [-2.5 1 -0.5; 4 2.5 6]
        turned = PermutedDimsArray(rows, (2, 1))
        update!(setup(SGD(1), turned), turned, ones(Float32, 3, 1))
        @test weight == [-3.5 0 -1.5; 4 2.5 6]
    end
end

@testset "what is wrong with an address is named" begin
    address = Ptr{Cvoid}(64)
    says(f) = failure(f).text
    @test says(() -> Gradstep.Tensor{Complex{Float64}}(address, (2,))) ==
          "T: is Complex{Float64}, expected a type that has a Gradstep.dtype"
    @test says(() -> Gradstep.Tensor{Float32}(address, (2, -1))) == "size: is (2, -1), expected extents from 0 on"
    @test says(() -> Gradstep.Tensor{Float32}(address, (2, 2); strides = (1,))) ==
          "strides: has 1 entries, expected 2, one of each axis"
    @test says(() -> Gradstep.Tensor{Float32}(address, (2,); device = :gpu)) ==
          "device: is :gpu, expected one of cpu, cuda, cuda_host"
    tensor = Gradstep.Tensor{Float32}(address, (2,); device = :cuda)
    @test sprint(show, MIME("text/plain"), tensor) == "Gradstep.Tensor{Float32}(0x0000000000000040, (2,))"
    x = zeros(Float32, 2)
    @test says(() -> update!(setup(SGD(1), x), x, tensor)) == "grads[1]: is on cuda:0, parameter 'param.0' is on cpu"
    turned = PermutedDimsArray(tensor, (1,))
    @test says(() -> update!(setup(SGD(1), x), x, turned)) == "grads[1]: is on cuda:0, parameter 'param.0' is on cpu"
    @test occursin("expected an Array", says(() -> update!(setup(SGD(1), x), x, view(tensor, [1, 2]))))
    @test iszero(x)
end

if haskey(ENV, "GRADSTEP_EMULATED_CUDA")
    using Libdl: dlopen, dlsym

    const EMULATED = joinpath(ENV["GRADSTEP_EMULATED_CUDA"], "libgradstep_cuda.so")

    @testset "arrays of a CUDA device are stepped by their addresses" begin
        ENV["GRADSTEP_PLUGIN_DIR"] = dirname(EMULATED)
        load_backend(EMULATED)
        # Places in gradstep::emulation::Control.
        control = ccall(dlsym(dlopen(EMULATED), :gradstep_cuda_emulation), Ptr{Ptr{Cvoid}}, ())
        make_stream, allocate, deallocate, copy_bytes = map(place -> unsafe_load(control, place + 1), (4, 9, 10, 11))
        function upload(array)
            address = ccall(allocate, Int, (Int32, Int), 0, sizeof(array))
            GC.@preserve array ccall(copy_bytes, Cvoid, (Int, Int, Int), address, Int(pointer(array)), sizeof(array))
            return address
        end
        function download(address, array)
            GC.@preserve array ccall(copy_bytes, Cvoid, (Int, Int, Int), Int(pointer(array)), address, sizeof(array))
            return array
        end
        x, g = Float32[1 2; 3 4; 5 6], Float32[1 0; 0 1; 1 1]
        stream = Ptr{Cvoid}(ccall(make_stream, Int, ()))
        places = map(upload, (x, g))
        # docs:begin device
        on_device(address) = Gradstep.Tensor{Float32}(address, size(x); device = :cuda, device_id = 0)
        model, grads = map(on_device, places)
        optimizer = setup(Adam(0.25), model)
        update!(optimizer, model, grads; stream = stream)
        # docs:end device
        update!(optimizer, model, grads; stream = stream)
        host = copy(x)
        on_host = setup(Adam(0.25), host)
        foreach(_ -> update!(on_host, host, g), 1:2)
        @test download(places[1], similar(x)) == host != x
        @test get_state(optimizer, 1, "exp_avg") == get_state(on_host, 1, "exp_avg")
        accumulator = Accumulator(model)
        add!(accumulator, grads)
        @test occursin("CUDA device 0", failure(() -> gradients(accumulator)).text)
        @test occursin("is on cpu", failure(() -> update!(optimizer, host, grads)).text)
        foreach(address -> ccall(deallocate, Cvoid, (Int,), address), places)
        delete!(ENV, "GRADSTEP_PLUGIN_DIR") # where Gloo's plugin is not
    end
end
