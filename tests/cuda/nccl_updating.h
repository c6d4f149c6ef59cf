// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank's updater over NCCL, and NCCL made well again.
#pragma once

#include "cuda/nccl_ranks.h"

namespace gradstep::test {

/// Makes NCCL well again, whatever a test has made of it.
class NcclTrouble {
 public:
  NcclTrouble() = default;
  ~NcclTrouble() {
    EmulatedCuda::control().hang_nccl(false);
    EmulatedCuda::control().block_nccl(false);
    EmulatedCuda::control().keep_nccl_busy(false);
    EmulatedCuda::control().fail_kernel(0);
    for (int rank = 0; rank < 4; ++rank) EmulatedCuda::control().fail_nccl(rank, 0);
  }
  NcclTrouble(const NcclTrouble&) = delete;
  NcclTrouble& operator=(const NcclTrouble&) = delete;
};

struct UpdatingSetup {
  std::int64_t size = 70000;
  std::int64_t steps = 0;  ///< micro-batches of a window; 0 = there is no accumulator
  std::int32_t mode = GRADSTEP_REDUCER_DENSE;
};

/// A reducer, Adam behind it, and an updater that drives both.
class Updating {
 public:
  Updating(NcclRank& rank, gradstep_comm* comm, const UpdatingSetup& setup = {}) : rank_(rank), shape_{setup.size} {
    const gradstep_parameter parameter = parameter_of(shape_[0], rank.device().id());
    param_ = rank.tensor(shape_);
    grad_ = rank.tensor(shape_);
    rank.write(param_, std::vector<float>(static_cast<std::size_t>(setup.size), 1.0F));
    set_gradient(std::vector<float>(static_cast<std::size_t>(setup.size), static_cast<float>(rank.rank()) + 1));
    gradstep_context* context = rank.device().context();
    gradstep_adam_options adam{};
    TestDevice::check(gradstep_adam_options_init(&adam, sizeof adam));
    adam.learning_rate = 0.5;
    TestDevice::check(gradstep_optimizer_create_adam(context, &adam, &parameter, 1, &optimizer_));
    if (setup.steps > 0) {
      gradstep_accumulator_options accumulation{};
      TestDevice::check(gradstep_accumulator_options_init(&accumulation, sizeof accumulation));
      accumulation.steps = setup.steps;
      TestDevice::check(gradstep_accumulator_create(context, &accumulation, &parameter, 1, &accumulator_));
    }
    gradstep_reducer_options reduction{};
    TestDevice::check(gradstep_reducer_options_init(&reduction, sizeof reduction));
    reduction.mode = setup.mode;
    TestDevice::check(gradstep_reducer_create(context, comm, &reduction, &parameter, 1, &reducer_));
    TestDevice::check(gradstep_updater_create(context, optimizer_, accumulator_, reducer_, nullptr, &updater_));
  }
  ~Updating() {
    gradstep_updater_destroy(updater_);
    gradstep_reducer_destroy(reducer_);
    gradstep_accumulator_destroy(accumulator_);
    gradstep_optimizer_destroy(optimizer_);
  }
  Updating(const Updating&) = delete;
  Updating& operator=(const Updating&) = delete;

  gradstep_status push() { return gradstep_updater_push(updater_, &param_, &grad_, 1, 1, rank_.stream(), nullptr); }
  gradstep_status flush() { return gradstep_updater_flush(updater_, &param_, 1, rank_.stream(), nullptr); }
  gradstep_status recover(gradstep_comm* comm) {
    return gradstep_updater_recover(updater_, comm, &param_, 1, rank_.stream());
  }
  void set_gradient(const std::vector<float>& values) { rank_.write(grad_, values); }
  /// A step of the optimizer alone.
  gradstep_status step() { return gradstep_optimizer_step(optimizer_, &param_, &grad_, 1, rank_.stream()); }
  std::vector<float> param() { return rank_.read(param_); }
  gradstep_status ask_steps(std::int64_t* count) { return gradstep_optimizer_step_count(optimizer_, count); }
  std::int64_t steps() {
    std::int64_t count = 0;
    TestDevice::check(ask_steps(&count));
    return count;
  }

 private:
  NcclRank& rank_;
  std::vector<std::int64_t> shape_;
  gradstep_tensor param_{};
  gradstep_tensor grad_{};
  gradstep_optimizer* optimizer_ = nullptr;
  gradstep_accumulator* accumulator_ = nullptr;
  gradstep_reducer* reducer_ = nullptr;
  gradstep_updater* updater_ = nullptr;
};

}  // namespace gradstep::test
