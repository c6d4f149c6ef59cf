// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The one Communicator: reductions in rank order, deadlines, the sticky error, interrupt and statistics, over any
// engine.
#pragma once

#include <mutex>
#include <vector>

#include "comm/collectives.h"
#include "comm/communicator.h"
#include "comm/communicators.h"
#include "comm/engine.h"
#include "comm/progress_thread.h"
#include "comm/staging.h"

namespace gradstep {

class EngineCommunicator final : public Communicator {
 public:
  /// `hosts` has, for each rank, a number that is equal for ranks of one host.
  EngineCommunicator(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine, const CommSettings& settings,
                     std::vector<std::uint64_t> hosts);

  /// Collective: the ranks tell each other their hosts, and compare what must be equal (else MISMATCH).
  static std::shared_ptr<EngineCommunicator> introduce(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine,
                                                       const CommSettings& settings, const Deadline& deadline);

  std::int32_t rank() const override { return engine_->rank(); }
  std::int32_t world_size() const override { return engine_->world_size(); }
  std::int32_t local_rank() const override;
  const std::string& engine() const override { return engine_->name(); }
  Deadline deadline() const override { return Deadline::after_ms(settings_.timeout_ms); }

  void all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) override;
  void reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline) override;
  void reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op, double divisor,
                        const Deadline& deadline) override;
  void all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) override;
  void all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes,
                    const Deadline& deadline) override;
  void all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes,
                  const Deadline& deadline) override;
  bool can_exchange() const override { return engine_->can_exchange() || world_size() == 1; }
  std::int64_t piece_bytes() const override { return engine_->shares_memory() ? kPieceBytesInMemory : kPieceBytes; }
  void exchange(std::span<const Outgoing> outgoing, std::span<const Incoming> incoming,
                const Deadline& deadline) override;
  void broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) override;
  void send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) override;
  void recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) override;
  void barrier(const Deadline& deadline) override;
  bool vote(bool yes, const Deadline& deadline) override;

  std::shared_ptr<Communicator> split(std::int32_t color, std::int32_t key, const Deadline& deadline) override;
  std::shared_ptr<Communicator> dup(const Deadline& deadline) override;
  std::shared_ptr<Communicator> private_channel(const Deadline& deadline) override;

  bool overlaps() const override;
  void start(std::function<void()> job) override { progress_.start(std::move(job)); }
  void finish() override;

  void abort() noexcept override;
  Status status() const override;
  gradstep_comm_statistics stats() const override;

 private:
  /// Runs one public call: refuses if broken, takes the engine, counts and times; any failure of `body` is sticky.
  void perform(std::int64_t gradstep_comm_statistics::* counter, const Deadline& deadline, FunctionRef<void()> body);
  /// Runs `work`, which waits for peers, so that the host can interrupt it where the engine allows that.
  void wait_for_peers(FunctionRef<void()> work);

  void poll_interrupt() noexcept;
  void throw_if_broken() const;
  void keep_first_error(gradstep_status code, std::string text) noexcept;
  /// The same, and ends the engine's calls in progress.
  void break_with(gradstep_status code, std::string text) noexcept;
  std::shared_ptr<EngineCommunicator> duplicate(const Deadline& deadline);

  void all_reduce_gathered(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void all_reduce_direct(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void all_reduce_native(const Array& data, std::int32_t op, double divisor, const Deadline& deadline);
  void reduce_scatter_direct(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void reduce_scatter_gathered(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline);
  void scatter_pieces(std::span<const Array> pieces, std::int32_t op, double divisor, const Deadline& deadline);
  void scatter_pieces_gathered(std::span<const Array> pieces, std::int32_t op, double divisor,
                               const Deadline& deadline);
  void sum_blocks(const std::byte* blocks, std::int64_t stride, const Array& destination, std::int64_t count,
                  std::int32_t op, double divisor);
  bool native_order_serves() const;
  const WorkList& work_for(std::int64_t count);
  void require_point_to_point(const char* call) const;

  std::shared_ptr<Context> context_;
  Site site_;  // of sums: the host
  std::shared_ptr<Engine> engine_;
  CommSettings settings_;
  std::vector<std::uint64_t> hosts_;
  Collectives collectives_;
  Staging staging_;
  std::vector<const void*> sources_;  // of the sum in progress, one per rank
  std::vector<Array> pieces_;         // likewise
  WorkList work_;                     // of work_size_ elements
  std::int64_t work_size_ = 0;
  ProgressThread progress_;
  bool own_channel_ = false;  // no other communicator calls the engine

  mutable std::mutex status_mutex_;  // guards all below
  Status status_;
  gradstep_comm_statistics stats_{};

  std::mutex channels_mutex_;
  std::vector<std::weak_ptr<EngineCommunicator>> channels_;
};

}  // namespace gradstep
