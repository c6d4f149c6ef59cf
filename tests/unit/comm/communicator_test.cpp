// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The public functions of comm.h: what they refuse, and that a refusal changes nothing.
#include <array>
#include <map>
#include <mutex>
#include <thread>

#include "gradstep/gradstep.h"
#include "tests/unit/child_process.h"
#include "tests/unit/comm/worlds.h"
#include "unit/recorded_log.h"
#include "unit/scoped_environment.h"

namespace gradstep::test {
namespace {

/// A status must be `expected`, and for failures the text must contain `part`.
void check(gradstep_status status, gradstep_status expected, const std::string& part = "") {
  EXPECT_STREQ(gradstep_status_name(status), gradstep_status_name(expected)) << gradstep_last_error();
  if (expected != GRADSTEP_OK) {
    EXPECT_NE(std::string(gradstep_last_error()).find(part), std::string::npos) << gradstep_last_error();
  }
}

class CommHandles : public testing::Test {
 protected:
  void SetUp() override {
    check(gradstep_context_create(nullptr, &context_), GRADSTEP_OK);
    check(gradstep_comm_create_local(context_, 2, comms_.data()), GRADSTEP_OK);
    check(gradstep_comm_options_init(&options_, sizeof options_), GRADSTEP_OK);
    options_.engine = "gloo";
    options_.timeout_ms = 500;
    options_.network_interface = "127.0.0.1";
    engines();  // points GRADSTEP_PLUGIN_DIR at the plugin of this build
  }
  void TearDown() override {
    gradstep_context_destroy(context_);  // first on purpose: handles keep what they need
    for (gradstep_comm* comm : comms_) gradstep_comm_destroy(comm);
  }
  void create_fails(gradstep_status expected, const std::string& part) {
    gradstep_comm* out = comms_[0];
    check(gradstep_comm_create(context_, &options_, &out), expected, part);
    EXPECT_EQ(out, comms_[0]) << "out was written";
  }
  void all_good() {
    std::array<std::thread, 2> threads;
    for (std::size_t r = 0; r < 2; ++r) {
      threads[r] = std::thread([this, r] { check(gradstep_comm_barrier(comms_[r]), GRADSTEP_OK); });
    }
    for (auto& thread : threads) thread.join();
  }

  gradstep_context* context_ = nullptr;
  std::array<gradstep_comm*, 2> comms_{};
  gradstep_comm_options options_{};
};

/// A host's store, in this process.
struct MapStore {
  std::mutex mutex;
  std::map<std::string, std::string> values;
  void (*alter)(std::string& value) = [](std::string&) {};  // of what is read
};

gradstep_store store_over(MapStore& shared) {
  gradstep_store store{};
  store.struct_size = sizeof store;
  store.user = &shared;
  store.set = [](void* user, const char* key, const void* data, size_t length) -> gradstep_status {
    auto& map = *static_cast<MapStore*>(user);
    const std::lock_guard lock(map.mutex);
    map.values[key].assign(static_cast<const char*>(data), length);
    return GRADSTEP_OK;
  };
  store.get = [](void* user, const char* key, void* data, size_t* length, int64_t timeout_ms) -> gradstep_status {
    auto& map = *static_cast<MapStore*>(user);
    const Deadline deadline = Deadline::after_ms(timeout_ms);
    do {
      {
        const std::lock_guard lock(map.mutex);
        if (const auto found = map.values.find(key); found != map.values.end()) {
          std::string value = found->second;
          map.alter(value);
          *length = value.copy(static_cast<char*>(data), *length);
          return GRADSTEP_OK;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } while (!deadline.passed());
    return GRADSTEP_ERR_TIMEOUT;
  };
  return store;
}

/// Where a rank has told its addresses, one for each peer, they begin with the number of its host's process space.
void move_to_another_host(std::string& value) {
  constexpr std::size_t kHead = 40;
  if (value.size() < kHead || value.compare(0, 8, "GSGRTE02") != 0) return;
  std::uint64_t length = 0;
  value.copy(reinterpret_cast<char*>(&length), sizeof length, kHead - sizeof length);
  for (std::size_t at = kHead; at < value.size(); at += length) value[at] ^= 1;
}

TEST_F(CommHandles, OptionsHaveTheStatedDefaults) {
  gradstep_comm_options options{};
  check(gradstep_comm_options_init(&options, sizeof options), GRADSTEP_OK);
  EXPECT_EQ(options.world_size, 1);
  EXPECT_EQ(options.timeout_ms, 30000);
  EXPECT_EQ(options.reduction_order, GRADSTEP_REDUCTION_RANK);
  EXPECT_EQ(options.engine, nullptr);
  check(gradstep_comm_options_init(nullptr, sizeof options), GRADSTEP_ERR_INVALID_ARGUMENT, "o: is NULL");
}

TEST_F(CommHandles, CreateNamesWhatItRefuses) {
  gradstep_comm* out = nullptr;
  check(gradstep_comm_create(context_, nullptr, &out), GRADSTEP_ERR_INVALID_ARGUMENT, "options");
  check(gradstep_comm_create(nullptr, &options_, &out), GRADSTEP_ERR_INVALID_ARGUMENT, "context");
  check(gradstep_comm_create(context_, &options_, nullptr), GRADSTEP_ERR_INVALID_ARGUMENT, "out");
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "0 of id, store and store_path");
  options_.store_path = "/tmp";
  options_.id = "x";
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "2 of id, store and store_path");
  options_.store_path = nullptr;
  options_.id_len = 1;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "options.id_len: is 1");
  options_.rank = 1;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "options.rank: is 1, expected 0 to 0");
  options_.world_size = 0;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "options.world_size: is 0");
  options_.timeout_ms = 0;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "options.timeout_ms: is 0");
  options_.timeout_ms = 500;
  options_.reduction_order = 7;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "options.reduction_order: is 7");
  options_.reduction_order = 0;
  options_.engine = "telepathy";
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "'telepathy'");
  options_.engine = "local";
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "gradstep_comm_create_local");
  options_.engine = nullptr;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "options.engine: is NULL");
  options_.struct_size = 4;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "struct_size");
  check(gradstep_comm_create_local(context_, 0, &out), GRADSTEP_ERR_INVALID_ARGUMENT, "world_size: is 0");
  check(gradstep_comm_create_local(context_, 1025, &out), GRADSTEP_ERR_INVALID_ARGUMENT, "world_size: is 1025");
}

