# SPDX-FileCopyrightText: 2026 The gradstep authors
# SPDX-License-Identifier: Apache-2.0

"""
    GradstepError

What every failing call throws.

- `code`: the C library's status, -1 for GRADSTEP_ERR_INVALID_ARGUMENT and so on;
- `status`: its name as a symbol, `:INVALID_ARGUMENT` and so on;
- `text`: what is wrong, by argument, index, expected and found value;
- `cause`: the exception that a function of yours threw where that is why the call failed, as a `CapturedException`;
  else `nothing`.
"""
struct GradstepError <: Exception
    code::Int32
    text::String
    cause::Union{Nothing, CapturedException}
end

GradstepError(code, text) = GradstepError(code, text, nothing)

const STATUS_NAMES = Dict(code => Symbol(uppercase(replace(string(name), r"^err_" => "")))
                          for (name, code) in pairs(C.gradstep_status_code))

const INVALID_ARGUMENT = C.gradstep_status_code.err_invalid_argument
const INVALID_STATE = C.gradstep_status_code.err_invalid_state
const UNSUPPORTED = C.gradstep_status_code.err_unsupported
const ABORTED = C.gradstep_status_code.err_aborted
const CALLBACK = C.gradstep_status_code.err_callback

Base.getproperty(error::GradstepError, name::Symbol) =
    name === :status ? get(STATUS_NAMES, getfield(error, :code), :UNKNOWN) : getfield(error, name)
Base.propertynames(::GradstepError) = (:code, :status, :text, :cause)

function Base.showerror(io::IO, error::GradstepError)
    print(io, "GradstepError: ", error.status, ": ", error.text)
    if error.cause !== nothing
        print(io, "\ncaused by: ")
        showerror(io, error.cause)
    end
end

@noinline bad_argument(text...) = throw(GradstepError(INVALID_ARGUMENT, string(text...)))

"""Throws what a status other than OK stands for. The text is this thread's: nothing may come between call and check."""
@inline check(status::Int32) = status == 0 ? nothing : fail(status)

@noinline function fail(status::Int32)
    text = unsafe_string(C.gradstep_last_error())
    cause = take_exception(status, text)
    cause !== nothing && cause.ex isa InterruptException && throw(cause.ex)
    throw(GradstepError(status, cause === nothing ? counted_from_1(text) : text, cause))
end

"""The library's text, whose lists count from 0, as this package counts and calls them."""
counted_from_1(text) = replace(text, r"\b(params|parameters|grads|updates|results|rows|indices|boundaries|values)\[\d+\]" => found -> begin
    list, index = split(found[1:(end - 1)], '[')
    string(list in ("params", "parameters") ? "model" : list, "[", parse(Int, index) + 1, "]")
end)
