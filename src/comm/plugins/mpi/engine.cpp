// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The mpi engine: messages and MPI's own all-reduce, on a duplicate of the host's communicator. Everything is
// non-blocking and polled, so that deadlines and aborts are kept; sums in the order of ranks are the library's.
//
// MPI makes communicators of some of the ranks by calls that block. So a group's channel is a tag of its own on the
// duplicate that it comes from, whose messages no other channel sees.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "comm/plugins/failure.h"
#include "comm/plugins/mpi/library.h"
#include "comm/plugins/mpi/request.h"
#include "comm/plugins/plugin.h"
#include "gradstep/tensor.h"

namespace gradstep::mpi_plugin {

using namespace plugin;

namespace {

// MPI counts in int. Messages of one pair keep their order, so a long one goes in several.
constexpr std::int64_t kChunk = std::int64_t{1} << 30;

/// A duplicate of a communicator, which the channels on it share.
class Duplicate {
 public:
  /// Collective.
  Duplicate(MPI_Comm original, const std::atomic<bool>& aborted, const Deadline& deadline) {
    Requests requests;
    check(MPI_Comm_idup(original, &comm_, requests.add()), "MPI_Comm_idup");
    requests.wait_all(aborted, deadline);
    check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }
  // A communicator with unfinished calls, one of a host that has ended MPI, and the parent's in a forked child are
  // left.
  ~Duplicate() {
    if (!broken_ && process_ == ::getpid() && library_runs()) MPI_Comm_free(&comm_);
  }
  Duplicate(const Duplicate&) = delete;
  Duplicate& operator=(const Duplicate&) = delete;

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  void give_up() noexcept { broken_ = true; }

  /// One that no rank gives out a second time: each has every size()-th.
  int new_tag() {
    int found = 0;
    int* highest = nullptr;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&highest), &found), "MPI_Comm_get_attr");
    const std::int64_t tag = std::int64_t{++tags_} * size_ + rank_;
    if (tag > (found != 0 ? *highest : kLeastHighestTag)) {
      fail(GRADSTEP_ERR_OUT_OF_MEMORY, "MPI has no tag left for another channel of a group");
    }
    return static_cast<int>(tag);
  }

 private:
  static constexpr int kLeastHighestTag = 32767;  // that the standard allows

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::atomic<std::int32_t> tags_{0};
  std::atomic<bool> broken_{false};
  pid_t process_ = ::getpid();
};