TEST_F(CommHandles, AMissingPluginIsReportedInTheLoadersWords) {
  const ScopedEnvironment environment("GRADSTEP_PLUGIN_DIR", "/nonexistent");
  options_.store_path = "/tmp";
  create_fails(GRADSTEP_ERR_BACKEND_UNAVAILABLE, "/nonexistent/libgradstep_gloo.so");
}

TEST_F(CommHandles, ATimeoutMayBeForEver) {
  options_.engine = "self";
  options_.timeout_ms = INT64_MAX;
  gradstep_comm* comm = nullptr;
  check(gradstep_comm_create(context_, &options_, &comm), GRADSTEP_OK);
  check(gradstep_comm_barrier(comm), GRADSTEP_OK);
  gradstep_comm_destroy(comm);
}

struct CountedStore {
  int releases = 0;
  gradstep_store store{};
  CountedStore() {
    store.struct_size = sizeof store;
    store.user = this;
    store.set = [](void*, const char*, const void*, size_t) -> gradstep_status { return GRADSTEP_OK; };
    store.get = [](void*, const char*, void*, size_t*, int64_t timeout_ms) -> gradstep_status {
      std::this_thread::sleep_for(std::chrono::milliseconds(timeout_ms));
      return GRADSTEP_ERR_TIMEOUT;
    };
    store.release = [](void* user) { ++static_cast<CountedStore*>(user)->releases; };
  }
};

TEST_F(CommHandles, AHostsStoreIsReleasedOnceHoweverCreateEnds) {
  for (const char* engine : {"telepathy", "gloo", "self"}) {
    CountedStore counted;
    options_.store = &counted.store;
    options_.engine = engine;
    options_.world_size = engine == std::string("gloo") ? 2 : 1;
    gradstep_comm* out = nullptr;
    gradstep_comm_create(context_, &options_, &out);
    gradstep_comm_destroy(out);
    EXPECT_EQ(counted.releases, 1) << engine;
  }
}

TEST_F(CommHandles, AStoreWithoutFunctionsIsRefused) {
#if !defined(GRADSTEP_TEST_PLUGIN_DIR)
  GTEST_SKIP() << "the gloo plugin was not built";
#endif
  CountedStore counted;
  counted.store.get = nullptr;
  options_.store = &counted.store;
  create_fails(GRADSTEP_ERR_INVALID_ARGUMENT, "options.store.get: is NULL");
  EXPECT_EQ(counted.releases, 1);
}

