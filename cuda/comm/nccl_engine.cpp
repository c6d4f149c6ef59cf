// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/nccl_engine.h"

#include <cstring>
#include <memory>

#include "comm/nccl_channel.h"
#include "core/error.h"
#include "runtime/device.h"

namespace gradstep::cuda {

namespace {

NcclChannel& channel_of(void* user) { return *static_cast<NcclChannel*>(user); }

NcclType type_of(std::int32_t code, std::int32_t bits) {
  if (code == GRADSTEP_TYPE_FLOAT) return bits == 64 ? NcclType::float64 : NcclType::float32;
  return bits == 64 ? NcclType::int64 : NcclType::int32;
}

NcclOperation operation_of(std::int32_t op) {
  if (op == GRADSTEP_REDUCE_MAX) return NcclOperation::max;
  return op == GRADSTEP_REDUCE_MIN ? NcclOperation::min : NcclOperation::sum;
}

/// One function of the table: body(NCCL's functions, communicator, stream).
template <class Body>
gradstep_status queued(const char* what, void* user, void* stream, std::int64_t timeout_ms, Body body) noexcept {
  return guarded([&] {
    channel_of(user).call(what, Deadline::after_ms(timeout_ms), [&](ncclComm* comm) {
      return body(nccl_functions(), comm, static_cast<cudaStream_t>(stream));
    });
  });
}

/// What is sent and received at once. A group is ended also where one of its calls was refused.
template <class Body>
NcclResult grouped(const NcclFunctions& nccl, Body body) {
  NcclResult result = nccl.group_start();
  if (result != NcclResult::success) return result;
  result = body();
  const NcclResult ended = nccl.group_end();
  return result != NcclResult::success && result != NcclResult::in_progress ? result : ended;
}

gradstep_status exchange(void* user, const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                         const std::int64_t* receive_bytes, void* stream, std::int64_t timeout_ms) {
  return queued(
      "ncclGroupEnd", user, stream, timeout_ms, [&](const NcclFunctions& nccl, ncclComm* comm, cudaStream_t on) {
        const int ranks = channel_of(user).ranks();
        const int own = channel_of(user).rank();
        return grouped(nccl, [&] {
          NcclResult result = NcclResult::success;
          const auto is_well = [&] { return result == NcclResult::success || result == NcclResult::in_progress; };
          for (int peer = 0; peer < ranks; ++peer) {
            if (peer == own) continue;
            if (is_well() && send_bytes[peer] > 0) {
              result =
                  nccl.send(send[peer], static_cast<std::size_t>(send_bytes[peer]), NcclType::int8, peer, comm, on);
            }
            if (is_well() && receive_bytes[peer] > 0) {
              result = nccl.receive(receive[peer], static_cast<std::size_t>(receive_bytes[peer]), NcclType::int8, peer,
                                    comm, on);
            }
          }
          return result;
        });
      });
}

void fill(gradstep_comm_vtable& vtable) {
  vtable.any_thread = 1;
  vtable.device_types = 1U << GRADSTEP_DEVICE_CUDA;
  vtable.all_gather = [](void* user, const void* send, void* receive, std::int64_t bytes, void* stream,
                         std::int64_t timeout_ms) {
    return queued("ncclAllGather", user, stream, timeout_ms,
                  [&](const NcclFunctions& nccl, ncclComm* comm, cudaStream_t on) {
                    return nccl.all_gather(send, receive, static_cast<std::size_t>(bytes), NcclType::int8, comm, on);
                  });
  };
  vtable.all_reduce = [](void* user, void* data, std::int64_t count, std::int32_t code, std::int32_t bits,
                         std::int32_t op, void* stream, std::int64_t timeout_ms) {
    return queued("ncclAllReduce", user, stream, timeout_ms,
                  [&](const NcclFunctions& nccl, ncclComm* comm, cudaStream_t on) {
                    return nccl.all_reduce(data, data, static_cast<std::size_t>(count), type_of(code, bits),
                                           operation_of(op), comm, on);
                  });
  };
  vtable.reduce_scatter = [](void* user, const void* send, void* receive, std::int64_t count, std::int32_t code,
                             std::int32_t bits, std::int32_t op, void* stream, std::int64_t timeout_ms) {
    return queued("ncclReduceScatter", user, stream, timeout_ms,
                  [&](const NcclFunctions& nccl, ncclComm* comm, cudaStream_t on) {
                    return nccl.reduce_scatter(send, receive, static_cast<std::size_t>(count), type_of(code, bits),
                                               operation_of(op), comm, on);
                  });
  };
  vtable.broadcast = [](void* user, void* data, std::int64_t bytes, std::int32_t root, void* stream,
                        std::int64_t timeout_ms) {
    return queued("ncclBroadcast", user, stream, timeout_ms,
                  [&](const NcclFunctions& nccl, ncclComm* comm, cudaStream_t on) {
                    return nccl.broadcast(data, data, static_cast<std::size_t>(bytes), NcclType::int8, root, comm, on);
                  });
  };
  vtable.send = [](void* user, const void* data, std::int64_t bytes, std::int32_t to, void* stream,
                   std::int64_t timeout_ms) {
    return queued("ncclSend", user, stream, timeout_ms,
                  [&](const NcclFunctions& nccl, ncclComm* comm, cudaStream_t on) {
                    return nccl.send(data, static_cast<std::size_t>(bytes), NcclType::int8, to, comm, on);
                  });
  };
  vtable.recv = [](void* user, void* data, std::int64_t bytes, std::int32_t from, void* stream,
                   std::int64_t timeout_ms) {
    return queued("ncclRecv", user, stream, timeout_ms,
                  [&](const NcclFunctions& nccl, ncclComm* comm, cudaStream_t on) {
                    return nccl.receive(data, static_cast<std::size_t>(bytes), NcclType::int8, from, comm, on);
                  });
  };
  vtable.exchange = exchange;
  vtable.abort = [](void* user) { channel_of(user).abort(); };
  vtable.release = [](void* user) { delete &channel_of(user); };
  vtable.poll = [](void* user) { return guarded([&] { channel_of(user).check(); }); };
}

void prepare(std::int32_t device) {
  nccl_functions();
  check_device_exists(device);
}

void make_id(void* id) {
  NcclId made{};
  const NcclFunctions& nccl = nccl_functions();
  const NcclResult result = nccl.get_unique_id(&made);
  if (result != NcclResult::success) fail(GRADSTEP_ERR_IO, "ncclGetUniqueId: {}", nccl.error_string(result));
  std::memcpy(id, &made, sizeof made);
}

void connect(const void* id, std::int32_t device, std::int64_t timeout_ms, gradstep_comm_vtable* vtable, void** user) {
  NcclId made{};
  std::memcpy(&made, id, sizeof made);
  auto channel =
      std::make_unique<NcclChannel>(made, vtable->rank, vtable->world_size, device, Deadline::after_ms(timeout_ms));
  fill(*vtable);
  *user = channel.release();
}

void wrap(void* native, std::int32_t device, gradstep_comm_vtable* vtable, void** user) {
  auto channel = std::make_unique<NcclChannel>(static_cast<ncclComm*>(native), device);
  if (channel->rank() != vtable->rank || channel->ranks() != vtable->world_size) {
    fail_argument("nccl_comm: is rank {} of {}, expected rank {} of {}", channel->rank(), channel->ranks(),
                  vtable->rank, vtable->world_size);
  }
  fill(*vtable);
  *user = channel.release();
}

}  // namespace

const gradstep_plugin_device_engine kNcclEngine = {
    "nccl", GRADSTEP_DEVICE_CUDA, sizeof(NcclId), prepare, make_id, connect, wrap};

}  // namespace gradstep::cuda
