// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// usage: mpi_ranks CASE, under mpirun. Every rank plays its part of the case and ends with 0 if all went well.
#include <gradstep/gradstep.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace {

int place = -1;  // of this process in MPI_COMM_WORLD, for messages

[[noreturn]] void end(const char* what, int line, const char* detail) {
  std::fprintf(stderr, "rank %d: line %d: %s: %s\n", place, line, what, detail);
  std::_Exit(1);
}

#define EXPECT(condition) \
  if (!(condition)) end(#condition, __LINE__, gradstep_last_error())
#define OK(call) EXPECT((call) == GRADSTEP_OK)

struct Context {
  Context() { OK(gradstep_context_create(nullptr, &handle)); }
  ~Context() { gradstep_context_destroy(handle); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  gradstep_context* handle = nullptr;
};

gradstep_comm_options mpi_options() {
  gradstep_comm_options options{};
  OK(gradstep_comm_options_init(&options, sizeof options));
  options.engine = "mpi";
  return options;
}

struct Comm {
  explicit Comm(gradstep_comm* made) : handle(made) {
    OK(gradstep_comm_rank(handle, &rank));
    OK(gradstep_comm_world_size(handle, &size));
  }
  Comm(const Context& context, const gradstep_comm_options& options) : Comm(create(context, options)) {}
  ~Comm() { gradstep_comm_destroy(handle); }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  static gradstep_comm* create(const Context& context, const gradstep_comm_options& options) {
    gradstep_comm* made = nullptr;
    OK(gradstep_comm_create(context.handle, &options, &made));
    return made;
  }

  gradstep_comm* handle;
  int32_t rank = -1;
  int32_t size = -1;
};

/// A tensor over a vector that outlives it.
template <class T>
struct View {
  View(std::vector<T>& data, std::uint8_t code) : shape{static_cast<int64_t>(data.size())} {
    tensor.data = data.data();
    tensor.device = {GRADSTEP_DEVICE_CPU, 0};
    tensor.ndim = 1;
    tensor.dtype = {code, 8 * sizeof(T), 1};
    tensor.shape = shape.data();
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  std::array<int64_t, 1> shape;
  gradstep_tensor tensor{};
};

View<float> floats(std::vector<float>& data) { return {data, GRADSTEP_TYPE_FLOAT}; }
View<std::uint8_t> bytes(std::vector<std::uint8_t>& data) { return {data, GRADSTEP_TYPE_UINT}; }

std::vector<float> values_of(int32_t rank, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = 1.0F / static_cast<float>(1 + (i * 7 + static_cast<std::size_t>(rank) * 13) % 1009);
  }
  return values;
}

/// ((x0 + x1) + x2) + ..., which is what the local engine gives.
std::vector<float> sum_in_rank_order(int32_t ranks, std::size_t count) {
  std::vector<float> sum = values_of(0, count);
  for (int32_t r = 1; r < ranks; ++r) {
    const auto values = values_of(r, count);
    for (std::size_t i = 0; i < count; ++i) sum[i] += values[i];
  }
  return sum;
}

void every_collective_gives_the_bits_of_the_local_engine() {
  const Context context;
  const Comm comm(context, mpi_options());
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, std::size_t{70001}, std::size_t{3000000}}) {
    auto data = values_of(comm.rank, count);
    const auto view = floats(data);
    OK(gradstep_comm_all_reduce(comm.handle, &view.tensor, GRADSTEP_REDUCE_SUM, nullptr));
    EXPECT(data == sum_in_rank_order(comm.size, count));
  }
  auto own = values_of(comm.rank, 5);
  std::vector<float> all(5 * static_cast<std::size_t>(comm.size));
  const auto own_view = floats(own);
  const auto all_view = floats(all);
  OK(gradstep_comm_all_gather(comm.handle, &own_view.tensor, &all_view.tensor, nullptr));
  for (int32_t r = 0; r < comm.size; ++r) EXPECT(all[5 * static_cast<std::size_t>(r) + 4] == values_of(r, 5)[4]);
  auto rooted = values_of(comm.rank, 1000);
  const auto rooted_view = floats(rooted);
  OK(gradstep_comm_broadcast(comm.handle, &rooted_view.tensor, 1, nullptr));
  EXPECT(rooted == values_of(1, 1000));
  OK(gradstep_comm_barrier(comm.handle));
  int32_t all_yes = -1;
  OK(gradstep_comm_vote(comm.handle, comm.rank != 1, &all_yes));
  EXPECT(all_yes == 0);
  int32_t local_rank = -1;
  OK(gradstep_comm_local_rank(comm.handle, &local_rank));
  EXPECT(local_rank == comm.rank);
}

