// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A window saved between two micro-batches ends elsewhere with the bits of one that was never interrupted.
#include <limits>
#include <map>

#include "accumulate/accumulator.h"
#include "unit/host_calls.h"
#include "unit/memory_stream.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

const std::vector<std::vector<std::int64_t>> kTwo = {{4, 3}, {20000}};

std::unique_ptr<Accumulator> make(std::int32_t mode, std::int64_t steps = 4) {
  auto options = default_accumulator_options();
  options.mode = mode;
  options.steps = steps;
  return std::make_unique<Accumulator>(make_context(), options, std::nullopt, make_schema(kTwo));
}

bool add(Accumulator& accumulator, std::uint32_t seed, bool second = true) {
  TestTensor<float> a({4, 3}, random_values<float>(12, seed));
  TestTensor<float> b({20000}, random_values<float>(20000, seed + 100));
  const gradstep_tensor grads[] = {a.tensor(), second ? b.tensor() : b.absent()};
  return host::add(accumulator, grads, 2, 0.5 + seed);
}

std::string save(const Accumulator& accumulator) { return saved_bytes("accumulator", {{"", accumulator.save()}}); }

void load(Accumulator& accumulator, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  accumulator.load(part)();
}

std::vector<float> result(Accumulator& accumulator, std::size_t i) {
  std::vector<gradstep_tensor> views(2);
  host::read_gradients(accumulator, views);
  const auto* data = static_cast<const float*>(views[i].data);
  return data == nullptr ? std::vector<float>{} : std::vector<float>(data, data + (i == 0 ? 12 : 20000));
}

TEST(SavedAccumulator, AWindowEndsWithTheBitsOfAnUninterruptedOne) {
  for (const std::int32_t mode : {GRADSTEP_ACCUMULATE_SUM, GRADSTEP_ACCUMULATE_MEAN_EACH, GRADSTEP_ACCUMULATE_MEAN,
                                  GRADSTEP_ACCUMULATE_RUNNING_MEAN, GRADSTEP_ACCUMULATE_WEIGHTED}) {
    for (std::uint32_t cut = 0; cut <= 4; ++cut) {  // before the first, between two, and in READY
      auto whole = make(mode);
      for (std::uint32_t i = 0; i < cut; ++i) add(*whole, i);
      auto resumed = make(mode);
      add(*resumed, 77);  // what is there before goes
      load(*resumed, save(*whole));
      EXPECT_EQ(resumed->count(), cut);
      for (std::uint32_t i = cut; i < 4; ++i) EXPECT_EQ(add(*whole, i), add(*resumed, i));
      ASSERT_TRUE(resumed->ready());
      for (const std::size_t k : {0U, 1U}) EXPECT_EQ(result(*resumed, k), result(*whole, k)) << mode << " cut " << cut;
      EXPECT_EQ(*resumed->norm(), *whole->norm());
      EXPECT_EQ(resumed->weight(), whole->weight());
    }
  }
}

TEST(SavedAccumulator, AnAbsentGradientStaysAbsent) {
  auto whole = make(GRADSTEP_ACCUMULATE_SUM, 2);
  add(*whole, 1, /*second=*/false);
  auto resumed = make(GRADSTEP_ACCUMULATE_SUM, 2);
  load(*resumed, save(*whole));
  EXPECT_TRUE(add(*resumed, 2, /*second=*/false));
  EXPECT_TRUE(result(*resumed, 1).empty());
}

TEST(SavedAccumulator, OtherOptionsAreRefusedAndChangeNothing) {
  auto sums = make(GRADSTEP_ACCUMULATE_SUM);
  add(*sums, 1);
  auto means = make(GRADSTEP_ACCUMULATE_MEAN);
  add(*means, 2);
  const std::string before = save(*means);
  expect_error(GRADSTEP_ERR_MISMATCH, "mode 1, the accumulator has", [&] { load(*means, save(*sums)); });
  auto options = default_accumulator_options();
  options.mode = GRADSTEP_ACCUMULATE_MEAN;
  options.steps = 4;
  Accumulator other(make_context(), options, std::nullopt, make_schema({{4, 3}, {20001}}));
  TestTensor<float> a({4, 3});
  TestTensor<float> b({20001});
  const gradstep_tensor grads[] = {a.tensor(), b.tensor()};
  host::add(other, grads, 2, 1);
  expect_error(GRADSTEP_ERR_MISMATCH, "'p1' has shape (20001)", [&] { load(*means, save(other)); });
  EXPECT_EQ(save(*means), before);
}

