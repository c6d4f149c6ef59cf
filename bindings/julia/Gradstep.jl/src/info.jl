# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    version()

The version of the loaded libgradstep.
"""
version() = VersionNumber(unsafe_string(C.gradstep_version_string()))

"""
    build_info()

A JSON text about the loaded library: version, compiler, instruction sets, engines.
"""
build_info() = text(C.gradstep_build_info)

"""
    backend_available(name)

Whether a backend or engine (`"gloo"`, `"mpi"`, `"shm"`, `"cuda"`, ...) works here.
"""
backend_available(name) = C.gradstep_backend_available(String(name)) != 0

"""
    backend_status(name)

`"ok"`, or why a backend or engine does not work here.
"""
backend_status(name) = text(C.gradstep_backend_status, String(name))

"""
    load_backend(path)

Opens a plugin that is not beside the library.
"""
load_backend(path) = check(C.gradstep_backend_load(String(path)))

"""
    predict_costs(; elements, ranks, bandwidth, latency, options...)

What one exchange of `elements` gradients between `ranks` ranks costs by each mode and algorithm on a network of `bandwidth` bytes
and `latency` seconds, as named tuples; `include/c_api/gradstep/cost.h` has the model and its other options.
"""
function predict_costs(; options...)
    fields = Ref(with(defaults(C.gradstep_cost_options), options))
    return records(C.gradstep_predict_costs, C.gradstep_cost, fields)
end

"""
    measure_costs(; context)

What a rank's work on an element takes here, by the threads of the context, in seconds: options for `predict_costs`, whose
own values are those of some other processor. Takes some milliseconds.

    predict_costs(; elements = 10^8, ranks = 64, bandwidth = 1e10, latency = 1e-5, measure_costs()...)
"""
function measure_costs(; context = nothing)
    fields = Ref(defaults(C.gradstep_cost_options))
    with_context(pointer -> check(C.gradstep_cost_options_measure(fields, pointer)), context)
    names = filter(name -> endswith(string(name), "_seconds"), fieldnames(C.gradstep_cost_options))
    return NamedTuple{names}(map(name -> getfield(fields[], name), names))
end

"""
    trace_start(path)

From here on this process writes what it does into a new file at `path`, as Trace Event JSON for chrome://tracing and
Perfetto; `nothing`: as ranges of NVTX alone.
"""
trace_start(path) = check(C.gradstep_trace_start(path === nothing ? C_NULL : String(path)))

"""
    trace_stop()

Completes the file of `trace_start`. Nothing where no trace is on.
"""
trace_stop() = check(C.gradstep_trace_stop())
