// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The stores through which ranks meet.
#include <arpa/inet.h>
#include <ifaddrs.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "comm/rendezvous/network_address.h"
#include "comm/rendezvous/rendezvous.h"
#include "comm/rendezvous/socket.h"
#include "comm/rendezvous/store.h"
#include "comm/rendezvous/tcp_store_server.h"
#include "core/file_descriptor.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

std::string get(Store& store, const std::string& key, std::int64_t timeout_ms = 20000) {
  std::string value(1000, '\0');
  std::size_t length = value.size();
  if (!store.get(key, value.data(), length, Deadline::after_ms(timeout_ms))) return "(none)";
  value.resize(length);
  return value;
}

void set(Store& store, const std::string& key, const std::string& value) { store.set(key, value.data(), value.size()); }

/// What holds for every store: `ours` and `theirs` are two ranks' views of one.
void check_store(Store& ours, Store& theirs) {
  set(ours, "a/1", "first");
  EXPECT_EQ(get(theirs, "a/1"), "first");
  set(theirs, "a/1", "second");
  EXPECT_EQ(get(ours, "a/1"), "second");
  set(ours, "empty", "");
  EXPECT_EQ(get(theirs, "empty"), "");
  EXPECT_EQ(get(theirs, "absent", 50), "(none)");

  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    set(theirs, "late", "value");
  });
  EXPECT_EQ(get(ours, "late"), "value");
  later.join();

  std::string small(3, '\0');
  std::size_t length = small.size();
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "bytes",
               [&] { ours.get("late", small.data(), length, Deadline::after_ms(20000)); });
  EXPECT_EQ(get(ours, "late"), "value") << "a value that did not fit must not spoil the connection";
}

TEST(DirectoryStore, KeepsItsPromises) {
  const TemporaryDirectory directory;
  const auto ours = open_directory_store(directory.path() + "/made");
  const auto theirs = open_directory_store(directory.path() + "/made");
  check_store(*ours, *theirs);
}

TEST(DirectoryStore, AnUnusablePathIsNamed) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() + "/file") << "x";
  expect_error(GRADSTEP_ERR_IO, "not a directory", [&] { open_directory_store(directory.path() + "/file"); });
  expect_error(GRADSTEP_ERR_IO, "/none/below", [&] { open_directory_store(directory.path() + "/none/below"); });
}

std::unique_ptr<Store> connect(const tcp_store::Id& id, std::int32_t rank, std::int32_t world_size) {
  const auto bytes = tcp_store::encode(id);
  return connect_tcp_store(bytes.data(), bytes.size(), rank, world_size, Deadline::after_ms(20000));
}

