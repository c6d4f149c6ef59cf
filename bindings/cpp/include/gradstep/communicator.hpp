// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// communicator.hpp: connections to the other ranks of a job. <gradstep/comm.h> says which calls are collective.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <gradstep/host_collectives.hpp>
#include <gradstep/optimizer.hpp>

namespace gradstep::inline cpp_v0 {

using CommStatistics = gradstep_comm_statistics;

/// The host's key-value store for rendezvous (gradstep_store). Throws to fail, Timeout where a key does not come.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;
  virtual void set(const std::string& key, std::span<const std::byte> value) = 0;
  virtual std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds timeout) = 0;
};

/// Options of communicators that are local, the host's or MPI's own: rank and world size are known there.
struct ConnectOptions {
  std::chrono::milliseconds timeout{30000};  ///< of every call
  ReductionOrder reduction_order = ReductionOrder::kRank;
};

/// Rendezvous of shm, gloo, auto and nccl: one of id, store and store_path.
struct CommOptions {
  std::string engine = {};  ///< "self", "shm", "gloo", "auto", "mpi", "nccl"
  std::int32_t rank = 0;
  std::int32_t world_size = 1;
  ReductionOrder reduction_order = ReductionOrder::kRank;
  std::chrono::milliseconds timeout{30000};  ///< of every call
  std::vector<std::byte> id = {};
  Store* store = nullptr;  ///< used while the communicator is made
  std::string store_path = {};
  std::string network_interface = {};
  std::int64_t generation = 0;
  std::int32_t device = 0;
};

class Communicator {
 public:
  /// Connects with the other ranks. Collective.
  Communicator(const Context& context, const CommOptions& options) {
    gradstep_comm* made = nullptr;
    with_c(options, [&](const gradstep_comm_options& c_options) {
      check(gradstep_comm_create(context.c(), &c_options, &made));
    });
    handle_.reset(made);
  }

  /// The ranks that torchrun, mpirun, Slurm or Kubernetes has started, by what it says in the environment: of `options`
  /// rank and world size are not read, an empty engine is "auto", and a rendezvous is not needed. Collective.
  static Communicator from_environment(const Context& context, CommOptions options = {}) {
    if (options.engine.empty()) options.engine = "auto";
    options.rank = -1;
    return {context, options};
  }

  /// One communicator for each thread that plays a rank. Not collective.
  static std::vector<Communicator> local(const Context& context, std::int32_t world_size,
                                         const ConnectOptions& options = {}) {
    std::vector<gradstep_comm*> made(world_size > 0 ? static_cast<std::size_t>(world_size) : 1);
    const gradstep_comm_options c_options = c_of(options);
    check(gradstep_comm_create_local_ex(context.c(), world_size, &c_options, made.data()));
    std::vector<Communicator> comms;
    comms.reserve(made.size());
    for (gradstep_comm* comm : made) comms.push_back(Communicator(comm));
    return comms;
  }

  /// Over what the host has. Collective. The collectives are kept while communicators on them are.
  static Communicator host(const Context& context, std::shared_ptr<HostCollectives> collectives,
                           const ConnectOptions& options = {}) {
    if (!collectives) throw InvalidArgument("collectives is nullptr");
    const gradstep_comm_vtable table = detail::CollectivesTable::of(*collectives);
    const gradstep_comm_options c_options = c_of(options);
    auto* user = new detail::CollectivesTable::Kept(std::move(collectives));
    gradstep_comm* made = nullptr;
    check(gradstep_comm_create_host_ex(context.c(), &table, user, &c_options, &made));
    return Communicator(made);
  }

  /// Over the MPI_Comm at the address, which stays the host's. Collective.
  static Communicator wrap_mpi(const Context& context, const void* comm_address, const ConnectOptions& options = {}) {
    const gradstep_comm_options c_options = c_of(options);
    gradstep_comm* made = nullptr;
    check(gradstep_comm_wrap_mpi_ex(context.c(), comm_address, &c_options, &made));
    return Communicator(made);
  }

  /// A communicator of these ranks, with NCCL for memory of CUDA device `device`. nccl_comm: an ncclComm_t of the
  /// host's, or nullptr.
  [[nodiscard]] Communicator attach_nccl(std::int32_t device, void* nccl_comm = nullptr) {
    gradstep_comm* made = nullptr;
    check(gradstep_comm_attach_nccl(c(), device, nccl_comm, &made));
    return Communicator(made);
  }

