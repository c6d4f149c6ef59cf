// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes at all are said to the TCP store, by strangers and by members, two at once, in pieces and with pauses. It
// keeps to the limits of its sessions, tells strangers nothing, and answers members in whole replies that do not depend
// on the pieces. With libFuzzer (GRADSTEP_BUILD_FUZZERS, clang) it makes up bytes; built with replay.cpp it runs over
// the corpus.
//
// Byte 0 of the input says which of the two clients begin with a right hello. Then come acts: a byte whose bits 0 and 1
// choose the act, bit 2 the client, and the rest a number n.
//   0  the client sends the n bytes that follow       2  the client reads n bytes, or all if n is 0
//   1  as many as the two bytes that follow say       3  n * 100 ms pass
#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "comm/rendezvous/tcp_store_session.h"

namespace {

using namespace gradstep::tcp_store;

constexpr std::size_t kLongestRequest = sizeof(Request) + kMaxKeyLength + kMaxValueLength;

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "store: %s\n", what);
  std::abort();
}

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  bool empty() const { return rest_.empty(); }
  std::size_t byte() {
    const std::string_view next = bytes(1);
    return next.empty() ? 0 : static_cast<unsigned char>(next[0]);
  }
  std::string_view bytes(std::size_t most) {
    const std::string_view taken = rest_.substr(0, most);
    rest_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view rest_;
};

Token token() {
  Token bytes{};
  bytes.fill(std::byte{'t'});
  return bytes;
}

std::string right_hello() {
  const Hello hello{token(), htonl(0), htonl(2)};
  return {reinterpret_cast<const char*>(&hello), sizeof hello};
}

/// One end of a connection: what was said and what was answered.
class Client {
 public:
  explicit Client(Contents& contents) : session_(contents) {}

  void says(std::string_view bytes, Session::Time now) {
    while (!bytes.empty() && session_.room() > 0) {
      const std::string_view taken = bytes.substr(0, session_.room());
      bytes.remove_prefix(taken.size());
      session_.receive(taken, now);
      said_ += taken;
      check();
    }
  }

  void reads(std::size_t most, Session::Time now) {
    const std::size_t bytes = std::min(most, session_.unsent().size());
    answers_ += session_.unsent().substr(0, bytes);
    session_.sent(bytes, now);
    check();
  }

  void reads_all(Session::Time now) {
    while (!session_.unsent().empty()) reads(session_.unsent().size(), now);
  }

  void goes_on(Session::Time now) {
    session_.go_on(now);
    check();
    require(!session_.waits_until() || *session_.waits_until() > now, "a get that waits after its time");
  }

  const std::string& said() const { return said_; }
  const std::string& answers() const { return answers_; }
  const Session& session() const { return session_; }

  void check_answers() const {
    std::string_view rest = answers_;
    while (!rest.empty()) {
      Reply reply{};
      require(rest.size() >= sizeof reply, "half a reply");
      std::memcpy(&reply, rest.data(), sizeof reply);
      const std::size_t length = ntohl(reply.value_length);
      const std::size_t found = ntohl(reply.found);
      require(found == 1 || (found == 0 && length == 0), "a reply that is neither yes nor no");
      require(rest.size() - sizeof reply >= length, "half a value");
      rest.remove_prefix(sizeof reply + length);
    }
  }

 private:
  void check() const {
    require(session_.room() <= kLongestRequest, "room for more than a request");
    require(session_.unsent().size() <= sizeof(Reply) + kMaxValueLength, "more than one reply unsent");
    if (session_.is_broken()) require(session_.room() == 0, "room for somebody who broke the rules");
    if (session_.is_member()) return;
    require(session_.unsent().empty() && !session_.waits_until(), "an answer to a stranger");
    require(session_.room() <= sizeof(Hello), "a stranger is heard beyond its hello");
  }

  Session session_;
  std::string said_;
  std::string answers_;
};

/// Says the words again without pauses, in pieces of one size: answers, contents and end must be equal.
void check_pieces(const std::string& said) {
  const Session::Time now{};
  Contents contents[2];
  for (Contents& fresh : contents) fresh.token = token();
  Client whole(contents[0]);
  Client pieces(contents[1]);
  for (std::size_t at = 0; at < said.size(); at += 5) {
    pieces.says(std::string_view(said).substr(at, 5), now);
    pieces.reads_all(now);
  }
  whole.says(said, now);
  whole.reads_all(now);
  require(whole.answers() == pieces.answers(), "the answers depend on the pieces");
  require(contents[0].values == contents[1].values, "the values depend on the pieces");
  require(contents[0].ranks == contents[1].ranks, "the ranks depend on the pieces");
  require(whole.session().is_broken() == pieces.session().is_broken(), "the end depends on the pieces");
  require(whole.session().waits_until() == pieces.session().waits_until(), "the wait depends on the pieces");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  Session::Time now{};
  Contents contents;
  contents.token = token();
  Client clients[2] = {Client(contents), Client(contents)};
  const std::size_t members = input.byte();
  for (std::size_t i = 0; i < 2; ++i) {
    if ((members >> i & 1) != 0) clients[i].says(right_hello(), now);
  }
  while (!input.empty()) {
    const std::size_t act = input.byte();
    Client& client = clients[act >> 2 & 1];
    std::size_t n = act >> 3;
    switch (act & 3) {
      case 1:
        n = input.byte() << 8;
        n |= input.byte();
        [[fallthrough]];
      case 0:
        client.says(input.bytes(n), now);
        break;
      case 2:
        client.reads(n == 0 ? SIZE_MAX : n, now);
        break;
      default:
        now += std::chrono::milliseconds(100 * n);
        for (Client& each : clients) each.goes_on(now);
        break;
    }
  }
  for (Client& client : clients) client.reads_all(now);
  for (const Client& client : clients) {
    client.check_answers();
    check_pieces(client.said());
  }
  if (!clients[0].session().is_member() && !clients[1].session().is_member()) {
    require(contents.ranks.empty() && contents.values.empty(), "a stranger has left something");
  }
  return 0;
}
