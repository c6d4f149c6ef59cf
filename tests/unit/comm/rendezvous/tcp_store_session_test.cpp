// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What the TCP store makes of the bytes of one client.
#include <arpa/inet.h>

#include "comm/rendezvous/tcp_store_session.h"
#include "tests/unit/support.h"

namespace gradstep::test {
namespace {

using namespace tcp_store;
using Time = Session::Time;

constexpr Time kNow{};

template <class Message>
std::string bytes_of(const Message& message) {
  return {reinterpret_cast<const char*>(&message), sizeof message};
}

std::string hello(const Token& token, std::uint32_t rank = 0, std::uint32_t world_size = 1) {
  return bytes_of(Hello{token, htonl(rank), htonl(world_size)});
}

std::string request(std::uint32_t operation, std::size_t key_length, std::size_t value_length,
                    std::uint32_t timeout_ms = 0) {
  return bytes_of(Request{htonl(operation), htonl(static_cast<std::uint32_t>(key_length)),
                          htonl(static_cast<std::uint32_t>(value_length)), htonl(timeout_ms)});
}

std::string set(const std::string& key, const std::string& value) {
  return request(1, key.size(), value.size()) + key + value;
}

std::string get(const std::string& key, std::uint32_t timeout_ms = 0) {
  return request(2, key.size(), 0, timeout_ms) + key;
}

std::string reply(bool found, const std::string& value = "") {
  return bytes_of(Reply{htonl(found ? 1 : 0), htonl(static_cast<std::uint32_t>(value.size()))}) + value;
}

class StoreSession : public testing::Test {
 protected:
  StoreSession() { contents_.token.fill(std::byte{42}); }

  /// What a client is answered that sends `bytes` in pieces and reads all.
  std::string converse(Session& session, std::string_view bytes, std::size_t piece = SIZE_MAX) {
    std::string answers;
    while (!bytes.empty() && !session.is_broken()) {
      const std::size_t taken = std::min({bytes.size(), piece, session.room()});
      session.receive(bytes.substr(0, taken), kNow);
      bytes.remove_prefix(taken);
      while (!session.unsent().empty()) {
        answers += session.unsent();
        session.sent(session.unsent().size(), kNow);
      }
    }
    return answers;
  }

  Session member() {
    Session session(contents_);
    converse(session, hello(contents_.token));
    EXPECT_TRUE(session.is_member());
    return session;
  }

  Contents contents_;
};

TEST_F(StoreSession, HearsNoMoreOfAStrangerThanTheHello) {
  Session session(contents_);
  EXPECT_EQ(session.room(), sizeof(Hello));
  session.receive(hello(contents_.token).substr(0, 10), kNow);
  EXPECT_EQ(session.room(), sizeof(Hello) - 10);
  EXPECT_FALSE(session.is_member());
}

TEST_F(StoreSession, TellsNothingToWhoHasAnotherToken) {
  Session session(contents_);
  Token other = contents_.token;
  other.back() ^= std::byte{1};
  EXPECT_EQ(converse(session, hello(other) + set("k", "v")), "");
  EXPECT_TRUE(session.is_broken());
  EXPECT_FALSE(session.is_member());
  EXPECT_EQ(session.room(), 0U);
  EXPECT_TRUE(contents_.values.empty() && contents_.ranks.empty());
}

TEST_F(StoreSession, CountsTheRanksThatCame) {
  EXPECT_FALSE(contents_.all_ranks_came());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    Session session(contents_);
    converse(session, hello(contents_.token, rank, 3));
    EXPECT_EQ(contents_.all_ranks_came(), rank == 2);
  }
}

TEST_F(StoreSession, AnswersInOrderHoweverTheBytesCome) {
  const std::string said =
      hello(contents_.token) + set("a", "1") + get("a") + get("absent") + set("a", "22") + get("a");
  const std::string expected = reply(true) + reply(true, "1") + reply(false) + reply(true) + reply(true, "22");
  for (const std::size_t piece : {SIZE_MAX, std::size_t{1}, std::size_t{7}}) {
    contents_.values.clear();
    Session session(contents_);
    EXPECT_EQ(converse(session, said, piece), expected) << "in pieces of " << piece;
  }
}

TEST_F(StoreSession, WaitsForAKeyUntilTheRequestsTimeIsOver) {
  Session session = member();
  session.receive(get("late", 100) + get("later", 100), kNow);
  EXPECT_EQ(session.waits_until(), kNow + std::chrono::milliseconds(100));
  session.go_on(kNow + std::chrono::milliseconds(99));
  EXPECT_EQ(session.unsent(), "");
  Session other = member();
  converse(other, set("late", "v"));
  session.go_on(kNow + std::chrono::milliseconds(99));
  EXPECT_EQ(session.unsent(), reply(true, "v"));
  session.sent(session.unsent().size(), kNow + std::chrono::milliseconds(99));
  EXPECT_EQ(session.waits_until(), kNow + std::chrono::milliseconds(199));
  session.go_on(kNow + std::chrono::milliseconds(199));
  EXPECT_EQ(session.unsent(), reply(false));
}

TEST_F(StoreSession, DoesNotPileUpAnswersForAClientThatDoesNotRead) {
  Session session = member();
  const std::string value(1000, 'v');
  converse(session, set("k", value));
  for (int i = 0; i < 100; ++i) session.receive(get("k"), kNow);
  EXPECT_EQ(session.unsent(), reply(true, value));
  session.sent(10, kNow);
  EXPECT_EQ(session.unsent(), reply(true, value).substr(10));
  session.sent(session.unsent().size(), kNow);
  EXPECT_EQ(session.unsent(), reply(true, value)) << "the next one";
}

TEST_F(StoreSession, KeepsNoMoreThanTheLongestRequest) {
  Session session = member();
  session.receive(get("absent", 1000), kNow);
  const std::string flood(1 << 20, 'x');
  std::size_t kept = 0;
  for (std::size_t room = session.room(); room > 0; room = session.room()) {
    const std::size_t taken = std::min(room, flood.size());
    session.receive(std::string_view(flood).substr(0, taken), kNow);
    kept += taken;
    ASSERT_LE(kept, sizeof(Request) + kMaxKeyLength + kMaxValueLength);
  }
}

TEST_F(StoreSession, EndsWithRequestsThatBreakTheRules) {
  for (const std::string& bad :
       {request(0, 1, 1), request(3, 1, 1), request(UINT32_MAX, 0, 0), request(1, kMaxKeyLength + 1, 0),
        request(1, 0, kMaxValueLength + 1), request(1, UINT32_MAX, UINT32_MAX)}) {
    Session session = member();
    EXPECT_EQ(converse(session, bad), "");
    EXPECT_TRUE(session.is_broken());
  }
  Session session = member();
  const std::string longest_key(kMaxKeyLength, 'k');
  EXPECT_EQ(converse(session, set(longest_key, "v")), reply(true));
}

}  // namespace
}  // namespace gradstep::test
