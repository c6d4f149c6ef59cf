// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// libgloo's connections, whose failures do not end the process. It throws on its own thread, where nothing catches:
// when a connection was reset before it was accepted, when the system refuses an option of a socket, when memory is
// short. Their announcements of messages carry what ranks say of their calls.
//
// libgloo sends a message when the receiver has asked for it, which costs two delays of the network. Where two ranks
// send each other small messages in one call, the messages go at once. A rank can then be one message ahead of a peer:
// such a message is kept by the receiver's connection until it is asked for.
#pragma once

#include <gloo/transport/tcp/context.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/tcp/pair.h>

#if __has_include(<gloo/transport/tcp/listener.h>)
#define GRADSTEP_GLOO_DEVICE_LISTENS 1
#else
#define GRADSTEP_GLOO_DEVICE_LISTENS 0  // before 2023: each connection does
#endif

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/plugins/gloo/calls.h"
#include "core/deadline.h"

namespace gradstep::gloo_plugin {

/// The longest message that goes at once; a connection keeps one that comes early.
inline constexpr std::int64_t kMostBytesAtOnce = std::int64_t{1} << 20;

/// How a message travels.
enum class Way : std::uint8_t { announced, at_once };

/// The way of two messages of these lengths, which two ranks send each other in one call. Both ranks find the same.
constexpr Way way_of(std::int64_t sent_bytes, std::int64_t received_bytes) {
  const auto is_small = [](std::int64_t bytes) { return bytes > 0 && bytes <= kMostBytesAtOnce; };
  return is_small(sent_bytes) && is_small(received_bytes) ? Way::at_once : Way::announced;
}

class CarefulPair final : public ::gloo::transport::tcp::Pair {
 public:
  CarefulPair(::gloo::transport::tcp::Context* context, ::gloo::transport::tcp::Device* device, int peer,
              std::chrono::milliseconds timeout, std::shared_ptr<Calls> calls)
      : Pair(context, device, peer, timeout), calls_(std::move(calls)) {}
  ~CarefulPair() override;
  CarefulPair(const CarefulPair&) = delete;
  CarefulPair& operator=(const CarefulPair&) = delete;

  /// Where it can be reached, for the peer's begin_to_connect().
  std::vector<char> place() const;
  /// Calls the peer or waits for its call, whichever is this side's part. is_connected_by() reports what goes wrong.
  /// Runs on the device's thread, so that it need not wait for that thread to give a socket up.
  void begin_to_connect(const std::vector<char>& place) noexcept;
  /// False where it takes longer. Throws where it fails.
  bool is_connected_by(Deadline::Clock::time_point time);

  /// Sends `bytes` at `offset` of the window, which ends the wait for a send there.
  void send_at_once(::gloo::transport::UnboundBuffer& window, std::uint64_t slot, std::size_t offset,
                    std::size_t bytes);
  /// Where the peer's message of that slot, which comes at once, shall go. One at a time; wait_at_once() ends it.
  void receive_at_once(std::uint64_t slot, void* data);
  /// False where wake() ended the wait. Throws where the connection broke, or the time passed, before the message came.
  bool wait_at_once(std::chrono::milliseconds timeout);
  /// Ends this wait and all later ones. Any thread.
  void wake() noexcept;

  void handleEvents(int events) override;

 protected:
  void changeState(state next) noexcept override;
  bool write(::gloo::transport::tcp::Op& op) override;
  bool read() override;
  void waitUntilConnected(std::unique_lock<std::mutex>& /*lock*/, bool /*is_bounded*/) override {}

 private:
  /// A message that comes at once.
  struct Arrival {
    std::uint64_t slot = 0;
    char* place = nullptr;          ///< where its bytes go
    std::unique_ptr<char[]> early;  ///< that place, where the message has not been asked for yet
    std::size_t bytes = 0;
  };
  /// A message that has been asked for.
  struct Awaited {
    std::uint64_t slot = 0;
    char* place = nullptr;
  };
  /// What ends the wait for a message. Its mutex is locked last: who wakes a connection may have locked another one.
  struct Wait {
    std::mutex mutex;
    std::condition_variable changed;
    bool has_come = true;
    bool is_woken = false;
    bool is_closed = false;
  };

  template <class Change>
  void note(Change&& change) noexcept;
  bool read_bytes(char* data, std::size_t begin, std::size_t end);
  bool read_at_once();
  void deliver(const Arrival& arrival);
  void say(::gloo::transport::tcp::Op& op) const;
  void hear(const ::gloo::transport::tcp::Op& op);
  void give_up(const std::exception_ptr& failure) noexcept;

  std::shared_ptr<Calls> calls_;
  // Guarded by the base's mutex:
  Arrival arriving_;  // under way where it has a place
  Arrival early_;     // came before it was asked for
  Awaited awaited_;
  Wait wait_;
};

/// Makes connections whose exceptions become the connection's own failure: its users, and threads that wait for it, get
/// them.
class CarefulContext final : public ::gloo::transport::tcp::Context {
 public:
  CarefulContext(std::shared_ptr<::gloo::transport::tcp::Device> device, int own_rank, int world_size,
                 std::shared_ptr<Calls> calls)
      : Context(std::move(device), own_rank, world_size), calls_(std::move(calls)) {}

  std::unique_ptr<::gloo::transport::Pair>& createPair(int peer) override;

 private:
  std::shared_ptr<Calls> calls_;
};

// A slot with this bit belongs to a message that goes at once.
constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 63U;

// Receives that are never matched. One hangs on each connection; the other announces a difference of calls.
constexpr std::uint64_t kUnmatchedSlot = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kDifferenceSlot = kUnmatchedSlot - 1;

/// The two ranks of a difference as the length of its announcement, whose words are what they call.
constexpr std::uint64_t length_of(const Calls::Difference& difference) {
  return static_cast<std::uint64_t>(difference.peer) << 31U | static_cast<std::uint64_t>(difference.rank);
}

}  // namespace gradstep::gloo_plugin
