// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The C API for every language that SWIG serves. A language file (python.i) maps buffers, handles and callbacks and may
// rename; exceptions.i turns statuses into the language's exceptions. Includes are listed one by one, in order of
// dependence, because SWIG does not follow those inside the headers.
#if defined(SWIGPYTHON)
%module(package="gradstep") core
#else
%module core
#endif

%{
#include "gradstep/gradstep.h"
%}

// The visibility attribute of GRADSTEP_API.
#define __attribute__(x)

%include <stdint.i>

// The module's name stands for the prefix. Before the rules that ignore, which go first among later ones.
%rename("%(regex:/^(?:gradstep_|GRADSTEP_)(.*)$/\\1/)s") "";

// Structs of callbacks and of borrowed buffers, and the functions that fill them: languages give their own objects.
%ignore gradstep_allocator;
%ignore gradstep_comm_vtable;
%ignore gradstep_parameter;
%ignore gradstep_rows;
%ignore gradstep_step_options;
%ignore gradstep_step_result;
%ignore gradstep_store;
%ignore gradstep_stream;
%ignore gradstep_tensor;
%rename("$ignore", regextarget=1) "_options_init$";
%ignore gradstep_schedule_init;
%ignore gradstep_set_last_error;

// Pointer members: their targets would have to outlive the struct. Language files set them where they build the call.
%ignore gradstep_accumulator_options::schedule;
%ignore gradstep_updater_options::outer;
%ignore gradstep_comm_options::engine;
%ignore gradstep_comm_options::id;
%ignore gradstep_comm_options::id_len;
%ignore gradstep_comm_options::network_interface;
%ignore gradstep_comm_options::store;
%ignore gradstep_comm_options::store_path;
%ignore gradstep_context_options::allocator;
%ignore gradstep_context_options::interrupt;
%ignore gradstep_context_options::interrupt_release;
%ignore gradstep_context_options::interrupt_user;
%ignore gradstep_context_options::lapack_library;
%ignore gradstep_context_options::log;
%ignore gradstep_context_options::log_release;
%ignore gradstep_context_options::log_user;
%ignore gradstep_context_options::parallel_for;
%ignore gradstep_context_options::parallel_for_release;
%ignore gradstep_context_options::parallel_for_user;
%ignore gradstep_schedule::boundaries;
%ignore gradstep_schedule::function;
%ignore gradstep_schedule::release;
%ignore gradstep_schedule::user;
%ignore gradstep_schedule::values;

%include "exceptions.i"
#if defined(SWIGPYTHON)
%include "python.i"
#elif defined(SWIGJAVA)
%include "java.i"
#endif

// A new options struct holds the defaults.
%define %options(NAME)
%extend NAME {
  NAME() {
    NAME* options = new NAME();
    NAME##_init(options, sizeof(NAME));
    return options;
  }
}
%enddef
%options(gradstep_accumulator_options)
%options(gradstep_adagrad_options)
%options(gradstep_adam_options)
%options(gradstep_comm_options)
%options(gradstep_cost_options)
%options(gradstep_load_options)
%options(gradstep_reducer_options)
%options(gradstep_rmsprop_options)
%options(gradstep_sgd_options)
%options(gradstep_shampoo_options)
%options(gradstep_sharding_options)
%options(gradstep_updater_options)

%extend gradstep_accumulator_options {
  // Borrowed: keep the schedule until the accumulator is created.
  void set_schedule(const gradstep_schedule* borrowed) { $self->schedule = borrowed; }
}

%extend gradstep_updater_options {
  // Borrowed: keep the optimizer until the updater is created.
  void set_outer(gradstep_optimizer* borrowed) { $self->outer = borrowed; }
}

// Texts that stay until the process ends.
%immutable gradstep_rule::name;
%immutable gradstep_rule::source;
%immutable gradstep_rule::formula;
%immutable gradstep_rule::states;
%immutable gradstep_rule_option::name;
%immutable gradstep_rule_option::meaning;
%immutable gradstep_rule_option::choices;
%ignore gradstep_option;
%ignore gradstep_group_rule;

// A new result struct says its size.
%define %result(NAME)
%extend NAME {
  NAME() {
    NAME* result = new NAME();
    result->struct_size = sizeof(NAME);
    return result;
  }
}
%enddef
%result(gradstep_bucket_statistics)
%result(gradstep_comm_statistics)
%result(gradstep_cost)
%result(gradstep_memory)
%result(gradstep_metric)
%result(gradstep_rule)
%result(gradstep_updater_statistics)

%include "gradstep/base.h"
%include "gradstep/tensor.h"
%include "gradstep/context.h"
%include "gradstep/backend.h"
%include "gradstep/schedule.h"
%include "gradstep/comm.h"
%include "gradstep/optimizer.h"
%include "gradstep/shampoo.h"
%include "gradstep/sharding.h"
%include "gradstep/accumulator.h"
%include "gradstep/reducer.h"
%include "gradstep/cost.h"
%include "gradstep/updater.h"
%include "gradstep/trace.h"
%include "gradstep/rendezvous.h"
%include "gradstep/state.h"
%include "gradstep/rule.h"

%exception;
#if defined(SWIGPYTHON)
%include "python_adapters.i"
#elif defined(SWIGJAVA)
%include "java_adapters.i"
#endif
