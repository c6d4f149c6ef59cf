// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What exchanges of gradients ask the host for. The engines of these tests carry the host's memory: a collective of the
// data plane waits once, to stage what it sends. That plane has a communicator of its own here, so that every wait
// beyond those, and every byte that went by the host's plane, is seen to be one.
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <vector>

#include "detached/detached_backend.h"
#include "reduce/bucket_exchange.h"
#include "reduce/reducer_options.h"
#include "unit/ranks.h"

namespace gradstep::test {
namespace {

std::int64_t calls_of(const Communicator& comm) {
  const gradstep_comm_statistics stats = comm.stats();
  return stats.all_reduces + stats.all_gathers + stats.reduce_scatters + stats.broadcasts + stats.sends +
         stats.receives + stats.barriers + stats.exchanges;
}

Schema schema_at(const gradstep_device& device, std::span<const std::int64_t> sizes, DType dtype) {
  std::vector<gradstep_parameter> parameters(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    parameters[i].struct_size = sizeof(gradstep_parameter);
    parameters[i].shape = &sizes[i];
    parameters[i].ndim = 1;
    parameters[i].dtype = to_dlpack(dtype);
    parameters[i].device = device;
  }
  return Schema(parameters.data(), parameters.size());
}

/// One rank's exchange of one bucket, on a device of its own or at the host.
class OneBucket {
 public:
  OneBucket(Communicator& comm, const gradstep_reducer_options& options, DType dtype,
            const std::vector<std::int64_t>& sizes, const gradstep_device& place = kDetached)
      : context_(make_context()), carried_(comm.private_channel(comm.deadline())) {
    auto device = std::make_unique<DetachedBackend>(context_->cpu(), 1);
    device_ = device.get();
    context_->add_backend(kDetached, std::move(device));
    resources_ = std::make_unique<ExchangeResources>(context_, context_->site(schema_at(place, sizes, dtype)), options);
    resources_->comm = comm.private_channel(comm.deadline());
    resources_->data = std::make_unique<DataPlane>(*carried_, *context_, resources_->site);
    BucketPlan plan{dtype, std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), {}};
    std::vector<std::vector<std::int64_t>> shapes;
    for (const std::int64_t size : sizes) {
      plan.parameters.push_back(shapes.size());
      shapes.push_back({size});
    }
    exchange_ = make_bucket_exchange(*resources_, plan, options, shapes);
    values_ = random_values<double>(static_cast<std::size_t>(plan.elements), static_cast<std::uint32_t>(comm.rank()));
  }

  struct Asked {
    std::int64_t waits = 0;      // of the device
    std::int64_t staged = 0;     // collectives of the data plane
    std::int64_t by_host = 0;    // those of the host's
    std::int64_t allocated = 0;  // of the device's memory
  };
  /// By a second window.
  Asked asked() {
    run();
    const Asked before = so_far();
    run();
    const Asked after = so_far();
    return {after.waits - before.waits, after.staged - before.staged, after.by_host - before.by_host,
            after.allocated - before.allocated};
  }

  /// The result of another window.
  std::vector<float> reduced() {
    run();
    const Array result = exchange_->result();
    std::vector<float> values(static_cast<std::size_t>(result.size));
    resources_->lane().queue().download(values.data(), result.data, static_cast<std::size_t>(result.bytes()));
    return values;
  }

 private:
  Asked so_far() const {
    return {device_->waits(), calls_of(*carried_), calls_of(*resources_->comm), device_->allocations()};
  }
  void run() {
    const Array packed = exchange_->packed();
    const std::vector<float> floats(values_.begin(), values_.end());
    const void* host = packed.dtype == DType::f64 ? static_cast<const void*>(values_.data()) : floats.data();
    resources_->lane().queue().upload(packed.data, host, static_cast<std::size_t>(packed.bytes()));
    gradstep_bucket_statistics stats{};
    exchange_->begin();
    exchange_->exchange(1, resources_->comm->deadline(), stats);
    exchange_->commit();
  }