  /// Makes a rendezvous, whose bytes the host carries to all ranks (gradstep_comm_unique_id).
  static std::vector<std::byte> unique_id(const std::string& engine, const std::string& network_interface = {}) {
    const char* served_on = network_interface.empty() ? nullptr : network_interface.c_str();
    std::size_t bytes = 0;
    check(gradstep_comm_unique_id_ex(engine.c_str(), served_on, nullptr, 0, &bytes));
    std::vector<std::byte> id(bytes);
    check(gradstep_comm_unique_id_ex(engine.c_str(), served_on, id.data(), id.size(), &bytes));
    id.resize(bytes);
    return id;
  }

  /// How many newcomers wait for a world with these options, beyond the ranks of `comm`, over which the call is
  /// collective; nullptr: this process asks by itself, for all ranks (gradstep_rendezvous_pending).
  static std::int32_t pending(const CommOptions& options, const Communicator* comm = nullptr) {
    std::int32_t waiting = 0;
    with_c(options, [&](const gradstep_comm_options& c_options) {
      check(gradstep_rendezvous_pending(comm == nullptr ? nullptr : comm->c(), &c_options, &waiting));
    });
    return waiting;
  }

  [[nodiscard]] std::int32_t rank() const { return number<gradstep_comm_rank>(); }
  [[nodiscard]] std::int32_t world_size() const { return number<gradstep_comm_world_size>(); }
  [[nodiscard]] std::int32_t local_rank() const { return number<gradstep_comm_local_rank>(); }
  [[nodiscard]] std::string engine() const {
    return detail::text_of(
        [this](char* buf, std::size_t cap, std::size_t* len) { return gradstep_comm_engine(c(), buf, cap, len); });
  }

  void all_reduce(const Tensor& tensor, ReduceOp op = ReduceOp::kSum, void* stream = nullptr) {
    const gradstep_tensor shown = tensor.c();
    check(gradstep_comm_all_reduce(c(), &shown, static_cast<std::int32_t>(op), stream));
  }
  void all_gather(const ConstTensor& input, const Tensor& output, void* stream = nullptr) {
    const gradstep_tensor in = input.c();
    const gradstep_tensor out = output.c();
    check(gradstep_comm_all_gather(c(), &in, &out, stream));
  }
  /// Rank r gives counts[r] elements.
  void all_gather(const ConstTensor& input, const Tensor& output, std::span<const std::int64_t> counts,
                  void* stream = nullptr) {
    detail::require_size(counts.size(), static_cast<std::size_t>(world_size()), "counts");
    const gradstep_tensor in = input.c();
    const gradstep_tensor out = output.c();
    check(gradstep_comm_all_gather_v(c(), &in, &out, counts.data(), stream));
  }
  void reduce_scatter(const ConstTensor& input, const Tensor& output, ReduceOp op = ReduceOp::kSum,
                      void* stream = nullptr) {
    const gradstep_tensor in = input.c();
    const gradstep_tensor out = output.c();
    check(gradstep_comm_reduce_scatter(c(), &in, &out, static_cast<std::int32_t>(op), stream));
  }
  void broadcast(const Tensor& tensor, std::int32_t root, void* stream = nullptr) {
    const gradstep_tensor shown = tensor.c();
    check(gradstep_comm_broadcast(c(), &shown, root, stream));
  }
  void send(const ConstTensor& tensor, std::int32_t to, void* stream = nullptr) {
    const gradstep_tensor shown = tensor.c();
    check(gradstep_comm_send(c(), &shown, to, stream));
  }
  void recv(const Tensor& tensor, std::int32_t from, void* stream = nullptr) {
    const gradstep_tensor shown = tensor.c();
    check(gradstep_comm_recv(c(), &shown, from, stream));
  }
  void barrier() { check(gradstep_comm_barrier(c())); }
  /// Whether every rank said yes.
  bool vote(bool yes) {
    std::int32_t all_yes = 0;
    check(gradstep_comm_vote(c(), yes ? 1 : 0, &all_yes));
    return all_yes != 0;
  }

  /// Ranks of the same color, in the order of (key, rank); none for a color below 0.
  std::optional<Communicator> split(std::int32_t color, std::int32_t key = 0) {
    gradstep_comm* made = nullptr;
    check(gradstep_comm_split(c(), color, key, &made));
    if (made == nullptr) return std::nullopt;
    return Communicator(made);
  }
  /// A communicator of these ranks over a channel of its own.
  Communicator dup() {
    gradstep_comm* made = nullptr;
    check(gradstep_comm_dup(c(), &made));
    return Communicator(made);
  }

