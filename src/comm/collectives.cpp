// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/collectives.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "comm/gather_stages.h"

namespace gradstep {

namespace {

// The base may be NULL where all blocks are empty.
std::byte* at(void* base, std::int64_t offset) {
  return base == nullptr ? nullptr : static_cast<std::byte*>(base) + offset;
}
const std::byte* at(const void* base, std::int64_t offset) {
  return base == nullptr ? nullptr : static_cast<const std::byte*>(base) + offset;
}

/// Blocks of so many bytes, one after the other.
void place_blocks(std::span<const std::int64_t> bytes, std::vector<std::int64_t>& offsets) {
  std::exclusive_scan(bytes.begin(), bytes.end(), offsets.begin(), std::int64_t{0});
}

}  // namespace

// The circle method: with n players (one a dummy if world_size is odd) rank n - 1 stays, the others turn. In round k
// the partners r and s of the circle satisfy r + s = k (mod n - 1).
std::int32_t tournament_partner(std::int32_t rank, std::int32_t round, std::int32_t world_size) {
  const std::int32_t players = world_size + world_size % 2;
  const std::int32_t circle = players - 1;
  std::int32_t partner = 0;
  if (rank == circle) {
    // 2 s = k (mod circle), and circle is odd: halve k, or k + circle.
    partner = round % 2 == 0 ? round / 2 : (round + circle) / 2;
  } else {
    partner = (round - rank + circle) % circle;
    if (partner == rank) partner = circle;
  }
  return partner < world_size ? partner : -1;
}

Collectives::Collectives(std::shared_ptr<Engine> engine, const Site& site, std::shared_ptr<Sent> sent)
    : engine_(std::move(engine)),
      site_(site),
      send_data_(static_cast<std::size_t>(engine_->world_size())),
      send_bytes_(send_data_.size()),
      receive_data_(send_data_.size()),
      receive_bytes_(send_data_.size()),
      offsets_(send_data_.size()),
      receive_offsets_(send_data_.size()),
      send_staging_(site_.backend().memory()),
      receive_staging_(site_.backend().memory()),
      sent_(std::move(sent)) {}

void Collectives::copy(void* destination, const void* source, std::int64_t bytes) const {
  if (bytes > 0 && destination != source) site_.queue().copy(destination, source, static_cast<std::size_t>(bytes));
}

void Collectives::send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) {
  call_engine(*engine_, "send", deadline, [&](std::int64_t timeout_ms) {
    return engine_->vtable().send(engine_->user(), data, bytes, to, site_.stream(), timeout_ms);
  });
  sent_->bytes += bytes;
}

void Collectives::recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
  call_engine(*engine_, "recv", deadline, [&](std::int64_t timeout_ms) {
    return engine_->vtable().recv(engine_->user(), data, bytes, from, site_.stream(), timeout_ms);
  });
}

void Collectives::exchange(FunctionRef<Outgoing(std::int32_t)> outgoing, FunctionRef<Incoming(std::int32_t)> incoming,
                           const Deadline& deadline) {
  ++sent_->rounds;
  if (engine_->vtable().exchange != nullptr) {
    exchange_at_once(outgoing, incoming, deadline);
  } else if (engine_->vtable().send_recv != nullptr) {
    exchange_shifted(outgoing, incoming, deadline);
  } else {
    exchange_paired(outgoing, incoming, deadline);
  }
}

void Collectives::exchange_at_once(FunctionRef<Outgoing(std::int32_t)> outgoing,
                                   FunctionRef<Incoming(std::int32_t)> incoming, const Deadline& deadline) {
  std::int64_t sent = 0;
  for (std::int32_t peer = 0; peer < world_size(); ++peer) {
    if (peer == rank()) continue;
    const auto place = static_cast<std::size_t>(peer);
    const Outgoing out = outgoing(peer);
    const Incoming in = incoming(peer);
    send_data_[place] = out.data;
    send_bytes_[place] = out.bytes;
    receive_data_[place] = in.data;
    receive_bytes_[place] = in.bytes;
    sent += out.bytes;
  }
  call_engine(*engine_, "exchange", deadline, [&](std::int64_t timeout_ms) {
    return engine_->vtable().exchange(engine_->user(), send_data_.data(), send_bytes_.data(), receive_data_.data(),
                                      receive_bytes_.data(), site_.stream(), timeout_ms);
  });
  sent_->bytes += sent;
}

