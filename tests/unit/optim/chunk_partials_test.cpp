// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/chunk_partials.h"

#include <algorithm>
#include <vector>

#include "unit/ranks.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

using Slices = std::vector<std::vector<Slice>>;

/// Partials of a model whose chunks are numbered in the order of the schema, as rank `rank` gathers them.
std::vector<double> gathered_numbers(Communicator& comm, const Schema& schema, const Slices& slices,
                                     const std::vector<double>& own) {
  const auto context = make_context();
  const Site site(context->cpu());
  DataPlane data(comm, *context, site);
  ChunkPartials partials(site, data);
  partials.deal(schema, slices, comm.rank(), /*is_whole=*/false);
  std::vector<double> all(static_cast<std::size_t>(partials.count()), -1);
  const auto measure = [&](double* to) { std::ranges::copy(own, to); };
  partials.gather<double>(measure, all.data(), comm.deadline());
  return all;
}

TEST(ChunkPartials, AreGatheredInTheOrderOfTheSchema) {
  constexpr std::int64_t kLast = 100;  // elements of a chunk that is not full
  const Schema schema = make_schema({{2 * kChunk + kLast}, {7}, {kChunk}, {0}});
  // In the order of ranks the chunks of the schema are 4, 2, 0, 1, 3.
  const Slices slices = {
      {{}, {}, {0, kChunk}, {}}, {{2 * kChunk, kLast}, {}, {}, {}}, {{0, 2 * kChunk}, {0, 7}, {}, {}}};
  const std::vector<std::vector<double>> own = {{4}, {2}, {0, 1, 3}};
  run_ranks(3, [&](Communicator& comm) {
    const auto rank = static_cast<std::size_t>(comm.rank());
    EXPECT_EQ(gathered_numbers(comm, schema, slices, own[rank]), (std::vector<double>{0, 1, 2, 3, 4}));
  });
}

TEST(ChunkPartials, ARankMayHaveNoChunk) {
  const Schema schema = make_schema({{kChunk + 1}});
  const Slices slices = {{{}}, {{0, kChunk + 1}}};
  run_ranks(2, [&](Communicator& comm) {
    const std::vector<double> own = comm.rank() == 0 ? std::vector<double>{} : std::vector<double>{0, 1};
    EXPECT_EQ(gathered_numbers(comm, schema, slices, own), (std::vector<double>{0, 1}));
  });
}

}  // namespace
}  // namespace gradstep::test
