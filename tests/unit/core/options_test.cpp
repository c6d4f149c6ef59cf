// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include <array>

#include "unit/support.h"

namespace gradstep::test {
namespace {

struct Sample {
  std::uint32_t struct_size;
  std::int32_t number;
  double value;
};

struct Newer {
  Sample known;
  std::int64_t added;
};

TEST(Options, SmallerStructIsCompletedWithZeros) {
  Sample sample{8, 7, 3.5};
  const Sample read = read_struct("options", &sample, 8);
  EXPECT_EQ(read.number, 7);
  EXPECT_EQ(read.value, 0);
}

TEST(Options, LargerStructWithZeroTailIsAccepted) {
  Newer newer{{sizeof(Newer), 7, 3.5}, 0};
  EXPECT_EQ(read_struct("options", &newer.known).value, 3.5);
}

TEST(Options, LargerStructWithNonZeroTailIsUnsupported) {
  Newer newer{{sizeof(Newer), 7, 3.5}, 1};
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "options", [&] { read_struct("options", &newer.known); });
}

TEST(Options, SizesOutsideTheLegalRangeAreInvalid) {
  for (const std::uint32_t size : {0U, 4U, 15U, 4097U}) {
    Sample sample{size, 0, 0};
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "struct_size", [&] { read_struct("options", &sample); });
  }
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "is NULL", [] { read_struct<Sample>("options", nullptr); });
}

TEST(Options, InitZeroesAllThatTheCallerHasAndWritesWhatFits) {
  Newer newer;
  std::memset(&newer, 0xff, sizeof newer);
  init_struct("o", &newer.known, sizeof newer, Sample{0, 5, 2.5});
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  EXPECT_EQ(newer.known.number, 5);
  EXPECT_EQ(newer.added, 0);
}

TEST(Options, OutStructsKeepTheCallersSize) {
  std::array<unsigned char, sizeof(Sample)> bytes{};
  auto* sample = reinterpret_cast<Sample*>(bytes.data());
  sample->struct_size = 8;
  write_struct("stats", sample, Sample{0, 9, 1.0}, 8);
  EXPECT_EQ(sample->struct_size, 8U);
  EXPECT_EQ(sample->number, 9);
  EXPECT_EQ(sample->value, 0) << "bytes beyond the caller's struct were written";
}

TEST(Options, RecordsAreWrittenWithTheCallersStrideAndCapacity) {
  std::array<Newer, 3> records{};
  records[1].added = 77;
  const std::array<Sample, 3> values = {{{0, 1, 1}, {0, 2, 2}, {0, 3, 3}}};
  write_records<Sample>(&records[0].known, sizeof(Newer), 2, values);
  EXPECT_EQ(records[1].known.number, 2);
  EXPECT_EQ(records[1].known.struct_size, sizeof(Newer));
  EXPECT_EQ(records[1].added, 77);
  EXPECT_EQ(records[2].known.number, 0);
}

}  // namespace
}  // namespace gradstep::test
