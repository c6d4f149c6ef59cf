// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's training with one way of synchronising, and what the failure promise says of a push of it that failed
// (docs/failure.md).
#pragma once

#include <gradstep/gradstep.h>

#include <array>
#include <iosfwd>
#include <string>
#include <vector>

namespace gradstep::test {

struct Synchronisation {
  const char* name;
  std::int32_t mode = GRADSTEP_REDUCER_DENSE;
  std::int32_t sync = GRADSTEP_SYNC_GRADIENTS;
  bool is_sharded = false;  ///< a step of a sharded optimizer; mode and sync say nothing then
  bool by_hosts = false;    ///< ranks 0 and 1 share a host, rank 2 has another one; where an engine connects processes
};

/// Its name, in what GoogleTest prints of a test's parameters.
std::ostream& operator<<(std::ostream& stream, const Synchronisation& synchronisation);

/// All that the fault tests are run with.
const std::vector<Synchronisation>& synchronisations();

/// What is trained: the same on all ranks, but where a mismatch is wanted.
struct Model {
  std::int64_t columns = 200;
  std::uint8_t bits = 32;  ///< of a float; others than 32 are only good for being refused
};

class Training {
 public:
  /// Collective. Two matrices, in a bucket each. `status` tells how the creation ended.
  Training(gradstep_context* context, gradstep_comm* comm, const Synchronisation& synchronisation,
           const std::string& saved_state, const Model& model = {});
  ~Training();
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  /// Collective. Gradients that belong to the rank and the number of the push.
  gradstep_status push(int number);

  /// What the push that has just failed broke of its promises; empty if nothing.
  std::string broken_promise();

  /// Collective among the survivors, with their new communicator: finishes what failed and trains once more.
  gradstep_status recover(gradstep_comm* comm);

  /// A hash of all parameters that fits a double.
  double fingerprint() const;

  gradstep_status status = GRADSTEP_OK;

 private:
  struct Standing {
    std::vector<float> parameters;
    std::vector<float> gradients;
    std::vector<float> state;
    std::vector<float> residuals;
    std::int64_t steps = 0;
  };

  bool steps_first() const { return synchronisation_.sync != GRADSTEP_SYNC_GRADIENTS; }
  std::int32_t rank_of(gradstep_comm* comm) const;
  gradstep_status create(gradstep_comm* comm);
  gradstep_status shard(gradstep_comm* comm);
  gradstep_status train(int number);
  void fill(int number);
  Standing standing();

  gradstep_context* context_;
  Synchronisation synchronisation_;
  std::string saved_state_;
  std::int32_t rank_ = 0;
  std::array<std::int64_t, 2> shape_;
  std::array<std::vector<float>, 2> parameters_;
  std::array<std::vector<float>, 2> gradients_;
  std::array<gradstep_parameter, 2> schema_{};
  std::array<gradstep_tensor, 2> parameter_tensors_{};
  std::array<gradstep_tensor, 2> gradient_tensors_{};
  gradstep_optimizer* optimizer_ = nullptr;
  gradstep_accumulator* accumulator_ = nullptr;
  gradstep_reducer* reducer_ = nullptr;
  gradstep_updater* updater_ = nullptr;
  Standing before_;  // the last push
};

}  // namespace gradstep::test
