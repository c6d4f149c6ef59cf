# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    library_version()

The version of the loaded libgradstep.
"""
library_version() = VersionNumber(unsafe_string(C.gradstep_version_string()))

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