TEST(SavedAccumulator, CountersThatContradictEachOtherAreCorrupt) {
  auto open = make(GRADSTEP_ACCUMULATE_MEAN);  // 2 micro-batches of 4
  for (std::uint32_t i = 0; i < 2; ++i) add(*open, i);
  auto ready = make(GRADSTEP_ACCUMULATE_MEAN);
  for (std::uint32_t i = 0; i < 4; ++i) add(*ready, i);
  auto empty = make(GRADSTEP_ACCUMULATE_MEAN);
  auto manual_options = default_accumulator_options();
  manual_options.trigger = GRADSTEP_TRIGGER_MANUAL;
  manual_options.mode = GRADSTEP_ACCUMULATE_MEAN;
  Accumulator manual(make_context(), manual_options, std::nullopt, make_schema(kTwo));
  add(manual, 1);

  struct Edit {
    Accumulator* from;
    const char* text;
    std::map<std::string, std::string> entries;
  };
  const Edit edits[] = {
      {open.get(), "added than were pushed", {{"count", "3"}}},
      {open.get(), "left out than were skipped", {{"count", "1"}}},
      {open.get(), "sums of no micro-batch", {{"count", "0"}, {"skipped", "2"}}},
      {open.get(), "a weight", {{"total_weight", "-1"}}},
      {open.get(), "a weight", {{"total_weight", "nan"}}},
      {empty.get(), "a weight", {{"total_weight", "0.5"}}},
      {ready.get(), "a norm below 0", {{"norm", "-1"}}},
      {open.get(), "undivided sums", {{"undivided", "1"}}},
      {ready.get(), "undivided sums", {{"undivided", "1"}}},  // keep_sums is off
      {empty.get(), "a result of no micro-batch", {{"ready", "1"}}},
      {ready.get(), "a result of no micro-batch", {{"windows", "0"}}},
      {open.get(), "more micro-batches than its length", {{"length", "1"}}},
      {ready.get(), "more micro-batches than its length", {{"length", "3"}}},
      {open.get(), "all its micro-batches and no result", {{"length", "2"}}},
      {ready.get(), "all its micro-batches and no result", {{"ready", "0"}}},
      {&manual, "a length", {{"length", "4"}}},
      {open.get(), "expected 0 or 1", {{"ready", "2"}}},
      {open.get(), "'pushes' is '-2'", {{"pushes", "-2"}}},
  };
  for (const Edit& edit : edits) {
    const std::string before = save(*edit.from);
    SavedPart part = edit.from->save();
    for (const auto& [key, value] : edit.entries) part.metadata.at(key) = value;
    expect_error(GRADSTEP_ERR_CORRUPT, edit.text, [&] { load(*edit.from, saved_bytes("accumulator", {{"", part}})); });
    EXPECT_EQ(save(*edit.from), before);
    load(*edit.from, before);  // and unedited it is taken
  }
}

TEST(SavedAccumulator, EveryWindowThatCanBeSavedIsTaken) {
  for (const std::int32_t trigger :
       {GRADSTEP_TRIGGER_STEPS, GRADSTEP_TRIGGER_SCHEDULE, GRADSTEP_TRIGGER_MIN_WEIGHT, GRADSTEP_TRIGGER_MANUAL}) {
    for (const bool counts_pushes : {false, true}) {
      for (const int keep_sums : {0, 1}) {
        auto options = default_accumulator_options();
        options.mode = GRADSTEP_ACCUMULATE_WEIGHTED;
        options.trigger = trigger;
        options.steps = 3;
        options.min_weight = 2;
        options.nonfinite = GRADSTEP_NONFINITE_SKIP;
        options.keep_sums = keep_sums;
        Accumulator accumulator(make_context(), options, Schedule(3), make_schema(kTwo));
        if (counts_pushes) accumulator.count_pushes();
        const auto reload = [&] { EXPECT_NO_THROW(load(accumulator, save(accumulator))); };
        TestTensor<float> a({4, 3}, std::numeric_limits<float>::quiet_NaN());
        TestTensor<float> b({20000});
        const gradstep_tensor skipped[] = {a.tensor(), b.tensor()};
        for (std::uint32_t i = 0; i < 14; ++i) {
          if (i % 3 == 0 || i == 7 || i == 8) {
            host::add(accumulator, skipped, 2, 1);
          } else {
            add(accumulator, i % 2);
          }
          reload();
          if (i % 5 == 4) {
            if (accumulator.flush() && i % 2 == 0) result(accumulator, 0);
            reload();
          }
        }
        accumulator.reset();
        reload();
      }
    }
  }
}

}  // namespace
}  // namespace gradstep::test
