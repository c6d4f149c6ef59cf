// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/comm.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "c_api/comm_tensors.h"
#include "c_api/guard.h"
#include "c_api/handles.h"
#include "c_api/host_tensor.h"
#include "comm/communicators.h"
#include "comm/engines/engine_table.h"
#include "core/caught.h"
#include "core/host_callback.h"
#include "core/options.h"
#include "core/shape.h"
#include "gradstep/rendezvous.h"

using namespace gradstep;

namespace {

gradstep_comm_options default_options() {
  gradstep_comm_options options{};
  options.struct_size = sizeof options;
  options.world_size = 1;
  options.timeout_ms = kDefaultCommTimeoutMs;
  return options;
}

/// The options of ranks that a launcher has started.
gradstep_comm_options launched_options() {
  gradstep_comm_options options = default_options();
  options.rank = -1;
  options.engine = "auto";
  return options;
}

CommSettings settings_of(const gradstep_comm_options* options) {
  return comm_settings(read_struct_or(default_options(), "options", options));
}

CallbackOwner release_of(const gradstep_store* store) {
  if (store == nullptr) return {};
  const auto read = read_known_fields("options.store", store);
  return {read.release, read.user};
}

void check_op(std::int32_t op) {
  if (op < GRADSTEP_REDUCE_SUM || op > GRADSTEP_REDUCE_MIN) {
    fail_argument("op: is {}, expected {} (SUM), {} (MAX) or {} (MIN)", op, static_cast<int>(GRADSTEP_REDUCE_SUM),
                  static_cast<int>(GRADSTEP_REDUCE_MAX), static_cast<int>(GRADSTEP_REDUCE_MIN));
  }
}

void check_rank(const char* argument, std::int32_t rank, const Communicator& comm) {
  if (rank < 0 || rank >= comm.world_size()) {
    fail_argument("{}: is {}, expected 0 to {}", argument, rank, comm.world_size() - 1);
  }
}

void check_peer(const char* argument, std::int32_t peer, const Communicator& comm) {
  check_rank(argument, peer, comm);
  if (peer == comm.rank()) fail_argument("{}: is {}, this rank itself", argument, peer);
}

/// Where the tensors of a call are: those of a device have a plane there, whose queue is the call's stream from here
/// on.
struct Home {
  gradstep_device device{GRADSTEP_DEVICE_CPU, 0};
  CommPlane* plane = nullptr;

  /// call(comm), or call(the data plane) and a wait for it.
  template <class Call>
  void run(Communicator& comm, const Deadline& deadline, Call call) const {
    if (plane == nullptr) return call(comm);
    call(plane->data());
    plane->data().settle(deadline);
  }
};

/// That of the call's first tensor.
Home home_of_call(gradstep_comm& comm, const char* argument, const gradstep_tensor* tensor, void* stream) {
  if (tensor == nullptr) fail_argument("{}: is NULL", argument);
  Home home;
  if (home_of(tensor->device).device_type == GRADSTEP_DEVICE_CPU) {
    check_stream(stream);
    return home;
  }
  home.device = home_of(tensor->device);
  auto plane = std::find_if(comm.planes.begin(), comm.planes.end(),
                            [&](const auto& known) { return known->serves(home.device); });
  if (plane == comm.planes.end()) {
    plane = comm.planes.insert(plane, std::make_unique<CommPlane>(comm.impl, home.device));
  }
  home.plane = plane->get();
  home.plane->site().use(stream);
  return home;
}

const EngineEntry& engine_of(const char* name) {
  const auto expected = [] {
    return engine_names([](const EngineEntry& engine) { return engine.making != EngineMaking::apart; });
  };
  if (name == nullptr) fail_argument("options.engine: is NULL, expected {}", expected());
  const EngineEntry* engine = find_engine(name);
  if (engine == nullptr) fail_argument("options.engine: '{}' is unknown, expected {}", name, expected());
  return *engine;
}

bool meets(const EngineEntry& engine) { return engine.making == EngineMaking::meeting; }

/// Rank 0 asks for all.
std::int32_t ask_together(Communicator& comm, const gradstep_comm_options& options) {
  constexpr std::int32_t kUnknown = -1;
  const Deadline deadline = comm.deadline();
  if (options.world_size <= comm.world_size()) {
    fail_argument("options.world_size: is {}, expected more than the {} of comm", options.world_size,
                  comm.world_size());
  }
  std::int32_t waiting = kUnknown;
  std::exception_ptr failure;
  // A store that does not answer leaves time to say so.
  const Deadline answer = Deadline::after_ms(deadline.remaining_ms() / 2);
  if (comm.rank() == 0) failure = caught([&] { waiting = count_newcomers(options, comm.world_size(), answer); });
  comm.broadcast(&waiting, sizeof waiting, 0, deadline);
  if (failure) std::rethrow_exception(failure);
  if (waiting == kUnknown) fail(GRADSTEP_ERR_ABORTED, "rank 0 could not ask the store");
  return waiting;
}

}  // namespace

