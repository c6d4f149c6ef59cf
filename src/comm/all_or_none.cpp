// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/all_or_none.h"

#include <exception>

#include "core/error.h"

namespace gradstep {

void all_or_none(Communicator* comm, const char* what, FunctionRef<void()> body) {
  if (comm == nullptr) return body();
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  const bool all = comm->vote(failure == nullptr, comm->deadline());
  if (failure) std::rethrow_exception(failure);
  if (!all) fail(GRADSTEP_ERR_ABORTED, "another rank could not {}", what);
}

}  // namespace gradstep