bool is_served(const tcp_store::Id& id) {
  try {
    connect_to(id.address, Deadline::after_ms(5000));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool becomes_unserved(const tcp_store::Id& id) {
  for (int i = 0; i < 1000 && is_served(id); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return !is_served(id);
}

TEST(TcpStore, KeepsItsPromises) {
  const auto id = start_tcp_store("127.0.0.1");
  const auto ours = connect(id, 0, 2);
  const auto theirs = connect(id, 1, 2);
  check_store(*ours, *theirs);
}

TEST(TcpStore, EndsWhenEveryRankHasComeAndGone) {
  const auto id = start_tcp_store("127.0.0.1");
  auto first = connect(id, 0, 2);
  set(*first, "k", "v");
  first.reset();
  EXPECT_TRUE(is_served(id)) << "rank 1 has not come yet";
  auto second = connect(id, 1, 2);
  EXPECT_EQ(get(*second, "k"), "v");
  second.reset();
  EXPECT_TRUE(becomes_unserved(id));
}

TEST(TcpStore, EndsWhenNobodyUsesIt) {
  const auto id = start_tcp_store("127.0.0.1", {.patience = std::chrono::milliseconds(100)});
  EXPECT_TRUE(becomes_unserved(id));
}

TEST(TcpStore, AWrongTokenIsTurnedAway) {
  auto id = start_tcp_store("127.0.0.1");
  const auto ours = connect(id, 0, 1);
  set(*ours, "k", "v");
  id.token[3] ^= std::byte{1};
  const auto stranger = connect(id, 0, 1);
  expect_error(GRADSTEP_ERR_IO, "", [&] { get(*stranger, "k"); });
  EXPECT_EQ(get(*ours, "k"), "v");
}

TEST(TcpStore, GarbageDoesNotDisturbOthers) {
  const auto id = start_tcp_store("127.0.0.1");
  const auto ours = connect(id, 0, 2);
  {
    const FileDescriptor noise = connect_to(id.address, Deadline::after_ms(20000));
    const std::string text(5000, 'x');
    send_all(noise, text.data(), text.size(), Deadline::after_ms(20000));
    char reply = 0;
    expect_error(GRADSTEP_ERR_IO, "", [&] { recv_all(noise, &reply, 1, Deadline::after_ms(20000)); });
  }
  const auto theirs = connect(id, 1, 2);
  check_store(*ours, *theirs);
}

TEST(TcpStore, AnIdSurvivesItsBytes) {
  tcp_store::Id id;
  id.address = own_address("127.0.0.1");
  id.address.set_port(12345);
  id.token[0] = std::byte{7};
  const auto bytes = tcp_store::encode(id);
  const auto copy = tcp_store::decode(bytes.data(), bytes.size());
  EXPECT_EQ(copy.address.text(), "127.0.0.1");
  EXPECT_EQ(copy.address.port(), 12345);
  EXPECT_EQ(copy.token, id.token);
  auto spoiled = bytes;
  spoiled[0] = std::byte{0};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.id", [&] { tcp_store::decode(spoiled.data(), bytes.size()); });
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.id_len", [&] { tcp_store::decode(bytes.data(), 5); });
}

TEST(TcpStore, AServerThatIsGoneIsAnIoErrorThatNamesIt) {
  auto id = start_tcp_store("127.0.0.1", {.patience = std::chrono::milliseconds(1)});
  ASSERT_TRUE(becomes_unserved(id));
  expect_error(GRADSTEP_ERR_IO, "127.0.0.1", [&] { connect(id, 0, 1); });
  expect_error(GRADSTEP_ERR_IO, "network_interface", [&] { connect(id, 0, 1); });
}

TEST(OwnAddress, LoopbackAddressesAreKnown) {
  EXPECT_TRUE(own_address("127.0.0.1").is_loopback());
  EXPECT_TRUE(own_address("127.0.1.1").is_loopback());
  NetworkAddress address;
  address.storage.ss_family = AF_INET6;
  reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_addr = in6addr_loopback;
  EXPECT_TRUE(address.is_loopback());
  reinterpret_cast<sockaddr_in6*>(&address.storage)->sin6_addr.s6_addr[0] = 0x20;
  EXPECT_FALSE(address.is_loopback());
  address.storage.ss_family = AF_INET;
  reinterpret_cast<sockaddr_in*>(&address.storage)->sin_addr.s_addr = htonl(0x0a630701);
  EXPECT_FALSE(address.is_loopback());
}

TEST(OwnAddress, TakesInterfacesNamesAndAddresses) {
  EXPECT_EQ(own_address("lo").text(), "127.0.0.1");
  EXPECT_EQ(own_address("127.0.0.1").text(), "127.0.0.1");
  EXPECT_EQ(own_address("localhost").text().empty(), false);
  EXPECT_EQ(own_address(nullptr).text().empty(), false);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "203.0.113.7", [] { own_address("203.0.113.7"); });
}

NetworkAddress ipv4(std::uint32_t address) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_addr.s_addr = htonl(address);
  NetworkAddress result;
  std::memcpy(&result.storage, &v4, sizeof v4);
  result.length = sizeof v4;
  return result;
}

/// Where the host's name is a loopback address, that of the connection to the store stands in for it.
TEST(OwnAddress, IsThatFromWhichTheStoreIsReachedRatherThanLoopback) {
  // Where the store is at a loopback address, all ranks are on this machine, and its name will do.
  const NetworkAddress named = own_address(nullptr, ipv4(INADDR_LOOPBACK + 256));
  NetworkAddress reached = ipv4(0x0a630701);
  reached.set_port(4711);
  const NetworkAddress chosen = own_address(nullptr, reached);
  EXPECT_EQ(chosen.text(), named.is_loopback() ? "10.99.7.1" : named.text());
  EXPECT_EQ(chosen.port(), 0);
  EXPECT_EQ(own_address("127.0.0.1", reached).text(), "127.0.0.1") << "a network_interface was given";
}

bool has_route_out() {
  const FileDescriptor probe(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  NetworkAddress somewhere = ipv4(0xC0000201);
  somewhere.set_port(9);
  return ::connect(probe.get(), somewhere.get(), somewhere.length) == 0;
}

TEST(NetworkAddress, AnIpv4AddressInIpv6sFormIsUnmapped) {
  NetworkAddress mapped;
  auto& v6 = reinterpret_cast<sockaddr_in6&>(mapped.storage);
  v6.sin6_family = AF_INET6;
  ASSERT_EQ(inet_pton(AF_INET6, "::ffff:127.0.0.1", &v6.sin6_addr), 1);
  mapped.length = sizeof v6;
  mapped.set_port(4711);
  EXPECT_FALSE(mapped.is_loopback());
  EXPECT_TRUE(mapped.unmapped().is_loopback());
  EXPECT_EQ(mapped.unmapped().text(), "127.0.0.1");
  EXPECT_EQ(mapped.unmapped().port(), 4711);
  EXPECT_EQ(loopback_address().unmapped().text(), "127.0.0.1");
}

/// A store that does not say from where it is reached may be one that other machines use.
TEST(OwnAddress, IsNoLoopbackAddressWhereThereIsARouteToOthers) {
  const NetworkAddress own = own_address(nullptr);
  EXPECT_EQ(own.port(), 0);
  EXPECT_EQ(own_address(own.text().c_str()).text(), own.text()) << "it is one of this machine";
  if (has_route_out()) {
    EXPECT_FALSE(own.is_loopback()) << own.text();
    EXPECT_FALSE(start_tcp_store(nullptr).address.is_loopback());
  }
}

/// An IPv4 address of this machine that is no loopback address; empty if it has none.
std::string some_reachable_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    NetworkAddress address;
    address.length = sizeof(sockaddr_in);
    std::memcpy(&address.storage, entry->ifa_addr, address.length);
    if (!address.is_loopback()) return address.text();
  }
  return {};
}

