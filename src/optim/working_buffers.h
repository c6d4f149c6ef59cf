// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/buffer_list.h"
#include "core/deadline.h"

namespace gradstep {

/// Where a step works in place of the host's buffers.
class WorkingBuffers {
 public:
  virtual ~WorkingBuffers() = default;
  /// Copies parameters to where the step works on them, unless they are there.
  virtual void stage(const BufferList& params) = 0;
  virtual std::span<const Array> params() const = 0;
  /// Where deltas go if they are asked for.
  virtual std::span<const Array> updates() const = 0;
  /// Sends what came of the step where it belongs and, when all is there, writes it to the targets. Collective.
  virtual void publish(const BufferList& targets, const Deadline& deadline) = 0;
};

}  // namespace gradstep