class MpiEngine {
 public:
  /// All ranks of a duplicate.
  explicit MpiEngine(std::shared_ptr<Duplicate> duplicate)
      : duplicate_(std::move(duplicate)), members_(static_cast<std::size_t>(duplicate_->size())) {
    std::iota(members_.begin(), members_.end(), 0);
    rank_ = duplicate_->rank();
  }
  /// An engine of the ranks `members`, by messages with a tag of their own.
  MpiEngine(std::shared_ptr<Duplicate> duplicate, std::vector<int> members, int tag)
      : duplicate_(std::move(duplicate)), members_(std::move(members)), tag_(tag) {
    rank_ = static_cast<int>(std::find(members_.begin(), members_.end(), duplicate_->rank()) - members_.begin());
  }
  // Calls that were broken off may leave unfinished ones behind.
  ~MpiEngine() {
    if (aborted_) duplicate_->give_up();
  }
  MpiEngine(const MpiEngine&) = delete;
  MpiEngine& operator=(const MpiEngine&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  bool is_whole() const { return tag_ == kTag; }

  void post_send(const void* data, std::int64_t bytes, int to) {
    for_chunks(bytes, [&](std::int64_t begin, int count) {
      check(MPI_Isend(static_cast<const char*>(data) + begin, count, MPI_BYTE, member(to), tag_, duplicate_->comm(),
                      requests_.add()),
            "MPI_Isend");
    });
  }
  void post_recv(void* data, std::int64_t bytes, int from) {
    for_chunks(bytes, [&](std::int64_t begin, int count) {
      check(MPI_Irecv(static_cast<char*>(data) + begin, count, MPI_BYTE, member(from), tag_, duplicate_->comm(),
                      requests_.add_receive(from, count)),
            "MPI_Irecv");
    });
  }
  /// Only of a whole duplicate: MPI's collectives have no tags.
  void all_reduce(void* data, std::int64_t elements, MPI_Datatype type, std::int64_t element_bytes, MPI_Op op) {
    for_chunks(elements, [&](std::int64_t begin, int count) {
      check(MPI_Iallreduce(MPI_IN_PLACE, static_cast<char*>(data) + begin * element_bytes, count, type, op,
                           duplicate_->comm(), requests_.add()),
            "MPI_Iallreduce");
    });
  }
  std::unique_ptr<MpiEngine> dup(const Deadline& deadline) {
    if (is_whole()) {
      return std::make_unique<MpiEngine>(std::make_shared<Duplicate>(duplicate_->comm(), aborted_, deadline));
    }
    std::vector<std::int32_t> everyone(members_.size());
    std::iota(everyone.begin(), everyone.end(), 0);
    return split(everyone, deadline);
  }
  /// The first member chooses the tag and tells it to the others over this channel.
  std::unique_ptr<MpiEngine> split(std::span<const std::int32_t> members, const Deadline& deadline) {
    auto tag = std::make_unique<int>(0);
    try {
      if (members.front() == rank_) {
        *tag = duplicate_->new_tag();
        for (const std::int32_t other : members.subspan(1)) post_send(tag.get(), sizeof *tag, other);
      } else {
        post_recv(tag.get(), sizeof *tag, members.front());
      }
      finish(deadline);
    } catch (...) {
      static_cast<void>(tag.release());  // MPI may still have it
      throw;
    }
    std::vector<int> places;
    for (const std::int32_t each : members) places.push_back(member(each));
    return std::make_unique<MpiEngine>(duplicate_, std::move(places), *tag);
  }

  void finish(const Deadline& deadline) { requests_.wait_all(aborted_, deadline); }
  void abort() noexcept { aborted_ = true; }
  void give_up() noexcept { duplicate_->give_up(); }

 private:
  static constexpr int kTag = 0;

  int member(int of) const { return members_[static_cast<std::size_t>(of)]; }

  template <class Body>
  static void for_chunks(std::int64_t count, Body&& body) {
    for (std::int64_t begin = 0; begin < count; begin += kChunk) {
      body(begin, static_cast<int>(std::min(kChunk, count - begin)));
    }
  }

  std::shared_ptr<Duplicate> duplicate_;
  std::vector<int> members_;  // where each rank is on the duplicate
  int tag_ = kTag;
  int rank_ = 0;
  Requests requests_;
  std::atomic<bool> aborted_{false};
};

MpiEngine& engine_of(void* user) { return *static_cast<MpiEngine*>(user); }

/// The body of a vtable function that talks to peers.
template <class Body>
gradstep_status talk(void* user, std::int64_t timeout_ms, Body&& body) noexcept {
  MpiEngine& engine = engine_of(user);
  const gradstep_status status = at_border([&] {
    if (!library_runs()) fail(GRADSTEP_ERR_INVALID_STATE, "MPI was finalized");
    body(engine, Deadline::after_ms(timeout_ms));
  });
  if (status != GRADSTEP_OK) engine.give_up();
  return status;
}

gradstep_status send(void* user, const void* data, std::int64_t bytes, std::int32_t to, void*,
                     std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](MpiEngine& engine, const Deadline& deadline) {
    engine.post_send(data, bytes, to);
    engine.finish(deadline);
  });
}

gradstep_status recv(void* user, void* data, std::int64_t bytes, std::int32_t from, void*, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](MpiEngine& engine, const Deadline& deadline) {
    engine.post_recv(data, bytes, from);
    engine.finish(deadline);
  });
}

gradstep_status send_recv(void* user, const void* send, std::int64_t send_bytes, std::int32_t to, void* receive,
                          std::int64_t receive_bytes, std::int32_t from, void*, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](MpiEngine& engine, const Deadline& deadline) {
    engine.post_recv(receive, receive_bytes, from);
    engine.post_send(send, send_bytes, to);
    engine.finish(deadline);
  });
}

gradstep_status exchange(void* user, const void* const* send, const std::int64_t* send_bytes, void* const* receive,
                         const std::int64_t* receive_bytes, void*, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](MpiEngine& engine, const Deadline& deadline) {
    const int ranks = engine.size();
    for (int step = 1; step < ranks; ++step) {
      const int from = (engine.rank() - step + ranks) % ranks;
      engine.post_recv(receive[from], receive_bytes[from], from);
    }
    for (int step = 1; step < ranks; ++step) {
      const int to = (engine.rank() + step) % ranks;
      engine.post_send(send[to], send_bytes[to], to);
    }
    engine.finish(deadline);
  });
}

