// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the plugin uses of NCCL, between ranks that are threads. A call or a group is one piece of a stream: its turn
// has come when all before it in the stream is done, and it is done when those of its peers have had their turns, too;
// what comes behind it waits. Communicators do not block: connecting, and the first call, are done a while after they
// return. A use of a communicator that is still busy, or was aborted, ends the program. So does work for two
// communicators of a device at once: from a call on until it is done, or aborted.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "cuda/emulation/device.h"
#include "libraries/nccl.h"

using gradstep::cuda::NcclConfig;
using gradstep::cuda::NcclId;
using gradstep::cuda::NcclOperation;
using gradstep::cuda::NcclResult;
using gradstep::cuda::NcclType;

namespace {

enum class Kind { all_reduce, all_gather, reduce_scatter, broadcast, send, receive };

struct Piece;

/// Ranks that are connected.
struct World {
  explicit World(std::size_t ranks) : members(ranks) {}

  std::vector<ncclComm*> members;
  std::map<std::int64_t, std::vector<std::shared_ptr<Piece>>> collectives;  // by number, then rank
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Piece>>> sends;  // by sender and receiver
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Piece>>> receives;
};

}  // namespace

struct ncclComm {
  std::shared_ptr<World> world;
  int rank = 0;
  int device = 0;
  int busy = 0;  // so often it is still in progress
  bool connected = false;
  bool called = false;
  bool aborted = false;
  std::int64_t collectives = 0;  // whose turns have come

  int ranks() const { return static_cast<int>(world->members.size()); }
};