TEST_F(CommHandles, AVtableIsReleasedOnceHoweverCreateEnds) {
  static int releases;
  releases = 0;
  gradstep_comm_vtable vtable{};
  vtable.struct_size = sizeof vtable;
  vtable.world_size = 1;
  vtable.release = [](void*) { ++releases; };
  gradstep_comm* out = nullptr;
  check(gradstep_comm_create_host(context_, &vtable, nullptr, &out), GRADSTEP_ERR_INVALID_ARGUMENT, "all_gather");
  EXPECT_EQ(releases, 1);
  vtable.all_gather = [](void*, const void*, void*, int64_t, void*, int64_t) -> gradstep_status { return GRADSTEP_OK; };
  check(gradstep_comm_create_host(nullptr, &vtable, nullptr, &out), GRADSTEP_ERR_INVALID_ARGUMENT, "context");
  EXPECT_EQ(releases, 2);
  check(gradstep_comm_create_host(context_, &vtable, nullptr, nullptr), GRADSTEP_ERR_INVALID_ARGUMENT, "out");
  EXPECT_EQ(releases, 3);
  check(gradstep_comm_create_host(context_, &vtable, nullptr, &out), GRADSTEP_OK);
  EXPECT_EQ(releases, 3);
  gradstep_comm_destroy(out);
  EXPECT_EQ(releases, 4);
  vtable.struct_size = 8;
  check(gradstep_comm_create_host(context_, &vtable, nullptr, &out), GRADSTEP_ERR_INVALID_ARGUMENT, "struct_size");
  EXPECT_EQ(releases, 4) << "its fields could not be read";
}

TEST_F(CommHandles, CallsNameTheArgumentTheyRefuseAndSendNothing) {
  gradstep_comm* comm = comms_[0];
  TestTensor<float> a({4});
  TestTensor<float> b({8});
  TestTensor<double> d({8});
  const gradstep_tensor four = a.tensor();
  const gradstep_tensor eight = b.tensor();
  const gradstep_tensor doubles = d.tensor();
  int stream = 0;
  const auto refused = GRADSTEP_ERR_INVALID_ARGUMENT;
  check(gradstep_comm_all_reduce(comm, nullptr, GRADSTEP_REDUCE_SUM, nullptr), refused, "tensor: is NULL");
  check(gradstep_comm_all_reduce(comm, &four, 3, nullptr), refused, "op: is 3");
  check(gradstep_comm_all_reduce(comm, &four, GRADSTEP_REDUCE_SUM, &stream), refused, "stream");
  check(gradstep_comm_all_gather(comm, &four, &four, nullptr), refused, "output: has 4 elements, expected 2 times 4");
  check(gradstep_comm_all_gather(comm, &four, &doubles, nullptr), refused, "output");
  gradstep_tensor shifted = four;
  shifted.data = b.values.data() + 1;
  check(gradstep_comm_all_gather(comm, &shifted, &eight, nullptr), refused, "overlap");
  const std::array<std::int64_t, 2> wrong_own = {3, 5};
  check(gradstep_comm_all_gather_v(comm, &four, &eight, wrong_own.data(), nullptr), refused, "counts[0]: is 3");
  const std::array<std::int64_t, 2> negative = {4, -1};
  check(gradstep_comm_all_gather_v(comm, &four, &eight, negative.data(), nullptr), refused, "counts[1]: is -1");
  const std::array<std::int64_t, 2> huge = {4, INT64_MAX - 2};
  check(gradstep_comm_all_gather_v(comm, &four, &eight, huge.data(), nullptr), refused, "counts[1]");
  check(gradstep_comm_all_gather_v(comm, &four, &eight, nullptr, nullptr), refused, "counts: is NULL");
  check(gradstep_comm_reduce_scatter(comm, &eight, &eight, 0, nullptr), refused, "input: has 8 elements");
  check(gradstep_comm_broadcast(comm, &four, 2, nullptr), refused, "root: is 2");
  check(gradstep_comm_send(comm, &four, 0, nullptr), refused, "to: is 0, this rank itself");
  check(gradstep_comm_recv(comm, &four, -1, nullptr), refused, "from: is -1");
  check(gradstep_comm_vote(comm, 1, nullptr), refused, "all_yes: is NULL");
  check(gradstep_comm_split(comm, 0, 0, nullptr), refused, "out: is NULL");
  check(gradstep_comm_dup(comm, nullptr), refused, "out: is NULL");
  check(gradstep_comm_barrier(nullptr), refused, "comm: is NULL");
  std::array<std::int64_t, 2> shape = {2, 2};
  std::array<std::int64_t, 2> strides = {1, 2};
  gradstep_tensor transposed = four;
  transposed.ndim = 2;
  transposed.shape = shape.data();
  transposed.strides = strides.data();
  check(gradstep_comm_broadcast(comm, &transposed, 0, nullptr), GRADSTEP_ERR_UNSUPPORTED, "not contiguous");
  check(gradstep_comm_all_reduce(comm, &transposed, 0, nullptr), GRADSTEP_ERR_UNSUPPORTED, "not contiguous");
  gradstep_comm_statistics stats{};
  check(gradstep_comm_stats(comm, &stats), refused, "struct_size");
  all_good();
}

