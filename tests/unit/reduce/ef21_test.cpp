// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/ef21.h"

#include <algorithm>
#include <string>

#include "unit/reduce/exchange_fixture.h"

namespace gradstep::test {
namespace {

constexpr std::int64_t kEf21Sizes[] = {1, 3};

gradstep_reducer_options ef21_options() {
  auto options = exchange_options(GRADSTEP_REDUCER_SPARSE_TOPK, 0.5);
  options.error_feedback = GRADSTEP_ERROR_FEEDBACK_EF21;
  return options;
}

Floats listed(const Ef21& ef21, const std::string& name) {
  std::vector<KeptTensor> tensors;
  ef21.list(tensors);
  Floats all;
  for (const KeptTensor& tensor : tensors) {
    if (tensor.name != name) continue;
    const Floats part = floats_of(tensor.array);
    all.insert(all.end(), part.begin(), part.end());
    EXPECT_EQ(tensor.replicated, name == "total_estimate");
  }
  return all;
}

// Two ranks: this one has sent 2 and 4, the other 1 at the first of these places.
TEST(Ef21, EstimatesGrowByWhatWasSent) {
  run_ranks(1, [](Communicator& comm) {
    ExchangeResources resources = make_exchange(comm, ef21_options(), make_schema({{4}}));
    Ef21 ef21(resources, DType::f32, kEf21Sizes);
    const std::int32_t indices[] = {1, 3};
    const Floats own = {2, 4};
    Floats sum = {0, 3, 0, 4};
    for (const float windows : {1.0F, 2.0F}) {
      ef21.add(array_of(sum), 2);
      EXPECT_EQ(floats_of(ef21.result()), (Floats{0, windows * 1.5F, 0, windows * 2})) << "window " << windows;
      ef21.commit({indices, own.data(), 2, nullptr}, array_of(sum), {indices, nullptr, 2, nullptr});
      EXPECT_EQ(listed(ef21, "estimate"), (Floats{0, windows * 2, 0, windows * 4}));
      EXPECT_EQ(floats_of(ef21.estimate()), listed(ef21, "estimate"));
      EXPECT_EQ(listed(ef21, "total_estimate"), (Floats{0, windows * 3, 0, windows * 4}));
    }
  });
}

TEST(Ef21, AWindowThatIsNotCommittedLeavesNothing) {
  run_ranks(1, [](Communicator& comm) {
    ExchangeResources resources = make_exchange(comm, ef21_options(), make_schema({{4}}));
    Ef21 ef21(resources, DType::f32, kEf21Sizes);
    Floats sum = {1, 2, 3, 4};
    ef21.add(array_of(sum), 1);
    ef21.add(array_of(sum), 1);
    EXPECT_EQ(floats_of(ef21.result()), sum);
    EXPECT_EQ(listed(ef21, "estimate"), Floats(4, 0));
    EXPECT_EQ(listed(ef21, "total_estimate"), Floats(4, 0));
  });
}

TEST(Ef21, TheTotalIsThatOfTheRanksThatAreThere) {
  run_ranks(3, [](Communicator& comm) {
    ExchangeResources resources = make_exchange(comm, ef21_options(), make_schema({{4}}));
    Ef21 ef21(resources, DType::f32, kEf21Sizes);
    const std::int32_t index = comm.rank();
    const float value = 10;
    ef21.finish({&index, &value, 1, nullptr});
    ef21.rejoin(comm.deadline());
    EXPECT_EQ(listed(ef21, "total_estimate"), (Floats{10, 10, 10, 0}));
  });
}

}  // namespace
}  // namespace gradstep::test
