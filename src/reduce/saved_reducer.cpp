// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a reducer keeps from window to window, in a file: "<parameter>/residual" and its like, each rank's own.
#include <cstring>

#include "core/error.h"
#include "reduce/reducer.h"

namespace gradstep {

namespace {

std::string key_of(const Parameter& parameter, const char* name) { return parameter.name + "/" + name; }

}  // namespace

SavedPart Reducer::save() const {
  check_closed();
  SavedPart part;
  save_parameters(part, schema_);
  part.set("mode", std::int64_t{options().mode});
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    for (const KeptArray& kept : buckets_[places_[i].bucket].exchange->kept()) {
      SavedTensor tensor;
      tensor.key = key_of(schema_[i], kept.name);
      tensor.dtype = kept.array.dtype;
      tensor.shape = schema_[i].shape;
      tensor.data = part_of(kept.array, i).data;
      part.tensors.push_back(std::move(tensor));
    }
  }
  return part;
}

void Reducer::check_saved(const LoadedPart& part) const {
  check_closed();
  check_parameters(part, schema_);
  if (part.integer("mode") != options().mode) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved reducer has mode {}, this one has {}", part.integer("mode"), options().mode);
  }
}

std::function<void()> Reducer::load(LoadedPart& part) {
  check_saved(part);
  return load_kept({&part, 1});
}

std::function<void()> Reducer::load_kept(std::span<LoadedPart> ranks) {
  struct Addition {
    Array to;
    const std::byte* from;
  };
  std::vector<Addition> additions;
  for (LoadedPart& rank : ranks) {
    for (std::size_t i = 0; i < schema_.size(); ++i) {
      for (const KeptArray& kept : buckets_[places_[i].bucket].exchange->kept()) {
        const std::string key = key_of(schema_[i], kept.name);
        additions.push_back({part_of(kept.array, i), rank.finite_tensor(key, kept.array.dtype, schema_[i].shape).data});
      }
    }
    rank.check_all_taken();
  }
  return [this, additions] {
    for (Bucket& bucket : buckets_) {
      for (const KeptArray& kept : bucket.exchange->kept()) {
        if (kept.array.size > 0) std::memset(kept.array.data, 0, static_cast<std::size_t>(kept.array.bytes()));
      }
    }
    for (const Addition& addition : additions) {
      const auto add = [&]<class T>(T* to) {
        for (std::int64_t k = 0; k < addition.to.size; ++k) {
          T number{};
          std::memcpy(&number, addition.from + k * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
          to[k] += number;
        }
      };
      if (addition.to.dtype == DType::f64) {
        add(static_cast<double*>(addition.to.data));
      } else {
        add(static_cast<float*>(addition.to.data));
      }
    }
    complete_ = false;
  };
}

void Reducer::take_over(Reducer& old) {
  check_closed();
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    const std::vector<KeptArray> own = buckets_[places_[i].bucket].exchange->kept();
    const std::vector<KeptArray> other = old.buckets_[old.places_[i].bucket].exchange->kept();
    for (std::size_t k = 0; k < own.size() && k < other.size(); ++k) {
      const Array to = part_of(own[k].array, i);
      if (to.size > 0) std::memcpy(to.data, old.part_of(other[k].array, i).data, static_cast<std::size_t>(to.bytes()));
    }
  }
}

}  // namespace gradstep
