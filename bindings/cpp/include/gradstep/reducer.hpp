// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// reducer.hpp: gradients of all ranks become one, in fused buckets.
#pragma once

#include <gradstep/communicator.hpp>

namespace gradstep::inline cpp_v0 {

using BucketStatistics = gradstep_bucket_statistics;

class Reducer : public SavedState<Reducer, gradstep_reducer_save, gradstep_reducer_load, gradstep_reducer_save_file,
                                  gradstep_reducer_load_file> {
 public:
  /// Collective. The reducer takes a channel of its own: comm may be destroyed.
  Reducer(const Context& context, Communicator& comm, const ReducerOptions& options, const Parameters& parameters)
      : size_(parameters.size()) {
    const gradstep_reducer_options c_options = options.c();
    const auto list = detail::c_parameters(parameters);
    gradstep_reducer* made = nullptr;
    check(gradstep_reducer_create(context.c(), comm.c(), &c_options, list.data(), list.size(), &made));
    handle_.reset(made);
  }

  /// Reduces a whole window; gradients() shows the result. Collective.
  void reduce(ConstTensors grads, double weight = 1, void* stream = nullptr) {
    check(gradstep_reducer_reduce(c(), grads.c(), nullptr, grads.size(), weight, stream));
  }
  /// Reduces, and writes the result; results may be grads.
  void reduce(ConstTensors grads, const TensorList& results, double weight = 1, void* stream = nullptr) {
    detail::require_size(results.size(), grads.size(), "results");
    check(gradstep_reducer_reduce(c(), grads.c(), results.c(), grads.size(), weight, stream));
  }

  /// A window, one gradient at a time: begin (not needed for a weight of 1), push, wait.
  void begin(double weight = 1, void* stream = nullptr) { check(gradstep_reducer_begin(c(), weight, stream)); }
  void push(std::size_t index, const ConstTensor& grad, void* stream = nullptr) {
    const gradstep_tensor shown = grad.c();
    check(gradstep_reducer_push(c(), index, &shown, stream));
  }
  /// Collective.
  void wait(void* stream = nullptr) { check(gradstep_reducer_wait(c(), nullptr, size_, stream)); }
  void wait(const TensorList& results, void* stream = nullptr) {
    check(gradstep_reducer_wait(c(), results.c(), results.size(), stream));
  }
  /// The gradients of the next windows are multiplied by it; what is kept becomes so, too. Equal on all ranks.
  void set_loss_scale(double scale) { check(gradstep_reducer_set_loss_scale(c(), scale)); }
  /// Drops an open window.
  void cancel() { check(gradstep_reducer_cancel(c())); }
  /// Whether no bucket that has left is still being exchanged.
  [[nodiscard]] bool poll() const {
    std::int32_t done = 0;
    check(gradstep_reducer_poll(c(), &done));
    return done != 0;
  }

  /// The reduced gradients, valid until the next window begins.
  [[nodiscard]] Views<Reducer> gradients(void* stream = nullptr) & {
    std::vector<gradstep_tensor> tensors(size_);
    check(gradstep_reducer_gradients(c(), tensors.data(), size_, stream));
    return {c(), std::move(tensors)};
  }
  Views<Reducer> gradients(void* stream = nullptr) && = delete;
  /// One f64 where the parameters are: the norm of the reduced gradients. Valid until the next window begins.
  [[nodiscard]] View norm(void* stream = nullptr) & {
    gradstep_tensor tensor{};
    check(gradstep_reducer_norm(c(), &tensor, stream));
    return View(tensor);
  }
  View norm(void* stream = nullptr) && = delete;
  /// What this rank has not sent of a parameter, valid until the next window begins. May be written to.
  [[nodiscard]] View residual(std::size_t index) & {
    gradstep_tensor tensor{};
    check(gradstep_reducer_residual(c(), index, &tensor));
    return View(tensor);
  }
  View residual(std::size_t index) && = delete;

  /// One record per bucket, in the order in which they leave.
  [[nodiscard]] std::vector<BucketStatistics> bucket_statistics() const {
    return detail::records_of<BucketStatistics>(
        [this](BucketStatistics* records, std::size_t size, std::size_t capacity, std::size_t* count) {
          return gradstep_reducer_stats(c(), records, size, capacity, count);
        });
  }
  [[deprecated("use bucket_statistics()")]] std::vector<BucketStatistics> statistics() const {
    return bucket_statistics();
  }
  /// The statistics of the reducer's own channel.
  [[nodiscard]] CommStatistics comm_statistics() const {
    auto found = detail::sized<CommStatistics>();
    check(gradstep_reducer_comm_stats(c(), &found));
    return found;
  }

  /// bucket_statistics() and comm_statistics() as text for Prometheus. `labels` go into every line's braces: `job="7"`.
  [[nodiscard]] std::string counters(const std::string& labels = {}) const {
    return detail::text_of([&](char* buf, std::size_t cap, std::size_t* len) {
      return gradstep_reducer_counters(c(), labels.c_str(), buf, cap, len);
    });
  }

  [[nodiscard]] gradstep_reducer* c() const noexcept { return handle_.get(); }

 private:
  detail::Handle<gradstep_reducer, gradstep_reducer_destroy> handle_;
  std::size_t size_;  // parameters
};

inline void Optimizer::shard(Reducer& reducer, const ShardingOptions& options) {
  const gradstep_sharding_options c_options = options.c();
  check(gradstep_optimizer_attach_reducer(c(), reducer.c(), &c_options));
}

}  // namespace gradstep::inline cpp_v0
