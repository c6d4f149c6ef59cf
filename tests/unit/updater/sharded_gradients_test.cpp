// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A reducer that brings each rank the slices which its share of an optimizer steps with (ZeRO, stage 2).
#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/named_options.h"
#include "unit/allocators.h"
#include "unit/host_calls.h"
#include "unit/optim/ranked_model.h"
#include "unit/ranks.h"
#include "unit/reduce/world_reduce.h"
#include "updater/updater.h"

namespace gradstep::test {
namespace {

/// Some buckets of several parameters, and one that a parameter has alone.
constexpr std::int64_t kFuse = 2 * kChunk;

gradstep_reducer_options options_of(std::int32_t mode, std::int32_t average = GRADSTEP_AVERAGE_MEAN) {
  auto options = mode_options(mode);
  options.average = average;
  options.fuse_threshold = kFuse;
  return options;
}

struct Job {
  Ranked model;
  std::shared_ptr<Context> context = make_context();
  std::shared_ptr<Optimizer> optimizer;
  std::shared_ptr<Reducer> reducer;
  std::unique_ptr<Updater> updater;

  Job(Communicator& comm, const gradstep_reducer_options& reducing, Rule rule,
      const gradstep_updater_options& updating = default_updater_options(), std::uint32_t flags = 0,
      const std::vector<std::vector<std::int64_t>>& shapes = kUneven)
      : model(DType::f32, flags, shapes),
        optimizer(std::make_shared<FirstOrderOptimizer>(context, std::move(rule), model.schema)),
        reducer(std::make_shared<Reducer>(context, comm, reducing, model.schema)),
        updater(std::make_unique<Updater>(context, optimizer, nullptr, reducer, updating)) {}

  void deal(Communicator& comm) {
    const auto groups = reducer->layout().groups();
    reducer->deal(optimizer->slices_of(groups, comm.world_size()));
    optimizer->attach(&comm, {}, groups);
  }
  bool push(double weight = 1) {
    const auto params = model.param_tensors();
    const auto grads = model.grad_tensors();
    return host::push(*updater, params.data(), grads.data(), params.size(), weight);
  }
  /// Gradient by gradient, as back-propagation gives them.
  bool push_each() {
    const auto grads = model.grad_tensors();
    for (std::size_t i = grads.size(); i-- > 0;) host::push(*reducer, i, grads[i]);
    const auto params = model.param_tensors();
    return host::flush(*updater, params.data(), params.size());
  }
};

TEST(ShardedGradients, EveryModeHasTheBitsOfAnUnshardedStep) {
  auto updating = default_updater_options();
  updating.max_norm = 0.5;
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16,
                                  GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_REDUCER_POWERSGD,
                                  GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_INT4, GRADSTEP_REDUCER_FP8_E4M3}) {
    for (const std::int32_t ranks : {1, 2, 3}) {
      run_ranks(ranks, [&](Communicator& comm) {
        const auto reducing =
            options_of(mode, mode == GRADSTEP_REDUCER_ADASUM_TREE ? GRADSTEP_AVERAGE_UNSET : GRADSTEP_AVERAGE_MEAN);
        Job expected(comm, reducing, make_rule(adam()), updating);
        Job pushed(comm, reducing, make_rule(adam()), updating);
        Job each(comm, reducing, make_rule(adam()), updating);
        pushed.deal(comm);
        each.deal(comm);
        for (std::uint32_t t = 0; t < 3; ++t) {
          for (Job* job : {&expected, &pushed, &each}) job->model.draw(comm.rank(), t);
          EXPECT_TRUE(expected.push());
          EXPECT_TRUE(pushed.push());
          EXPECT_TRUE(each.push_each());
        }
        EXPECT_EQ(pushed.model.params, expected.model.params) << "mode " << mode << ", " << ranks << " ranks";
        EXPECT_EQ(each.model.params, expected.model.params) << "mode " << mode << ", " << ranks << " ranks";
      });
    }
  }
}

TEST(ShardedGradients, AreScatteredNotSpread) {
  run_ranks(3, [](Communicator& comm) {
    for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_BFLOAT16}) {
      Job job(comm, options_of(mode), make_rule(adam()));
      job.deal(comm);
      job.model.draw(comm.rank(), 0);
      EXPECT_TRUE(job.push());
      for (const auto& stats : job.reducer->bucket_stats()) EXPECT_EQ(stats.algorithm, GRADSTEP_EXCHANGE_SCATTER);
      EXPECT_EQ(job.reducer->comm_stats().all_reduces, 0);
    }
  });
}

TEST(ShardedGradients, WeightsAndSumsAreThoseOfTheReducer) {
  for (const std::int32_t average : {GRADSTEP_AVERAGE_SUM, GRADSTEP_AVERAGE_WEIGHTED}) {
    run_ranks(3, [&](Communicator& comm) {
      Job expected(comm, options_of(GRADSTEP_REDUCER_DENSE, average), make_rule(adam()));
      Job dealt(comm, options_of(GRADSTEP_REDUCER_DENSE, average), make_rule(adam()));
      dealt.deal(comm);
      for (std::uint32_t t = 0; t < 2; ++t) {
        for (Job* job : {&expected, &dealt}) {
          job->model.draw(comm.rank(), t);
          EXPECT_TRUE(job->push(average == GRADSTEP_AVERAGE_WEIGHTED ? 1 + comm.rank() : 1));
        }
      }
      EXPECT_EQ(dealt.model.params, expected.model.params);
    });
  }
}