TEST(TcpStore, SaysFromWhichAddressItIsReached) {
  const auto here = start_tcp_store("127.0.0.1");
  const auto reached = connect(here, 0, 1)->reached_from();
  ASSERT_TRUE(reached);
  EXPECT_TRUE(reached->is_loopback());
  const std::string address = some_reachable_address();
  if (address.empty()) GTEST_SKIP() << "this machine has loopback addresses alone";
  const auto there = start_tcp_store(address.c_str());
  EXPECT_EQ(connect(there, 0, 1)->reached_from()->text(), address);
}

TEST(Rendezvous, WhoWaitsAtALoopbackAddressIsToldOfInterfaces) {
  const auto id = start_tcp_store("127.0.0.1");
  const auto store = connect(id, 0, 2);
  gradstep_comm_options options{};
  options.world_size = 2;
  const auto context = make_context();
  Rendezvous rendezvous(*store, *context, "gloo", options);
  const std::vector<char> own(2);
  expect_error(GRADSTEP_ERR_TIMEOUT, "network_interface", [&] { rendezvous.meet(own, 1, Deadline::after_ms(50)); });
}

/// "fe80::...%eth0", if this machine has such an address.
std::string some_link_local_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, &freeifaddrs);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET6) continue;
    NetworkAddress address;
    address.length = sizeof(sockaddr_in6);
    std::memcpy(&address.storage, entry->ifa_addr, address.length);
    if (address.is_link_local()) return address.text();
  }
  return {};
}