// In step k each rank sends to the rank k above it and receives from the rank k below it, at once.
void Collectives::exchange_shifted(FunctionRef<Outgoing(std::int32_t)> outgoing,
                                   FunctionRef<Incoming(std::int32_t)> incoming, const Deadline& deadline) {
  const std::int32_t ranks = world_size();
  for (std::int32_t step = 1; step < ranks; ++step) {
    const std::int32_t to = (rank() + step) % ranks;
    const std::int32_t from = (rank() - step + ranks) % ranks;
    const Outgoing out = outgoing(to);
    const Incoming in = incoming(from);
    if (out.bytes > 0 && in.bytes > 0) {
      call_engine(*engine_, "send_recv", deadline, [&](std::int64_t timeout_ms) {
        return engine_->vtable().send_recv(engine_->user(), out.data, out.bytes, to, in.data, in.bytes, from,
                                           site_.stream(), timeout_ms);
      });
      sent_->bytes += out.bytes;
    } else if (out.bytes > 0) {
      send(out.data, out.bytes, to, deadline);
    } else if (in.bytes > 0) {
      recv(in.data, in.bytes, from, deadline);
    }
  }
}

// send may wait for the other side's recv, so ranks meet in pairs, the lower one speaks first, and all pairs of a round
// are disjoint: no cycle of waiting ranks can form.
void Collectives::exchange_paired(FunctionRef<Outgoing(std::int32_t)> outgoing,
                                  FunctionRef<Incoming(std::int32_t)> incoming, const Deadline& deadline) {
  for (std::int32_t round = 0; round < tournament_rounds(world_size()); ++round) {
    const std::int32_t partner = tournament_partner(rank(), round, world_size());
    if (partner < 0) continue;
    const auto speak = [&] {
      if (const Outgoing out = outgoing(partner); out.bytes > 0) send(out.data, out.bytes, partner, deadline);
    };
    const auto listen = [&] {
      if (const Incoming in = incoming(partner); in.bytes > 0) recv(in.data, in.bytes, partner, deadline);
    };
    if (rank() < partner) {
      speak();
      listen();
    } else {
      listen();
      speak();
    }
  }
}

void Collectives::engine_all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) {
  call_engine(*engine_, "all_gather", deadline, [&](std::int64_t timeout_ms) {
    return engine_->vtable().all_gather(engine_->user(), send, receive, bytes, site_.stream(), timeout_ms);
  });
  sent_->bytes += bytes * (world_size() - 1);
  sent_->rounds += gather_rounds(*engine_, bytes);
}

void Collectives::all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) {
  if (bytes == 0) return meet(deadline);
  if (world_size() == 1 || engine_->vtable().all_gather == nullptr) {
    copy(at(receive, rank() * bytes), send, bytes);
    if (world_size() == 1) return;
    exchange([&](std::int32_t) { return Outgoing{send, bytes}; },
             [&](std::int32_t from) { return Incoming{at(receive, from * bytes), bytes}; }, deadline);
    return;
  }
  const std::less<> before;  // a total order also over pointers of different arrays
  if (!before(send, receive) && before(send, at(receive, world_size() * bytes))) {
    // Engines are not asked to cope with a send buffer inside the receive buffer.
    std::byte* apart = send_staging_.reserve(bytes);
    copy(apart, send, bytes);
    send = apart;
  }
  engine_all_gather(send, receive, bytes, deadline);
}

