// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// host_collectives.hpp: connections between ranks that the host has, lent to the library.
#pragma once

#include <gradstep/comm.h>

#include <chrono>
#include <gradstep/options.hpp>
#include <stdexcept>

namespace gradstep::inline cpp_v0 {

/// Which functions of a HostCollectives are there; the library builds what is not out of those that are.
struct Provided {
  bool all_reduce = false;
  bool reduce_scatter = false;
  bool broadcast = false;
  bool point_to_point = false;  ///< send and recv
  bool send_recv = false;
  bool barrier = false;
  bool dup = false;
  bool abort = false;
  bool exchange = false;
  bool poll = false;
};

/// A host's collectives (gradstep_comm_vtable, whose comments are the contract of each function). Functions throw to
/// fail: an Error with its status (Timeout, PeerLost), anything else as CallbackError. They are called on the threads
/// that are inside the library, and by its own threads if any_thread says so; one at a time but for abort.
class HostCollectives {
 public:
  /// What a call needs beside its buffers.
  struct Call {
    void* stream = nullptr;  ///< of device memory, else nullptr
    std::chrono::milliseconds timeout{};
  };
  /// What is reduced: `count` elements of `dtype` by `op`.
  struct Reduction {
    std::int64_t count = 0;
    Dtype dtype;
    ReduceOp op = ReduceOp::kSum;
  };

  HostCollectives() = default;
  HostCollectives(const HostCollectives&) = delete;
  HostCollectives& operator=(const HostCollectives&) = delete;
  virtual ~HostCollectives() = default;

  [[nodiscard]] virtual std::int32_t rank() const = 0;
  [[nodiscard]] virtual std::int32_t world_size() const = 0;
  [[nodiscard]] virtual Provided provided() const { return {}; }
  [[nodiscard]] virtual bool any_thread() const { return false; }
  [[nodiscard]] virtual bool rank_ordered() const { return false; }
  /// 1 << device type, or-ed; 0 = host memory only.
  [[nodiscard]] virtual std::uint32_t device_types() const { return 0; }

  virtual void all_gather(const void* send, void* receive, std::int64_t bytes, const Call& call) = 0;

  virtual void all_reduce(void* /*data*/, const Reduction&, const Call&) { missing("all_reduce"); }
  virtual void reduce_scatter(const void* /*send*/, void* /*receive*/, const Reduction&, const Call&) {
    missing("reduce_scatter");
  }
  virtual void broadcast(void* /*data*/, std::int64_t /*bytes*/, std::int32_t /*root*/, const Call&) {
    missing("broadcast");
  }
  virtual void send(const void* /*data*/, std::int64_t /*bytes*/, std::int32_t /*to*/, const Call&) { missing("send"); }
  virtual void recv(void* /*data*/, std::int64_t /*bytes*/, std::int32_t /*from*/, const Call&) { missing("recv"); }
  virtual void send_recv(std::span<const std::byte> /*send*/, std::int32_t /*to*/, std::span<std::byte> /*receive*/,
                         std::int32_t /*from*/, const Call&) {
    missing("send_recv");
  }
  virtual void barrier(const Call&) { missing("barrier"); }
  virtual std::shared_ptr<HostCollectives> dup(std::chrono::milliseconds /*timeout*/) { missing("dup"); }
  virtual void abort() noexcept {}
  /// One span for each rank.
  virtual void exchange(std::span<const std::span<const std::byte>> /*send*/,
                        std::span<const std::span<std::byte>> /*receive*/, const Call&) {
    missing("exchange");
  }
  /// Throws why the channel is of no more use, if it is.
  virtual void poll() {}

 private:
  [[noreturn]] static void missing(const char* name) {
    throw Unsupported(std::string("the host says that it provides ") + name + " and does not");
  }
};

namespace detail {

/// The functions of a gradstep_comm_vtable, for a shared_ptr to a HostCollectives.
class CollectivesTable {
 public:
  using Kept = std::shared_ptr<HostCollectives>;

  /// The table; a Kept is its user, which the library releases.
  static gradstep_comm_vtable of(const HostCollectives& host) {
    auto c = sized<gradstep_comm_vtable>();
    fill(host, c);
    return c;
  }

 private:
  using Milliseconds = std::chrono::milliseconds;

  static HostCollectives& host_of(void* user) noexcept { return **static_cast<Kept*>(user); }

  static HostCollectives::Reduction reduction(std::int64_t count, std::int32_t type_code, std::int32_t bits,
                                              std::int32_t op) noexcept {
    return {count, Dtype(static_cast<gradstep_type_code>(type_code), bits), static_cast<ReduceOp>(op)};
  }

  static std::span<const std::byte> bytes_of(const void* data, std::int64_t size) noexcept {
    return {static_cast<const std::byte*>(data), static_cast<std::size_t>(size)};
  }
  static std::span<std::byte> bytes_of(void* data, std::int64_t size) noexcept {
    return {static_cast<std::byte*>(data), static_cast<std::size_t>(size)};
  }

