// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The backend of a CUDA device.
#pragma once

#include <memory>

#include "backend/backend.h"
#include "core/memory.h"

namespace gradstep::cuda {

/// Throws BACKEND_UNAVAILABLE, with the driver's words, where there is no such device.
std::unique_ptr<Backend> make_backend(const std::shared_ptr<Allocator>& allocator, int device);

}  // namespace gradstep::cuda