TEST(ShardedGradients, AParameterThatNoRankHasUsedStaysAsItIs) {
  run_ranks(2, [](Communicator& comm) {
    const auto reducing = options_of(GRADSTEP_REDUCER_DENSE);
    Job expected(comm, reducing, make_rule(adam()), default_updater_options(), GRADSTEP_PARAMETER_MAY_BE_UNUSED);
    Job dealt(comm, reducing, make_rule(adam()), default_updater_options(), GRADSTEP_PARAMETER_MAY_BE_UNUSED);
    dealt.deal(comm);
    for (Job* job : {&expected, &dealt}) {
      job->model.draw(comm.rank(), 0);
      job->model.absent[1] = true;
      job->model.absent[2] = comm.rank() == 0;
      EXPECT_TRUE(job->push());
    }
    EXPECT_EQ(dealt.model.params, expected.model.params);
  });
}

TEST(ShardedGradients, TensorsOfOneRankEachAreScatteredToo) {
  run_ranks(3, [](Communicator& comm) {
    const auto rule = [] {
      const std::vector<gradstep_option> options = {
          {"learning_rate", 0.01, nullptr}, {"adaptive_clip", 0.01, nullptr}, {"adaptive_clip_units", 0, "columns"}};
      return make_rule(find_rule("adam"), options);
    };
    Job expected(comm, options_of(GRADSTEP_REDUCER_DENSE), rule());
    Job dealt(comm, options_of(GRADSTEP_REDUCER_DENSE), rule());
    dealt.deal(comm);
    for (std::uint32_t t = 0; t < 2; ++t) {
      for (Job* job : {&expected, &dealt}) {
        job->model.draw(comm.rank(), t);
        EXPECT_TRUE(job->push());
      }
    }
    EXPECT_EQ(dealt.model.params, expected.model.params);
  });
}

TEST(ShardedGradients, BucketsTakeTurnsInTheirMemory) {
  constexpr std::int64_t kBuckets = 24;
  constexpr std::int64_t kBytes = kChunk * std::int64_t{sizeof(float)};  // of one
  for (const std::int32_t mode : {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16}) {
    run_ranks(2, [&](Communicator& comm) {
      std::atomic<std::int64_t> live = 0;
      const std::vector<std::vector<std::int64_t>> shapes(kBuckets, {kChunk});
      const Schema schema = make_schema(shapes);
      auto reducing = mode_options(mode);
      reducing.fuse_threshold = kChunk - 1;
      Reducer reducer(make_counting(&live), comm, reducing, schema);
      FirstOrderOptimizer optimizer(make_context(), make_rule(adam()), schema);
      reducer.deal(optimizer.slices_of(reducer.layout().groups(), comm.world_size()));
      Tensors<float> grads;
      for (const auto& shape : shapes) grads.emplace_back(shape);
      const auto g = views_of(grads);
      for (int t = 0; t < 2; ++t) host::reduce(reducer, g.data(), nullptr, g.size(), 1);
      std::int64_t own = 0;
      for (const Array& slice : reducer.gradients()) own += slice.bytes();
      EXPECT_LE(live, own + 4 * kBytes) << "one is packed while another one is exchanged";
    });
  }
}

TEST(ShardedGradients, AStepGathersTheParametersOfAllBucketsAtOnce) {
  constexpr std::int64_t kBuckets = 24;
  const std::vector<std::vector<std::int64_t>> shapes(kBuckets, {kChunk + 1});
  run_ranks(3, [&](Communicator& comm) {
    Job expected(comm, options_of(GRADSTEP_REDUCER_DENSE), make_rule(adam()), default_updater_options(), 0, shapes);
    Job dealt(comm, options_of(GRADSTEP_REDUCER_DENSE), make_rule(adam()), default_updater_options(), 0, shapes);
    dealt.deal(comm);
    ASSERT_GE(dealt.reducer->layout().buckets().size(), kBuckets / 2);
    for (std::uint32_t t = 0; t < 2; ++t) {
      const gradstep_comm_statistics before = dealt.optimizer->sharding()->comm().stats();
      for (Job* job : {&expected, &dealt}) {
        job->model.draw(comm.rank(), t);
        EXPECT_TRUE(job->push());
      }
      const gradstep_comm_statistics after = dealt.optimizer->sharding()->comm().stats();
      EXPECT_EQ(after.all_gathers - before.all_gathers, 1);
      EXPECT_EQ(after.all_reduces - before.all_reduces, 0);
    }
    EXPECT_EQ(dealt.model.params, expected.model.params);
  });
}

TEST(ShardedGradients, WhoDoesNotBelongTogetherIsTold) {
  run_ranks(2, [](Communicator& comm) {
    Job job(comm, options_of(GRADSTEP_REDUCER_DENSE), make_rule(adam()));
    job.deal(comm);
    job.model.draw(comm.rank(), 0);
    expect_error(GRADSTEP_ERR_INVALID_STATE, "those of the reducer", [&] { job.model.step(*job.optimizer); });
    expect_error(GRADSTEP_ERR_UNSUPPORTED, "results", [&] {
      const auto grads = job.model.grad_tensors();
      host::reduce(*job.reducer, grads.data(), grads.data(), grads.size(), 1);
    });
    job.optimizer->attach(nullptr, {});
    expect_error(GRADSTEP_ERR_INVALID_STATE, "an optimizer that is attached with it", [&] { job.push(); });
    Job other(comm, options_of(GRADSTEP_REDUCER_DENSE), make_rule(adam()));
    other.optimizer->attach(&comm, {}, job.reducer->layout().groups());
    expect_error(GRADSTEP_ERR_INVALID_STATE, "expected an updater of both", [&] { other.push(); });
    EXPECT_FALSE(job.reducer->deal(job.optimizer->slices_of(job.reducer->layout().groups(), comm.world_size())));
  });
}

}  // namespace
}  // namespace gradstep::test
