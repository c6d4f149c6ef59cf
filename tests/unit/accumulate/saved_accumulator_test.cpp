// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A window saved between two micro-batches ends elsewhere with the bits of one that was never interrupted.
#include "accumulate/accumulator.h"
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
  return accumulator.add(grads, 2, nullptr, 0, 0.5 + seed);
}

std::string save(const Accumulator& accumulator) { return saved_bytes("accumulator", {{"", accumulator.save()}}); }

void load(Accumulator& accumulator, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  accumulator.load(part)();
}

std::vector<float> result(Accumulator& accumulator, std::size_t i) {
  std::vector<gradstep_tensor> views(2);
  accumulator.gradients(views);
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
  other.add(grads, 2, nullptr, 0, 1);
  expect_error(GRADSTEP_ERR_MISMATCH, "'p1' has shape [20001]", [&] { load(*means, save(other)); });
  EXPECT_EQ(save(*means), before);
}

}  // namespace
}  // namespace gradstep::test
