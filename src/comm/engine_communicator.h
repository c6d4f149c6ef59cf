// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The one Communicator: reductions in rank order, deadlines, the sticky error, interrupt and statistics, over any
// engine.
#pragma once

#include <mutex>
#include <vector>

#include "comm/call.h"
#include "comm/collectives.h"
#include "comm/communicator.h"
#include "comm/communicators.h"
#include "comm/engine.h"
#include "comm/progress_thread.h"
#include "comm/reductions.h"

namespace gradstep {

class EngineCommunicator final : public Communicator {
 public:
  /// `hosts` has, for each rank, a number that is equal for ranks of one host.
  EngineCommunicator(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine, const CommSettings& settings,
                     std::vector<std::uint64_t> hosts);

  /// Collective: the ranks tell each other their hosts, and compare what must be equal (else MISMATCH).
  static std::shared_ptr<EngineCommunicator> introduce(std::shared_ptr<Context> context, std::shared_ptr<Engine> engine,
                                                       const CommSettings& settings, const Deadline& deadline);

  /// To the log.
  void tell_connected() const;

  std::int32_t rank() const override { return engine_->rank(); }
  std::int32_t world_size() const override { return engine_->world_size(); }
  std::int32_t local_rank() const override;
  const Context& context() const override { return *context_; }
  const std::string& engine() const override {
    return has_own_device_engine() ? device_engine_->name() : engine_->name();
  }
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

  std::unique_ptr<DeviceCollectives> reach(const Site& site, gradstep_device device) override;
  std::shared_ptr<Communicator> with_device(gradstep_device device, void* native, const Deadline& deadline) override;
  /// Collective: from here on memory of `device` is carried too, as in with_device().
  void attach_device(gradstep_device device, void* native, const Deadline& deadline);

  bool carries_notes() const override {
    return engine_->carries_calls() && own_channel_ && world_size() <= kMostRanksWithNotes;
  }
  void set_note(std::uint64_t note) override {
    engine_->said().note = note;
    engine_->said().heard = false;
  }
  bool heard_other_note() const override { return engine_->said().heard; }

  bool overlaps() const override;
  void start(std::function<void()> job) override { progress_.start(std::move(job)); }
  void finish() override;

  void abort() noexcept override;
  Status status() const override;
  gradstep_comm_statistics stats() const override;

 private:
  friend class DeviceCollectives;

  /// Among so many ranks all of them hear from all in an all-reduce, however its data are cut into pieces.
  static constexpr std::int32_t kMostRanksWithNotes = 16;

  /// Runs one public call: refuses if broken, takes the engine, counts and times; any failure of `body` is sticky.
  void perform(const Call& call, std::int64_t gradstep_comm_statistics::* counter, const Deadline& deadline,
               FunctionRef<void()> body) {
    perform_on(*engine_, counter, deadline, [&] {
      engine_->said().call = code_of(call);
      body();
    });
  }
  void perform_on(Engine& engine, std::int64_t gradstep_comm_statistics::* counter, const Deadline& deadline,
                  FunctionRef<void()> body);
  /// Runs `work`, which waits for peers, so that the host can interrupt it where the engine allows that.
  void wait_for_peers(FunctionRef<void()> work);

  using Channels = std::vector<std::weak_ptr<EngineCommunicator>>;
  /// As they are now; some may be gone.
  std::shared_ptr<const Channels> channels() const;

  bool has_own_device_engine() const { return device_engine_ != nullptr && device_engine_ != engine_; }
  void poll_interrupt() noexcept;
  void throw_if_broken() const;
  void keep_first_error(gradstep_status code, std::string text) noexcept;
  /// The error of a broken communicator, to the log; once.
  void tell_broken() noexcept;
  /// Breaks the communicator, and ends the engine's calls in progress.
  void break_with(gradstep_status code, std::string text) noexcept;
  /// By the exception in flight.
  void break_with_current() noexcept;
  /// With a channel of its own for the host's memory alone.
  std::shared_ptr<EngineCommunicator> duplicate_host(const Deadline& deadline);
  std::shared_ptr<EngineCommunicator> duplicate(const Deadline& deadline);

  void require_point_to_point(const char* call) const;

  std::shared_ptr<Context> context_;
  Site site_;  // the host
  std::shared_ptr<Engine> engine_;
  std::shared_ptr<Engine> device_engine_;  // NULL = only the host's memory travels; may be engine_
  gradstep_device device_{};               // of a device_engine_ that is another one
  CommSettings settings_;
  std::vector<std::uint64_t> hosts_;
  std::shared_ptr<SentBytes> sent_ = std::make_shared<SentBytes>(0);
  Reductions reductions_;
  Collectives& collectives_ = reductions_.collectives();
  ProgressThread progress_;
  bool own_channel_ = false;  // no other communicator calls the engine

  mutable std::mutex status_mutex_;  // guards all below
  Status status_;
  bool told_ = false;  // status_, to the log
  gradstep_comm_statistics stats_{};

  mutable std::mutex channels_mutex_;
  std::shared_ptr<const Channels> channels_ = std::make_shared<Channels>();  // replaced, never changed
};

}  // namespace gradstep
