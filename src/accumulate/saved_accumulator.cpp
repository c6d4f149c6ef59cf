// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A window in a file: one tensor "<parameter>/sum" for each parameter that has a gradient in it, and the counters. A
// window that is saved between two adds and loaded elsewhere ends with the bits of one that was never interrupted.
#include <cstring>

#include "accumulate/accumulator.h"
#include "core/error.h"

namespace gradstep {

namespace {

constexpr const char* kSum = "/sum";

/// Options without which the sums mean something else.
void check_option(const LoadedPart& part, const char* name, std::int64_t own) {
  const std::int64_t saved = part.integer(name);
  if (saved != own) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved window has {} {}, the accumulator has {}", name, saved, own);
  }
}

}  // namespace

SavedPart Accumulator::save() const {
  SavedPart part;
  save_parameters(part, schema_);
  part.set("mode", std::int64_t{options_.mode});
  part.set("trigger", std::int64_t{options_.trigger});
  part.set("keep_sums", std::int64_t{options_.keep_sums});
  part.set("ready", std::int64_t{ready_ ? 1 : 0});
  part.set("undivided", std::int64_t{undivided_ ? 1 : 0});
  part.set("length", length_);
  part.set("pushes", pushes_);
  part.set("count", count_);
  part.set("total_weight", total_weight_);
  part.set("norm", norm_);
  part.set("windows", windows_);
  part.set("skipped", skipped_);
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (touched_[i] == 0) continue;
    SavedTensor tensor;
    tensor.key = schema_[i].name + kSum;
    tensor.dtype = sums_[i].dtype;
    tensor.shape = schema_[i].shape;
    tensor.data = sums_[i].data;
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

std::function<void()> Accumulator::load(LoadedPart& part) {
  check_parameters(part, schema_);
  check_option(part, "mode", options_.mode);
  check_option(part, "trigger", options_.trigger);
  check_option(part, "keep_sums", options_.keep_sums);
  const bool ready = part.integer("ready") != 0;
  const bool undivided = part.integer("undivided") != 0;
  const std::int64_t length = part.integer("length");
  const std::int64_t pushes = part.integer("pushes");
  const std::int64_t count = part.integer("count");
  const double total_weight = part.number("total_weight");
  const double norm = part.number("norm");
  const std::int64_t windows = part.integer("windows");
  const std::int64_t skipped = part.integer("skipped");
  std::vector<std::uint8_t> touched(schema_.size(), 0);
  std::vector<const std::byte*> sums(schema_.size(), nullptr);
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    const std::string key = schema_[i].name + kSum;
    if (!part.has(key)) continue;
    touched[i] = 1;
    sums[i] = part.tensor(key, sums_[i].dtype, schema_[i].shape).data;
  }
  part.check_all_taken();
  return [=, this] {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums_[i].size > 0 && touched[i] != 0) {
        std::memcpy(sums_[i].data, sums[i], static_cast<std::size_t>(sums_[i].bytes()));
      }
    }
    touched_ = touched;
    ready_ = ready;
    undivided_ = undivided;
    length_ = length;
    pushes_ = pushes;
    count_ = count;
    total_weight_ = total_weight;
    windows_ = windows;
    skipped_ = skipped;
    measured_ = false;  // the squares: an add that ends the window takes them anew
    norm_ = norm;
  };
}

}  // namespace gradstep