gradstep_status gradstep_comm_options_init(gradstep_comm_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, default_options()); });
}

gradstep_status gradstep_comm_create(gradstep_context* context, const gradstep_comm_options* options,
                                     gradstep_comm** out) noexcept {
  return guarded_math([&] {
    const auto read = options != nullptr ? read_known_fields("options", options) : launched_options();
    const CallbackOwner store = release_of(read.store);
    if (options != nullptr) check_unknown_fields("options", options);
    const auto shared_context = object_of(context);
    check_out("out", out);
    const CommSettings settings = comm_settings(read);
    switch (engine_of(read.engine).making) {
      case EngineMaking::alone:
        if (read.rank != 0 || read.world_size != 1) {
          fail_argument("options: rank {} of world_size {}, but the self engine is rank 0 of 1", read.rank,
                        read.world_size);
        }
        hand_out(out, make_self_communicator(shared_context, settings));
        break;
      case EngineMaking::meeting:
        hand_out(out, make_met_communicator(shared_context, read));
        break;
      case EngineMaking::launched:
        hand_out(out, make_mpi_communicator(shared_context, read, nullptr));
        break;
      case EngineMaking::apart:
        fail_argument("options.engine: '{0}' is made by gradstep_comm_create_{0}", read.engine);
    }
  });
}

gradstep_status gradstep_comm_create_local(gradstep_context* context, int32_t world_size,
                                           gradstep_comm** out) noexcept {
  return gradstep_comm_create_local_ex(context, world_size, nullptr, out);
}

gradstep_status gradstep_comm_create_local_ex(gradstep_context* context, int32_t world_size,
                                              const gradstep_comm_options* options, gradstep_comm** out) noexcept {
  return guarded([&] {
    check_out("out", out);
    const auto impls = make_local_communicators(object_of(context), world_size, settings_of(options));
    std::vector<std::unique_ptr<gradstep_comm>> handles;
    for (const auto& impl : impls) handles.emplace_back(std::make_unique<gradstep_comm>())->impl = impl;
    for (std::size_t r = 0; r < handles.size(); ++r) out[r] = handles[r].release();
  });
}

gradstep_status gradstep_comm_create_host(gradstep_context* context, const gradstep_comm_vtable* vtable, void* user,
                                          gradstep_comm** out) noexcept {
  return gradstep_comm_create_host_ex(context, vtable, user, nullptr, out);
}

gradstep_status gradstep_comm_create_host_ex(gradstep_context* context, const gradstep_comm_vtable* vtable, void* user,
                                             const gradstep_comm_options* options, gradstep_comm** out) noexcept {
  return guarded_math([&] {
    const auto read = read_known_fields("vtable", vtable);
    CallbackOwner release(read.release, user);
    check_unknown_fields("vtable", vtable);
    const auto shared_context = object_of(context);
    check_out("out", out);
    const CommSettings settings = settings_of(options);
    release.hand_over();
    hand_out(out, make_host_communicator(shared_context, read, user, settings));
  });
}

gradstep_status gradstep_comm_wrap_mpi(gradstep_context* context, const void* comm_address,
                                       gradstep_comm** out) noexcept {
  return gradstep_comm_wrap_mpi_ex(context, comm_address, nullptr, out);
}

gradstep_status gradstep_comm_wrap_mpi_ex(gradstep_context* context, const void* comm_address,
                                          const gradstep_comm_options* options, gradstep_comm** out) noexcept {
  return guarded_math([&] {
    const auto shared_context = object_of(context);
    if (comm_address == nullptr) fail_argument("comm_address: is NULL");
    check_out("out", out);
    const auto read = read_struct_or(default_options(), "options", options);
    hand_out(out, make_mpi_communicator(shared_context, read, comm_address));
  });
}

gradstep_status gradstep_comm_attach_nccl(gradstep_comm* comm, int32_t device, void* nccl_comm,
                                          gradstep_comm** out) noexcept {
  return with(comm, [&](Communicator& impl) {
    check_out("out", out);
    hand_out(out, impl.with_device({GRADSTEP_DEVICE_CUDA, device}, nccl_comm, impl.deadline()));
  });
}

void gradstep_comm_destroy(gradstep_comm* comm) noexcept { destroy(comm); }

