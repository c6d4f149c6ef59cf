# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
#
# usage: outside.jl INSTRUCTION_SET FOLDER. A foreign program that uses an installed Gradstep.jl: it steps Adam, and
# opens the Gloo plugin. The library must have chosen the instruction set, and lie below the folder.

began = time()
using Gradstep
loaded = time()

function step()
    model = (line = zeros(Float32, 4),)
    update!(setup(Adam(0.25), model), model, (line = Float32[1, -1, 2, -2],))
    # Adam's first step is as long as the learning rate, against the gradient's sign, but for epsilon.
    isapprox(model.line, [-0.25, 0.25, -0.25, 0.25]; atol = 1e-6) || error("the step made $(model.line)")
end

function main(instruction_set, folder)
    info = replace(build_info(), " " => "")
    occursin("\"instruction_set\":\"$instruction_set\"", info) || error("the library did not choose $instruction_set: $info")
    mapped = [split(line)[end] for line in eachline("/proc/self/maps") if occursin("libgradstep.so", line)]
    all(startswith(folder), mapped) && !isempty(mapped) || error("the library is $(unique(mapped)), expected in $folder")
    step()
    backend_available("gloo") || error("Gloo: $(backend_status("gloo"))")
    println("Gradstep $(version()), $instruction_set; loaded in $(round(loaded - began; digits = 2)) s")
end

main(ARGS...)