void Collectives::all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes,
                               const Deadline& deadline) {
  const bool equal = std::all_of(bytes.begin(), bytes.end(), [&](std::int64_t b) { return b == bytes[0]; });
  if (equal) return all_gather(send, receive, bytes[0], deadline);
  if (!engine_->can_exchange()) return padded_all_gather_v(send, at(receive, 0), bytes, deadline);

  const auto own = static_cast<std::size_t>(rank());
  place_blocks(bytes, offsets_);
  copy(at(receive, offsets_[own]), send, bytes[own]);
  exchange([&](std::int32_t) { return Outgoing{send, bytes[own]}; },
           [&](std::int32_t from) {
             const auto r = static_cast<std::size_t>(from);
             return Incoming{at(receive, offsets_[r]), bytes[r]};
           },
           deadline);
}

void Collectives::padded_all_gather_v(const void* send, std::byte* receive, std::span<const std::int64_t> bytes,
                                      const Deadline& deadline) {
  const std::int64_t longest = *std::max_element(bytes.begin(), bytes.end());
  const std::int64_t own = bytes[static_cast<std::size_t>(rank())];
  const std::int64_t slice = std::min(longest, kGatherSliceBytes);
  std::byte* padded = send_staging_.reserve(slice);
  std::byte* gathered = receive_staging_.reserve(slice * world_size());
  for (std::int64_t begin = 0; begin < longest; begin += slice) {
    const std::int64_t length = std::min(slice, longest - begin);
    const std::int64_t valid = std::clamp<std::int64_t>(own - begin, 0, length);
    copy(padded, at(send, begin), valid);
    site_.queue().zero(padded + valid, static_cast<std::size_t>(length - valid));
    engine_all_gather(padded, gathered, length, deadline);
    std::int64_t block = 0;
    for (std::size_t r = 0; r < bytes.size(); ++r) {
      const std::int64_t got = std::clamp<std::int64_t>(bytes[r] - begin, 0, length);
      copy(receive + block + begin, gathered + static_cast<std::int64_t>(r) * length, got);
      block += bytes[r];
    }
  }
}

void Collectives::all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes,
                             const Deadline& deadline) {
  if (world_size() > 1 && !engine_->can_exchange()) return gathered_all_to_all(send, at(receive, 0), bytes, deadline);
  const auto own = static_cast<std::size_t>(rank());
  place_blocks(bytes, offsets_);
  copy(at(receive, rank() * bytes[own]), at(send, offsets_[own]), bytes[own]);
  if (world_size() == 1) return;
  exchange(
      [&](std::int32_t to) {
        const auto q = static_cast<std::size_t>(to);
        return Outgoing{at(send, offsets_[q]), bytes[q]};
      },
      [&](std::int32_t from) { return Incoming{at(receive, from * bytes[own]), bytes[own]}; }, deadline);
}

void Collectives::exchange_v(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                             std::span<const std::int64_t> receive_bytes, const Deadline& deadline) {
  const auto own = static_cast<std::size_t>(rank());
  place_blocks(send_bytes, offsets_);
  place_blocks(receive_bytes, receive_offsets_);
  copy(at(receive, receive_offsets_[own]), at(send, offsets_[own]), send_bytes[own]);
  if (world_size() == 1) return;
  exchange(
      [&](std::int32_t to) {
        const auto q = static_cast<std::size_t>(to);
        return Outgoing{at(send, offsets_[q]), send_bytes[q]};
      },
      [&](std::int32_t from) {
        const auto r = static_cast<std::size_t>(from);
        return Incoming{at(receive, receive_offsets_[r]), receive_bytes[r]};
      },
      deadline);
}

// Every rank sees all pieces and keeps its own: the price of an engine that only gathers.
void Collectives::gathered_all_to_all(const void* send, std::byte* receive, std::span<const std::int64_t> bytes,
                                      const Deadline& deadline) {
  const std::int64_t slice = std::min(*std::max_element(bytes.begin(), bytes.end()), kGatherSliceBytes);
  std::byte* gathered = receive_staging_.reserve(slice * world_size());
  const auto own = static_cast<std::size_t>(rank());
  std::int64_t piece = 0;
  for (std::size_t owner = 0; owner < bytes.size(); ++owner) {
    for (std::int64_t begin = 0; begin < bytes[owner]; begin += slice) {
      const std::int64_t length = std::min(slice, bytes[owner] - begin);
      engine_all_gather(at(send, piece + begin), gathered, length, deadline);
      if (owner != own) continue;
      for (std::int32_t r = 0; r < world_size(); ++r) {
        copy(receive + r * bytes[own] + begin, gathered + r * length, length);
      }
    }
    piece += bytes[owner];
  }
}