gradstep_status gradstep_comm_unique_id(const char* engine, void* buf, size_t cap, size_t* len) noexcept {
  return gradstep_comm_unique_id_ex(engine, nullptr, buf, cap, len);
}

gradstep_status gradstep_comm_unique_id_ex(const char* engine, const char* network_interface, void* buf, size_t cap,
                                           size_t* len) noexcept {
  return guarded([&] {
    check_out("engine", engine);
    const EngineEntry* entry = find_engine(engine);
    if (entry == nullptr || !meets(*entry)) {
      fail_argument("engine: '{}' has no unique id, expected {}", engine, engine_names(meets));
    }
    if (buf == nullptr && cap != 0) fail_argument("buf: is NULL with cap = {}", cap);
    if (buf != nullptr) {
      if (cap < sizeof(UniqueId)) fail_argument("cap: is {}, expected at least {}", cap, sizeof(UniqueId));
      const UniqueId bytes = make_unique_id(network_interface);
      std::memcpy(buf, bytes.data(), bytes.size());
    }
    if (len != nullptr) *len = sizeof(UniqueId);
  });
}

gradstep_status gradstep_rendezvous_pending(gradstep_comm* comm, const gradstep_comm_options* options,
                                            int32_t* pending) noexcept {
  return guarded([&] {
    const auto read = read_known_fields("options", &check_out("options", options));
    const CallbackOwner store = release_of(read.store);
    check_unknown_fields("options", options);
    std::int32_t& out = check_out("pending", pending);
    if (!meets(engine_of(read.engine))) {
      fail_argument("options.engine: '{}' has no rendezvous, expected {}", read.engine, engine_names(meets));
    }
    if (comm == nullptr) {
      out = count_newcomers(read, 0, Deadline::after_ms(kDefaultCommTimeoutMs));
      return;
    }
    const InUse use(comm);
    out = ask_together(*use->impl, read);
  });
}

gradstep_status gradstep_comm_rank(gradstep_comm* comm, int32_t* rank) noexcept {
  return with(comm, [&](Communicator& impl) { check_out("rank", rank) = impl.rank(); });
}

gradstep_status gradstep_comm_world_size(gradstep_comm* comm, int32_t* world_size) noexcept {
  return with(comm, [&](Communicator& impl) { check_out("world_size", world_size) = impl.world_size(); });
}

gradstep_status gradstep_comm_local_rank(gradstep_comm* comm, int32_t* local_rank) noexcept {
  return with(comm, [&](Communicator& impl) { check_out("local_rank", local_rank) = gradstep::local_rank(impl); });
}

gradstep_status gradstep_comm_engine(gradstep_comm* comm, char* buf, size_t cap, size_t* len) noexcept {
  return with(comm, [&](Communicator& impl) { write_text(impl.engine(), buf, cap, len); });
}

gradstep_status gradstep_comm_all_reduce(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t op,
                                         void* stream) noexcept {
  return with(comm, [&](Communicator& impl) {
    const Home home = home_of_call(*comm, "tensor", tensor, stream);
    const Deadline deadline = impl.deadline();
    check_op(op);
    const Array array = to_contiguous_array("tensor", tensor, home.device);
    home.run(impl, deadline, [&](auto& ranks) { ranks.all_reduce(array, op, 1, deadline); });
  });
}

gradstep_status gradstep_comm_all_gather(gradstep_comm* comm, const gradstep_tensor* input,
                                         const gradstep_tensor* output, void* stream) noexcept {
  return with(comm, [&](Communicator& impl) {
    const Home home = home_of_call(*comm, "input", input, stream);
    const Deadline deadline = impl.deadline();
    const Bytes in = to_bytes("input", input, home.device);
    const Bytes out = to_bytes("output", output, home.device);
    check_same_dtype(in, out);
    check_elements(out, in.elements, impl.world_size());
    check_overlap(in, out, in.bytes() * impl.rank());
    home.run(impl, deadline, [&](auto& ranks) { ranks.all_gather(in.data, out.data, in.bytes(), deadline); });
  });
}

gradstep_status gradstep_comm_all_gather_v(gradstep_comm* comm, const gradstep_tensor* input,
                                           const gradstep_tensor* output, const int64_t* counts,
                                           void* stream) noexcept {
  return with(comm, [&](Communicator& impl) {
    const Home home = home_of_call(*comm, "input", input, stream);
    const Deadline deadline = impl.deadline();
    const Bytes in = to_bytes("input", input, home.device);
    const Bytes out = to_bytes("output", output, home.device);
    check_same_dtype(in, out);
    const auto blocks = blocks_of(counts, impl.world_size(), in, impl.rank());
    check_elements(out, blocks.total_elements);
    check_overlap(in, out, blocks.own_offset);
    home.run(impl, deadline, [&](auto& ranks) { ranks.all_gather_v(in.data, out.data, blocks.bytes, deadline); });
  });
}

