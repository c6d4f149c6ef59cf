// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/staged_parameters.h"

#include <cstring>
#include <vector>

#include "unit/ranks.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

/// The parameters of `shapes`, each of its own dtype.
Schema schema_of(const std::vector<std::vector<std::int64_t>>& shapes, const std::vector<DType>& dtypes) {
  std::vector<gradstep_parameter> parameters(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    parameters[i].struct_size = sizeof parameters[i];
    parameters[i].shape = shapes[i].data();
    parameters[i].ndim = static_cast<std::int32_t>(shapes[i].size());
    parameters[i].dtype = to_dlpack(dtypes[i]);
    parameters[i].device = kDeviceOfHandles;
  }
  return Schema(parameters.data(), parameters.size());
}

/// A byte of parameter i. No number of any dtype that these make is infinite or NaN.
std::uint8_t value_of(std::size_t i, std::size_t byte) { return static_cast<std::uint8_t>(i * 13 + byte % 59); }

struct Staged {
  std::vector<std::vector<std::byte>> memory;
  std::vector<Array> arrays;

  explicit Staged(const Schema& schema) {
    for (std::size_t i = 0; i < schema.size(); ++i) {
      memory.emplace_back(static_cast<std::size_t>(schema[i].size * size_of(schema[i].dtype)));
      arrays.push_back(compact_array(memory[i].data(), schema[i].size, schema[i].dtype));
    }
  }
  BufferList list() const { return {arrays, /*version=*/0}; }
};

TEST(StagedParameters, OneCollectiveBringsTheSlicesOfAllRanks) {
  const std::vector<std::vector<std::int64_t>> shapes = {{7}, {2 * kChunk + 5}, {0}, {kChunk + 1}, {3}, {kChunk}};
  const std::vector<DType> dtypes = {DType::bf16, DType::f32, DType::f32, DType::f64, DType::f16, DType::f32};
  const Schema schema = schema_of(shapes, dtypes);
  RankSlices slices(3, std::vector<Slice>(schema.size()));
  slices[0][0] = {0, 7};
  slices[0][1] = {kChunk, kChunk + 5};
  slices[2][1] = {0, kChunk};
  slices[0][3] = {0, kChunk};
  slices[2][3] = {kChunk, 1};
  slices[2][4] = {0, 3};
  slices[2][5] = {0, kChunk};  // rank 1 has nothing
  run_ranks(3, [&](Communicator& comm) {
    const auto context = make_context();
    const Site site(context->cpu());
    DataPlane data(comm, *context, site);
    RankBlocks blocks(schema, slices);
    const Buffer arena = site.allocate(static_cast<std::size_t>(blocks.total_bytes()), /*zeroed=*/false);
    StagedParameters parameters(site, data, arena);
    parameters.place(schema, slices, comm.rank(), std::move(blocks));
    const auto& own = slices[static_cast<std::size_t>(comm.rank())];
    Staged from(schema);
    Staged expected(schema);
    for (std::size_t i = 0; i < schema.size(); ++i) {
      const auto width = static_cast<std::size_t>(size_of(schema[i].dtype));
      for (std::size_t b = 0; b < expected.memory[i].size(); ++b) expected.memory[i][b] = std::byte{value_of(i, b)};
      const auto begin = static_cast<std::size_t>(own[i].begin) * width;
      const auto bytes = static_cast<std::size_t>(own[i].size) * width;
      if (bytes > 0) std::memcpy(from.memory[i].data() + begin, expected.memory[i].data() + begin, bytes);
      EXPECT_EQ(parameters.params()[i].size, own[i].size);
      const auto address = reinterpret_cast<std::uintptr_t>(parameters.params()[i].data);
      EXPECT_EQ(address % width, 0U) << i;
    }
    parameters.stage(from.list());
    const std::int64_t before = comm.stats().all_gathers;
    Staged to(schema);
    parameters.publish(to.list(), comm.deadline());
    EXPECT_EQ(comm.stats().all_gathers, before + 1);
    EXPECT_EQ(to.memory, expected.memory);
  });
}

}  // namespace
}  // namespace gradstep::test
