// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The TCP store on a port that every host can reach: what those without the token can take from the ranks and from the
// process that serves them; and the directory store in a directory that every user may write to.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <thread>

#include "comm/rendezvous/socket.h"
#include "comm/rendezvous/store.h"
#include "comm/rendezvous/tcp_store_server.h"
#include "core/file_descriptor.h"
#include "tests/unit/comm/worlds.h"

namespace gradstep::test {
namespace {

using namespace std::chrono_literals;

std::string get(Store& store, const std::string& key) {
  std::string value(1000, '\0');
  std::size_t length = value.size();
  if (!store.get(key, value.data(), length, Deadline::after_ms(20000))) return "(none)";
  value.resize(length);
  return value;
}

void set(Store& store, const std::string& key, const std::string& value) { store.set(key, value.data(), value.size()); }

std::unique_ptr<Store> connect(const tcp_store::Id& id, std::int32_t rank, std::int32_t world_size) {
  const auto bytes = tcp_store::encode(id);
  return connect_tcp_store(bytes.data(), bytes.size(), rank, world_size, Deadline::after_ms(20000));
}

FileDescriptor call(const tcp_store::Id& id) { return connect_to(id.address, Deadline::after_ms(20000)); }

void expect_turned_out(const FileDescriptor& stranger) {
  char byte = 0;
  expect_error(GRADSTEP_ERR_IO, "", [&] { recv_all(stranger, &byte, 1, Deadline::after_ms(20000)); });
}

bool ends(const tcp_store::Id& id) {
  for (int i = 0; i < 2000; ++i) {
    try {
      call(id);
    } catch (const Error&) {
      return true;
    }
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

/// How many descriptors this process may have, while the object lives. Free descriptors below the limit are left.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(rlim_t limit) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit lower{limit, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  }
  ~DescriptorLimit() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  rlimit before_{};
};

FileDescriptor any_file() { return FileDescriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

rlim_t next_descriptor() { return static_cast<rlim_t>(any_file().get()); }

std::chrono::nanoseconds processor_time() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

TEST(Strangers, MakeRoomForMembersAndForEachOther) {
  const auto id = start_tcp_store("127.0.0.1", {.hello = 10min, .strangers = 4});
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 20; ++i) strangers.push_back(call(id));
  const auto ours = connect(id, 0, 2);
  set(*ours, "k", "v");
  for (int i = 0; i < 16; ++i) expect_turned_out(strangers[static_cast<std::size_t>(i)]);
  const auto theirs = connect(id, 1, 2);
  EXPECT_EQ(get(*theirs, "k"), "v");
}

TEST(Strangers, AreTurnedOutWhenTheySayNothing) {
  const auto id = start_tcp_store("127.0.0.1", {.hello = 50ms});
  const FileDescriptor silent = call(id);
  const FileDescriptor slow = call(id);
  send_all(slow, "half", 4, Deadline::after_ms(20000));
  expect_turned_out(silent);
  expect_turned_out(slow);
}

TEST(Strangers, DoNotKeepAStoreThatIsDone) {
  const auto id = start_tcp_store("127.0.0.1", {.hello = 10min});
  const FileDescriptor stranger = call(id);
  {
    const auto only = connect(id, 0, 1);
    set(*only, "k", "v");
  }
  EXPECT_TRUE(ends(id));
}

TEST(Strangers, DoNotKeepAStoreThatNoRankUses) {
  const auto id = start_tcp_store("127.0.0.1", {.patience = 200ms});
  EXPECT_TRUE(ends(id)) << "looking whether it has ended is a stranger's call every 10 ms";
}

TEST(Strangers, LeaveTheProcessItsDescriptors) {
  const rlim_t limit = next_descriptor() + 160;
  const DescriptorLimit lowered(limit);
  const auto id = start_tcp_store("127.0.0.1", {.hello = 10min});
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(call(id));
  const auto member = connect(id, 0, 1);
  set(*member, "k", "v");  // answered after the strangers before it were let in
  std::vector<FileDescriptor> files;
  for (int i = 0; i < 20; ++i) files.push_back(any_file());
  EXPECT_TRUE(files.back().valid()) << std::strerror(errno);
}

// The first rank gets the place that the store keeps in reserve; the second waits, and so does the store, without
// looking for a place all the time.
TEST(Strangers, NeitherTheyNorMembersKeepAProcessBusyThatHasNoDescriptorLeft) {
  const auto id = start_tcp_store("127.0.0.1");
  const auto first = connect(id, 2, 3);  // the store's thread runs
  set(*first, "k", "v");
  const tcp_store::Hello hello{id.token, htonl(0), htonl(3)};
  const tcp_store::Request request{htonl(2), htonl(1), 0, htonl(10000)};
  std::string said(reinterpret_cast<const char*>(&hello), sizeof hello);
  said.append(reinterpret_cast<const char*>(&request), sizeof request).append("k");
  std::array<FileDescriptor, 2> ranks;
  for (FileDescriptor& rank : ranks) rank = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));