  static void fill(const HostCollectives& host, gradstep_comm_vtable& c) {
    const Provided provided = host.provided();
    c.rank = host.rank();
    c.world_size = host.world_size();
    c.any_thread = host.any_thread() ? 1 : 0;
    c.rank_ordered = host.rank_ordered() ? 1 : 0;
    c.device_types = host.device_types();
    c.release = release<Kept>;
    c.all_gather = all_gather;
    if (provided.all_reduce) c.all_reduce = all_reduce;
    if (provided.reduce_scatter) c.reduce_scatter = reduce_scatter;
    if (provided.broadcast) c.broadcast = broadcast;
    if (provided.point_to_point) c.send = send;
    if (provided.point_to_point) c.recv = recv;
    if (provided.send_recv) c.send_recv = send_recv;
    if (provided.barrier) c.barrier = barrier;
    if (provided.dup) c.dup = dup;
    if (provided.abort) c.abort = [](void* user) { host_of(user).abort(); };
    if (provided.exchange) c.exchange = exchange;
    if (provided.poll) {
      c.poll = [](void* user) { return guarded([&] { host_of(user).poll(); }); };
    }
  }

  static gradstep_status all_gather(void* user, const void* send, void* receive, std::int64_t bytes, void* stream,
                                    std::int64_t timeout_ms) {
    return guarded([&] { host_of(user).all_gather(send, receive, bytes, {stream, Milliseconds(timeout_ms)}); });
  }
  static gradstep_status all_reduce(void* user, void* data, std::int64_t count, std::int32_t type_code,
                                    std::int32_t bits, std::int32_t op, void* stream, std::int64_t timeout_ms) {
    return guarded([&] {
      host_of(user).all_reduce(data, reduction(count, type_code, bits, op), {stream, Milliseconds(timeout_ms)});
    });
  }
  static gradstep_status reduce_scatter(void* user, const void* send, void* receive, std::int64_t count,
                                        std::int32_t type_code, std::int32_t bits, std::int32_t op, void* stream,
                                        std::int64_t timeout_ms) {
    return guarded([&] {
      host_of(user).reduce_scatter(send, receive, reduction(count, type_code, bits, op),
                                   {stream, Milliseconds(timeout_ms)});
    });
  }
  static gradstep_status broadcast(void* user, void* data, std::int64_t bytes, std::int32_t root, void* stream,
                                   std::int64_t timeout_ms) {
    return guarded([&] { host_of(user).broadcast(data, bytes, root, {stream, Milliseconds(timeout_ms)}); });
  }
  static gradstep_status send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void* stream,
                              std::int64_t timeout_ms) {
    return guarded([&] { host_of(user).send(data, bytes, to, {stream, Milliseconds(timeout_ms)}); });
  }
  static gradstep_status recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void* stream,
                              std::int64_t timeout_ms) {
    return guarded([&] { host_of(user).recv(data, bytes, from, {stream, Milliseconds(timeout_ms)}); });
  }
  static gradstep_status send_recv(void* user, const void* send, std::int64_t send_bytes, std::int32_t to,
                                   void* receive, std::int64_t receive_bytes, std::int32_t from, void* stream,
                                   std::int64_t timeout_ms) {
    return guarded([&] {
      host_of(user).send_recv(bytes_of(send, send_bytes), to, bytes_of(receive, receive_bytes), from,
                              {stream, Milliseconds(timeout_ms)});
    });
  }
  static gradstep_status barrier(void* user, void* stream, std::int64_t timeout_ms) {
    return guarded([&] { host_of(user).barrier({stream, Milliseconds(timeout_ms)}); });
  }
  static gradstep_status dup(void* user, std::int64_t timeout_ms, gradstep_comm_vtable* out, void** out_user) {
    return guarded([&] {
      auto other = std::make_unique<Kept>(host_of(user).dup(Milliseconds(timeout_ms)));
      if (*other == nullptr) throw std::runtime_error("HostCollectives::dup returned nullptr");
      fill(**other, *out);
      *out_user = other.release();
    });
  }
  static gradstep_status exchange(void* user, const void* const* send, const std::int64_t* send_bytes,
                                  void* const* receive, const std::int64_t* receive_bytes, void* stream,
                                  std::int64_t timeout_ms) {
    return guarded([&] {
      HostCollectives& host = host_of(user);
      const auto ranks = static_cast<std::size_t>(host.world_size());
      std::vector<std::span<const std::byte>> sent(ranks);
      std::vector<std::span<std::byte>> received(ranks);
      for (std::size_t r = 0; r < ranks; ++r) {
        if (r == static_cast<std::size_t>(host.rank())) continue;
        sent[r] = bytes_of(send[r], send_bytes[r]);
        received[r] = bytes_of(receive[r], receive_bytes[r]);
      }
      host.exchange(sent, received, {stream, Milliseconds(timeout_ms)});
    });
  }
};

}  // namespace detail

}  // namespace gradstep::inline cpp_v0
