// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/plugins/gloo/calls.h"

#include <algorithm>
#include <utility>

namespace gradstep::gloo_plugin {

namespace {

bool are_other_calls(std::uint64_t one, std::uint64_t other) { return one != other && one != 0 && other != 0; }

}  // namespace

void Calls::set_alarm(std::function<void()> alarm) {
  const std::lock_guard lock(alarm_mutex_);
  alarm_ = std::move(alarm);
}

Calls::Posted Calls::post(Side side, std::int32_t peer, std::int64_t bytes, bool is_announced) {
  const auto place = static_cast<std::size_t>(side);
  std::unique_lock lock(mutex_);
  if (said_ != nullptr) own_ = {said_->call, said_->note};
  Messages& posted = peers_[static_cast<std::size_t>(peer)].posted[place];
  Messages& heard = peers_[static_cast<std::size_t>(peer)].heard[place];
  const Posted result{posted.count, own_.call};
  posted = {posted.count + 1, bytes, own_};
  if (!is_announced && heard.count < posted.count) heard = posted;
  const bool found = compare(peers_[static_cast<std::size_t>(peer)], side, peer);
  lock.unlock();
  if (found) sound_alarm();
  return result;
}

void Calls::hear(Side side, std::int32_t peer, std::int64_t bytes, const Words& words) {
  const auto place = static_cast<std::size_t>(side);
  std::unique_lock lock(mutex_);
  Messages& heard = peers_[static_cast<std::size_t>(peer)].heard[place];
  heard = {heard.count + 1, bytes, words};
  const bool found = compare(peers_[static_cast<std::size_t>(peer)], side, peer);
  lock.unlock();
  if (found) sound_alarm();
}

void Calls::lose(std::int32_t peer) {
  const std::lock_guard lock(mutex_);
  peers_[static_cast<std::size_t>(peer)].is_lost = true;
}

void Calls::hear_of(const Difference& difference) {
  {
    const std::lock_guard lock(mutex_);
    if (differ_) return;
    difference_ = difference;
    differ_ = true;
  }
  sound_alarm();
}

void Calls::finish() {
  if (said_ != nullptr && other_note_.load(std::memory_order_relaxed) && other_note_.exchange(false)) {
    said_->heard = true;
  }
}

Calls::Words Calls::own() const {
  const std::lock_guard lock(mutex_);
  return own_;
}

Calls::Difference Calls::difference() const {
  const std::lock_guard lock(mutex_);
  return difference_;
}

// Messages keep their order, so message n of one rank is message n of the other: they must be equal.
//
// Two ranks may also wait for different messages, for example both send first. Then they must be in one call: a peer
// that had finished this rank's call would have announced its side of the message before.
bool Calls::compare(const Peer& peer, Side side, std::int32_t rank) {
  if (peer.is_lost) return false;
  const auto place = static_cast<std::size_t>(side);
  const Messages& own = peer.posted[place];
  const Messages& theirs = peer.heard[place];
  if (own.count == theirs.count) {
    if (own.words.note != theirs.words.note) other_note_ = true;
    if (own.bytes != theirs.bytes || are_other_calls(own.words.call, theirs.words.call)) {
      return find(rank, theirs.words.call, own.words.call);
    }
    return false;
  }
  const Messages* awaited = nullptr;
  const Messages* offered = nullptr;
  for (std::size_t s = 0; s < peer.posted.size(); ++s) {
    if (peer.posted[s].count > peer.heard[s].count) awaited = &peer.posted[s];
    if (peer.heard[s].count > peer.posted[s].count) offered = &peer.heard[s];
  }
  return awaited != nullptr && offered != nullptr && are_other_calls(awaited->words.call, offered->words.call) &&
         find(rank, offered->words.call, awaited->words.call);
}

bool Calls::find(std::int32_t peer, std::uint64_t peers, std::uint64_t own) {
  if (differ_) return false;
  difference_ = {peer, peers, rank_, own};
  differ_ = true;
  return true;
}

void Calls::sound_alarm() {
  const std::lock_guard lock(alarm_mutex_);
  if (alarm_) std::exchange(alarm_, nullptr)();
}

}  // namespace gradstep::gloo_plugin
