// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// updater.hpp: accumulator, reducer and optimizer in one push.
#pragma once

#include <gradstep/accumulator.hpp>
#include <gradstep/optimizer.hpp>
#include <gradstep/reducer.hpp>

namespace gradstep::inline cpp_v0 {

using UpdaterStatistics = gradstep_updater_statistics;

class Updater : public SavedState<Updater, gradstep_updater_save, gradstep_updater_load, gradstep_updater_save_file,
                                  gradstep_updater_load_file> {
 public:
  /// accumulator nullptr: every push is a window. reducer nullptr: no network. The updater keeps what it needs of the
  /// handles, which may be destroyed, and used directly between pushes. outer: an optimizer of the same parameters that
  /// steps by what rounds of local steps have changed, for UpdaterSync::kDeltas; nullptr: there are no rounds.
  Updater(const Context& context, const Optimizer& optimizer, const Accumulator* accumulator, const Reducer* reducer,
          const UpdaterOptions& options = {}, const Optimizer* outer = nullptr) {
    gradstep_updater_options c_options = options.c();
    if (outer != nullptr) c_options.outer = outer->c();
    gradstep_updater* made = nullptr;
    check(gradstep_updater_create(context.c(), optimizer.c(), accumulator != nullptr ? accumulator->c() : nullptr,
                                  reducer != nullptr ? reducer->c() : nullptr, &c_options, &made));
    handle_.reset(made);
  }

  /// Adds a micro-batch; at the end of the window it reduces and steps params. True if they were stepped. Collective
  /// when it ends a window.
  bool push(const TensorList& params, ConstTensors grads, double weight = 1, void* stream = nullptr) {
    detail::require_size(grads.size(), params.size(), "grads");
    std::int32_t applied = 0;
    check(gradstep_updater_push(c(), params.c(), grads.c(), params.size(), weight, stream, &applied));
    return applied != 0;
  }
  /// Ends a partial window, or retries one whose exchange has failed. Collective with a reducer.
  bool flush(const TensorList& params, void* stream = nullptr) {
    std::int32_t applied = 0;
    check(gradstep_updater_flush(c(), params.c(), params.size(), stream, &applied));
    return applied != 0;
  }
  /// Continues over a new communicator of survivors, ranks that stay and newcomers. Collective among them. nullptr:
  /// this rank goes on alone, without a reducer, and sharded state is gathered with the ranks that recover then.
  void recover(Communicator* comm, const TensorList& params, void* stream = nullptr) {
    check(gradstep_updater_recover(c(), comm != nullptr ? comm->c() : nullptr, params.c(), params.size(), stream));
  }
  /// Whether nothing is under way in it and its handles.
  [[nodiscard]] bool poll() const {
    std::int32_t done = 0;
    check(gradstep_updater_poll(c(), &done));
    return done != 0;
  }
  [[nodiscard]] UpdaterStatistics statistics() const {
    auto found = detail::sized<UpdaterStatistics>();
    check(gradstep_updater_stats(c(), &found));
    return found;
  }

  /// statistics() as text for Prometheus. `labels` go into every line's braces: `job="7"`.
  [[nodiscard]] std::string counters(const std::string& labels = {}) const {
    return detail::text_of([&](char* buf, std::size_t cap, std::size_t* len) {
      return gradstep_updater_counters(c(), labels.c_str(), buf, cap, len);
    });
  }

  [[nodiscard]] gradstep_updater* c() const noexcept { return handle_.get(); }

 private:
  detail::Handle<gradstep_updater, gradstep_updater_destroy> handle_;
};

}  // namespace gradstep::inline cpp_v0
