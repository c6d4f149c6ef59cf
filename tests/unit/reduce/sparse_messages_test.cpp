// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/sparse_messages.h"

#include <cstring>

#include "unit/support.h"

namespace gradstep::test {
namespace {

TEST(SparseMessages, ListsBeginAtWholeWordsAndAreFilledUpWithZeros) {
  HostQueue queue;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const SparseMessages messages{dtype};
    for (const std::int64_t count : {0, 1, 2, 3}) {
      const std::int64_t words_of_indices = (count + 1) / 2;
      const std::int64_t words_of_values = dtype == DType::f64 ? count : (count + 1) / 2;
      ASSERT_EQ(messages.bytes(count), 8 * (words_of_indices + words_of_values));
      std::vector<std::uint64_t> memory(static_cast<std::size_t>(words_of_indices + words_of_values) + 1,
                                        ~std::uint64_t{0});
      auto* message = reinterpret_cast<std::byte*>(memory.data());
      const Selection to = messages.write(message, count, queue);
      for (std::int64_t j = 0; j < count; ++j) to.indices[j] = static_cast<std::int32_t>(10 + j);
      std::memset(to.values, 1, static_cast<std::size_t>(messages.values_bytes(count)));
      const SparseList list = messages.read(message, count);
      EXPECT_EQ(list.indices, to.indices);
      EXPECT_EQ(list.values, to.values);
      EXPECT_EQ(list.count, count);
      EXPECT_EQ(static_cast<const std::byte*>(list.values) - message, 8 * words_of_indices);
      if (count % 2 == 1) {
        EXPECT_EQ(to.indices[count], 0);
        if (dtype == DType::f32) {
          EXPECT_EQ(static_cast<const std::int32_t*>(to.values)[count], 0);
        }
      }
      EXPECT_EQ(memory.back(), ~std::uint64_t{0}) << "what lies behind is not touched";
    }
  }
}

}  // namespace
}  // namespace gradstep::test
