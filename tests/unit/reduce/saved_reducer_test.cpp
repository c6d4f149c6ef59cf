// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "unit/allocators.h"
#include "unit/memory_stream.h"
#include "unit/reduce/reducer_fixture.h"

namespace gradstep::test {
namespace {

gradstep_reducer_options sparse(std::int64_t fuse_threshold) {
  auto options = reducer_options(GRADSTEP_AVERAGE_MEAN, fuse_threshold);
  options.mode = GRADSTEP_REDUCER_SPARSE_TOPK;
  options.sparsity = 0.1;
  options.selection = GRADSTEP_SELECTION_TENSOR;
  return options;
}

std::vector<float> reduce(Reducer& reducer, std::int32_t seed) {
  auto mine = rank_gradients(seed);
  const auto grads = tensors_of(mine);
  host::reduce(reducer, grads.data(), grads.data(), grads.size(), 1);
  return mine[3].values;
}

void load(Reducer& reducer, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  reducer.saved().load(part)();
}

std::string save(Reducer& reducer) { return saved_bytes("reducer", {{"", reducer.saved().save()}}); }

// Residuals go by parameter: the plan may be another one.
TEST(SavedReducer, AnotherReducerGoesOnWithTheSameBits) {
  run_ranks(2, [](Communicator& comm) {
    const Schema schema = make_schema(kGradientShapes);
    Reducer first(make_context(), comm, sparse(64), schema);
    reduce(first, comm.rank());
    const std::string bytes = save(first);
    Reducer second(make_context(), comm, sparse(100000), schema);
    load(second, bytes);
    EXPECT_EQ(reduce(first, 7 + comm.rank()), reduce(second, 7 + comm.rank()));
    EXPECT_TRUE(save(first) == save(second));
  });
}

// Between the two ranks agree: what fails afterwards on one of them leaves them with different states.
TEST(SavedReducer, MemoryIsTakenBeforeAnythingIsTakenOver) {
  std::int64_t left = -1;
  run_ranks(1, [&](Communicator& comm) {
    const Schema schema = make_schema(kGradientShapes);
    const auto context = make_short_of_memory(&left);
    Reducer first(context, comm, sparse(64), schema);
    reduce(first, 0);
    const std::string bytes = save(first);
    Reducer second(context, comm, sparse(64), schema);
    const std::string before = save(second);
    const StateFile file = read_bytes(bytes);
    LoadedPart part(file, "");
    left = 0;
    expect_error(GRADSTEP_ERR_OUT_OF_MEMORY, "allocator", [&] { second.saved().load(part); });
    EXPECT_TRUE(save(second) == before);
    LoadedPart again(file, "");
    const auto take_over = second.saved().load(again);
    left = 0;
    EXPECT_NO_THROW(take_over());
    EXPECT_EQ(left, 0) << "nothing was allocated";
    EXPECT_TRUE(save(second) == bytes);
  });
}

// One rank is gone, and the other two stand a window apart: what is the same on all ranks must be so again.
TEST(TakenOverReducer, RanksThatStoodApartHoldTheSameBitsAgain) {
  for (const bool ef21 : {false, true}) {
    auto options = sparse(100000);
    if (ef21) {
      options.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
    } else {
      options.mode = GRADSTEP_REDUCER_POWERSGD;
    }
    std::vector<std::vector<float>> results(2);
    run_ranks(2, [&](Communicator& comm) {
      const Schema schema = make_schema(kGradientShapes);
      const auto alone = make_local_communicators(make_context(), 1, {});
      Reducer old(make_context(), *alone[0], options, schema);
      for (int window = 0; window <= comm.rank(); ++window) reduce(old, 3 * comm.rank() + window);
      Reducer reducer(make_context(), comm, options, schema);
      if (comm.rank() == 0 || !ef21) reducer.take_over(old);  // a rank that has just joined brings nothing
      reducer.saved().rejoin(0, comm.deadline());
      auto mine = rank_gradients(comm.rank());
      const auto grads = tensors_of(mine);
      host::reduce(reducer, grads.data(), grads.data(), grads.size(), 1);
      auto& own = results[static_cast<std::size_t>(comm.rank())];
      for (const auto& tensor : mine) own.insert(own.end(), tensor.values.begin(), tensor.values.end());
    });
    EXPECT_TRUE(results[0] == results[1]) << (ef21 ? "ef21" : "powersgd");
  }
}

TEST(SavedReducer, EveryModeCountsItsWindowsOn) {
  run_ranks(1, [](Communicator& comm) {
    const Schema schema = make_schema(kGradientShapes);
    for (const std::int32_t mode :
         {GRADSTEP_REDUCER_DENSE, GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_POWERSGD, GRADSTEP_REDUCER_INT8,
          GRADSTEP_REDUCER_INT4, GRADSTEP_REDUCER_FP8_E4M3, GRADSTEP_REDUCER_FP8_E5M2}) {
      auto options = reducer_options();
      options.mode = mode;
      Reducer first(make_context(), comm, options, schema);
      for (const std::int32_t window : {0, 1, 2}) reduce(first, window);
      const std::string bytes = save(first);
      Reducer second(make_context(), comm, options, schema);
      load(second, bytes);
      EXPECT_TRUE(save(second) == bytes) << "mode " << mode;
    }
  });
}

// Files have a loss scale where there is one.
TEST(SavedReducer, ADamagedLossScaleIsRefused) {
  run_ranks(1, [](Communicator& comm) {
    const Schema schema = make_schema(kGradientShapes);
    Reducer reducer(make_context(), comm, sparse(64), schema);
    EXPECT_EQ(save(reducer).find("loss_scale"), std::string::npos);
    for (const double scale : {0.0, -2.0, HUGE_VAL}) {
      SavedPart part = reducer.saved().save();
      part.set("loss_scale", scale);
      expect_error(GRADSTEP_ERR_CORRUPT, "loss_scale", [&] { load(reducer, saved_bytes("reducer", {{"", part}})); });
    }
  });
}

TEST(SavedReducer, AnotherModeOrADamagedResidualIsRefusedAndChangesNothing) {
  run_ranks(1, [](Communicator& comm) {
    const Schema schema = make_schema(kGradientShapes);
    Reducer reducer(make_context(), comm, sparse(64), schema);
    reduce(reducer, 1);
    const std::string before = save(reducer);
    Reducer dense(make_context(), comm, reducer_options(), schema);
    expect_error(GRADSTEP_ERR_MISMATCH, "has mode 4, this one has 0", [&] { load(dense, before); });
    static_cast<float*>(reducer.memory().residual(3).data)[5] = std::numeric_limits<float>::quiet_NaN();
    SavedPart part = reducer.saved().save();
    for (SavedTensor& tensor : part.tensors) tensor.is_finite = false;  // as a file of another program
    const std::string damaged = saved_bytes("reducer", {{"", part}});
    Reducer other(make_context(), comm, sparse(64), schema);
    reduce(other, 1);
    expect_error(GRADSTEP_ERR_CORRUPT, "p3/residual", [&] { load(other, damaged); });
    EXPECT_TRUE(save(other) == before);
  });
}

}  // namespace
}  // namespace gradstep::test