  std::shared_ptr<Context> context_;
  DetachedBackend* device_ = nullptr;
  std::shared_ptr<Communicator> carried_;
  std::unique_ptr<ExchangeResources> resources_;
  std::unique_ptr<BucketExchange> exchange_;
  std::vector<double> values_;
};

const std::vector<std::int64_t> kSmall = {5, 0, 700};        // gathered as a whole
const std::vector<std::int64_t> kLarge = {40000, 3, 90001};  // cut into pieces

constexpr std::int32_t kAdasum[] = {GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_ADASUM_NWAY};

gradstep_reducer_options options_of(std::int32_t mode) {
  auto options = default_reducer_options();
  options.mode = mode;
  return options;
}

TEST(DetachedReducer, AnAdasumOfF32WaitsForNoAnswer) {
  for (const std::int32_t ranks : {2, 3, 4}) {
    for (const std::int32_t mode : kAdasum) {
      for (const auto& sizes : {kSmall, kLarge}) {
        run_ranks(ranks, [&](Communicator& comm) {
          const OneBucket::Asked asked = OneBucket(comm, options_of(mode), DType::f32, sizes).asked();
          EXPECT_EQ(asked.waits, asked.staged) << "mode " << mode << " of " << ranks << " ranks";
          EXPECT_EQ(asked.by_host, 0);
          EXPECT_EQ(asked.allocated, 0);
          EXPECT_GT(asked.staged, 0);
        });
      }
    }
  }
}

TEST(DetachedReducer, AnAdasumOfF64WaitsForOneAnswerInEachLevelOfMerges) {
  for (const std::int32_t mode : kAdasum) {
    for (const auto& sizes : {kSmall, kLarge}) {
      run_ranks(4, [&](Communicator& comm) {
        const OneBucket::Asked asked = OneBucket(comm, options_of(mode), DType::f64, sizes).asked();
        EXPECT_EQ(asked.waits - asked.staged, mode == GRADSTEP_REDUCER_ADASUM_TREE ? 2 : 1);
        EXPECT_EQ(asked.by_host, 0);
      });
    }
  }
}

// What lies on the device is staged for both groups, hosts' and owners'.
TEST(DetachedReducer, ExchangesByHostsHaveTheBitsOfTheHostsMemory) {
  std::vector<std::int32_t> modes(std::begin(kCodedModes), std::end(kCodedModes));
  modes.insert(modes.end(), std::begin(kAdasum), std::end(kAdasum));
  for (const std::int32_t mode : modes) {
    for (const auto& sizes : {kSmall, kLarge}) {
      run_ranks(5, [&](Communicator& comm) {
        comm.group_by_hosts({1, 2, 1, 2, 2}, comm.deadline());
        OneBucket on_device(comm, options_of(mode), DType::f32, sizes);
        OneBucket at_host(comm, options_of(mode), DType::f32, sizes, {GRADSTEP_DEVICE_CPU, 0});
        for (int window = 0; window < 3; ++window) EXPECT_EQ(on_device.reduced(), at_host.reduced()) << "mode " << mode;
      });
    }
  }
}

/// Every policy of NaNs, selection and feedback of top-k.
std::vector<gradstep_reducer_options> top_k_options() {
  std::vector<gradstep_reducer_options> list;
  for (const std::int32_t nan_policy : {GRADSTEP_NAN_ERROR, GRADSTEP_NAN_ZERO, GRADSTEP_NAN_SEND}) {
    auto options = options_of(GRADSTEP_REDUCER_SPARSE_TOPK);
    options.nan_policy = nan_policy;
    options.sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_GATHER;
    list.push_back(options);
    options.selection = GRADSTEP_SELECTION_TENSOR;
    options.momentum_correction = 0.9;
    list.push_back(options);
  }
  auto options = options_of(GRADSTEP_REDUCER_SPARSE_TOPK);
  options.sparse_exchange = GRADSTEP_SPARSE_EXCHANGE_GATHER;
  options.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
  list.push_back(options);
  return list;
}

TEST(DetachedReducer, AGatheredTopKIsOneCollectiveAndWaitsForNoAnswer) {
  for (const std::int32_t ranks : {2, 3}) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const gradstep_reducer_options& options : top_k_options()) {
        run_ranks(ranks, [&](Communicator& comm) {
          const OneBucket::Asked asked = OneBucket(comm, options, dtype, kLarge).asked();
          EXPECT_EQ(asked.waits, 1) << "NaN policy " << options.nan_policy;
          EXPECT_EQ(asked.staged, 1);
          EXPECT_EQ(asked.by_host, 0);
          EXPECT_EQ(asked.allocated, 0);
        });
      }
    }
  }
}

TEST(DetachedReducer, ATopKOfOneRankWaitsForNothingButNansThatAreErrors) {
  for (const gradstep_reducer_options& options : top_k_options()) {
    run_ranks(1, [&](Communicator& comm) {
      const OneBucket::Asked asked = OneBucket(comm, options, DType::f32, kLarge).asked();
      EXPECT_EQ(asked.waits, options.nan_policy == GRADSTEP_NAN_ERROR ? 1 : 0);
      EXPECT_EQ(asked.staged, 0);
      EXPECT_EQ(asked.allocated, 0);
    });
  }
}

// Lengths that are not known beforehand are exchanged in a collective of their own.
TEST(DetachedReducer, EverySparseExchangeWaitsForItsCollectivesAlone) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_REDUCER_SPARSE_THRESHOLD}) {
    for (const std::int32_t exchange : {GRADSTEP_SPARSE_EXCHANGE_GATHER, GRADSTEP_SPARSE_EXCHANGE_SPLIT}) {
      auto options = options_of(mode);
      options.sparse_exchange = exchange;
      const bool splits = exchange == GRADSTEP_SPARSE_EXCHANGE_SPLIT;
      const bool fixed = mode == GRADSTEP_REDUCER_SPARSE_TOPK && !splits;
      run_ranks(3, [&](Communicator& comm) {
        const OneBucket::Asked asked = OneBucket(comm, options, DType::f32, kSmall).asked();
        EXPECT_EQ(asked.waits, asked.staged) << "mode " << mode;
        EXPECT_EQ(asked.staged, splits ? 4 : fixed ? 1 : 2) << "mode " << mode;
        EXPECT_EQ(asked.by_host, 0);
      });
    }
  }
}

// Which of the two ways is shorter depends on how many different elements the last window had; but one rank's
// selection is no less than what two ranks could save.
TEST(DetachedReducer, TheChoiceOfASparseExchangeAsksOnlyWhereSplittingCouldPay) {
  auto options = options_of(GRADSTEP_REDUCER_SPARSE_TOPK);
  options.sparsity = 0.5;
  for (const std::int32_t ranks : {2, 4}) {
    run_ranks(ranks, [&](Communicator& comm) {
      const OneBucket::Asked asked = OneBucket(comm, options, DType::f32, kLarge).asked();
      EXPECT_EQ(asked.waits - asked.staged, ranks == 2 ? 0 : 1);
      EXPECT_EQ(asked.by_host, 0);
    });
  }
}

}  // namespace
}  // namespace gradstep::test
