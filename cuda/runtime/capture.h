// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams that are being captured in a CUDA graph.
#pragma once

#include "runtime/errors.h"

namespace gradstep::cuda {

/// What a stream is captured in: a number of its own for each capture, 0 = none.
struct Capture {
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;

  explicit operator bool() const { return id != 0; }
};

inline Capture capture_of(cudaStream_t stream) {
  Capture capture;
  if (stream == nullptr) return capture;  // the legacy default stream cannot be captured
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  Capture found;
  check(cudaStreamGetCaptureInfo(stream, &status, &found.id, &found.graph), "cudaStreamGetCaptureInfo");
  if (status != cudaStreamCaptureStatusNone) capture = found;
  return capture;
}

/// As long as it lives this thread may call what CUDA refuses beside a capture because it might be meant for it:
/// memory, and questions and waits that have nothing to do with it.
class BesideCapture {
 public:
  BesideCapture() { exchange(); }
  ~BesideCapture() { cudaThreadExchangeStreamCaptureMode(&mode_); }
  BesideCapture(const BesideCapture&) = delete;
  BesideCapture& operator=(const BesideCapture&) = delete;

 private:
  void exchange() { check(cudaThreadExchangeStreamCaptureMode(&mode_), "cudaThreadExchangeStreamCaptureMode"); }

  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace gradstep::cuda
