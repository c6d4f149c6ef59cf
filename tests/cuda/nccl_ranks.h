// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads, each with an emulated device, a stream and communicators of the same ranks: one of the host's
// memory, one that NCCL carries, and one that a host lends.
#pragma once

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cuda/emulated_device.h"
#include "unit/random_values.h"

namespace gradstep::test {

enum class Carrier { staging, nccl, lent };

/// A host's collectives: nothing but an all-gather, of the host's memory and of the devices'.
class LentGather {
 public:
  explicit LentGather(std::int32_t ranks) : meeting_(ranks), sent_(static_cast<std::size_t>(ranks)) {}
  LentGather(const LentGather&) = delete;
  LentGather& operator=(const LentGather&) = delete;

  struct End {
    LentGather* all = nullptr;
    std::int32_t rank = 0;
  };

  /// Collective. `end` outlives the communicator.
  gradstep_comm* connect(gradstep_context* context, End& end) const {
    gradstep_comm_vtable vtable{};
    vtable.struct_size = sizeof vtable;
    vtable.rank = end.rank;
    vtable.world_size = static_cast<std::int32_t>(sent_.size());
    vtable.device_types = 1U << GRADSTEP_DEVICE_CUDA;
    vtable.all_gather = [](void* user, const void* send, void* receive, std::int64_t bytes, void* /*stream*/,
                           std::int64_t /*timeout_ms*/) -> gradstep_status {
      const auto& own = *static_cast<End*>(user);
      own.all->gather(own.rank, send, static_cast<char*>(receive), bytes);
      return GRADSTEP_OK;
    };
    gradstep_comm* comm = nullptr;
    TestDevice::check(gradstep_comm_create_host(context, &vtable, &end, &comm));
    return comm;
  }

 private:
  void gather(std::int32_t rank, const void* send, char* receive, std::int64_t bytes) {
    sent_[static_cast<std::size_t>(rank)] = send;
    meeting_.arrive_and_wait();
    for (const void* from : sent_) {
      EmulatedCuda::control().copy(receive, from, static_cast<std::uint64_t>(bytes));
      receive += bytes;
    }
    meeting_.arrive_and_wait();
  }

  std::barrier<> meeting_;
  std::vector<const void*> sent_;  // by rank, in the call in progress
};

/// What a rank's thread has to itself.
class NcclRank {
 public:
  NcclRank(std::int32_t rank, std::int32_t ranks, gradstep_comm* host, void* stream, std::barrier<>& meeting,
           LentGather& lent, std::int32_t device)
      : device_(1, device),
        rank_(rank),
        ranks_(ranks),
        host_(host),
        stream_(stream),
        meeting_(meeting),
        end_{&lent, rank} {}
  ~NcclRank() {
    gradstep_comm_destroy(lent_);
    gradstep_comm_destroy(nccl_);
    gradstep_comm_destroy(host_);
  }
  NcclRank(const NcclRank&) = delete;
  NcclRank& operator=(const NcclRank&) = delete;

  std::int32_t rank() const { return rank_; }
  std::int32_t ranks() const { return ranks_; }
  void* stream() const { return stream_; }
  EmulatedCuda& device() { return device_; }
  gradstep_comm* host() const { return host_; }
  gradstep_comm* comm(Carrier carrier) {
    if (carrier == Carrier::staging) return host_;
    if (carrier == Carrier::lent) {
      if (lent_ == nullptr) lent_ = end_.all->connect(device_.context(), end_);
      return lent_;
    }
    if (nccl_ == nullptr) TestDevice::check(gradstep_comm_attach_nccl(host_, device_.id().device_id, nullptr, &nccl_));
    return nccl_;
  }
  /// Returns when all ranks have come here.
  void meet() { meeting_.arrive_and_wait(); }

  gradstep_tensor tensor(const std::vector<std::int64_t>& shape, bool is_double = false) {
    std::int64_t count = is_double ? 2 : 1;
    for (const std::int64_t size : shape) count *= size;
    gradstep_tensor tensor{};
    tensor.data = device_.allocate(static_cast<std::size_t>(count));
    tensor.device = device_.id();
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = {GRADSTEP_TYPE_FLOAT, static_cast<std::uint8_t>(is_double ? 64 : 32), 1};
    tensor.shape = const_cast<std::int64_t*>(shape.data());
    return tensor;
  }
  template <class T>
  void write(const gradstep_tensor& to, const std::vector<T>& values) {
    device_.queue(stream_).upload(to.data, values.data(), values.size() * sizeof(T));
  }
  template <class T = float>
  std::vector<T> read(const gradstep_tensor& from) {
    std::size_t count = 1;
    for (std::int32_t d = 0; d < from.ndim; ++d) count *= static_cast<std::size_t>(from.shape[d]);
    std::vector<T> values(count);
    device_.queue(stream_).download(values.data(), from.data, count * sizeof(T));
    return values;
  }

 private:
  EmulatedCuda device_;
  std::int32_t rank_;
  std::int32_t ranks_;
  gradstep_comm* host_;
  gradstep_comm* nccl_ = nullptr;
  gradstep_comm* lent_ = nullptr;
  void* stream_;
  std::barrier<>& meeting_;
  LentGather::End end_;
};

/// How many are left when none is given back any more, which happens in the background.
inline std::int64_t connections_left() {
  std::int64_t left = EmulatedCuda::control().nccl_communicators();
  for (int k = 0; k < 1000 && left > 0; ++k) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    left = EmulatedCuda::control().nccl_communicators();
  }
  return left;
}

/// body(rank) on a thread for each. They take turns on two devices, or are all on the second one.
inline void run_nccl_ranks(std::int32_t ranks, const std::function<void(NcclRank&)>& body,
                           std::int64_t timeout_ms = 20000, std::int32_t order = GRADSTEP_REDUCTION_RANK,
                           std::int32_t devices = 2) {
  emulated_cuda();
  gradstep_context* context = nullptr;
  TestDevice::check(gradstep_context_create(nullptr, &context));
  gradstep_comm_options options{};
  TestDevice::check(gradstep_comm_options_init(&options, sizeof options));
  options.timeout_ms = timeout_ms;
  options.reduction_order = order;
  std::vector<gradstep_comm*> comms(static_cast<std::size_t>(ranks));
  TestDevice::check(gradstep_comm_create_local_ex(context, ranks, &options, comms.data()));
  gradstep_context_destroy(context);
  std::vector<void*> streams;
  for (std::int32_t r = 0; r < ranks; ++r) {
    EmulatedCuda::control().set_seed(static_cast<std::uint64_t>(r) + 1);
    streams.push_back(EmulatedCuda::control().make_stream());
  }
  std::barrier<> meeting(ranks);
  LentGather lent(ranks);
  std::vector<std::thread> threads;
  for (std::int32_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      const auto place = static_cast<std::size_t>(r);
      NcclRank rank(r, ranks, comms[place], streams[place], meeting, lent, devices == 2 ? r % 2 : 1);
      body(rank);
      rank.meet();  // memory is given back when it is no longer needed
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace gradstep::test