  /// Ends calls that wait, and breaks the communicator for good. Any thread, at any time.
  void abort() { check(gradstep_comm_abort(c())); }
  /// The exception of the error that broke the communicator, for std::rethrow_exception; nullptr if none did. Any
  /// thread, at any time.
  [[nodiscard]] std::exception_ptr error() const {
    gradstep_status status = GRADSTEP_OK;
    const std::string text = detail::text_of([&](char* buf, std::size_t cap, std::size_t* len) {
      return gradstep_comm_status(c(), &status, buf, cap, len);
    });
    if (status == GRADSTEP_OK) return nullptr;
    try {
      throw_status(status, text);
    } catch (...) {
      return std::current_exception();
    }
  }
  [[deprecated("use error()")]] void throw_if_broken() const {
    if (const std::exception_ptr broken = error()) std::rethrow_exception(broken);
  }
  [[nodiscard]] CommStatistics statistics() const {
    auto found = detail::sized<CommStatistics>();
    check(gradstep_comm_stats(c(), &found));
    return found;
  }

  /// statistics() as text for Prometheus. `labels` go into every line's braces: `job="7"`.
  [[nodiscard]] std::string counters(const std::string& labels = {}) const {
    return detail::text_of([&](char* buf, std::size_t cap, std::size_t* len) {
      return gradstep_comm_counters(c(), labels.c_str(), buf, cap, len);
    });
  }

  [[nodiscard]] gradstep_comm* c() const noexcept { return handle_.get(); }

 private:
  explicit Communicator(gradstep_comm* made) noexcept : handle_(made) {}

  static gradstep_comm_options c_of(const ConnectOptions& options) {
    gradstep_comm_options c = detail::defaults<gradstep_comm_options, gradstep_comm_options_init>();
    c.timeout_ms = options.timeout.count();
    c.reduction_order = static_cast<std::int32_t>(options.reduction_order);
    return c;
  }

  /// Calls call(the options as C has them).
  template <class Call>
  static void with_c(const CommOptions& options, Call call) {
    gradstep_comm_options c_options = detail::defaults<gradstep_comm_options, gradstep_comm_options_init>();
    c_options.rank = options.rank;
    c_options.world_size = options.world_size;
    c_options.reduction_order = static_cast<std::int32_t>(options.reduction_order);
    c_options.engine = options.engine.c_str();
    c_options.timeout_ms = options.timeout.count();
    c_options.id = options.id.empty() ? nullptr : options.id.data();
    c_options.id_len = options.id.size();
    c_options.store_path = options.store_path.empty() ? nullptr : options.store_path.c_str();
    c_options.network_interface = options.network_interface.empty() ? nullptr : options.network_interface.c_str();
    c_options.generation = options.generation;
    c_options.device = options.device;
    gradstep_store store{};
    if (options.store != nullptr) {
      store = store_of(*options.store);
      c_options.store = &store;
    }
    call(c_options);
  }

  static gradstep_store store_of(Store& own) {
    auto c = detail::sized<gradstep_store>();
    c.user = &own;
    c.set = [](void* user, const char* key, const void* data, std::size_t len) {
      return detail::guarded([&] { static_cast<Store*>(user)->set(key, {static_cast<const std::byte*>(data), len}); });
    };
    c.get = [](void* user, const char* key, void* data, std::size_t* len, std::int64_t timeout_ms) {
      return detail::guarded([&] {
        const auto value = static_cast<Store*>(user)->get(key, std::chrono::milliseconds(timeout_ms));
        if (value.size() > *len) throw InvalidArgument(std::string("the value of ") + key + " does not fit");
        std::copy(value.begin(), value.end(), static_cast<std::byte*>(data));
        *len = value.size();
      });
    };
    return c;
  }

  template <auto kFunction>
  [[nodiscard]] std::int32_t number() const {
    std::int32_t found = 0;
    check(kFunction(c(), &found));
    return found;
  }

  detail::Handle<gradstep_comm, gradstep_comm_destroy> handle_;
};

inline void Optimizer::shard(Communicator& comm, const ShardingOptions& options) {
  const gradstep_sharding_options c_options = options.c();
  check(gradstep_optimizer_attach_comm(c(), comm.c(), &c_options));
}

inline void Optimizer::attach_shards(Communicator& comm) { check(gradstep_optimizer_attach_shards(c(), comm.c())); }

}  // namespace gradstep::inline cpp_v0