void engine_order_sums_by_mpi() {
  const Context context;
  auto options = mpi_options();
  options.reduction_order = GRADSTEP_REDUCTION_ENGINE;
  const Comm comm(context, options);
  std::vector<float> data(70001, static_cast<float>(comm.rank + 1));
  const auto view = floats(data);
  OK(gradstep_comm_all_reduce(comm.handle, &view.tensor, GRADSTEP_REDUCE_SUM, nullptr));
  EXPECT(data == std::vector<float>(70001, 6.0F));
  OK(gradstep_comm_all_reduce(comm.handle, &view.tensor, GRADSTEP_REDUCE_MAX, nullptr));
  EXPECT(data == std::vector<float>(70001, 6.0F));
}

// 2^30 elements are one message of MPI; this has two.
void messages_may_be_longer_than_an_int_counts() {
  const Context context;
  const Comm comm(context, mpi_options());
  constexpr std::size_t kBytes = (std::size_t{1} << 30) + 4099;
  std::vector<std::uint8_t> data(kBytes, static_cast<std::uint8_t>(comm.rank));
  if (comm.rank == 0) {
    data[0] = 7;
    data[std::size_t{1} << 30] = 8;
    data[kBytes - 1] = 9;
  }
  const auto view = bytes(data);
  OK(comm.rank == 0 ? gradstep_comm_send(comm.handle, &view.tensor, 1, nullptr)
                    : gradstep_comm_recv(comm.handle, &view.tensor, 0, nullptr));
  EXPECT(data[0] == 7 && data[1] == 0 && data[std::size_t{1} << 30] == 8 && data[kBytes - 1] == 9);
}

void a_communicator_of_the_host_is_wrapped_and_left_to_it() {
  int provided = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
  int world_rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &half);
  {
    const Context context;
    gradstep_comm* made = nullptr;
    OK(gradstep_comm_wrap_mpi(context.handle, &half, &made));
    const Comm comm(made);
    EXPECT(comm.size == 2 && comm.rank == (world_rank < 2 ? 1 : 0));
    std::vector<float> data(10, static_cast<float>(world_rank));
    const auto view = floats(data);
    OK(gradstep_comm_all_reduce(comm.handle, &view.tensor, GRADSTEP_REDUCE_SUM, nullptr));
    EXPECT(data[9] == static_cast<float>(world_rank % 2 == 0 ? 2 : 4));
  }
  int sum = 1;
  EXPECT(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, half) == MPI_SUCCESS && sum == 2);
  MPI_Comm_free(&half);
  int ended = 1;
  MPI_Finalized(&ended);
  EXPECT(ended == 0);
  EXPECT(MPI_Finalize() == MPI_SUCCESS);
}

void split_and_dup_have_channels_of_their_own() {
  const Context context;
  const Comm comm(context, mpi_options());
  gradstep_comm* copy = nullptr;
  gradstep_comm* part = nullptr;
  OK(gradstep_comm_dup(comm.handle, &copy));
  OK(gradstep_comm_split(comm.handle, comm.rank % 2, -comm.rank, &part));
  const Comm twin(copy);
  const Comm half(part);
  EXPECT(twin.rank == comm.rank && half.size == 2 && half.rank == (comm.rank < 2 ? 1 : 0));
  std::vector<float> data(100, 1.0F);
  const auto view = floats(data);
  for (const Comm* each : {&twin, &half, &comm}) {
    OK(gradstep_comm_all_reduce(each->handle, &view.tensor, GRADSTEP_REDUCE_SUM, nullptr));
  }
  EXPECT(data[99] == 32);
}

void a_dup_of_a_group_has_a_channel_of_its_own() {
  const Context context;
  const Comm comm(context, mpi_options());
  gradstep_comm* part = nullptr;
  OK(gradstep_comm_split(comm.handle, comm.rank % 2, 0, &part));
  const Comm half(part);
  gradstep_comm* copy = nullptr;
  OK(gradstep_comm_dup(half.handle, &copy));
  const Comm twin(copy);
  const bool first = half.rank == 0;
  const auto sum = [](const Comm& each, float own, float expected) {
    std::vector<float> data(100000, own);
    const auto view = floats(data);
    OK(gradstep_comm_all_reduce(each.handle, &view.tensor, GRADSTEP_REDUCE_SUM, nullptr));
    EXPECT(data == std::vector<float>(data.size(), expected));
  };
  // Every rank makes its first call on the one whose turn is second on its peer.
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    first ? sum(twin, 100, 200) : sum(half, 1, 2);
  });
  first ? sum(half, 1, 2) : sum(twin, 100, 200);
  later.join();
  OK(gradstep_comm_abort(half.handle));
  sum(twin, 1, 2);
  sum(comm, 1, 4);
}

