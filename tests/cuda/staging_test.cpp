// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Copies between host and device in pieces, and threads that make them by one stream.
#include <signal.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <span>

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

/// Memory of the host that is closed at first: a writer waits until it is opened. One at a time.
class ClosedPages {
 public:
  explicit ClosedPages(std::size_t bytes)
      : bytes_(bytes), begin_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (begin_ == MAP_FAILED) throw std::bad_alloc();
    closed = this;
    struct sigaction action = {};
    action.sa_sigaction = &wait_there;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~ClosedPages() {
    sigaction(SIGSEGV, &before_, nullptr);
    closed = nullptr;
    munmap(begin_, bytes_);
  }
  ClosedPages(const ClosedPages&) = delete;
  ClosedPages& operator=(const ClosedPages&) = delete;

  bool is_awaited() const { return is_awaited_; }
  void open() {
    mprotect(begin_, bytes_, PROT_READ | PROT_WRITE);
    is_open_ = true;
  }
  template <class T>
  std::span<T> as() const {
    return {static_cast<T*>(begin_), bytes_ / sizeof(T)};
  }

 private:
  static void wait_there(int number, siginfo_t* info, void* /*context*/) {
    const auto place = static_cast<std::byte*>(info->si_addr) - static_cast<std::byte*>(closed->begin_);
    if (place < 0 || static_cast<std::size_t>(place) >= closed->bytes_) {
      signal(number, SIG_DFL);  // it comes again
      return;
    }
    closed->is_awaited_ = true;
    const timespec moment = {0, 1000000};
    while (!closed->is_open_) nanosleep(&moment, nullptr);
  }

  static inline ClosedPages* closed = nullptr;

  std::size_t bytes_;
  void* begin_;
  struct sigaction before_ = {};
  std::atomic<bool> is_awaited_ = false;
  std::atomic<bool> is_open_ = false;
};

TEST(CudaStaging, WhatIsBeingReadIsNobodyElsesYet) {
  constexpr std::size_t kCount = std::size_t{1} << 18;
  EmulatedCuda device(3);
  const std::vector<float> values = numbers_of(kCount, 1);
  const std::vector<float> others = numbers_of(kCount, 2);
  float* const places[] = {device.allocate(kCount), device.allocate(kCount)};
  upload(device, EmulatedCuda::stream(1), places[0], values);
  upload(device, EmulatedCuda::stream(1), places[1], others);
  device.queue(EmulatedCuda::stream(1)).finish();

  void* const stream = EmulatedCuda::stream(2);  // has no blocks yet
  device.queue(stream);
  ClosedPages host(kCount * sizeof(float));
  const std::span<float> found = host.as<float>();
  std::thread reader([&] { device.queue(stream).download(found.data(), places[0], found.size_bytes()); });
  while (!host.is_awaited()) std::this_thread::yield();
  EXPECT_TRUE(download(device, stream, places[1], kCount) == others);
  host.open();
  reader.join();
  EXPECT_TRUE(std::equal(found.begin(), found.end(), values.begin(), values.end()));
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