MPI_Datatype type_of(std::int32_t type_code, std::int32_t bits) {
  if (type_code == GRADSTEP_TYPE_FLOAT) return bits == 64 ? MPI_DOUBLE : MPI_FLOAT;
  return bits == 64 ? MPI_INT64_T : MPI_INT32_T;
}

MPI_Op op_of(std::int32_t op) {
  if (op == GRADSTEP_REDUCE_MAX) return MPI_MAX;
  return op == GRADSTEP_REDUCE_MIN ? MPI_MIN : MPI_SUM;
}

gradstep_status all_reduce(void* user, void* data, std::int64_t count, std::int32_t type_code, std::int32_t bits,
                           std::int32_t op, void*, std::int64_t timeout_ms) {
  return talk(user, timeout_ms, [&](MpiEngine& engine, const Deadline& deadline) {
    engine.all_reduce(data, count, type_of(type_code, bits), bits / 8, op_of(op));
    engine.finish(deadline);
  });
}

void fill(gradstep_comm_vtable& vtable, const MpiEngine& engine);

gradstep_status dup(void* user, std::int64_t timeout_ms, gradstep_comm_vtable* out, void** out_user) {
  return talk(user, timeout_ms, [&](MpiEngine& engine, const Deadline& deadline) {
    auto copy = engine.dup(deadline);
    fill(*out, *copy);
    *out_user = copy.release();
  });
}

gradstep_status split(void* user, const std::int32_t* members, std::int32_t count, std::int64_t timeout_ms,
                      gradstep_comm_vtable* out, void** out_user) {
  return talk(user, timeout_ms, [&](MpiEngine& engine, const Deadline& deadline) {
    if (count == 0) return;
    auto group = engine.split({members, static_cast<std::size_t>(count)}, deadline);
    fill(*out, *group);
    *out_user = group.release();
  });
}

void fill(gradstep_comm_vtable& vtable, const MpiEngine& engine) {
  vtable.rank = engine.rank();
  vtable.world_size = engine.size();
  vtable.any_thread = any_thread_allowed() ? 1 : 0;
  vtable.send = send;
  vtable.recv = recv;
  vtable.send_recv = send_recv;
  vtable.exchange = exchange;
  vtable.all_reduce = engine.is_whole() ? all_reduce : nullptr;
  vtable.dup = dup;
  vtable.abort = [](void* user) { engine_of(user).abort(); };
  vtable.release = [](void* user) { delete &engine_of(user); };
}

/// The reductions of an intercommunicator give each of its groups the other's result.
void check_intracommunicator(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    fail(GRADSTEP_ERR_INVALID_ARGUMENT, "comm_address: points to MPI_COMM_NULL, expected a communicator");
  int is_inter = 0;
  check(MPI_Comm_test_inter(comm, &is_inter), "MPI_Comm_test_inter");
  if (is_inter != 0) {
    fail(GRADSTEP_ERR_INVALID_ARGUMENT,
         "comm_address: points to an intercommunicator, expected an intracommunicator (MPI_Intercomm_merge makes one)");
  }
}

gradstep_status connect(const gradstep_comm_options* options, const gradstep_plugin_rendezvous*, const void* native,
                        gradstep_comm_vtable* vtable, void** user) {
  return at_border([&] {
    const std::atomic<bool> aborted{false};
    start_library();
    MPI_Comm original = native != nullptr ? *static_cast<const MPI_Comm*>(native) : MPI_COMM_WORLD;
    check_intracommunicator(original);
    auto engine = std::make_unique<MpiEngine>(
        std::make_shared<Duplicate>(original, aborted, Deadline::after_ms(options->timeout_ms)));
    fill(*vtable, *engine);
    *user = engine.release();
  });
}

}  // namespace

}  // namespace gradstep::mpi_plugin

const gradstep_plugin_engine gradstep::plugin::engine = {"mpi", &gradstep::mpi_plugin::connect,
                                                         &gradstep::mpi_plugin::split, nullptr, nullptr};