void ranks_that_disagree_on_a_size_are_told() {
  const Context context;
  auto options = mpi_options();
  options.timeout_ms = 5000;
  const Comm comm(context, options);
  for (const std::size_t count : {std::size_t{100}, std::size_t{300000}}) {
    gradstep_comm* copy = nullptr;
    OK(gradstep_comm_dup(comm.handle, &copy));
    const Comm twin(copy);
    std::vector<float> data(comm.rank == 0 ? count : count / 2, 1.0F);
    const auto view = floats(data);
    EXPECT(gradstep_comm_all_reduce(twin.handle, &view.tensor, GRADSTEP_REDUCE_SUM, nullptr) == GRADSTEP_ERR_MISMATCH);
    EXPECT(std::strstr(gradstep_last_error(), "bytes") != nullptr);
    OK(gradstep_comm_barrier(comm.handle));
  }
  std::printf("rank %d: both sizes were told apart\n", comm.rank);
}

void what_the_engine_started_ends_with_the_process() {
  int started = 1;
  MPI_Initialized(&started);
  EXPECT(started == 0);
  for (int round = 0; round < 3; ++round) {
    const Context context;
    const Comm comm(context, mpi_options());
    OK(gradstep_comm_barrier(comm.handle));
  }
  int ended = 1;
  MPI_Finalized(&ended);
  EXPECT(ended == 0);
}

void bad_arguments_are_named() {
  const Context context;
  auto options = mpi_options();
  options.store_path = "/tmp";
  gradstep_comm* made = nullptr;
  EXPECT(gradstep_comm_create(context.handle, &options, &made) == GRADSTEP_ERR_INVALID_ARGUMENT);
  EXPECT(std::strstr(gradstep_last_error(), "store_path") != nullptr);
  EXPECT(gradstep_comm_wrap_mpi(context.handle, nullptr, &made) == GRADSTEP_ERR_INVALID_ARGUMENT);
  const MPI_Comm none = MPI_COMM_NULL;
  EXPECT(gradstep_comm_wrap_mpi(context.handle, &none, &made) == GRADSTEP_ERR_INVALID_ARGUMENT);
  EXPECT(std::strstr(gradstep_last_error(), "MPI_COMM_NULL") != nullptr);
  EXPECT(std::strstr(gradstep_last_error(), "comm_address") != nullptr);
}

void a_late_peer_is_a_timeout() {
  const Context context;
  auto options = mpi_options();
  options.timeout_ms = 2000;
  const Comm comm(context, options);
  if (comm.rank == 1) std::this_thread::sleep_for(std::chrono::seconds(5));
  const auto begin = std::chrono::steady_clock::now();
  const gradstep_status status = gradstep_comm_barrier(comm.handle);
  if (comm.rank == 1) return;
  EXPECT(status == GRADSTEP_ERR_TIMEOUT);
  EXPECT(std::chrono::steady_clock::now() - begin < std::chrono::seconds(3));
  EXPECT(gradstep_comm_barrier(comm.handle) == GRADSTEP_ERR_TIMEOUT);
  std::printf("rank 0: timeout kept\n");
}

struct Case {
  const char* name;
  void (*run)();
};

#define CASE(name) {#name, name}
constexpr Case kCases[] = {
    CASE(every_collective_gives_the_bits_of_the_local_engine),
    CASE(engine_order_sums_by_mpi),
    CASE(messages_may_be_longer_than_an_int_counts),
    CASE(a_communicator_of_the_host_is_wrapped_and_left_to_it),
    CASE(split_and_dup_have_channels_of_their_own),
    CASE(a_dup_of_a_group_has_a_channel_of_its_own),
    CASE(ranks_that_disagree_on_a_size_are_told),
    CASE(what_the_engine_started_ends_with_the_process),
    CASE(bad_arguments_are_named),
    CASE(a_late_peer_is_a_timeout),
};

}  // namespace

int main(int count, char** arguments) {
  if (const char* rank = std::getenv("OMPI_COMM_WORLD_RANK"); rank != nullptr) place = std::atoi(rank);
  for (const Case& each : kCases) {
    if (count == 2 && std::string(arguments[1]) == each.name) {
      each.run();
      return 0;
    }
  }
  std::fprintf(stderr, "usage: mpi_ranks CASE\n");
  return 2;
}