  std::vector<FileDescriptor> files;
  std::array<char, sizeof(tcp_store::Reply) + 1> reply{};
  {
    const DescriptorLimit lowered(next_descriptor() + 10);
    do {
      files.push_back(any_file());
    } while (files.back().valid());
    for (const FileDescriptor& rank : ranks) {
      ASSERT_EQ(::connect(rank.get(), id.address.get(), id.address.length), 0);
      ::fcntl(rank.get(), F_SETFL, O_NONBLOCK);
      send_all(rank, said.data(), said.size(), Deadline::after_ms(20000));
      if (&rank == &ranks[0]) recv_all(rank, reply.data(), reply.size(), Deadline::after_ms(20000));
    }
    EXPECT_EQ(reply.back(), 'v');
    reply.fill(0);
    const auto before = processor_time();
    std::this_thread::sleep_for(500ms);
    EXPECT_LT(processor_time() - before, 150ms);
    files.clear();
    recv_all(ranks[1], reply.data(), reply.size(), Deadline::after_ms(20000));
    EXPECT_EQ(reply.back(), 'v');
  }
}

/// A process that has what this one has, and does nothing, while the object lives.
class ForkedChild {
 public:
  ForkedChild() : process_(::fork()) {
    if (process_ != 0) return;
    for (;;) ::pause();
  }
  ~ForkedChild() {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ForkedChild(const ForkedChild&) = delete;
  ForkedChild& operator=(const ForkedChild&) = delete;

 private:
  pid_t process_;
};

TEST(Strangers, AreTurnedOutThoughAForkedChildHasTheirConnections) {
  const auto id = start_tcp_store("127.0.0.1", {.hello = 10min, .strangers = 1});
  const FileDescriptor stranger = call(id);
  const auto member = connect(id, 0, 2);
  set(*member, "k", "v");  // answered after the stranger before it was let in
  const ForkedChild child;
  const FileDescriptor other = call(id);
  expect_turned_out(stranger);
}

TEST(Strangers, FindNobodyWhereAForkedChildHasThePortOfAStoreThatIsDone) {
  const auto id = start_tcp_store("127.0.0.1");
  const ForkedChild child;  // which has no rank's connection
  auto only = connect(id, 0, 1);
  set(*only, "k", "v");
  only.reset();
  EXPECT_TRUE(ends(id));
}

/// A server of the test's own: `talk` has one connection after the other. What goes wrong there the client will see.
template <class Talk>
std::jthread serve_in_place_of_a_store(tcp_store::Id& id, int connections, Talk talk) {
  id.address = own_address("127.0.0.1");
  auto listener = std::make_shared<FileDescriptor>(listen_on(id.address));
  return std::jthread([listener, connections, talk] {
    for (int n = 0; n < connections; ++n) {
      pollfd entry{listener->get(), POLLIN, 0};
      ::poll(&entry, 1, 10000);
      const FileDescriptor socket(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
      try {
        talk(n, socket);
      } catch (const Error&) {
      }
    }
  });
}

TEST(TcpStoreClient, CallsAgainWhenItWasTurnedOutBeforeTheFirstAnswer) {
  tcp_store::Id id;
  const std::jthread server = serve_in_place_of_a_store(id, 2, [](int n, const FileDescriptor& socket) {
    if (n == 0) return;
    std::array<char, sizeof(tcp_store::Hello) + sizeof(tcp_store::Request) + 2> said{};
    recv_all(socket, said.data(), said.size(), Deadline::after_ms(20000));
    const tcp_store::Reply reply{htonl(1), 0};
    send_all(socket, &reply, sizeof reply, Deadline::after_ms(20000));
  });
  const auto store = connect(id, 0, 1);
  set(*store, "k", "v");
}

/// What a client has said: its hello, and a request of so many bytes.
void expect_request(const FileDescriptor& socket, std::size_t bytes, bool first) {
  std::string said((first ? sizeof(tcp_store::Hello) : 0) + sizeof(tcp_store::Request) + bytes, '\0');
  recv_all(socket, said.data(), said.size(), Deadline::after_ms(20000));
}

void answer(const FileDescriptor& socket, bool found, const std::string& value) {
  const tcp_store::Reply reply{htonl(found ? 1 : 0), htonl(static_cast<std::uint32_t>(value.size()))};
  send_all(socket, &reply, sizeof reply, Deadline::after_ms(20000));
  std::this_thread::sleep_for(20ms);  // a rank may look in between
  send_all(socket, value.data(), value.size(), Deadline::after_ms(20000));
}

bool look_for(Store& store, const std::string& key, std::string& value) {
  value.resize(100);
  std::size_t length = value.size();
  const bool found = store.get(key, value.data(), length, Deadline::after_ms(1));
  value.resize(found ? length : 0);
  return found;
}

TEST(TcpStoreClient, AsksOnceAndWaitsForAStoreThatStalls) {
  tcp_store::Id id;
  const std::jthread server = serve_in_place_of_a_store(id, 1, [](int, const FileDescriptor& socket) {
    expect_request(socket, 1, true);
    std::this_thread::sleep_for(700ms);
    answer(socket, true, "value");
    char byte = 0;
    EXPECT_EQ(::recv(socket.get(), &byte, 1, 0), 0) << "it was asked again";
  });
  const auto store = connect(id, 0, 1);
  std::string value;
  int looks = 0;
  while (!look_for(*store, "k", value)) ASSERT_LT(++looks, 1000);
  EXPECT_GT(looks, 0);
  EXPECT_EQ(value, "value");
}

TEST(TcpStoreClient, GoesOnWithOtherKeysAfterAStall) {
  tcp_store::Id id;
  const std::jthread server = serve_in_place_of_a_store(id, 1, [](int, const FileDescriptor& socket) {
    expect_request(socket, 1, true);
    std::this_thread::sleep_for(500ms);
    answer(socket, true, "late");  // nobody waits for it any more
    expect_request(socket, 2, false);
    answer(socket, true, "");
    expect_request(socket, 1, false);
    answer(socket, true, "other");
  });
  const auto store = connect(id, 0, 1);
  std::string value;
  EXPECT_FALSE(look_for(*store, "k", value));
  set(*store, "s", "x");
  EXPECT_EQ(get(*store, "o"), "other");
}

TEST(TcpStoreClient, TakesNoLengthThatNoStoreWouldSend) {
  tcp_store::Id id;
  const std::jthread server = serve_in_place_of_a_store(id, 1, [](int, const FileDescriptor& socket) {
    const tcp_store::Reply reply{htonl(1), htonl(UINT32_MAX)};
    send_all(socket, &reply, sizeof reply, Deadline::after_ms(20000));
    char byte = 0;
    while (::recv(socket.get(), &byte, 1, 0) > 0) {
    }
  });
  const auto store = connect(id, 0, 1);
  expect_error(GRADSTEP_ERR_IO, "offers a value of 4294967295 bytes", [&] { get(*store, "k"); });
}

class SharedDirectory : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string victim() const {
    std::ifstream stream(at("victim"));
    return {std::istreambuf_iterator<char>(stream), {}};
  }

  void SetUp() override { std::ofstream(at("victim")) << "precious"; }

  TemporaryDirectory directory_;
  std::unique_ptr<Store> store_ = open_directory_store(directory_.path());
};

TEST_F(SharedDirectory, NothingPreparedBesideAKeyIsWrittenThrough) {
  const std::string name = "." + std::to_string(::getpid()) + ".part";
  std::filesystem::create_symlink("victim", at("linked" + name));
  ASSERT_EQ(::mkfifo(at("piped" + name).c_str(), 0666), 0);
  for (const char* key : {"linked", "piped"}) {
    set(*store_, key, "value");
    EXPECT_EQ(get(*store_, key), "value");
  }
  EXPECT_EQ(victim(), "precious");
}

TEST_F(SharedDirectory, ALinkInAKeysPlaceIsReplacedAndNotRead) {
  std::filesystem::create_symlink("victim", at("key"));
  expect_error(GRADSTEP_ERR_IO, "key' is a symbolic link, expected a regular file", [&] { get(*store_, "key"); });
  set(*store_, "key", "value");
  EXPECT_EQ(get(*store_, "key"), "value");
  EXPECT_EQ(victim(), "precious");
}

TEST_F(SharedDirectory, AFifoInAKeysPlaceIsAnErrorAtOnce) {
  ASSERT_EQ(::mkfifo(at("key").c_str(), 0666), 0);
  expect_error(GRADSTEP_ERR_IO, "key' is a FIFO, expected a regular file", [&] { get(*store_, "key"); });
}

}  // namespace
}  // namespace gradstep::test
