// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A window in a file: one tensor "<parameter>/sum" for each parameter that has a gradient in it, and the counters. A
// window that is saved between two adds and loaded elsewhere ends with the bits of one that was never interrupted.
#include <algorithm>

#include "accumulate/accumulator.h"
#include "backend/host_copies.h"
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

/// A window's counters, and what holds between them however it came about. A file whose checksum is right may still
/// have been edited by hand.
struct Counters {
  bool ready;
  bool undivided;
  std::int64_t length;
  std::int64_t pushes;
  std::int64_t count;
  double total_weight;
  double norm;
  std::int64_t windows;
  std::int64_t skipped;

  explicit Counters(const LoadedPart& part)
      : ready(flag(part, "ready")),
        undivided(flag(part, "undivided")),
        length(part.integer("length")),
        pushes(part.integer("pushes")),
        count(part.integer("count")),
        total_weight(part.number("total_weight")),
        norm(part.number("norm")),
        windows(part.integer("windows")),
        skipped(part.integer("skipped")) {}

  void check(bool ends_by_count, bool keeps_sums, bool has_sums) const {
    require(count <= pushes, "more micro-batches are added than were pushed");
    require(pushes - count <= skipped, "more micro-batches are left out than were skipped");
    require(!has_sums || count > 0, "sums of no micro-batch");
    require(total_weight >= 0 && (count > 0 || total_weight == 0), "a weight that no micro-batches have");
    require(!(norm < 0), "a norm below 0");
    require(!undivided || (ready && keeps_sums), "undivided sums where none are kept");
    require(!ready || (pushes > 0 && windows > 0), "a result of no micro-batch");
    if (ends_by_count) {
      require(pushes <= length || pushes == 0, "more micro-batches than its length");
      require(ready || pushes < length || pushes == 0, "all its micro-batches and no result");
    } else {
      require(length == 0, "a length, which the trigger does not set");
    }
  }

 private:
  static bool flag(const LoadedPart& part, const char* name) {
    const std::int64_t value = part.integer(name);
    if (value > 1) fail(GRADSTEP_ERR_CORRUPT, "the saved window's '{}' is {}, expected 0 or 1", name, value);
    return value == 1;
  }
  void require(bool holds, const char* otherwise) const {
    if (holds) return;
    fail(GRADSTEP_ERR_CORRUPT,
         "the saved window has {} (ready {}, undivided {}, length {}, pushes {}, count {}, total_weight {}, norm {}, "
         "windows {}, skipped {})",
         otherwise, ready, undivided, length, pushes, count, total_weight, norm, windows, skipped);
  }
};

}  // namespace

SavedPart Accumulator::save() const {
  check_whole();
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
  part.set("norm", ready_ ? read(site_.queue(), norm()) : 0.0);
  part.set("windows", windows_);
  part.set("skipped", skipped_);
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    if (touched_[i] == 0) continue;
    SavedTensor tensor;
    tensor.key = schema_[i].name + kSum;
    tensor.dtype = sums_[i].dtype;
    tensor.shape = schema_[i].shape;
    gradstep::show(tensor, site_, sums_[i]);
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

std::function<void()> Accumulator::load(LoadedPart& part) {
  check_parameters(part, schema_);
  check_option(part, "mode", options_.mode);
  check_option(part, "trigger", options_.trigger);
  check_option(part, "keep_sums", options_.keep_sums);
  const Counters saved(part);
  std::vector<std::uint8_t> touched(schema_.size(), 0);
  std::vector<const std::byte*> sums(schema_.size(), nullptr);
  for (std::size_t i = 0; i < schema_.size(); ++i) {
    const std::string key = schema_[i].name + kSum;
    if (!part.has(key)) continue;
    touched[i] = 1;
    sums[i] = part.tensor(key, sums_[i].dtype, schema_[i].shape).data;
  }
  part.check_all_taken();
  const bool has_sums = std::find(touched.begin(), touched.end(), 1) != touched.end();
  saved.check(ends_by_count(), options_.keep_sums != 0, has_sums);
  return [=, this] {
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums_[i].size > 0 && touched[i] != 0) {
        site_.queue().upload(sums_[i].data, sums[i], static_cast<std::size_t>(sums_[i].bytes()));
      }
    }
    touched_ = touched;
    ready_ = saved.ready;
    undivided_ = saved.undivided;
    length_ = saved.length;
    pushes_ = saved.pushes;
    count_ = saved.count;
    total_weight_ = saved.total_weight;
    windows_ = saved.windows;
    skipped_ = saved.skipped;
    torn_ = false;
    measured_ = false;  // an add that ends the window takes them anew
    write(site_.queue(), norms_.as<double>(), saved.norm);
  };
}

}  // namespace gradstep
