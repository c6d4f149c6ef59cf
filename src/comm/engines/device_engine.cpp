// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rank 0 makes the bytes by which the engine's library finds the others; they travel by the control channel. Each stage
// is agreed upon, so that no rank waits for one that cannot take part.
#include "comm/engines/device_engine.h"

#include <vector>

#include "backend/plugin_loader.h"
#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/shape.h"

namespace gradstep {

namespace {

const gradstep_plugin_device_engine& find_device_engine(gradstep_device device) {
  if (device.device_type != GRADSTEP_DEVICE_CUDA) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "device: is {}, whose memory no engine carries", device_text(device));
  }
  const gradstep_plugin_device_engine* engine = find_plugin("cuda").device_engine;
  if (engine == nullptr) fail(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "the cuda plugin has no engine");
  return *engine;
}

}  // namespace

void check_device_engine(gradstep_device device) { find_device_engine(device).prepare(device.device_id); }

std::shared_ptr<Engine> connect_device_engine(Communicator& control, gradstep_device device, void* native,
                                              const Deadline& deadline) {
  const gradstep_plugin_device_engine* engine = nullptr;
  std::vector<std::byte> id;
  all_or_none(control, "prepare its engine of device memory", deadline, [&] {
    engine = &find_device_engine(device);
    engine->prepare(device.device_id);
    id.resize(static_cast<std::size_t>(engine->id_bytes));
    if (native == nullptr && control.rank() == 0) engine->make_id(id.data());
  });
  control.broadcast(id.data(), static_cast<std::int64_t>(id.size()), 0, deadline);
  std::shared_ptr<Engine> connected;
  all_or_none(control, "connect its engine of device memory", deadline, [&] {
    gradstep_comm_vtable vtable{};
    vtable.struct_size = sizeof vtable;
    vtable.rank = control.rank();
    vtable.world_size = control.world_size();
    void* user = nullptr;
    if (native != nullptr) {
      engine->wrap(native, device.device_id, &vtable, &user);
    } else {
      engine->connect(id.data(), device.device_id, deadline.remaining_ms(), &vtable, &user);
    }
    connected = Engine::make(engine->name, vtable, user);
  });
  return connected;
}

}  // namespace gradstep
