// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gradstep::cuda {

namespace {

constexpr std::size_t kSmallestBlock = std::size_t{64} << 10;
/// More than this on their way, and the host waits for the first.
constexpr std::size_t kMaxBlocks = 16;

class Reached final : public Event::Point {
 public:
  Reached(int device, cudaStream_t stream) : mark_(device) { mark_.record(stream); }
  bool is_reached() override { return mark_.is_reached(); }
  cudaEvent_t event() const { return mark_.event(); }

 private:
  Mark mark_;
};

bool is_done(cudaError_t error, const char* call) {
  if (error == cudaErrorNotReady) return false;
  check(error, call);
  return true;
}

/// body(offset, bytes) for pieces that one block of staging can take.
template <class Body>
void for_each_piece(std::size_t bytes, Body body) {
  for (std::size_t done = 0; done < bytes; done += Staging::kMaxBytes) {
    body(done, std::min(Staging::kMaxBytes, bytes - done));
  }
}

}  // namespace

Mark::Mark(int device) : device_(device) {
  const BesideCapture beside(device_);
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
}

Mark::~Mark() {
  give_back(device_, [&] { cudaEventDestroy(event_); });
}

void Mark::record(cudaStream_t stream) {
  const OnDevice current(device_);
  check(cudaEventRecord(event_, stream), "cudaEventRecord");
}

bool Mark::is_reached() const {
  const BesideCapture beside(device_);
  return is_done(cudaEventQuery(event_), "cudaEventQuery");
}

void Mark::reach() const {
  const BesideCapture beside(device_);
  check(cudaEventSynchronize(event_), "cudaEventSynchronize");
}

Staging::Block::~Block() {
  try {
    passed.reach();
  } catch (...) {  // the device is gone
  }
}

Staging::Block& Staging::take(std::size_t bytes) {
  blocks_.push_back(borrow(bytes));
  return *blocks_.back();
}

std::unique_ptr<Staging::Block> Staging::borrow(std::size_t bytes) {
  const auto has_room = [&](const auto& block) { return block->bytes.bytes() >= bytes; };
  const auto is_free = [&](const auto& block) { return has_room(block) && block->passed.is_reached(); };
  auto found = std::find_if(blocks_.begin(), blocks_.end(), is_free);
  if (found == blocks_.end() && blocks_.size() >= kMaxBlocks) {
    found = std::find_if(blocks_.begin(), blocks_.end(), has_room);
    if (found != blocks_.end()) {
      (*found)->passed.reach();
    } else {
      blocks_.front()->passed.reach();
      blocks_.pop_front();
    }
  }
  if (found == blocks_.end()) return std::make_unique<Block>(device_, std::max(kSmallestBlock, bytes));
  std::unique_ptr<Block> block = std::move(*found);
  blocks_.erase(found);
  return block;
}

void Staging::send_off(cudaStream_t stream) { blocks_.back()->passed.record(stream); }

Event CudaQueue::record() { return Event(std::make_shared<Reached>(device_, stream_)); }

void CudaQueue::wait(const Event& event) {
  if (event.point() == nullptr) return;
  const OnDevice current(device_);
  const auto& point = static_cast<const Reached&>(*event.point());
  check(cudaStreamWaitEvent(stream_, point.event(), 0), "cudaStreamWaitEvent");
}

void CudaQueue::follow(Queue& earlier) {
  auto& other = static_cast<CudaQueue&>(earlier);
  if (!capture() || other.capture()) return wait(other.record());
  // A graph cannot wait for what is outside of it.
  if (!other.is_idle()) check_not_capturing("what was asked on another stream before is not done");
}

bool CudaQueue::is_idle() {
  check_not_capturing("whether its work is done is asked");
  const BesideCapture beside(device_);
  return is_done(cudaStreamQuery(stream_), "cudaStreamQuery");
}

void CudaQueue::finish() {
  const BesideCapture beside(device_);
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

Capture CudaQueue::capture() const {
  if (stream_ == nullptr) return {};  // the legacy default stream cannot be captured
  const OnDevice current(device_);
  return capture_of(stream_);
}

void CudaQueue::check_not_capturing(const char* what) const {
  if (!capture()) return;
  fail(GRADSTEP_ERR_INVALID_STATE,
       "stream: is being captured, and {}; run such a window before the capture, and wait for it", what);
}

std::shared_ptr<Memory> CudaQueue::scratch() const { return capture() ? graph_memory_ : scratch_; }

void CudaQueue::initialize(void* to, const void* host, std::size_t bytes) {
  if (!capture()) return host != nullptr ? upload(to, host, bytes) : zero(to, bytes);
  const BesideCapture beside(device_);
  const std::lock_guard lock(staging_mutex_);
  if (beside_ == nullptr) beside_ = std::make_unique<OwnStream>(device_);
  if (host != nullptr) {
    check(cudaMemcpyAsync(to, host, bytes, cudaMemcpyDefault, beside_->get()), "cudaMemcpyAsync");
  } else {
    check(cudaMemsetAsync(to, 0, bytes, beside_->get()), "cudaMemsetAsync");
  }
  check(cudaStreamSynchronize(beside_->get()), "cudaStreamSynchronize");
}

void CudaQueue::upload(void* to, const void* host, std::size_t bytes) {
  if (bytes == 0) return;
  const OnDevice current(device_);
  check_not_capturing("something of the host's is to be uploaded");
  const std::lock_guard lock(staging_mutex_);
  for_each_piece(bytes, [&](std::size_t offset, std::size_t length) {
    const Staging::Block& block = staging_.take(length);
    std::memcpy(block.bytes.data(), static_cast<const std::byte*>(host) + offset, length);
    check(cudaMemcpyAsync(static_cast<std::byte*>(to) + offset, block.bytes.data(), length, cudaMemcpyDefault, stream_),
          "cudaMemcpyAsync");
    staging_.send_off(stream_);
  });
}

// A piece travels while the one before it is read. Others use the staging while this waits.
void CudaQueue::download(void* host, const void* from, std::size_t bytes) {
  const OnDevice current(device_);
  check_not_capturing("the host asks for an answer");
  if (bytes == 0) return finish();
  struct Piece {
    std::unique_ptr<Staging::Block> block;
    std::size_t offset = 0;
    std::size_t length = 0;
  };
  const auto read = [&](Piece piece) {
    if (piece.block == nullptr) return;
    piece.block->passed.reach();
    std::memcpy(static_cast<std::byte*>(host) + piece.offset, piece.block->bytes.data(), piece.length);
    const std::lock_guard lock(staging_mutex_);
    staging_.give_back(std::move(piece.block));
  };
  Piece before;
  for_each_piece(bytes, [&](std::size_t offset, std::size_t length) {
    Piece piece{nullptr, offset, length};
    {
      const std::lock_guard lock(staging_mutex_);
      piece.block = staging_.borrow(length);
      check(cudaMemcpyAsync(piece.block->bytes.data(), static_cast<const std::byte*>(from) + offset, length,
                            cudaMemcpyDefault, stream_),
            "cudaMemcpyAsync");
      piece.block->passed.record(stream_);
    }
    read(std::exchange(before, std::move(piece)));
  });
  read(std::move(before));
}

void CudaQueue::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || to == from) return;
  const OnDevice current(device_);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
}

void CudaQueue::zero(void* to, std::size_t bytes) {
  if (bytes == 0) return;
  const OnDevice current(device_);
  check(cudaMemsetAsync(to, 0, bytes, stream_), "cudaMemsetAsync");
}

}  // namespace gradstep::cuda
