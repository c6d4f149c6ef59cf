// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/all_or_none.h"

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

#include "core/array.h"
#include "core/error.h"

namespace gradstep {

namespace {

/// A text with its NUL. It is on the stack, for memory may be what a rank lacks.
constexpr std::size_t kToldBytes = 320;
using Told = std::array<char, kToldBytes>;

Told words_of(const std::exception_ptr& failure) {
  Told words{};
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    std::size_t size = std::min(text.size(), kToldBytes - 1);
    while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;
    std::copy_n(text.begin(), size, words.begin());
  } catch (...) {
  }
  return words;
}

/// Collective, once it is known that some ranks have failed: the first of them tells its words. Where the channel fails
/// meanwhile, no rank has reported: the rank is `world_size`.
struct FirstFailure {
  std::int64_t rank;
  Told words{};

  FirstFailure(Communicator& comm, const std::exception_ptr& failure, const Deadline& deadline)
      : rank(failure ? comm.rank() : comm.world_size()) {
    try {
      comm.all_reduce(Array{&rank, 1, DType::i64}, GRADSTEP_REDUCE_MIN, 1, deadline);
      if (failure && rank == comm.rank()) words = words_of(failure);
      comm.broadcast(words.data(), kToldBytes, static_cast<std::int32_t>(rank), deadline);
    } catch (...) {
      rank = comm.world_size();
    }
  }
};

/// `deadline` is asked for when the body has ended.
void all_or_none_by(Communicator& comm, const char* what, FunctionRef<void()> body, FunctionRef<Deadline()> deadline) {
  std::exception_ptr failure;
  try {
    body();
  } catch (...) {
    failure = std::current_exception();
  }
  try {
    const Deadline until = deadline();
    if (comm.vote(failure == nullptr, until)) return;
    const FirstFailure first(comm, failure, until);
    if (!failure && first.rank == comm.world_size()) fail(GRADSTEP_ERR_ABORTED, "another rank could not {}", what);
    if (!failure) {
      fail(GRADSTEP_ERR_ABORTED, "another rank could not {}: rank {}: {}", what, first.rank, first.words.data());
    }
  } catch (...) {
    if (!failure) throw;
  }
  std::rethrow_exception(failure);
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
