// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// libgloo's connections, whose failures do not end the process. It throws on its own thread, where nobody catches: when
// a connection was reset before it was accepted, when the system refuses an option of a socket, when memory is short.
// Their announcements of messages carry what ranks say of their calls.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>

#include <cstdint>
#include <limits>
#include <memory>

#include "comm/plugins/gloo/calls.h"

namespace gradstep::gloo_plugin {

/// Makes connections whose exceptions become the connection's own failure: whoever uses it, or waits for it, gets them.
class CarefulContext final : public ::gloo::transport::tcp::Context {
 public:
  CarefulContext(std::shared_ptr<::gloo::transport::tcp::Device> device, int own_rank, int world_size,
                 std::shared_ptr<Calls> calls)
      : Context(std::move(device), own_rank, world_size), calls_(std::move(calls)) {}

  std::unique_ptr<::gloo::transport::Pair>& createPair(int peer) override;

 private:
  std::shared_ptr<Calls> calls_;
};

// Receives that are never matched. One hangs on each connection; the other announces a difference of calls.
constexpr std::uint64_t kUnmatchedSlot = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kDifferenceSlot = kUnmatchedSlot - 1;

/// The two ranks of a difference as the length of its announcement, whose words are what they call.
constexpr std::uint64_t length_of(const Calls::Difference& difference) {
  return static_cast<std::uint64_t>(difference.peer) << 31U | static_cast<std::uint64_t>(difference.rank);
}

}  // namespace gradstep::gloo_plugin