void Collectives::broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) {
  if (bytes == 0) return meet(deadline);
  if (world_size() == 1) return;
  if (engine_->vtable().broadcast != nullptr) {
    call_engine(*engine_, "broadcast", deadline, [&](std::int64_t timeout_ms) {
      return engine_->vtable().broadcast(engine_->user(), data, bytes, root, site_.stream(), timeout_ms);
    });
    if (rank() == root) sent_->bytes += bytes * (world_size() - 1);
  } else if (engine_->point_to_point()) {
    tree_broadcast(data, bytes, root, deadline);
  } else {
    gathered_broadcast(at(data, 0), bytes, root, deadline);
  }
}

// A binomial tree: counted from the root, rank v receives from v without its lowest set bit, then serves v + m for
// every power of two m below that bit, the largest first.
void Collectives::tree_broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) {
  const std::int32_t ranks = world_size();
  const std::int32_t distance = (rank() - root + ranks) % ranks;
  std::int32_t bit = 1;
  while (bit < ranks && (distance & bit) == 0) bit <<= 1;
  if (distance != 0) receive_part(data, bytes, (root + distance - bit) % ranks, deadline);
  for (bit >>= 1; bit > 0; bit >>= 1) {
    if (distance + bit < ranks) give_part(data, bytes, (root + distance + bit) % ranks, deadline);
  }
}

// Where the engine needs it, the receiver sends a byte meanwhile, by which the giver learns whether it makes the same
// call.
void Collectives::give_part(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) {
  if (!engine_->needs_answers()) return send(data, bytes, to, deadline);
  std::byte token{};
  call_engine(*engine_, "send_recv", deadline, [&](std::int64_t timeout_ms) {
    return engine_->vtable().send_recv(engine_->user(), data, bytes, to, &token, 1, to, site_.stream(), timeout_ms);
  });
  sent_->bytes += bytes;
}

void Collectives::receive_part(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
  if (!engine_->needs_answers()) return recv(data, bytes, from, deadline);
  const std::byte token{};
  call_engine(*engine_, "send_recv", deadline, [&](std::int64_t timeout_ms) {
    return engine_->vtable().send_recv(engine_->user(), &token, 1, from, data, bytes, from, site_.stream(), timeout_ms);
  });
}

/// A call of nothing is a call. Devices have nothing to wait for.
void Collectives::meet(const Deadline& deadline) {
  if (site_.is_host()) barrier(deadline);
}

void Collectives::gathered_broadcast(std::byte* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) {
  const std::int64_t slice = std::min(bytes, kGatherSliceBytes);
  std::byte* gathered = receive_staging_.reserve(slice * world_size());
  for (std::int64_t begin = 0; begin < bytes; begin += slice) {
    const std::int64_t length = std::min(slice, bytes - begin);
    engine_all_gather(data + begin, gathered, length, deadline);
    if (rank() != root) copy(data + begin, gathered + root * length, length);
  }
}

void Collectives::barrier(const Deadline& deadline) {
  if (world_size() == 1) return;
  if (engine_->vtable().barrier != nullptr) {
    call_engine(*engine_, "barrier", deadline, [&](std::int64_t timeout_ms) {
      return engine_->vtable().barrier(engine_->user(), site_.stream(), timeout_ms);
    });
    count_round(0);
    return;
  }
  const std::byte* token = send_staging_.reserve(1);
  all_gather(token, receive_staging_.reserve(world_size()), 1, deadline);
}

}  // namespace gradstep