gradstep_status gradstep_comm_reduce_scatter(gradstep_comm* comm, const gradstep_tensor* input,
                                             const gradstep_tensor* output, int32_t op, void* stream) noexcept {
  return with(comm, [&](Communicator& impl) {
    const Home home = home_of_call(*comm, "input", input, stream);
    const Deadline deadline = impl.deadline();
    check_op(op);
    const Array in = to_contiguous_array("input", input, home.device);
    const Array out = to_contiguous_array("output", output, home.device);
    const Bytes in_bytes = to_bytes("input", input, home.device);
    const Bytes out_bytes = to_bytes("output", output, home.device);
    check_same_dtype(in_bytes, out_bytes);
    check_elements(in_bytes, out.size, impl.world_size());
    check_overlap(out_bytes, in_bytes, out.bytes() * impl.rank());
    home.run(impl, deadline, [&](auto& ranks) { ranks.reduce_scatter(in, out, op, deadline); });
  });
}

gradstep_status gradstep_comm_broadcast(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t root,
                                        void* stream) noexcept {
  return with(comm, [&](Communicator& impl) {
    const Home home = home_of_call(*comm, "tensor", tensor, stream);
    const Deadline deadline = impl.deadline();
    check_rank("root", root, impl);
    const Bytes bytes = to_bytes("tensor", tensor, home.device);
    home.run(impl, deadline, [&](auto& ranks) { ranks.broadcast(bytes.data, bytes.bytes(), root, deadline); });
  });
}

gradstep_status gradstep_comm_send(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t to,
                                   void* stream) noexcept {
  return with(comm, [&](Communicator& impl) {
    const Home home = home_of_call(*comm, "tensor", tensor, stream);
    const Deadline deadline = impl.deadline();
    check_peer("to", to, impl);
    const Bytes bytes = to_bytes("tensor", tensor, home.device);
    home.run(impl, deadline, [&](auto& ranks) { ranks.send(bytes.data, bytes.bytes(), to, deadline); });
  });
}

gradstep_status gradstep_comm_recv(gradstep_comm* comm, const gradstep_tensor* tensor, int32_t from,
                                   void* stream) noexcept {
  return with(comm, [&](Communicator& impl) {
    const Home home = home_of_call(*comm, "tensor", tensor, stream);
    const Deadline deadline = impl.deadline();
    check_peer("from", from, impl);
    const Bytes bytes = to_bytes("tensor", tensor, home.device);
    home.run(impl, deadline, [&](auto& ranks) { ranks.recv(bytes.data, bytes.bytes(), from, deadline); });
  });
}

gradstep_status gradstep_comm_barrier(gradstep_comm* comm) noexcept {
  return with(comm, [](Communicator& impl) { impl.barrier(impl.deadline()); });
}

gradstep_status gradstep_comm_vote(gradstep_comm* comm, int32_t yes, int32_t* all_yes) noexcept {
  return with(comm, [&](Communicator& impl) {
    check_out("all_yes", all_yes);
    *all_yes = impl.vote(yes != 0, impl.deadline()) ? 1 : 0;
  });
}

gradstep_status gradstep_comm_split(gradstep_comm* comm, int32_t color, int32_t key, gradstep_comm** out) noexcept {
  return with(comm, [&](Communicator& impl) {
    check_out("out", out);
    auto part = impl.split(color, key, impl.deadline());
    if (part == nullptr) {
      *out = nullptr;
    } else {
      hand_out(out, std::move(part));
    }
  });
}

gradstep_status gradstep_comm_dup(gradstep_comm* comm, gradstep_comm** out) noexcept {
  return with(comm, [&](Communicator& impl) {
    check_out("out", out);
    hand_out(out, impl.dup(impl.deadline()));
  });
}

gradstep_status gradstep_comm_abort(gradstep_comm* comm) noexcept {
  return guarded([&] { object_of(comm)->abort(); });
}

gradstep_status gradstep_comm_status(gradstep_comm* comm, gradstep_status* status, char* buf, size_t cap,
                                     size_t* len) noexcept {
  return guarded([&] {
    const auto impl = object_of(comm);
    check_out("status", status);
    const Communicator::Status current = impl->status();
    write_text(current.text, buf, cap, len);
    *status = current.code;
  });
}

gradstep_status gradstep_comm_stats(gradstep_comm* comm, gradstep_comm_statistics* stats) noexcept {
  return with(comm, [&](Communicator& impl) { write_struct("stats", stats, impl.stats()); });
}
