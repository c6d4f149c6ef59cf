// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies between host and device in pieces, and threads that make them by one stream.
#include <atomic>
#include <chrono>

#include "cuda/nccl_updating.h"

namespace gradstep::test {
namespace {

/// Some pieces of 4 MiB, and a part of one.
constexpr std::size_t kLarge = (std::size_t{13} << 20) / sizeof(float) + 5;

std::vector<float> numbers_of(std::size_t count, std::uint32_t seed) { return random_values<float>(count, seed); }

void upload(EmulatedCuda& device, void* stream, float* to, const std::vector<float>& values) {
  device.queue(stream).upload(to, values.data(), values.size() * sizeof(float));
}

std::vector<float> download(EmulatedCuda& device, void* stream, const float* from, std::size_t count) {
  std::vector<float> values(count);
  device.queue(stream).download(values.data(), from, count * sizeof(float));
  return values;
}

TEST(CudaStaging, ThreadsThatCopyByOneStreamGetWhatIsTheirs) {
  EmulatedCuda device(3);
  void* const stream = EmulatedCuda::stream(1);
  std::vector<float*> places;
  for (int k = 0; k < 3; ++k) places.push_back(device.allocate(kLarge));
  device.queue(stream);
  std::vector<std::thread> threads;
  for (std::uint32_t k = 0; k < 3; ++k) {
    threads.emplace_back([&, k] {
      for (std::uint32_t round = 0; round < 3; ++round) {
        const std::vector<float> values = numbers_of(kLarge, 10 * k + round);
        upload(device, stream, places[k], values);
        EXPECT_EQ(download(device, stream, places[k], kLarge) == values, true) << "thread " << k << ", round " << round;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The stream is held by an exchange that another rank has a part in.
TEST(CudaStaging, ADownloadThatWaitsKeepsNobodyFromUploading) {
  const NcclTrouble well_again;
  run_nccl_ranks(2, [&](NcclRank& rank) {
    const std::vector<std::int64_t> shape = {1000};
    const gradstep_tensor tensor = rank.tensor(shape);
    rank.write(tensor, std::vector<float>(1000, 1.0F));
    gradstep_comm* const comm = rank.comm(Carrier::nccl);
    float* const large = rank.device().allocate(kLarge);
    float* const small = rank.device().allocate(100);
    const std::vector<float> values = numbers_of(kLarge, 1);
    upload(rank.device(), rank.stream(), large, values);
    TestDevice::check(gradstep_comm_all_reduce(comm, &tensor, GRADSTEP_REDUCE_SUM, rank.stream()));
    rank.device().queue(rank.stream()).finish();
    rank.meet();
    EmulatedCuda::control().hang_nccl(true);
    rank.meet();
    std::thread exchange(
        [&] { TestDevice::check(gradstep_comm_all_reduce(comm, &tensor, GRADSTEP_REDUCE_SUM, rank.stream())); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    rank.meet();
    if (rank.rank() == 0) {
      const emulation::Counts before = EmulatedCuda::control().counts();
      std::atomic<bool> is_uploaded = false;
      std::vector<float> found;
      std::thread downloads([&] { found = download(rank.device(), rank.stream(), large, kLarge); });
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
      std::thread uploads([&] {
        upload(rank.device(), rank.stream(), small, numbers_of(100, 2));
        is_uploaded = true;
      });
      for (int k = 0; k < 1000 && !is_uploaded; ++k) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_TRUE(is_uploaded) << "it waits for what another thread waits for";
      EXPECT_EQ(EmulatedCuda::control().counts().copies, before.copies) << "the stream is held";
      EmulatedCuda::control().hang_nccl(false);
      downloads.join();
      uploads.join();
      EXPECT_EQ(found == values, true);
      EXPECT_EQ(download(rank.device(), rank.stream(), small, 100), numbers_of(100, 2));
    }
    exchange.join();
    EXPECT_EQ(rank.read(tensor), std::vector<float>(1000, 4.0F));
  });
}

}  // namespace
}  // namespace gradstep::test