namespace {

/// Peers may still fetch: a process that does not wait for it ends before.
constexpr int kFinalizePolls = 20;
/// Long enough for another thread to come between, if it may.
constexpr int kFirstCallPolls = 4;

struct Piece {
  Kind kind = Kind::send;
  const void* send = nullptr;
  void* receive = nullptr;
  std::size_t count = 0;
  NcclType type = NcclType::int8;
  NcclOperation operation = NcclOperation::sum;
  int peer = 0;  ///< or root
  bool done = false;
};

/// A call, or a group of them, in a stream.
struct Group {
  ncclComm* comm = nullptr;
  std::vector<std::shared_ptr<Piece>> pieces;
  bool has_turn = false;
};

struct Library {
  std::map<std::array<char, sizeof(NcclId)>, std::shared_ptr<World>> worlds;
  std::map<int, int> failures;     // by rank
  std::map<int, ncclComm*> given;  // what work is being given to, by device
  std::int64_t ids = 0;
  std::int64_t alive = 0;
  bool hangs = false;
  bool blocks = false;
  bool keeps_busy = false;
};

// Leaked: threads that give communicators back may outlive static destructors.
Library& library() {
  static auto* instance = new Library;
  return *instance;
}

[[noreturn]] void complain(const char* what) {
  std::fprintf(stderr, "emulation: NCCL: %s\n", what);
  std::abort();
}

std::size_t size_of(NcclType type) {
  switch (type) {
    case NcclType::int8:
      return 1;
    case NcclType::int32:
    case NcclType::float32:
      return 4;
    default:
      return 8;
  }
}

template <class T>
T combine(NcclOperation operation, T a, T b) {
  if (operation == NcclOperation::max) return std::max(a, b);
  if (operation == NcclOperation::min) return std::min(a, b);
  return static_cast<T>(a + b);
}

/// In the reverse order of ranks: no other order is promised.
template <class T>
void reduce(const std::vector<std::shared_ptr<Piece>>& pieces, std::size_t from, std::size_t count, T* to) {
  std::vector<T> sums(count);
  for (std::size_t i = 0; i < count; ++i) {
    T sum = static_cast<const T*>(pieces.back()->send)[from + i];
    for (std::size_t r = pieces.size() - 1; r-- > 0;) {
      sum = combine(pieces[0]->operation, sum, static_cast<const T*>(pieces[r]->send)[from + i]);
    }
    sums[i] = sum;
  }
  std::copy(sums.begin(), sums.end(), to);
}

template <class Body>
void with_type(NcclType type, Body body) {
  switch (type) {
    case NcclType::int32:
      return body(std::int32_t{});
    case NcclType::int64:
      return body(std::int64_t{});
    case NcclType::float32:
      return body(float{});
    case NcclType::float64:
      return body(double{});
    default:
      complain("a type that nobody sums");
  }
}

void check_memory(const Piece& piece, int ranks) {
  const std::size_t bytes = piece.count * size_of(piece.type);
  const auto check = [&](const void* data, std::size_t length) {
    if (length > 0) gradstep::emulation::check_access("nccl", data, length, 1);
  };
  const auto blocks = static_cast<std::size_t>(ranks);
  if (piece.kind != Kind::receive) check(piece.send, piece.kind == Kind::reduce_scatter ? bytes * blocks : bytes);
  if (piece.kind != Kind::send) check(piece.receive, piece.kind == Kind::all_gather ? bytes * blocks : bytes);
}

/// By all ranks at once, whose pieces these are.
void perform(const std::vector<std::shared_ptr<Piece>>& pieces) {
  const Piece& first = *pieces[0];
  const std::size_t bytes = first.count * size_of(first.type);
  for (const auto& piece : pieces) {
    if (piece->kind != first.kind || piece->count != first.count || piece->type != first.type ||
        piece->operation != first.operation || piece->peer != first.peer) {
      complain("ranks make different calls");
    }
  }
  std::vector<std::vector<std::byte>> results;
  for (std::size_t r = 0; r < pieces.size(); ++r) {
    auto& result = results.emplace_back(first.kind == Kind::all_gather ? bytes * pieces.size() : bytes);
    if (first.kind == Kind::broadcast) {
      std::memcpy(result.data(), pieces[static_cast<std::size_t>(first.peer)]->send, bytes);
    } else if (first.kind == Kind::all_gather) {
      for (std::size_t q = 0; q < pieces.size(); ++q) std::memcpy(result.data() + q * bytes, pieces[q]->send, bytes);
    } else {
      const std::size_t from = first.kind == Kind::reduce_scatter ? r * first.count : 0;
      with_type(first.type,
                [&]<class T>(T) { reduce(pieces, from, first.count, reinterpret_cast<T*>(result.data())); });
    }
  }
  for (std::size_t r = 0; r < pieces.size(); ++r) {
    std::memcpy(pieces[r]->receive, results[r].data(), results[r].size());
    pieces[r]->done = true;
  }
}

void match(World& world, int from, int to) {
  auto& sent = world.sends[{from, to}];
  auto& received = world.receives[{from, to}];
  while (!sent.empty() && !received.empty()) {
    Piece& out = *sent.front();
    Piece& in = *received.front();
    if (out.count * size_of(out.type) != in.count * size_of(in.type)) complain("a send and its receive differ in size");
    std::memcpy(in.receive, out.send, out.count * size_of(out.type));
    in.done = out.done = true;
    sent.pop_front();
    received.pop_front();
  }
}

void take_turn(Group& group) {
  ncclComm& comm = *group.comm;
  World& world = *comm.world;
  group.has_turn = true;
  for (const auto& piece : group.pieces) {
    check_memory(*piece, comm.ranks());
    if (piece->kind == Kind::send) {
      world.sends[{comm.rank, piece->peer}].push_back(piece);
      match(world, comm.rank, piece->peer);
    } else if (piece->kind == Kind::receive) {
      world.receives[{piece->peer, comm.rank}].push_back(piece);
      match(world, piece->peer, comm.rank);
    } else {
      const std::int64_t number = comm.collectives++;
      auto& all = world.collectives[number];
      all.resize(world.members.size());
      all[static_cast<std::size_t>(comm.rank)] = piece;
      if (std::ranges::any_of(all, [](const auto& one) { return one == nullptr; })) continue;
      perform(all);
      world.collectives.erase(number);
    }
  }
}

/// Under the machine's lock.
bool is_done(Group& group) {
  if (group.comm->aborted) return true;
  if (library().hangs) return false;
  if (!group.has_turn) gradstep::emulation::at_device([&] { take_turn(group); });
  return std::ranges::all_of(group.pieces, [](const auto& piece) { return piece->done; });
}

struct Queued {
  ncclComm* comm;
  cudaStream_t stream;
  Piece piece;
};

thread_local int depth = 0;
thread_local std::vector<Queued> pending;

void check_usable(const ncclComm* comm) {
  if (comm->aborted) complain("a communicator that was aborted is used");
}

/// With the machine's lock, as what follows.
void begin_giving(ncclComm* comm) {
  ncclComm*& given = library().given[comm->device];
  if (given != nullptr && given != comm) complain("two communicators of a device are given work at once");
  given = comm;
}

void end_giving(const ncclComm* comm) {
  ncclComm*& given = library().given[comm->device];
  if (given == comm) given = nullptr;
}

NcclResult put_pending() {
  NcclResult result = NcclResult::success;
  std::vector<Queued> all = std::exchange(pending, {});
  while (!all.empty()) {
    auto group = std::make_shared<Group>();
    group->comm = all.front().comm;
    const cudaStream_t stream = all.front().stream;
    for (const Queued& one : all) {
      if (one.comm != group->comm) continue;
      if (one.stream != stream) complain("a group of one communicator has several streams");
      group->pieces.push_back(std::make_shared<Piece>(one.piece));
    }
    std::erase_if(all, [&](const Queued& one) { return one.comm == group->comm; });
    if (!group->comm->connected || group->comm->busy > 0) complain("a call before the one before it is done");
    if (!gradstep::emulation::put_when(stream, [group] { return is_done(*group); })) {
      end_giving(group->comm);
      return NcclResult::invalid_usage;
    }
    if (!group->comm->called) {
      group->comm->called = true;
      group->comm->busy = kFirstCallPolls;
      result = NcclResult::in_progress;
    } else {
      end_giving(group->comm);
    }
  }
  return result;
}

bool is_blocked(const ncclComm* comm) {
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  return library().blocks && !comm->aborted;
}

NcclResult put(ncclComm* comm, cudaStream_t stream, const Piece& piece) {
  {
    const std::lock_guard lock(gradstep::emulation::machine_mutex());
    check_usable(comm);
    begin_giving(comm);
  }
  bool was_blocked = false;
  for (; is_blocked(comm); was_blocked = true) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  if (was_blocked && comm->aborted) return NcclResult::internal_error;
  check_usable(comm);
  if (gradstep::emulation::current_device_number() != comm->device) complain("another device is current");
  if (piece.peer < 0 || piece.peer >= comm->ranks()) {
    end_giving(comm);
    return NcclResult::invalid_argument;
  }
  pending.push_back({comm, stream, piece});
  return depth > 0 ? NcclResult::success : put_pending();
}

NcclResult get_unique_id(NcclId* id) {
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  std::memset(id, 0, sizeof *id);
  const std::int64_t number = ++library().ids;
  std::memcpy(id, &number, sizeof number);
  return NcclResult::success;
}

NcclResult init(ncclComm** comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  if (config->magic != 0xcafebeef || config->size != sizeof *config || config->blocking != 0) {
    return NcclResult::invalid_argument;
  }
  std::array<char, sizeof(NcclId)> key{};
  std::memcpy(key.data(), &id, sizeof id);
  auto& world = library().worlds[key];
  if (world == nullptr) world = std::make_shared<World>(static_cast<std::size_t>(ranks));
  if (world->members.at(static_cast<std::size_t>(rank)) != nullptr) return NcclResult::invalid_usage;
  *comm = new ncclComm;
  (*comm)->world = world;
  (*comm)->rank = rank;
  (*comm)->device = gradstep::emulation::current_device_number();
  world->members[static_cast<std::size_t>(rank)] = *comm;
  ++library().alive;
  return NcclResult::in_progress;
}

NcclResult get_async_error(ncclComm* comm, NcclResult* error) {
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  check_usable(comm);
  *error = NcclResult::success;
  const auto& members = comm->world->members;
  if (!comm->connected) {
    comm->connected =
        !library().hangs && std::ranges::all_of(members, [](const ncclComm* member) { return member != nullptr; });
    if (!comm->connected) *error = NcclResult::in_progress;
  } else if (comm->busy > 0) {
    if (!library().keeps_busy && --comm->busy == 0) end_giving(comm);
    *error = NcclResult::in_progress;
  }
  if (const auto failure = library().failures.find(comm->rank); failure != library().failures.end()) {
    *error = static_cast<NcclResult>(failure->second);
  }
  return NcclResult::success;
}

NcclResult finalize(ncclComm* comm) {
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  check_usable(comm);
  comm->busy = kFinalizePolls;
  return NcclResult::in_progress;
}

/// Memory stays: streams may still hold what was queued.
NcclResult end(ncclComm* comm) {
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  check_usable(comm);
  end_giving(comm);
  comm->aborted = true;
  --library().alive;
  return NcclResult::success;
}

NcclResult count(const ncclComm* comm, int* ranks) {
  *ranks = comm->ranks();
  return NcclResult::success;
}

NcclResult user_rank(const ncclComm* comm, int* rank) {
  *rank = comm->rank;
  return NcclResult::success;
}

NcclResult device_of(const ncclComm* comm, int* device) {
  *device = comm->device;
  return NcclResult::success;
}

NcclResult all_reduce(const void* send, void* receive, std::size_t count, NcclType type, NcclOperation operation,
                      ncclComm* comm, cudaStream_t stream) {
  return put(comm, stream, {Kind::all_reduce, send, receive, count, type, operation});
}

NcclResult all_gather(const void* send, void* receive, std::size_t count, NcclType type, ncclComm* comm,
                      cudaStream_t stream) {
  return put(comm, stream, {Kind::all_gather, send, receive, count, type});
}

NcclResult reduce_scatter(const void* send, void* receive, std::size_t count, NcclType type, NcclOperation operation,
                          ncclComm* comm, cudaStream_t stream) {
  return put(comm, stream, {Kind::reduce_scatter, send, receive, count, type, operation});
}

NcclResult broadcast(const void* send, void* receive, std::size_t count, NcclType type, int root, ncclComm* comm,
                     cudaStream_t stream) {
  return put(comm, stream, {Kind::broadcast, send, receive, count, type, NcclOperation::sum, root});
}

NcclResult send(const void* data, std::size_t count, NcclType type, int peer, ncclComm* comm, cudaStream_t stream) {
  return put(comm, stream, {Kind::send, data, nullptr, count, type, NcclOperation::sum, peer});
}

NcclResult receive(void* data, std::size_t count, NcclType type, int peer, ncclComm* comm, cudaStream_t stream) {
  return put(comm, stream, {Kind::receive, nullptr, data, count, type, NcclOperation::sum, peer});
}

NcclResult group_start() {
  ++depth;
  return NcclResult::success;
}

NcclResult group_end() {
  const std::lock_guard lock(gradstep::emulation::machine_mutex());
  if (depth-- == 0) return NcclResult::invalid_usage;
  return depth > 0 ? NcclResult::success : put_pending();
}

const char* error_string(NcclResult result) {
  switch (result) {
    case NcclResult::remote_error:
      return "remote process exited or there was a network error";
    case NcclResult::system_error:
      return "unhandled system error";
    default:
      return "an error of NCCL";
  }
}

template <class Function>
void* address_of(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

namespace gradstep::emulation {

const std::map<std::string, void*>& nccl_symbols() {
  static const std::map<std::string, void*> all = {{"ncclGetUniqueId", address_of(get_unique_id)},
                                                   {"ncclCommInitRankConfig", address_of(init)},
                                                   {"ncclCommFinalize", address_of(finalize)},
                                                   {"ncclCommDestroy", address_of(end)},
                                                   {"ncclCommAbort", address_of(end)},
                                                   {"ncclCommGetAsyncError", address_of(get_async_error)},
                                                   {"ncclCommCount", address_of(count)},
                                                   {"ncclCommUserRank", address_of(user_rank)},
                                                   {"ncclCommCuDevice", address_of(device_of)},
                                                   {"ncclAllReduce", address_of(all_reduce)},
                                                   {"ncclAllGather", address_of(all_gather)},
                                                   {"ncclReduceScatter", address_of(reduce_scatter)},
                                                   {"ncclBroadcast", address_of(broadcast)},
                                                   {"ncclSend", address_of(send)},
                                                   {"ncclRecv", address_of(receive)},
                                                   {"ncclGroupStart", address_of(group_start)},
                                                   {"ncclGroupEnd", address_of(group_end)},
                                                   {"ncclGetErrorString", address_of(error_string)}};
  return all;
}

void hang_nccl(bool hangs) {
  const std::lock_guard lock(machine_mutex());
  library().hangs = hangs;
}

void block_nccl(bool blocks) {
  const std::lock_guard lock(machine_mutex());
  library().blocks = blocks;
}

void keep_nccl_busy(bool keeps) {
  const std::lock_guard lock(machine_mutex());
  library().keeps_busy = keeps;
}

void fail_nccl(int rank, int result) {
  const std::lock_guard lock(machine_mutex());
  if (result == 0) {
    library().failures.erase(rank);
  } else {
    library().failures[rank] = result;
  }
}

std::int64_t nccl_communicators() {
  const std::lock_guard lock(machine_mutex());
  return library().alive;
}

}  // namespace gradstep::emulation
