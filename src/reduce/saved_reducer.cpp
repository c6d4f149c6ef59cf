// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a reducer keeps from window to window, in a file: "<parameter>/residual" and its like.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "backend/host_copies.h"
#include "core/error.h"
#include "reduce/reducer.h"

namespace gradstep {

namespace {

/// One kept tensor under its key.
struct Entry {
  std::string key;
  KeptTensor tensor;
};

/// `fresh`, where not NULL, take the place of `buckets`.
std::vector<Entry> entries_of(const Buckets& buckets, const Schema& schema, const Buckets& fresh = {}) {
  std::vector<Entry> entries;
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    Bucket* bucket = fresh.empty() || fresh[b] == nullptr ? buckets[b].get() : fresh[b].get();
    for (KeptTensor& kept : bucket->exchange().kept()) {
      const Parameter& parameter = schema[bucket->parameters()[kept.position]];
      if (kept.shape.empty()) kept.shape = parameter.shape;
      entries.push_back({parameter.name + "/" + kept.name, std::move(kept)});
    }
  }
  // A file does not show how parameters were packed.
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.key < b.key; });
  return entries;
}

/// to += the numbers at `from`, which need not be aligned.
void add(const Array& to, const std::byte* from) {
  const auto add_numbers = [&]<class T>(T* numbers) {
    for (std::int64_t k = 0; k < to.size; ++k) {
      T number{};
      std::memcpy(&number, from + k * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
      numbers[k] += number;
    }
  };
  if (to.dtype == DType::f64) {
    add_numbers(static_cast<double*>(to.data));
  } else {
    add_numbers(static_cast<float*>(to.data));
  }
}

}  // namespace

SavedPart Reducer::save() const {
  check_closed();
  SavedPart part;
  save_parameters(part, schema_);
  part.set("mode", std::int64_t{options().mode});
  part.set("windows", resources_.windows);
  if (has_chosen_) part.set("choices", text_of_choices());
  if (resources_.loss_scale != 1) part.set("loss_scale", resources_.loss_scale);
  for (Entry& entry : entries_of(buckets_, schema_)) {
    SavedTensor tensor;
    tensor.key = std::move(entry.key);
    tensor.dtype = entry.tensor.array.dtype;
    tensor.shape = std::move(entry.tensor.shape);
    show(tensor, resources_.site, entry.tensor.array);
    tensor.is_finite = true;
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

std::function<void()> Reducer::check_saved(const LoadedPart& part) {
  check_closed();
  check_parameters(part, schema_);
  if (part.integer("mode") != options().mode) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved reducer has mode {}, this one has {}", part.integer("mode"), options().mode);
  }
  // Not in older files of mode DENSE.
  const bool has_windows = options().mode != GRADSTEP_REDUCER_DENSE || part.has_text("windows");
  const std::int64_t windows = has_windows ? part.integer("windows") : 0;
  const double loss_scale = part.has_text("loss_scale") ? part.number("loss_scale") : 1;
  if (!(loss_scale > 0) || !std::isfinite(loss_scale)) {
    fail(GRADSTEP_ERR_CORRUPT, "the saved reducer has loss_scale {}, expected a finite number above 0", loss_scale);
  }
  return [this, windows, loss_scale] {
    resources_.windows = windows;
    resources_.loss_scale = loss_scale;
  };
}

std::function<void()> Reducer::load(LoadedPart& part) {
  return [first = check_saved(part), second = load_kept({&part, 1}, part)] {
    first();
    second();
  };
}

std::function<void()> Reducer::load_kept(std::span<LoadedPart> ranks, LoadedPart& any) {
  struct Source {
    Array to;
    std::vector<const std::byte*> from;
  };
  std::vector<Source> sources;
  // What AUTO chose there need not be what is allowed here: a bucket that was dense has no residual.
  const bool may_differ = is_auto();
  const std::vector<BucketChoice> choices = saved_choices(any);
  const auto fresh = std::make_shared<Buckets>(buckets_with(choices));
  for (const Entry& entry : entries_of(buckets_, schema_, *fresh)) {
    Source source{entry.tensor.array, {}};
    const auto read = [&](LoadedPart& part) {
      if (may_differ && !part.has(entry.key)) return;
      source.from.push_back(part.finite_tensor(entry.key, entry.tensor.array.dtype, entry.tensor.shape).data);
    };
    for (LoadedPart& rank : ranks) read(rank);
    if (entry.tensor.replicated) {
      source.from.clear();
      read(any);
    }
    sources.push_back(std::move(source));
  }
  for (const LoadedPart& rank : ranks) {
    if (!may_differ) rank.check_all_taken();
  }
  // Taken before anything is agreed on: what comes after cannot fail for want of it.
  std::int64_t largest = 0;
  for (const Source& source : sources) largest = std::max(largest, source.to.bytes());
  const auto sum =
      std::make_shared<Buffer>(resources_.context->allocate(static_cast<std::size_t>(largest), /*zeroed=*/false));
  return [this, sources = std::move(sources), sum, fresh, is_restored = !choices.empty()] {
    replace(std::move(*fresh));
    has_chosen_ = has_chosen_ || is_restored;
    for (const Source& source : sources) {
      const auto bytes = static_cast<std::size_t>(source.to.bytes());
      if (bytes == 0) continue;
      std::memset(sum->data(), 0, bytes);
      const Array numbers = compact_array(sum->data(), source.to.size, source.to.dtype);
      for (const std::byte* from : source.from) add(numbers, from);
      queue().upload(source.to.data, sum->data(), bytes);
    }
    complete_ = false;
  };
}

void Reducer::take_over(Reducer& old, bool finished) {
  check_closed();
  old.resources_.join();
  if (old.has_chosen_) {
    replace(buckets_with(old.choices()));
    has_chosen_ = true;
  }
  std::map<std::string, Array> from;
  for (const Entry& entry : entries_of(old.buckets_, old.schema_)) from[entry.key] = entry.tensor.array;
  for (const Entry& entry : entries_of(buckets_, schema_)) {
    const Array& to = entry.tensor.array;
    const auto other = from.find(entry.key);
    if (other == from.end() || to.size == 0) continue;  // AUTO had no choice there, with one rank
    queue().copy(to.data, other->second.data, static_cast<std::size_t>(to.bytes()));
  }
  resources_.windows = old.resources_.windows;
  resources_.loss_scale = old.resources_.loss_scale;
  if (!finished || !old.has_sent_all()) return;
  std::size_t b = 0;
  const auto finish = [&](Bucket& bucket) {
    const Bucket& failed = *old.buckets_[b++];
    if (!bucket.is_empty()) bucket.exchange().finish(failed.exchange());
  };
  run_in_lane(finish, buckets_);
}

/// Only then can the peers have finished the window.
bool Reducer::has_sent_all() const {
  return std::all_of(buckets_.begin(), buckets_.end(),
                     [](const auto& bucket) { return bucket->is_empty() || bucket->exchange().has_sent(); });
}

void Reducer::rejoin(std::int32_t root, const Deadline& deadline) {
  comm().broadcast(&resources_.windows, sizeof resources_.windows, root, deadline);
  if (is_auto()) {
    std::vector<BucketChoice> agreed = choices();
    comm().broadcast(agreed.data(), static_cast<std::int64_t>(agreed.size() * sizeof(BucketChoice)), root, deadline);
    replace(buckets_with(agreed));
  }
  const auto rejoin = [&](Bucket& bucket) {
    if (!bucket.is_empty()) bucket.exchange().rejoin(root, deadline);
  };
  run_in_lane(rejoin, buckets_);
  resources_.data->settle(deadline);
}

}  // namespace gradstep
