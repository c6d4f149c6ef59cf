// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// gradstep_comm_* on tensors of a device: by NCCL, or through the host where nothing else reaches them.
#include <numeric>
#include <random>

#include "cuda/nccl_ranks.h"
#include "libraries/nccl.h"

namespace gradstep::test {
namespace {

using cuda::NcclConfig;
using cuda::NcclId;
using cuda::NcclResult;

template <class Function>
Function* nccl(const char* name) {
  return reinterpret_cast<Function*>(EmulatedCuda::control().symbol("libnccl.so.2", name));
}

std::vector<float> numbers_of(std::int32_t rank, std::int64_t count) {
  return random_values<float>(static_cast<std::size_t>(count), static_cast<std::uint32_t>(rank) + 1);
}

using Results = std::vector<std::vector<float>>;

/// What every collective makes of the same numbers.
Results call_all(NcclRank& rank, gradstep_comm* comm) {
  static const std::vector<std::int64_t> kLarge = {30000};
  static const std::vector<std::int64_t> kSmall = {7};
  const std::vector<std::int64_t> all = {7 * rank.ranks()};
  std::vector<std::int64_t> counts(static_cast<std::size_t>(rank.ranks()));
  std::iota(counts.begin(), counts.end(), 1);
  const std::vector<std::int64_t> own = {rank.rank() + 1};
  const std::vector<std::int64_t> together = {std::accumulate(counts.begin(), counts.end(), std::int64_t{0})};
  void* const stream = rank.stream();
  Results results;
  const auto show = [&](const gradstep_tensor& tensor) { results.push_back(rank.read(tensor)); };
  const auto filled = [&](const std::vector<std::int64_t>& shape) {
    const gradstep_tensor tensor = rank.tensor(shape);
    rank.write(tensor, numbers_of(rank.rank(), shape[0]));
    return tensor;
  };

  for (const auto* shape : {&kLarge, &kSmall}) {
    for (const std::int32_t op : {GRADSTEP_REDUCE_SUM, GRADSTEP_REDUCE_MAX, GRADSTEP_REDUCE_MIN}) {
      const gradstep_tensor tensor = filled(*shape);
      TestDevice::check(gradstep_comm_all_reduce(comm, &tensor, op, stream));
      show(tensor);
    }
  }
  const gradstep_tensor input = filled(kSmall);
  const gradstep_tensor gathered = rank.tensor(all);
  TestDevice::check(gradstep_comm_all_gather(comm, &input, &gathered, stream));
  show(gathered);
  const gradstep_tensor scattered = rank.tensor(kSmall);
  TestDevice::check(gradstep_comm_reduce_scatter(comm, &gathered, &scattered, GRADSTEP_REDUCE_SUM, stream));
  show(scattered);
  const gradstep_tensor part = filled(own);
  const gradstep_tensor parts = rank.tensor(together);
  TestDevice::check(gradstep_comm_all_gather_v(comm, &part, &parts, counts.data(), stream));
  show(parts);
  const gradstep_tensor told = filled(kLarge);
  TestDevice::check(gradstep_comm_broadcast(comm, &told, 1, stream));
  show(told);
  const gradstep_tensor passed = filled(kSmall);
  if (rank.rank() == 0) TestDevice::check(gradstep_comm_send(comm, &passed, 1, stream));
  if (rank.rank() == 1) TestDevice::check(gradstep_comm_recv(comm, &passed, 0, stream));
  show(passed);
  return results;
}

TEST(CudaNcclCollectives, HaveTheBitsOfStagedOnesAndNothingPassesThroughTheHost) {
  for (const std::int32_t ranks : {2, 3, 4}) {
    run_nccl_ranks(ranks, [&](NcclRank& rank) {
      const Results staged = call_all(rank, rank.comm(Carrier::staging));
      EXPECT_EQ(call_all(rank, rank.comm(Carrier::nccl)), staged) << "rank " << rank.rank() << " of " << ranks;
      char name[16];
      TestDevice::check(gradstep_comm_engine(rank.comm(Carrier::nccl), name, sizeof name, nullptr));
      EXPECT_STREQ(name, "nccl");
    });
  }
}

/// For a type with numbers of T's width, whose exponents, or whose integers, are not large.
template <class T>
void expect_the_bits_of_staged_ones(NcclRank& rank, std::uint8_t code, T mask) {
  static const std::vector<std::int64_t> kShape = {517};
  std::vector<T> numbers(static_cast<std::size_t>(kShape[0]));
  std::mt19937_64 random(static_cast<std::uint64_t>(rank.rank()) + 1);
  for (T& number : numbers) number = static_cast<T>(static_cast<T>(random()) & mask);
  for (const std::int32_t op : {GRADSTEP_REDUCE_SUM, GRADSTEP_REDUCE_MAX, GRADSTEP_REDUCE_MIN}) {
    std::vector<T> results[2];
    for (const Carrier carrier : {Carrier::staging, Carrier::nccl}) {
      gradstep_tensor tensor = rank.tensor(kShape, /*is_double=*/true);
      tensor.dtype = {code, 8 * sizeof(T), 1};
      rank.write(tensor, numbers);
      TestDevice::check(gradstep_comm_all_reduce(rank.comm(carrier), &tensor, op, rank.stream()));
      results[carrier == Carrier::nccl ? 1 : 0] = rank.read<T>(tensor);
    }
    EXPECT_EQ(results[1], results[0]) << "type " << int{code} << " of " << 8 * sizeof(T) << " bits, operation " << op;
    EXPECT_NE(results[1], numbers);
  }
}

TEST(CudaNcclCollectives, OfEveryTypeHaveTheBitsOfStagedOnes) {
  run_nccl_ranks(3, [](NcclRank& rank) {
    expect_the_bits_of_staged_ones<std::uint64_t>(rank, GRADSTEP_TYPE_FLOAT, 0xbfefffffffffffffU);
    expect_the_bits_of_staged_ones<std::uint32_t>(rank, GRADSTEP_TYPE_FLOAT, 0xbf7fffffU);
    expect_the_bits_of_staged_ones<std::uint16_t>(rank, GRADSTEP_TYPE_FLOAT, 0xbbffU);
    expect_the_bits_of_staged_ones<std::uint16_t>(rank, GRADSTEP_TYPE_BFLOAT, 0xbf7fU);
    expect_the_bits_of_staged_ones<std::uint64_t>(rank, GRADSTEP_TYPE_INT, 0xfffffffffffU);
    expect_the_bits_of_staged_ones<std::uint32_t>(rank, GRADSTEP_TYPE_INT, 0xfffffffU);
  });
}

TEST(CudaNcclCollectives, OfTheHostsMemoryGoByTheControlChannel) {
  run_nccl_ranks(3, [](NcclRank& rank) {
    std::int64_t value = rank.rank() + 1;
    const std::int64_t one = 1;
    gradstep_tensor tensor{};
    tensor.data = &value;
    tensor.device = {GRADSTEP_DEVICE_CPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {GRADSTEP_TYPE_INT, 64, 1};
    tensor.shape = const_cast<std::int64_t*>(&one);
    TestDevice::check(gradstep_comm_all_reduce(rank.comm(Carrier::nccl), &tensor, GRADSTEP_REDUCE_SUM, nullptr));
    EXPECT_EQ(value, 6);
  });
}

TEST(CudaNcclCollectives, RanksMeetByTheBytesOfAnIdAsWithAuto) {
  emulated_cuda();
  std::vector<char> id(256);
  std::size_t length = 0;
  TestDevice::check(gradstep_comm_unique_id("nccl", id.data(), id.size(), &length));
  run_nccl_ranks(2, [&](NcclRank& rank) {
    gradstep_comm_options options{};
    TestDevice::check(gradstep_comm_options_init(&options, sizeof options));
    options.engine = "nccl";
    options.rank = rank.rank();
    options.world_size = rank.ranks();
    options.id = id.data();
    options.id_len = length;
    options.device = rank.device().id().device_id;
    gradstep_comm* comm = nullptr;
    TestDevice::check(gradstep_comm_create(rank.device().context(), &options, &comm));
    const std::vector<std::int64_t> shape = {1000};
    const gradstep_tensor tensor = rank.tensor(shape);
    rank.write(tensor, std::vector<float>(1000, static_cast<float>(rank.rank()) + 1));
    rank.device().queue(rank.stream()).finish();
    rank.meet();
    const std::int64_t copied = EmulatedCuda::control().counts().copied_bytes;
    rank.meet();
    TestDevice::check(gradstep_comm_all_reduce(comm, &tensor, GRADSTEP_REDUCE_SUM, rank.stream()));
    rank.meet();
    EXPECT_EQ(EmulatedCuda::control().counts().copied_bytes, copied);
    rank.meet();
    EXPECT_EQ(rank.read(tensor), std::vector<float>(1000, 3));
    gradstep_comm_destroy(comm);
  });
}

/// A communicator of NCCL's as a host makes it.
ncclComm* connect(NcclRank& rank, const NcclId& id) {
  EmulatedCuda::control().set_current_device(rank.device().id().device_id);
  ncclComm* comm = nullptr;
  NcclConfig config;
  nccl<NcclResult(ncclComm**, int, NcclId, int, NcclConfig*)>("ncclCommInitRankConfig")(&comm, rank.ranks(), id,
                                                                                        rank.rank(), &config);
  NcclResult state = NcclResult::in_progress;
  while (state == NcclResult::in_progress) {
    nccl<NcclResult(ncclComm*, NcclResult*)>("ncclCommGetAsyncError")(comm, &state);
    std::this_thread::yield();
  }
  return comm;
}

TEST(CudaNcclCollectives, ACommunicatorOfTheHostsCarriesThemAndStaysTheHosts) {
  emulated_cuda();
  NcclId id{};
  nccl<NcclResult(NcclId*)>("ncclGetUniqueId")(&id);
  run_nccl_ranks(3, [&](NcclRank& rank) {
    ncclComm* const own = connect(rank, id);
    const Results expected = call_all(rank, rank.host());
    for (int k = 0; k < 2; ++k) {
      gradstep_comm* comm = nullptr;
      TestDevice::check(gradstep_comm_attach_nccl(rank.host(), rank.device().id().device_id, own, &comm));
      EXPECT_EQ(call_all(rank, comm), expected);
      gradstep_comm_destroy(comm);
    }
    rank.meet();
    nccl<NcclResult(ncclComm*)>("ncclCommDestroy")(own);
  });
}

TEST(CudaNcclCollectives, ACommunicatorOfAnotherDeviceOrOfOtherRanksIsRefusedOnAllRanks) {
  emulated_cuda();
  NcclId id{};
  nccl<NcclResult(NcclId*)>("ncclGetUniqueId")(&id);
  run_nccl_ranks(2, [&](NcclRank& rank) {
    ncclComm* const own = connect(rank, id);
    gradstep_comm* comm = nullptr;
    EXPECT_EQ(gradstep_comm_attach_nccl(rank.host(), 1, own, &comm),
              rank.rank() == 0 ? GRADSTEP_ERR_INVALID_ARGUMENT : GRADSTEP_ERR_ABORTED);
    if (rank.rank() == 0) {
      EXPECT_NE(std::string(gradstep_last_error()).find("nccl_comm: is on device 0, expected 1"), std::string::npos)
          << gradstep_last_error();
    }
    gradstep_comm* alone = nullptr;
    TestDevice::check(gradstep_comm_split(rank.host(), rank.rank(), 0, &alone));
    EXPECT_EQ(gradstep_comm_attach_nccl(alone, rank.device().id().device_id, own, &comm),
              GRADSTEP_ERR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(gradstep_last_error()).find(" of 2, expected rank 0 of 1"), std::string::npos)
        << gradstep_last_error();
    gradstep_comm_destroy(alone);
    rank.meet();
    nccl<NcclResult(ncclComm*)>("ncclCommDestroy")(own);
  });
}

}  // namespace
}  // namespace gradstep::test
