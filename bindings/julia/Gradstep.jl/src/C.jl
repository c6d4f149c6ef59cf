# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0
"""
The C API as it is: `Gradstep.C.gradstep_optimizer_step(...)` and so on, with the names of the headers.

Arguments are converted and kept alive as by `ccall`. While a call runs the garbage collector of the other threads need
not wait for it: some calls wait for other ranks, and those may be threads of this very process.
"""
module C

using Libdl

# Name and address of every function; addresses are filled in by `load`.
const FUNCTIONS = Pair{Symbol, Base.RefValue{Ptr{Cvoid}}}[]

"""
    @c name(argument::Type, ...)::Type

Defines the Julia function `name`, which calls the C function of that name.

It is called by its address and not by a library's name, because a process may hold another libgradstep.so.0. What Julia
objects the arguments are made of is converted before the call is GC-safe, since nothing may be allocated from then on.
"""
macro c(declaration)
    call, returns = declaration.args
    name, arguments = call.args[1], call.args[2:end]
    given = [argument.args[1] for argument in arguments]
    types = [argument.args[2] for argument in arguments]
    kept = [Symbol(each, :_kept) for each in given]
    plain = [Symbol(each, :_plain) for each in given]
    address = Symbol(:ADDRESS_OF_, name)
    keep = [:($k = Base.cconvert($t, $g)) for (k, t, g) in zip(kept, types, given)]
    convert = [:($p = Base.unsafe_convert($t, $k)) for (p, t, k) in zip(plain, types, kept)]
    esc(quote
        const $address = Ref{Ptr{Cvoid}}(C_NULL)
        push!(FUNCTIONS, $(QuoteNode(name)) => $address)
        @inline function $name($(given...))
            $(keep...)
            GC.@preserve $(kept...) begin
                $(convert...)
                address = $address[]
                state = ccall(:jl_gc_safe_enter, Int8, ())
                result = ccall(address, $returns, ($(types...),), $(plain...))
                ccall(:jl_gc_safe_leave, Cvoid, (Int8,), state)
            end
            return result
        end
    end)
end

include("c_api.jl")

const NAME = "libgradstep.so.0"

"""
Where the library may be, in the order in which it is looked for: the file or folder in the environment variable
GRADSTEP_LIB, and nowhere else if that is set; what the archives of this package bring in deps; the release build of the
sources that this package is a part of; wherever the system's loader looks.
"""
function candidates()
    chosen = get(ENV, "GRADSTEP_LIB", "")
    isempty(chosen) || return [isdir(chosen) ? joinpath(chosen, NAME) : chosen]
    package = dirname(@__DIR__)
    brought = joinpath(package, "deps", "$(Sys.ARCH)-linux-gnu", NAME)
    built = normpath(joinpath(package, "..", "..", "..", "build", "release", "lib", NAME))
    return [filter(isfile, [brought, built]); NAME]
end

"""
Opens the library and finds its functions.

Neither RTLD_DEEPBIND, which is Julia's default, nor RTLD_GLOBAL: the library's C++ runtime and Julia's have to agree on
one unwinder, or an exception inside the library ends the process.
"""
function load()
    failures = String[]
    for path in candidates()
        library = try
            Libdl.dlopen(path, Libdl.RTLD_LAZY | Libdl.RTLD_LOCAL)
        catch failure
            push!(failures, sprint(showerror, failure))
            continue
        end
        find_functions(library, Libdl.dlpath(library))
        return nothing
    end
    error("Gradstep: $NAME was not found. Set the environment variable GRADSTEP_LIB to its file or folder. Tried:\n  ",
          join(failures, "\n  "))
end

function find_functions(library, path)
    # Until 1.0 the ABI must equal that of the headers (base.h).
    version = ccall(Libdl.dlsym(library, :gradstep_abi_version), UInt32, ())
    version == GRADSTEP_ABI_VERSION || error(
        "Gradstep: $path has ABI version $(shown(version)), this package is for $(shown(GRADSTEP_ABI_VERSION))")
    for (name, address) in FUNCTIONS
        address[] = Libdl.dlsym(library, name)
    end
end

shown(version) = "$(version >> 16).$(version & 0xffff)"

end