TEST(TcpStore, IsNotServedWhereAnIdCannotSayWhere) {
  const std::string address = some_link_local_address();
  if (address.empty()) GTEST_SKIP() << "this machine has no link-local address";
  EXPECT_EQ(own_address(address.c_str()).text(), address);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "'" + address + "' is a link-local address",
               [&] { start_tcp_store(address.c_str()); });
  EXPECT_FALSE(own_address(nullptr).is_link_local());
}

TEST(Rendezvous, PrefixesKeysAndPollsTheInterrupt) {
  const TemporaryDirectory directory;
  const auto store = open_directory_store(directory.path());
  static std::atomic<int> polls;
  polls = 0;
  auto options = default_context_options();
  options.interrupt = [](void*) -> std::int32_t { return ++polls >= 3 ? 1 : 0; };
  const Context context(options);
  gradstep_comm_options place{};
  place.world_size = 2;
  place.generation = 5;
  Rendezvous rendezvous(*store, context, "shm", place);
  expect_error(GRADSTEP_ERR_ABORTED, "interrupted", [&] { rendezvous.meet({}, 0, Deadline::after_ms(20000)); });
  EXPECT_EQ(polls, 3) << "the first time that the host says so";
  EXPECT_NE(get(*store, "gradstep/5/rank/0"), "(none)");
}

/// A context whose host says `answer` when it is asked whether to go on.
std::shared_ptr<Context> interrupted_by(std::atomic<int>& answer) {
  auto options = default_context_options();
  options.interrupt_user = &answer;
  options.interrupt = [](void* user) -> std::int32_t { return *static_cast<std::atomic<int>*>(user); };
  return std::make_shared<Context>(options);
}

TEST(Rendezvous, PollsTheInterruptWhereAnEarlierJobHasLeftItsValues) {
  const TemporaryDirectory directory;
  std::atomic<int> answer{0};
  const auto context = interrupted_by(answer);
  const auto meet = [&](std::int32_t rank) {
    const auto store = open_directory_store(directory.path());
    gradstep_comm_options place{};
    place.rank = rank;
    place.world_size = 2;
    Rendezvous(*store, *context, "shm", place).meet({}, 0, Deadline::after_ms(20000));
  };
  for (const Outcome& outcome : run_outcomes(2, meet)) EXPECT_EQ(outcome.status, GRADSTEP_OK) << outcome.text;
  answer = 1;
  expect_error(GRADSTEP_ERR_ABORTED, "interrupted", [&] { meet(0); });
}

TEST(Rendezvous, PollsTheInterruptWhileTheRanksConnect) {
  const TemporaryDirectory directory;
  const auto store = open_directory_store(directory.path());
  std::atomic<int> answer{0};
  const auto context = interrupted_by(answer);
  gradstep_comm_options place{};
  place.world_size = 1;
  Rendezvous rendezvous(*store, *context, "shm", place);
  rendezvous.meet({}, 0, Deadline::after_ms(20000));
  rendezvous.poll();
  answer = 1;
  expect_error(GRADSTEP_ERR_ABORTED, "interrupted", [&] {
    for (const Deadline soon = Deadline::after_ms(20000); !soon.passed();) rendezvous.poll();
  });
}

TEST(Rendezvous, RanksOfDifferentEnginesAreTold) {
  const TemporaryDirectory directory;
  const auto context = make_context();
  const auto outcomes = run_outcomes(2, [&](std::int32_t rank) {
    const auto store = open_directory_store(directory.path());
    gradstep_comm_options place{};
    place.rank = rank;
    place.world_size = 2;
    Rendezvous(*store, *context, rank == 0 ? "shm" : "gloo", place).meet({}, 0, Deadline::after_ms(20000));
  });
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.status, GRADSTEP_ERR_MISMATCH) << outcome.text;
    EXPECT_NE(outcome.text.find("engine"), std::string::npos) << outcome.text;
  }
}

}  // namespace
}  // namespace gradstep::test
