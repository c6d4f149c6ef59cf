// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/all_or_none.h"

#include <exception>

#include "core/error.h"

namespace gradstep {

namespace {

/// `deadline` is asked for when the body has ended.
void all_or_none_by(Communicator& comm, const char* what, FunctionRef<void()> body, FunctionRef<Deadline()> deadline) {
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  bool all = false;
  try {
    all = comm.vote(failure == nullptr, deadline());
  } catch (...) {
    if (!failure) throw;
  }
  if (failure) std::rethrow_exception(failure);
  if (!all) fail(GRADSTEP_ERR_ABORTED, "another rank could not {}", what);
}

}  // namespace

void all_or_none(Communicator* comm, const char* what, FunctionRef<void()> body) {
  if (comm == nullptr) return body();
  all_or_none_by(*comm, what, body, [&] { return comm->deadline(); });
}

void all_or_none(Communicator& comm, const char* what, const Deadline& deadline, FunctionRef<void()> body) {
  all_or_none_by(comm, what, body, [&] { return deadline; });
}

void all_or_none(Communicator* comm, const char* what, const Deadline& deadline, FunctionRef<void()> body) {
  if (comm == nullptr) return body();
  all_or_none(*comm, what, deadline, body);
}

}  // namespace gradstep
