// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state/state_store.h"

#include <cstring>

#include "unit/allocators.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kSize = 600;

StateWish plain(std::size_t slot, const char* name) { return {slot, name, TensorForm{1, kSize, Encoding::f32}}; }

StateWish matrix(std::size_t slot, const char* name, std::int64_t n) {
  return {slot, name, TensorForm{n, n, Encoding::f32, false, /*is_diagonal=*/true, 1}, {n, n}, /*is_whole=*/true};
}

class StateStoreTest : public testing::Test {
 protected:
  void grow(std::vector<StateWish> tensors, Slice slice = {0, kSize}) {
    const ParameterWish wish{std::move(tensors), slice};
    store_.commit(store_.grow({&wish, 1}));
  }
  void move_to(StatePlace place) {
    const bool was_spread = store_.owner(0, 0) >= 0;
    store_.prepare_move([&](std::size_t, std::size_t) { return place; }, StateStore::Gathers::owned, /*keep=*/true);
    std::vector<std::byte> whole(static_cast<std::size_t>(store_.largest_moved()));
    const auto gather = [&](const StoredState& stored, void* to) {
      std::memcpy(to, stored.array.data, static_cast<std::size_t>(stored.array.bytes()));
    };
    EXPECT_FALSE(was_spread);
    store_.fill_moved(StateStore::Gathers::owned, gather, whole.data());
    store_.commit_move();
  }
  float* numbers(std::size_t slot) const { return static_cast<float*>(store_.tensor(0, slot).numbers().data); }

  std::shared_ptr<Context> context_ = make_context();
  Site site_{context_->cpu()};
  StateStore store_{*context_, site_, /*flags_at_site=*/false};
};

TEST_F(StateStoreTest, ATensorThatComesBackBeginsAnewAndAMatrixGoesOn) {
  grow({plain(0, "m"), matrix(1, "r", 2)});
  numbers(0)[5] = 3;
  numbers(1)[1] = 4;
  const float* view = numbers(0);
  grow({});
  EXPECT_EQ(store_.stored().size(), 0U);
  EXPECT_EQ(view[5], 3) << "views outlive the switch";
  EXPECT_EQ(store_.find(0, "m"), StateStore::kNoSlot);
  const ParameterWish again{{plain(0, "m")}, {0, kSize}};
  EXPECT_TRUE(store_.begins_anew(0, again));
  grow({plain(0, "m"), matrix(1, "r", 2)});
  EXPECT_EQ(numbers(0), view);
  EXPECT_EQ(view[5], 0);
  EXPECT_EQ(numbers(1)[1], 4);
  EXPECT_FALSE(store_.begins_anew(0, again));
}

TEST_F(StateStoreTest, TensorsAreInTheOrderOfTheirSlotsWhateverCameFirst) {
  grow({matrix(7, "r", 2)});
  numbers(7)[1] = 4;
  grow({matrix(7, "r", 2), plain(2, "m")});
  const std::vector<StoredState> stored = store_.stored();
  ASSERT_EQ(stored.size(), 2U);
  EXPECT_EQ(stored[0].name, "m");
  EXPECT_EQ(stored[1].name, "r");
  EXPECT_EQ(numbers(7)[1], 4);
  EXPECT_FALSE(store_.is_active(0, 5));
  EXPECT_FALSE(store_.tensor(0, 5).is_here());
  EXPECT_EQ(store_.find(0, "m"), 2U);
}

TEST(StateStoreOfAHost, GrowsNotAtAllWhereMemoryIsRefused) {
  std::int64_t left = -1;
  const std::shared_ptr<Context> context = make_short_of_memory(&left);
  const Site site{context->cpu()};
  StateStore store(*context, site, /*flags_at_site=*/false);
  const ParameterWish first{{plain(2, "m")}, {0, kSize}};
  store.commit(store.grow({&first, 1}));
  auto* numbers = static_cast<float*>(store.tensor(0, 2).numbers().data);
  numbers[5] = 3;
  const ParameterWish more{{plain(0, "v"), plain(2, "m"), matrix(7, "r", 2)}, {0, kSize}};
  left = 0;
  EXPECT_THROW((void)store.grow({&more, 1}), Error);
  left = -1;
  EXPECT_EQ(store.stored().size(), 1U);
  EXPECT_FALSE(store.is_active(0, 0));
  EXPECT_EQ(store.tensor(0, 2).numbers().data, numbers);
  EXPECT_EQ(numbers[5], 3);
  store.commit(store.grow({&more, 1}));
  EXPECT_EQ(store.stored().size(), 3U);
  EXPECT_EQ(numbers[5], 3);
}

TEST_F(StateStoreTest, ShapesOfMatricesStayWhereTheyAre) {
  grow({matrix(0, "r", 3)});
  const std::span<const std::int64_t> shape = store_.shape(0, 0);
  ASSERT_EQ(shape.size(), 2U);
  grow({matrix(0, "r", 3), matrix(1, "s", 3)});
  move_to({{0, 9}, 0});
  EXPECT_EQ(store_.shape(0, 0).data(), shape.data());
  EXPECT_EQ(shape[0], 3);
}

TEST_F(StateStoreTest, AMoveKeepsThisRanksPartAndFlags) {
  grow({plain(0, "m")});
  for (std::int64_t k = 0; k < kSize; ++k) numbers(0)[k] = static_cast<float>(k);
  store_.flags().mark(site_, 0);
  move_to({{256, 256}, -1});
  EXPECT_EQ(store_.tensor(0, 0).slice(), (Slice{256, 256}));
  EXPECT_EQ(numbers(0)[0], 256);
  EXPECT_EQ(numbers(0)[255], 511);
  EXPECT_EQ(store_.flags().read(site_), std::vector<std::uint8_t>{1});
  const std::vector<StoredState> stored = store_.stored();
  ASSERT_EQ(stored.size(), 1U);
  EXPECT_EQ(stored[0].begin, 256);
  EXPECT_EQ(stored[0].total, kSize);
}

TEST_F(StateStoreTest, WhatAnotherRankOwnsHasNoMemoryHere) {
  grow({matrix(0, "r", 3)});
  move_to({{0, 0}, 1});
  EXPECT_TRUE(store_.is_active(0, 0));
  EXPECT_FALSE(store_.tensor(0, 0).is_here());
  EXPECT_EQ(store_.owner(0, 0), 1);
  EXPECT_EQ(store_.stored()[0].array.size, 0);
}

TEST_F(StateStoreTest, AMoveThatIsDroppedChangesNothing) {
  grow({plain(0, "m")});
  float* const before = numbers(0);
  store_.prepare_move([](std::size_t, std::size_t) { return StatePlace{{0, 256}, -1}; }, StateStore::Gathers::owned,
                      /*keep=*/false);
  store_.discard_move();
  EXPECT_EQ(numbers(0), before);
  EXPECT_EQ(store_.tensor(0, 0).slice().size, kSize);
}

}  // namespace
}  // namespace gradstep::test
