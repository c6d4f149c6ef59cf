// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What mode AUTO has chosen is the same on all ranks, and stays.
#include <algorithm>

#include "reduce/reducer_options.h"
#include "unit/memory_stream.h"
#include "unit/reduce/world_reduce.h"

namespace gradstep::test {
namespace {

constexpr std::int32_t kInt8 = 1 << GRADSTEP_REDUCER_INT8;
constexpr std::int32_t kDense = 1 << GRADSTEP_REDUCER_DENSE;
constexpr std::int32_t kPowerSgd = 1 << GRADSTEP_REDUCER_POWERSGD;
const std::vector<std::vector<std::int64_t>> kChosenShapes = {{24, 40}, {31}};

/// This rank's results of one window.
std::vector<float> reduce_seed(Reducer& reducer, std::int32_t seed) {
  Tensors<float> tensors;
  for (const auto& shape : kChosenShapes) {
    tensors.emplace_back(shape);
    tensors.back().values = random_values<float>(tensors.back().values.size(), static_cast<std::uint32_t>(seed) + 1);
  }
  const auto views = views_of(tensors);
  host::reduce(reducer, views.data(), views.data(), views.size(), 1);
  std::vector<float> all;
  for (const auto& tensor : tensors) all.insert(all.end(), tensor.values.begin(), tensor.values.end());
  return all;
}

std::vector<std::int32_t> chosen_modes(const Reducer& reducer) {
  std::vector<std::int32_t> modes;
  for (const auto& stats : reducer.bucket_stats()) modes.push_back(stats.mode);
  return modes;
}

std::string saved(SavedPart part) { return saved_bytes("reducer", {{"", std::move(part)}}); }

void restore(Reducer& reducer, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  reducer.saved().load(part)();
}

TEST(Choices, AutoOfOneCandidateHasTheBitsOfItsMode) {
  for (const std::int32_t mode : {GRADSTEP_REDUCER_INT8, GRADSTEP_REDUCER_INT4, GRADSTEP_REDUCER_FP8_E4M3,
                                  GRADSTEP_REDUCER_FP8_E5M2, GRADSTEP_REDUCER_POWERSGD, GRADSTEP_REDUCER_HALF}) {
    run(make_world("local", 3), [&](Communicator& comm) {
      Reducer chosen(make_context(), comm, auto_of(1 << mode), make_schema(kChosenShapes));
      Reducer asked(make_context(), comm, mode_options(mode), make_schema(kChosenShapes));
      ASSERT_EQ(chosen_modes(chosen), chosen_modes(asked));
      for (std::int32_t window = 0; window < 3; ++window) {
        const std::int32_t seed = comm.rank() + 10 * window;
        EXPECT_EQ(reduce_seed(chosen, seed), reduce_seed(asked, seed)) << "mode " << mode << ", window " << window;
      }
    });
  }
}

TEST(Choices, WhatNoCandidateCanCarryIsDense) {
  run(make_world("local", 2), [](Communicator& comm) {
    for (const std::int32_t mode : kCodedModes) {
      const Reducer doubles(make_context(), comm, auto_of(1 << mode), make_schema({{24, 40}}, DType::f64));
      EXPECT_EQ(chosen_modes(doubles), std::vector{std::int32_t{GRADSTEP_REDUCER_DENSE}});
    }
    const Reducer vectors(make_context(), comm, auto_of(kPowerSgd), make_schema({{40}, {31}}));
    EXPECT_EQ(chosen_modes(vectors), std::vector{std::int32_t{GRADSTEP_REDUCER_DENSE}});
  });
}

// So small a bucket is dense where it may be: the other reducer's choice comes with the file.
TEST(Choices, ASavedReducerBringsItsChoicesAndResidualsBack) {
  run(make_world("local", 3), [](Communicator& comm) {
    Reducer first(make_context(), comm, auto_of(kInt8), make_schema(kChosenShapes));
    reduce_seed(first, comm.rank());
    const std::string bytes = saved(first.saved().save());
    Reducer second(make_context(), comm, auto_of(kInt8 | kDense), make_schema(kChosenShapes));
    ASSERT_EQ(chosen_modes(second), std::vector{std::int32_t{GRADSTEP_REDUCER_DENSE}});
    reduce_seed(second, comm.rank());
    restore(second, bytes);
    EXPECT_EQ(chosen_modes(second), chosen_modes(first));
    EXPECT_TRUE(saved(second.saved().save()) == bytes);
    EXPECT_EQ(reduce_seed(second, 7 + comm.rank()), reduce_seed(first, 7 + comm.rank()));
    EXPECT_EQ(second.bucket_stats()[0].exchanges, 2) << "since creation";

    Reducer dense(make_context(), comm, auto_of(kDense), make_schema(kChosenShapes));
    restore(dense, bytes);
    EXPECT_EQ(chosen_modes(dense), std::vector{std::int32_t{GRADSTEP_REDUCER_DENSE}}) << "no candidate here";
    auto other_plan = auto_of(kInt8 | kDense);
    other_plan.fuse_threshold = 100;
    Reducer cut(make_context(), comm, other_plan, make_schema(kChosenShapes));
    const auto before = chosen_modes(cut);
    restore(cut, bytes);
    EXPECT_EQ(chosen_modes(cut), before) << "other buckets";
  });
}

TEST(Choices, DamagedOnesAreRefused) {
  run(make_world("local", 2), [](Communicator& comm) {
    Reducer reducer(make_context(), comm, auto_of(kInt8 | kDense), make_schema(kChosenShapes));
    for (const char* text : {"991 13 0 0", "991 0 0", "991 0 0 2", "x", "991 0 3 0"}) {
      SavedPart part = reducer.saved().save();
      ASSERT_EQ(part.metadata["choices"], "991 0 0 0");
      part.metadata["choices"] = text;
      const std::string bytes = saved(std::move(part));
      expect_error(GRADSTEP_ERR_CORRUPT, "choices", [&] { restore(reducer, bytes); });
    }
  });
}

// Rank 1 has just joined: it gets rank 0's choices, which are those of the reducer that failed.
TEST(Choices, RanksThatGoOnKeepThem) {
  std::vector<std::vector<float>> results(2);
  run(make_world("local", 2), [&](Communicator& comm) {
    const auto options = auto_of(kInt8 | kDense);
    Reducer old(make_context(), comm, options, make_schema(kChosenShapes));
    Reducer int8(make_context(), comm, auto_of(kInt8), make_schema(kChosenShapes));
    reduce_seed(int8, comm.rank());
    restore(old, saved(int8.saved().save()));
    Reducer reducer(make_context(), comm, options, make_schema(kChosenShapes));
    ASSERT_EQ(chosen_modes(reducer), std::vector{std::int32_t{GRADSTEP_REDUCER_DENSE}});
    if (comm.rank() == 0) reducer.take_over(old);
    reducer.saved().rejoin(0, comm.deadline());
    EXPECT_EQ(chosen_modes(reducer), chosen_modes(int8));
    results[static_cast<std::size_t>(comm.rank())] = reduce_seed(reducer, comm.rank());
  });
  EXPECT_EQ(results[0], results[1]);
}

// ((1 + 1e8) + (-1e8 + 3)) or (((1 + 1e8) - 1e8) + 3): a bucket's order is seen in its sums.
TEST(Choices, ABucketsSumsAreInTheOrderThatWasChosenForIt) {
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_HOSTS;
  const float addends[] = {1, 1e8F, -1e8F, 3};
  run(make_world("local", 4, settings), [&](Communicator& comm) {
    comm.group_by_hosts({1, 1, 2, 2}, comm.deadline());
    auto options = auto_of(kDense | GRADSTEP_CANDIDATE_HOSTS);
    options.average = GRADSTEP_AVERAGE_SUM;
    Reducer reducer(make_context(), comm, options, make_schema({{1}}));
    for (const bool by_hosts : {true, false, true}) {
      SavedPart part = reducer.saved().save();
      part.metadata["choices"] = by_hosts ? "1 0 0 1" : "1 0 0 0";
      restore(reducer, saved(std::move(part)));
      EXPECT_EQ(reducer.bucket_stats()[0].by_hosts, by_hosts ? 1 : 0);
      TestTensor<float> value({1}, addends[comm.rank()]);
      const gradstep_tensor view = value.tensor();
      host::reduce(reducer, &view, &view, 1, 1);
      const float expected = by_hosts ? (addends[0] + addends[1]) + (addends[2] + addends[3])
                                      : ((addends[0] + addends[1]) + addends[2]) + addends[3];
      EXPECT_EQ(value.values[0], expected) << by_hosts;
    }
    // Without the flag the order is the communicator's, whatever a file says.
    options.candidates = kDense;
    Reducer bound(make_context(), comm, options, make_schema({{1}}));
    SavedPart part = bound.saved().save();
    part.metadata["choices"] = "1 0 0 0";
    restore(bound, saved(std::move(part)));
    EXPECT_EQ(bound.bucket_stats()[0].by_hosts, 1);
  });
}

TEST(Choices, EitherOrderNeedsACommunicatorThatHasBoth) {
  run(make_world("local", 2), [](Communicator& comm) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.candidates: has the flag hosts (0x40000000), expected a comm",
                 [&] { Reducer(make_context(), comm, auto_of(GRADSTEP_CANDIDATE_HOSTS), make_schema({{4}})); });
  });
}

