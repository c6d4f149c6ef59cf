// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/reducer.h"

#include <utility>

#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/weight.h"

namespace gradstep {

namespace {

/// A window that begins forgets the one before it, also one that has failed here and that peers may have finished:
/// take_over() needs what that one would leave behind.
void check_channel(const Communicator& comm) {
  const Communicator::Status status = comm.status();
  if (status.code != GRADSTEP_OK) throw_error(status.code, status.text);
}

}  // namespace

Reducer::Reducer(const std::shared_ptr<Context>& context, Communicator& comm, const gradstep_reducer_options& options,
                 Schema schema, const Deadline& deadline)
    : resources_(context, comm, schema, checked_reducer_options(options), deadline),
      schema_(std::move(schema)),
      control_(schema_, this->options()),
      layout_(resources_, schema_, deadline),
      packing_(layout_, schema_, control_),
      outcome_(resources_, layout_, control_),
      memory_(resources_, layout_, control_),
      queue_(resources_.channels(), layout_.buckets(), resources_.may_overlap()) {}

void Reducer::open_window(double weight, bool at_once, std::optional<BucketRange> range) {
  check_weight(weight);
  if (control_.is_weighted()) check_weight(weight, rank_weights(schema_.is_all_f64()));
  outcome_.forget();
  resources_.begin_window(weight);
  control_.begin(weight);
  const BucketRange buckets = range.value_or(layout_.all());
  queue_.open(buckets, at_once && resources_.has_common_rounds() && !layout_.lends_memory(),
              control_.is_needed() ? &control_ : nullptr);
  resources_.join();  // of a window that has failed something may be left
  packing_.begin(control_.is_weighted() ? weight : 1);
  window_ = {true, range.has_value(), buckets};  // now that nothing can fail
}

void Reducer::begin(double weight) {
  if (window_.is_open) fail(GRADSTEP_ERR_INVALID_STATE, "begin: a window is open already; wait for it or cancel it");
  open_window(weight);
}

void Reducer::check_not_sent() const {
  if (window_.is_sent) fail(GRADSTEP_ERR_INVALID_STATE, "reducer: an updater's changes are on their way");
}

void Reducer::push(std::size_t index, const Array& grad) {
  check_not_sent();
  if (window_.is_open && packing_.is_packed(index)) {
    fail(GRADSTEP_ERR_INVALID_STATE, "index: parameter {} ('{}') was pushed already in this window", index,
         schema_[index].name);
  }
  if (!window_.is_open) open_window(1);
  queue_.check();
  packing_.pack(index, grad);
  queue_.let_leave(packing_.full_buckets(), comm().deadline());
}

void Reducer::wait(const BufferList& results) {
  check_not_sent();
  if (!results.empty()) layout_.check_brings_all("results");
  if (!window_.is_open) open_window(1);  // this rank had no gradient at all; the others may
  finish_window(results, comm().deadline());
  commit();
}

void Reducer::finish_pushed() { finish_window({}, comm().deadline()); }

bool Reducer::deal(const DealtSlices& dealt) {
  check_closed();
  if (layout_.is_dealt()) {
    if (layout_.is_dealt_as(dealt)) return false;
    fail(GRADSTEP_ERR_INVALID_STATE, "reducer: its gradients are dealt out to the ranks of another optimizer");
  }
  try {
    all_or_none(&comm(), "deal out the reducer's buckets", comm().deadline(), [&] { layout_.deal(dealt); });
  } catch (...) {
    collect();
    throw;
  }
  outcome_.forget_buckets();
  return true;
}

void Reducer::collect() noexcept {
  layout_.collect();
  outcome_.forget_buckets();
}

void Reducer::finish_window(const BufferList& targets, const Deadline& deadline) {
  const bool is_whole = !window_.is_sent;
  window_.is_open = window_.is_sent = false;  // whatever comes, the window ends here
  try {
    queue_.check();
    if (is_whole) packing_.pack_rest();
    queue_.exchange_all(is_whole ? packing_.full_buckets() : window_.buckets.end, deadline);
    settle(deadline);
    if (is_whole) outcome_.complete();
    outcome_.write(targets);
    memory_.measure(layout_.buckets(window_.buckets), targets);
  } catch (...) {
    give_up_window(queue_.has_left());
    throw;
  }
}

/// What is left to know, and to agree on, when buckets are exchanged: no step is queued behind an exchange that fails.
void Reducer::settle(const Deadline& deadline) {
  resources_.has_queued = false;
  resources_.data->settle(deadline);
  resources_.join();
  if (!control_.is_needed()) return;
  if (!control_.is_exchanged()) control_.exchange(comm(), deadline);
  if (!control_.is_weighted()) return;
  for (const auto& bucket : layout_.buckets(window_.buckets)) bucket->divide(control_.total_weight());
}

void Reducer::reduce(const BufferList& grads, const BufferList& results, double weight) {
  if (!results.empty()) layout_.check_brings_all("results");
  exchange_window(grads, weight, results);
  commit();
}

void Reducer::exchange_window(const BufferList& grads, double weight, const BufferList& results) {
  if (window_.is_open)
    fail(GRADSTEP_ERR_INVALID_STATE, "reduce: pushes of a window are pending; wait for it or cancel it");
  check_channel(comm());
  open_window(weight, /*at_once=*/true);
  const Deadline deadline = comm().deadline();
  window_.is_open = false;
  queue_.limit(deadline);
  try {
    for (const auto& bucket : layout_.buckets()) {
      // Buckets before it are exchanged meanwhile; with a single bucket there is nothing to gain.
      if (packing_.full_buckets() > 0) queue_.let_leave(packing_.full_buckets(), deadline);
      // What has left lends its memory to the next one.
      if (layout_.lends_memory()) queue_.wait_for_room(resources_.further.size() + 1);
      packing_.pack(*bucket, grads);
    }
  } catch (...) {
    give_up_window(queue_.has_left());
    throw;
  }
  finish_window(results, deadline);
}

void Reducer::send(BucketRange range, const BufferList& grads, double weight) {
  check_closed();
  layout_.check_brings_all("fragments");
  check_channel(comm());
  open_window(weight, /*at_once=*/true, range);
  const Deadline deadline = comm().deadline();
  try {
    for (std::size_t b = range.first; b < range.end; ++b) {
      packing_.pack(*layout_.buckets()[b], grads);
      layout_.buckets()[b]->note_packed();
      queue_.let_leave(b + 1, deadline);
    }
  } catch (...) {
    window_.is_open = window_.is_sent = false;
    give_up_window(queue_.has_left());
    throw;
  }
}

void Reducer::receive(const BufferList& results) {
  finish_window(outcome_.targets_in(window_.buckets, results), comm().deadline());
}

void Reducer::cancel() {
  check_not_sent();
  if (!window_.is_open) return;
  if (queue_.has_left()) queue_.abort();
  drop_exchanges();
  window_.is_open = window_.is_sent = false;
}

void Reducer::give_up_window(bool has_left) noexcept {
  drop_exchanges();
  if (has_left && comm().world_size() > 1 && is_of_this_rank(translate_exception())) queue_.abort();
}

void Reducer::drop_exchanges() noexcept {
  queue_.halt();
  if (std::exchange(resources_.has_queued, false)) comm().abort();
}

std::vector<gradstep_bucket_statistics> Reducer::bucket_stats() const {
  std::vector<gradstep_bucket_statistics> all;
  all.reserve(layout_.buckets().size());
  for (const auto& bucket : layout_.buckets()) {
    all.push_back(bucket->stats());
    all.back().wait_nanoseconds = queue_.waited_nanoseconds(all.size() - 1);
  }
  return all;
}

void Reducer::check_closed() const {
  check_not_sent();
  if (window_.is_open)
    fail(GRADSTEP_ERR_INVALID_STATE, "reducer: pushes of a window are pending; wait for it or cancel it");
}

WindowMemory& Reducer::memory() {
  check_closed();
  return memory_;
}

SavedReducer Reducer::saved() {
  check_closed();
  return {resources_, schema_, layout_, outcome_};
}

void Reducer::take_over(Reducer& old, bool finished) {
  saved().take_over({old.resources_, old.schema_, old.layout_, old.outcome_}, finished, old.window_.buckets);
}

}  // namespace gradstep