TEST_F(CommHandles, BytesOfAnyDtypeAreCarried) {
  std::array<std::thread, 2> threads;
  for (std::size_t r = 0; r < 2; ++r) {
    threads[r] = std::thread([this, r] {
      std::array<std::uint8_t, 3> own = {static_cast<std::uint8_t>(r), 7, 9};
      std::array<std::uint8_t, 6> all{};
      std::array<std::int64_t, 1> three = {3};
      std::array<std::int64_t, 1> six = {6};
      gradstep_tensor in{};
      in.data = own.data();
      in.device = {GRADSTEP_DEVICE_CPU, 0};
      in.ndim = 1;
      in.dtype = {GRADSTEP_TYPE_UINT, 8, 1};
      in.shape = three.data();
      gradstep_tensor out = in;
      out.data = all.data();
      out.shape = six.data();
      check(gradstep_comm_all_gather(comms_[r], &in, &out, nullptr), GRADSTEP_OK);
      EXPECT_EQ(all, (std::array<std::uint8_t, 6>{0, 7, 9, 1, 7, 9}));
      int32_t all_yes = -1;
      check(gradstep_comm_vote(comms_[r], 5, &all_yes), GRADSTEP_OK);
      EXPECT_EQ(all_yes, 1);
      gradstep_comm* part = comms_[r];
      check(gradstep_comm_split(comms_[r], r == 0 ? 0 : -1, 0, &part), GRADSTEP_OK);
      EXPECT_EQ(part == nullptr, r == 1);
      gradstep_comm_destroy(part);
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST_F(CommHandles, AbortAndStatusWorkFromAnyThreadDuringACall) {
  std::thread waiting([this] {
    gradstep_status status = GRADSTEP_ERR_INVALID_STATE;
    // The probe below uses the same handle: the second call is refused.
    while (status == GRADSTEP_ERR_INVALID_STATE) status = gradstep_comm_barrier(comms_[0]);
    check(status, GRADSTEP_ERR_ABORTED, "aborted");
  });
  gradstep_status status = GRADSTEP_ERR_INTERNAL;
  for (;;) {  // until the other thread is inside its call
    check(gradstep_comm_status(comms_[0], &status, nullptr, 0, nullptr), GRADSTEP_OK);
    int32_t rank = 0;
    if (gradstep_comm_rank(comms_[0], &rank) == GRADSTEP_ERR_INVALID_STATE) break;
    std::this_thread::yield();
  }
  EXPECT_EQ(status, GRADSTEP_OK);
  EXPECT_NE(std::string(gradstep_last_error()).find("another thread"), std::string::npos);
  check(gradstep_comm_abort(comms_[0]), GRADSTEP_OK);
  waiting.join();
  std::array<char, 200> text{};
  check(gradstep_comm_status(comms_[0], &status, text.data(), text.size(), nullptr), GRADSTEP_OK);
  EXPECT_EQ(status, GRADSTEP_ERR_ABORTED);
  EXPECT_NE(std::string(text.data()).find("aborted"), std::string::npos);
  check(gradstep_comm_status(comms_[0], &status, text.data(), 3, nullptr), GRADSTEP_ERR_INVALID_ARGUMENT, "cap");
}

TEST_F(CommHandles, UniqueIdServesOnlyWhenAskedFor) {
  size_t len = 0;
  check(gradstep_comm_unique_id("gloo", nullptr, 0, &len), GRADSTEP_OK);
  ASSERT_EQ(len, 40U);
  std::array<char, 40> id{};
  check(gradstep_comm_unique_id("gloo", id.data(), 39, &len), GRADSTEP_ERR_INVALID_ARGUMENT, "cap: is 39");
  EXPECT_EQ(id[0], '\0');
  check(gradstep_comm_unique_id("mpi", id.data(), 40, &len), GRADSTEP_ERR_INVALID_ARGUMENT, "'mpi'");
  check(gradstep_comm_unique_id(nullptr, id.data(), 40, &len), GRADSTEP_ERR_INVALID_ARGUMENT, "engine");
  check(gradstep_comm_unique_id_ex("gloo", "nosuch0", id.data(), 40, &len), GRADSTEP_ERR_INVALID_ARGUMENT, "nosuch0");
  check(gradstep_comm_unique_id_ex("gloo", "lo", id.data(), 40, nullptr), GRADSTEP_OK);
}

TEST_F(CommHandles, SharedMemoryBetweenHostsIsUnsupported) {
  MapStore shared;
  shared.alter = move_to_another_host;
  const gradstep_store store = store_over(shared);
  std::array<std::thread, 2> threads;
  for (std::size_t r = 0; r < threads.size(); ++r) {
    threads[r] = std::thread([&, r] {
      gradstep_comm_options options = options_;
      options.engine = "shm";
      options.timeout_ms = 10000;
      options.rank = static_cast<int32_t>(r);
      options.world_size = 2;
      options.store = &store;
      gradstep_comm* comm = nullptr;
      check(gradstep_comm_create(context_, &options, &comm), GRADSTEP_ERR_UNSUPPORTED, "runs on another host");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// What both ranks learn, which must be equal.
std::int32_t pending(const std::array<gradstep_comm*, 2>& comms, const gradstep_comm_options& options) {
  std::array<std::int32_t, 2> found = {-1, -1};
  std::array<std::thread, 2> threads;
  for (std::size_t r = 0; r < threads.size(); ++r) {
    threads[r] = std::thread([&, r] { gradstep_rendezvous_pending(comms[r], &options, &found[r]); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(found[0], found[1]);
  return found[0];
}

TEST_F(CommHandles, NewcomersArePendingWhileTheyWait) {
  MapStore shared;
  const gradstep_store store = store_over(shared);
  gradstep_comm_options larger = options_;
  larger.engine = "shm";
  larger.world_size = 4;
  larger.generation = 3;
  larger.timeout_ms = 3000;
  larger.store = &store;
  const std::array<gradstep_comm*, 2> comms = {comms_[0], comms_[1]};
  EXPECT_EQ(pending(comms, larger), 0);
  std::array<std::thread, 2> newcomers;
  for (std::size_t k = 0; k < newcomers.size(); ++k) {
    newcomers[k] = std::thread([&, k] {
      gradstep_comm_options options = larger;
      options.rank = static_cast<int32_t>(2 + k);
      gradstep_comm* comm = nullptr;
      check(gradstep_comm_create(context_, &options, &comm), GRADSTEP_ERR_TIMEOUT, "did not come");
    });
  }
  while (pending(comms, larger) < 2) std::this_thread::yield();
  gradstep_comm_options other = larger;
  other.generation = 4;
  EXPECT_EQ(pending(comms, other), 0) << "they wait in another generation";
  std::int32_t alone = -1;
  check(gradstep_rendezvous_pending(nullptr, &larger, &alone), GRADSTEP_OK);
  EXPECT_EQ(alone, 2);
  for (std::thread& newcomer : newcomers) newcomer.join();
  EXPECT_EQ(pending(comms, larger), 0) << "they have given up";
}

TEST_F(CommHandles, PendingRefusesWhatNobodyCouldWaitFor) {
  const auto refused = GRADSTEP_ERR_INVALID_ARGUMENT;
  std::int32_t found = 0;
  gradstep_comm_options options = options_;
  options.engine = "auto";
  options.world_size = 2;
  check(gradstep_rendezvous_pending(comms_[0], &options, &found), refused,
        "world_size: is 2, expected more than the 2");
  check(gradstep_rendezvous_pending(nullptr, &options, &found), refused, "0 of id, store and store_path");
  check(gradstep_rendezvous_pending(nullptr, &options, nullptr), refused, "pending: is NULL");
  check(gradstep_rendezvous_pending(nullptr, nullptr, &found), refused, "options: is NULL");
  options.engine = "self";
  check(gradstep_rendezvous_pending(nullptr, &options, &found), refused, "'self' has no rendezvous");
}

TEST_F(CommHandles, GlooMeetsThroughTheUniqueIdAndThroughAHostsStore) {
#if !defined(GRADSTEP_TEST_PLUGIN_DIR)
  GTEST_SKIP() << "the gloo plugin was not built";
#endif
  MapStore shared;
  const gradstep_store store = store_over(shared);
  std::array<char, 40> id{};
  check(gradstep_comm_unique_id_ex("gloo", "lo", id.data(), id.size(), nullptr), GRADSTEP_OK);
  for (const bool by_id : {true, false}) {
    std::array<std::thread, 3> threads;
    for (std::size_t r = 0; r < threads.size(); ++r) {
      threads[r] = std::thread([&, r] {
        gradstep_comm_options options = options_;
        options.timeout_ms = 10000;
        options.rank = static_cast<int32_t>(r);
        options.world_size = 3;
        options.id = by_id ? id.data() : nullptr;
        options.id_len = by_id ? id.size() : 0;
        options.store = by_id ? nullptr : &store;
        gradstep_comm* comm = nullptr;
        check(gradstep_comm_create(context_, &options, &comm), GRADSTEP_OK);
        int32_t local_rank = -1;
        check(gradstep_comm_local_rank(comm, &local_rank), GRADSTEP_OK);
        EXPECT_EQ(local_rank, static_cast<int32_t>(r));
        TestTensor<float> data({5000}, 1.5F);
        const gradstep_tensor tensor = data.tensor();
        check(gradstep_comm_all_reduce(comm, &tensor, GRADSTEP_REDUCE_SUM, nullptr), GRADSTEP_OK);
        EXPECT_EQ(data.values, std::vector<float>(5000, 4.5F));
        gradstep_comm_destroy(comm);
      });
    }
    for (auto& thread : threads) thread.join();
  }
}

TEST_F(CommHandles, AForkedChildIsToldAndCanDestroy) {
  std::array<std::thread, 2> threads;
  for (std::size_t r = 0; r < 2; ++r) {
    threads[r] = std::thread([this, r] {  // large enough to start the context's pool
      TestTensor<float> data({1 << 20}, 1.0F);
      const gradstep_tensor tensor = data.tensor();
      check(gradstep_comm_all_reduce(comms_[r], &tensor, GRADSTEP_REDUCE_SUM, nullptr), GRADSTEP_OK);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(true_in_child([&] {
    const bool told = gradstep_comm_barrier(comms_[0]) == GRADSTEP_ERR_INVALID_STATE &&
                      gradstep_comm_abort(comms_[0]) == GRADSTEP_ERR_INVALID_STATE;
    for (gradstep_comm* comm : comms_) gradstep_comm_destroy(comm);
    gradstep_context_destroy(context_);
    return told;
  }));
  all_good();
}

TEST_F(CommHandles, DestroyTakesNullAndForeignHandlesAreRecognised) {
  gradstep_comm_destroy(nullptr);
  check(gradstep_comm_barrier(reinterpret_cast<gradstep_comm*>(context_)), GRADSTEP_ERR_INVALID_ARGUMENT,
        "gradstep_comm");
}

TEST(CommunicatorLog, SaysWhatIsConnectedAndOnceWhatBroke) {
  RecordedLog records;
  CommSettings settings;
  auto comms = make_local_communicators(records.context(), 2, settings);
  EXPECT_EQ(records.count(GRADSTEP_LOG_INFO, "communicator: rank 1 of 2 by engine local, RANK order"), 1);
  expect_error(GRADSTEP_ERR_TIMEOUT, "", [&] { comms[0]->barrier(Deadline::after_ms(1)); });
  expect_error(GRADSTEP_ERR_TIMEOUT, "", [&] { comms[0]->barrier(Deadline::after_ms(1)); });
  EXPECT_EQ(records.count(GRADSTEP_LOG_ERROR, "rank 0 of 2 by engine local is broken: GRADSTEP_ERR_TIMEOUT: "), 1);
  comms[1]->abort();
  EXPECT_EQ(records.count(GRADSTEP_LOG_ERROR, "communicator: rank 1"), 0);
  EXPECT_EQ(records.count(GRADSTEP_LOG_INFO, "rank 1 of 2 by engine local is broken: GRADSTEP_ERR_ABORTED: "), 1);
}

}  // namespace
}  // namespace gradstep::test
