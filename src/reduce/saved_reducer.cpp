// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/saved_reducer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "backend/host_copies.h"
#include "core/error.h"

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
      if (kept.shape.empty()) kept.shape = parameter.shape.list();
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

SavedPart SavedReducer::save() const {
  SavedPart part;
  save_parameters(part, schema_);
  part.set("mode", std::int64_t{options().mode});
  part.set("windows", resources_.state->windows);
  if (layout_.has_chosen()) part.set("choices", layout_.text_of_choices());
  if (resources_.state->loss_scale != 1) part.set("loss_scale", resources_.state->loss_scale);
  for (Entry& entry : entries_of(buckets(), schema_)) {
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

std::function<void()> SavedReducer::load_numbers(const LoadedPart& part) const {
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
  return [state = resources_.state, windows, loss_scale] {
    state->windows = windows;
    state->loss_scale = loss_scale;
  };
}

std::function<void()> SavedReducer::load(LoadedPart& part) const {
  return [first = load_numbers(part), second = load_kept({&part, 1}, part)] {
    first();
    second();
  };
}

std::function<void()> SavedReducer::load_kept(std::span<LoadedPart> ranks, LoadedPart& any) const {
  struct Source {
    Array to;
    std::vector<const std::byte*> from;
  };
  std::vector<Source> sources;
  // What AUTO chose there need not be what is allowed here: a bucket that was dense has no residual.
  const bool may_differ = layout_.is_auto();
  const std::vector<BucketChoice> choices = layout_.saved_choices(any);
  const auto fresh = std::make_shared<Buckets>(layout_.buckets_with(choices));
  for (const Entry& entry : entries_of(buckets(), schema_, *fresh)) {
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
  return [self = *this, sources = std::move(sources), sum, fresh, is_restored = !choices.empty()] {
    self.replace(std::move(*fresh), is_restored);
    for (const Source& source : sources) {
      const auto bytes = static_cast<std::size_t>(source.to.bytes());
      if (bytes == 0) continue;
      std::memset(sum->data(), 0, bytes);
      const Array numbers = compact_array(sum->data(), source.to.size, source.to.dtype);
      for (const std::byte* from : source.from) add(numbers, from);
      self.queue().upload(source.to.data, sum->data(), bytes);
    }
  };
}

void SavedReducer::replace(Buckets fresh, bool has_chosen) const {
  layout_.replace(std::move(fresh), has_chosen);
  outcome_.forget_buckets();
}

void SavedReducer::take_over(const SavedReducer& old, bool finished, BucketRange exchanged) const {
  old.resources_.join();
  if (old.layout_.has_chosen()) replace(layout_.buckets_with(old.layout_.choices()), /*has_chosen=*/true);
  std::map<std::string, Array> from;
  for (const Entry& entry : entries_of(old.buckets(), old.schema_)) from[entry.key] = entry.tensor.array;
  for (const Entry& entry : entries_of(buckets(), schema_)) {
    const Array& to = entry.tensor.array;
    const auto other = from.find(entry.key);
    if (other == from.end() || to.size == 0) continue;  // AUTO had no choice there, with one rank
    queue().copy(to.data, other->second.data, static_cast<std::size_t>(to.bytes()));
  }
  resources_.state->windows = old.resources_.state->windows;
  resources_.state->loss_scale = old.resources_.state->loss_scale;
  if (!finished || !old.has_sent_all(exchanged)) return;
  resources_.run_in_lane([&] {
    for (std::size_t b = exchanged.first; b < exchanged.end; ++b) {
      if (!buckets()[b]->is_empty()) buckets()[b]->exchange().finish(old.buckets()[b]->exchange());
    }
  });
}

/// Only then can the peers have finished the window.
bool SavedReducer::has_sent_all(BucketRange exchanged) const {
  return std::ranges::all_of(layout_.buckets(exchanged),
                             [](const auto& bucket) { return bucket->is_empty() || bucket->exchange().has_sent(); });
}

void SavedReducer::rejoin(std::int32_t root, const Deadline& deadline) const {
  WindowState& state = *resources_.state;
  WindowState agreed{state.windows, state.loss_scale};
  resources_.comm->broadcast(&agreed, sizeof agreed, root, deadline);
  state.windows = agreed.windows;
  state.loss_scale = agreed.loss_scale;
  if (layout_.is_auto()) {
    std::vector<BucketChoice> choices = layout_.choices();
    const auto bytes = static_cast<std::int64_t>(choices.size() * sizeof(BucketChoice));
    resources_.comm->broadcast(choices.data(), bytes, root, deadline);
    replace(layout_.buckets_with(choices), layout_.has_chosen());
  }
  resources_.run_in_lane([&] {
    for (const auto& bucket : buckets()) {
      if (!bucket->is_empty()) bucket->exchange().rejoin(root, deadline);
    }
  });
  resources_.data->settle(deadline);
}

}  // namespace gradstep
