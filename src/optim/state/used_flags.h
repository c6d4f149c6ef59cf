// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/site.h"

namespace gradstep {

/// By parameter, one byte: 1 = a gradient has gone into its state. Steps that the site decides keep them there, others
/// on the host.
class UsedFlags {
 public:
  UsedFlags() = default;
  /// All 0.
  UsedFlags(const Site& site, std::size_t count, bool at_site) : at_site_(at_site), count_(count) {
    if (at_site) {
      there_ = site.allocate(count, /*zeroed=*/true);
    } else {
      here_.resize(count);
    }
  }

  std::size_t size() const { return count_; }
  std::size_t bytes() const { return at_site_ ? there_.bytes() : here_.capacity(); }
  bool has_room_for(std::size_t count) const { return count <= bytes(); }
  /// Returns a copy with room for `count` or more. New flags are 0, and there after resize().
  UsedFlags enlarged(const Site& site, std::size_t count) const {
    UsedFlags larger(site, count_ == 0 ? count : std::max(count, 2 * count_), at_site_);
    larger.write(site, read(site));
    larger.resize(count_);
    return larger;
  }
  /// `count` is no less than size(), and there is room for it.
  void resize(std::size_t count) noexcept {
    count_ = count;
    if (!at_site_) here_.resize(count);
  }
  /// Waits for queued work.
  std::vector<std::uint8_t> read(const Site& site) const {
    if (!at_site_) return here_;
    std::vector<std::uint8_t> flags(count_);
    site.queue().download(flags.data(), there_.data(), flags.size());
    return flags;
  }
  void write(const Site& site, std::span<const std::uint8_t> flags) {
    if (at_site_) {
      site.queue().upload(there_.data(), flags.data(), flags.size());
    } else {
      here_.assign(flags.begin(), flags.end());
    }
  }
  void mark(const Site& site, std::size_t i) {
    if (at_site_) {
      gradstep::write(site.queue(), there_.as<std::uint8_t>() + i, std::uint8_t{1});
    } else {
      here_[i] = 1;
    }
  }

  /// Where the site's flags lie.
  std::uint8_t* there() const { return there_.as<std::uint8_t>(); }
  /// The flags, where they are the host's.
  std::span<const std::uint8_t> here() const { return here_; }

 private:
  bool at_site_ = false;
  std::size_t count_ = 0;
  Buffer there_;
  std::vector<std::uint8_t> here_;
};

}  // namespace gradstep
