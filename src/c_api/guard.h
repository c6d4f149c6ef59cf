// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The border between C and C++: every exported function runs its body in guarded(), of core/error.h.
#pragma once

#include "core/error.h"
#include "core/fp_environment.h"
#include "core/handle.h"
#include "gradstep/tensor.h"

namespace gradstep {

/// guarded(), for bodies that compute: in the default floating-point environment.
template <class Body>
gradstep_status guarded_math(Body&& body) noexcept {
  const FpEnvironment environment;
  return guarded(body);
}

/// The body of a function on one handle, which this thread has to itself: body(the object behind it).
template <class Handle, class Body>
gradstep_status with(Handle* handle, Body&& body) noexcept {
  return guarded_math([&] {
    const InUse use(handle);
    body(*use->impl);
  });
}

template <class T>
T& check_out(const char* argument, T* out) {
  if (out == nullptr) fail_argument("{}: is NULL", argument);
  return *out;
}

/// On CPU the stream argument is NULL.
inline void check_stream(void* stream) {
  if (stream != nullptr) fail_argument("stream: is {}, expected NULL on CPU", stream);
}

/// A view of one f64 on `device`.
inline gradstep_tensor scalar_view(const double* value, gradstep_device device) {
  static int64_t one[] = {1};
  gradstep_tensor tensor{};
  tensor.data = const_cast<double*>(value);  // views are the host's to read
  tensor.device = device;
  tensor.ndim = 1;
  tensor.dtype = {GRADSTEP_TYPE_FLOAT, 64, 1};
  tensor.shape = one;
  return tensor;
}

/// Results that are texts: see base.h.
void write_text(const std::string& text, char* buf, size_t cap, size_t* len);

}  // namespace gradstep