TEST(Choices, AllRanksOfAllHostsChooseAlike) {
  CommSettings settings;
  settings.reduction_order = GRADSTEP_REDUCTION_HOSTS;
  std::vector<std::vector<gradstep_bucket_statistics>> all(5);
  run(make_world("local", 5, settings), [&](Communicator& comm) {
    comm.group_by_hosts({1, 1, 2, 2, 2}, comm.deadline());
    auto options = auto_of(kDense | kInt8 | kPowerSgd | GRADSTEP_CANDIDATE_HOSTS);
    options.fuse_threshold = 200;
    Reducer reducer(make_context(), comm, options, make_schema(kChosenShapes));
    reduce_seed(reducer, comm.rank());
    all[static_cast<std::size_t>(comm.rank())] = reducer.bucket_stats();
  });
  for (const auto& stats : all) {
    ASSERT_EQ(stats.size(), all[0].size());
    for (std::size_t b = 0; b < stats.size(); ++b) {
      EXPECT_EQ(stats[b].mode, all[0][b].mode);
      EXPECT_EQ(stats[b].by_hosts, all[0][b].by_hosts);
      EXPECT_GT(stats[b].predicted_dense_nanoseconds, 0);
      EXPECT_GT(stats[b].predicted_int8_nanoseconds, 0);
      EXPECT_EQ(stats[b].predicted_half_nanoseconds, 0);
    }
  }
}

}  // namespace
}  // namespace gradstep::test
