// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams that are being captured in a CUDA graph.
#pragma once

#include <utility>

#include "runtime/device.h"
#include "runtime/errors.h"

namespace gradstep::cuda {

/// What a stream is captured in: a number of its own for each capture, 0 = none.
struct Capture {
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;

  explicit operator bool() const { return id != 0; }
};

inline Capture capture_of(cudaStream_t stream) {
  Capture found;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  check(cudaStreamGetCaptureInfo(stream, &status, &found.id, &found.graph), "cudaStreamGetCaptureInfo");
  if (status == cudaStreamCaptureStatusInvalidated) {  // of which nothing else is known
    check(cudaErrorStreamCaptureInvalidated, "cudaStreamGetCaptureInfo");
  }
  return status == cudaStreamCaptureStatusActive ? found : Capture();
}

/// As long as it lives the device is current, and this thread may call what CUDA refuses beside a capture, of any
/// thread and stream, because it might be meant for it: memory, and questions and waits that have nothing to do with
/// it. Otherwise such a call spoils the capture, too.
class BesideCapture {
 public:
  explicit BesideCapture(int device) : current_(device) {
    check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode");
  }
  ~BesideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;

 private:
  OnDevice current_;
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

/// give_back() gives back something of the device's, beside captures. A device that is gone has nothing to give back.
template <class Body>
void give_back(int device, Body&& body) noexcept {
  try {
    const BesideCapture beside(device);
    std::forward<Body>(body)();
  } catch (...) {  // the device is gone
  }
}

}  // namespace gradstep::cuda
