// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// gradstep.hpp: the C++ layer over <gradstep/gradstep.h>, all but libtorch.hpp. C++20, headers alone.
//
// Handles are move-only and own what they stand for; each says `c()` to those who need the C function. A call that
// fails throws the exception of its status (error.hpp), with the library's text. Threads, lifetimes and which calls are
// collective are as in the C headers: one handle is used by one thread at a time, or the second one gets InvalidState.
#pragma once

#include <gradstep/accumulator.hpp>
#include <gradstep/communicator.hpp>
#include <gradstep/context.hpp>
#include <gradstep/cost.hpp>
#include <gradstep/dlpack.hpp>
#include <gradstep/error.hpp>
#include <gradstep/host_collectives.hpp>
#include <gradstep/mdspan.hpp>
#include <gradstep/optimizer.hpp>
#include <gradstep/options.hpp>
#include <gradstep/reducer.hpp>
#include <gradstep/rule_options.hpp>
#include <gradstep/rules.hpp>
#include <gradstep/saved_state.hpp>
#include <gradstep/schedule.hpp>
#include <gradstep/shampoo.hpp>
#include <gradstep/tensor.hpp>
#include <gradstep/trace.hpp>
#include <gradstep/updater.hpp>
