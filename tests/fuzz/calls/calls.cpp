// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A host that calls any function at any time, with arguments of any value over memory that is valid: every call returns
// a status that base.h names, what is refused as INVALID_ARGUMENT has left the host's memory alone, and at the end
// nothing is left behind. With libFuzzer (GRADSTEP_BUILD_FUZZERS, clang) it makes up runs; built with replay.cpp it
// goes through the corpus.
//
// The input is a list of choices (hostile_values.h): which call, which handle, which argument is a lie.
#include "calls.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace gradstep::fuzz {

namespace {

/// The likelier ones are there twice.
constexpr gradstep_status (*kCalls[])(Host&) = {make_context,
                                                make_optimizer,
                                                make_optimizer,
                                                make_accumulator,
                                                make_comm,
                                                make_reducer,
                                                make_updater,
                                                destroy_one,
                                                step,
                                                step,
                                                step,
                                                ask_optimizer,
                                                change_optimizer,
                                                use_accumulator,
                                                use_accumulator,
                                                use_reducer,
                                                use_reducer,
                                                use_updater,
                                                use_updater,
                                                save_or_load,
                                                save_or_load,
                                                use_comm,
                                                use_comm,
                                                use_tensor_list,
                                                compute_number,
                                                use_parameter_list};

void require(bool holds, const char* what, gradstep_status status) {
  if (holds) return;
  std::fprintf(stderr, "calls: %s: status %d (%s): %s\n", what, status, gradstep_status_name(status),
               gradstep_last_error());
  std::abort();
}

void call(Host& host) {
  const std::vector<std::uint64_t> before = host.memory();
  const std::int64_t inner_calls = host.inner_calls();
  const gradstep_status status = kCalls[host.values().below(std::size(kCalls))](host);
  require(std::string_view(gradstep_status_name(status)) != "GRADSTEP_ERR_UNKNOWN", "a status that nobody knows",
          status);
  require(status != GRADSTEP_ERR_INTERNAL, "a defect", status);
  if (status != GRADSTEP_ERR_INVALID_ARGUMENT || host.inner_calls() != inner_calls) return;
  require(host.memory() == before, "what was refused has changed the host's memory", status);
}

}  // namespace

}  // namespace gradstep::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstep::fuzz;
  HostileValues values(data, size);
  Host host(values, call);
  make_context(host);
  while (!values.empty()) call(host);
  return 0;
}
