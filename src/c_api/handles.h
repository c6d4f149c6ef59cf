// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The opaque structs of the C API.
#pragma once

#include "accumulate/accumulator.h"
#include "backend/context.h"
#include "c_api/comm_plane.h"
#include "c_api/tensor_binding.h"
#include "comm/communicator.h"
#include "core/handle.h"
#include "optim/optimizer.h"
#include "reduce/reducer.h"
#include "updater/updater.h"

struct gradstep_context : gradstep::Handle<gradstep::Context, "context"> {};

struct gradstep_comm : gradstep::Handle<gradstep::Communicator, "comm"> {
  // The handle's own flag, not the object's: reducers and optimizers use the object when they like.
  gradstep::BusyFlag& busy() { return flag; }
  gradstep::BusyFlag flag;
  std::vector<std::unique_ptr<gradstep::CommPlane>> planes;
};

struct gradstep_accumulator : gradstep::Handle<gradstep::Accumulator, "accumulator"> {
  gradstep::TensorBinding grads{"grads", gradstep::Role::gradient};
};

struct gradstep_reducer : gradstep::Handle<gradstep::Reducer, "reducer"> {
  gradstep::TensorBinding grads{"grads", gradstep::Role::gradient};
  gradstep::TensorBinding results{"results", gradstep::Role::gradient};
};

struct gradstep_optimizer : gradstep::Handle<gradstep::Optimizer, "optimizer"> {
  gradstep::StepBinding buffers;
};

struct gradstep_updater : gradstep::Handle<gradstep::Updater, "updater"> {
  gradstep::StepBinding buffers;
  gradstep::TensorBinding params{"params", gradstep::Role::parameter};  // of calls without gradients
};

namespace gradstep {

/// The object behind a handle, which then outlives it. From any thread, also while another one is in a call.
template <class Handle>
auto object_of(Handle* handle) {
  return Kept(handle)->impl;
}

}  // namespace gradstep
