// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a communicator's handle keeps for each device that tensors of its calls were on.
#pragma once

#include <memory>

#include "backend/site.h"
#include "comm/communicator.h"
#include "comm/data_plane.h"
#include "core/shape.h"

namespace gradstep {

class CommPlane {
 public:
  CommPlane(std::shared_ptr<Communicator> comm, gradstep_device device)
      : comm_(std::move(comm)),
        device_(device),
        site_(comm_->context().backend(device, "tensor", 0)),
        data_(*comm_, comm_->context(), site_) {}
  CommPlane(const CommPlane&) = delete;
  CommPlane& operator=(const CommPlane&) = delete;

  bool serves(gradstep_device device) const { return same_device(device, device_); }
  Site& site() { return site_; }
  DataPlane& data() { return data_; }

 private:
  std::shared_ptr<Communicator> comm_;
  gradstep_device device_;
  Site site_;
  DataPlane data_;
};

}  // namespace gradstep
