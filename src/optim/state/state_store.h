// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// All that an optimizer keeps for its parameters: by parameter a list of tensors with names. Over several ranks a
// tensor is there in slices, on one rank or on all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/function_ref.h"
#include "core/held_bytes.h"
#include "core/schema.h"
#include "optim/state/state_tensor.h"
#include "optim/state/used_flags.h"

namespace gradstep {

// States that are no rule's own.
inline constexpr const char* kMasterWeights = "master_weights";
inline constexpr const char* kStepCount = "step";  ///< those that the parameter took part in
inline constexpr const char* kWeightAverage = "average";
inline constexpr const char* kWeightAverageCount = "average_count";  ///< steps that were made

/// Stands for an owner while no ranks are attached: one of them will have the tensor.
inline constexpr std::int32_t kOwnerToCome = std::numeric_limits<std::int32_t>::max();

/// A tensor that a parameter is to have. Its slot says which one of the parameter's it is.
struct StateWish {
  std::size_t slot = 0;
  std::string name;
  TensorForm form;
  std::vector<std::int64_t> shape = {};  // NOLINT(readability-redundant-member-init): in files; empty = the parameter's
  /// Not cut into slices: one rank has it, or all have. It has its shape in views too, lies beside its like, and goes
  /// on where it was switched off for a while. Others begin anew.
  bool is_whole = false;
  /// >= 0: the rank that has the whole tensor. A rank whose slice of the parameter is empty has nothing of it.
  std::int32_t owner = -1;
};

/// One number for each parameter.
inline StateWish number_wish(std::size_t slot, const char* name, double initial = 0) {
  TensorForm form{1, 1, Encoding::f64};
  form.initial = initial;
  return {slot, name, form, {1}, /*is_whole=*/true};
}

struct ParameterWish {
  std::vector<StateWish> tensors;
  Slice slice;  ///< of the tensors that are cut
};

/// Without those that have an owner.
std::int64_t bytes_of(std::span<const StateWish> tensors);

/// Where a tensor is to be.
struct StatePlace {
  Slice slice;              ///< of this rank
  std::int32_t owner = -1;  ///< >= 0: the rank that has it, and gives it to others
};

class StateStore {
 public:
  /// Both outlive it. `flags_at_site`: whether a gradient has gone into a state is written by the site.
  StateStore(const Context& context, const Site& site, bool flags_at_site)
      : context_(context), site_(site), flags_at_site_(flags_at_site) {}
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  static constexpr std::size_t kNoSlot = std::numeric_limits<std::size_t>::max();

  /// Whether one of a parameter's tensors is in integer codes, switched off or not.
  bool has_codes(std::size_t parameter) const;
  /// Without memory where the parameter has none in this slot.
  const StateTensor& tensor(std::size_t parameter, std::size_t slot) const;
  bool is_active(std::size_t parameter, std::size_t slot) const;
  // For a tensor that the parameter has.
  bool is_whole(std::size_t parameter, std::size_t slot) const { return at({parameter, slot}).about->is_whole; }
  std::int32_t owner(std::size_t parameter, std::size_t slot) const { return at({parameter, slot}).owner; }
  /// Whether this rank holds state of the parameter that has an owner.
  bool is_owner(std::size_t parameter) const;
  /// Whether state of the parameter has an owner: this rank, another one, or one to come.
  bool has_owner(std::size_t parameter) const;
  /// The slot of a name that takes part; kNoSlot = none.
  std::size_t find(std::size_t parameter, const char* name) const;
  /// The shape of the tensor's views; empty = the parameter's.
  std::span<const std::int64_t> shape(std::size_t parameter, std::size_t slot) const;
  bool has(std::size_t parameter, const char* name) const { return find(parameter, name) != kNoSlot; }
  /// Every array that exists, in an order that is the same on all ranks.
  std::vector<StoredState> stored() const;

  UsedFlags& flags() { return flags_; }
  const UsedFlags& flags() const { return flags_; }

  /// Makes what is missing, aside, for the parameters from `first` on, known or new, whose wishes these are. Throws
  /// with everything as before.
  struct Growth;
  Growth grow(std::span<const ParameterWish> wishes, std::size_t first = 0);
  void commit(Growth growth) noexcept;
  /// Will one of these tensors begin, or begin again, with numbers that no gradient has gone into?
  bool begins_anew(std::size_t parameter, const ParameterWish& wish) const;

  /// What of the state the ranks will bring together.
  enum class Gathers : std::uint8_t {
    owned,       ///< what one rank alone has: slices are none, or not to be gathered
    slices,      ///< and slices
    everything,  ///< also what all of the ranks that shared the state have, for those that have not
    nothing,     ///< each keeps what it has, and begins what no rank has had
  };
  /// Makes room, aside, for what is to be elsewhere. `keep`: flags stay.
  void prepare_move(FunctionRef<StatePlace(std::size_t parameter, std::size_t slot)> place, Gathers gathers, bool keep);
  /// Bytes of the largest array to be filled.
  std::int64_t largest_moved() const;
  /// The states for which fill_moved() calls gather(), in that order.
  std::vector<StoredState> gathered_by_move(Gathers gathers) const;
  /// Fills what was prepared with the present numbers. gather(stored, whole) writes those that are spread over ranks to
  /// `whole`, which has largest_moved() bytes of the host's memory.
  void fill_moved(Gathers gathers, FunctionRef<void(const StoredState&, void*)> gather, void* whole);
  void commit_move() noexcept;
  void discard_move() noexcept;

  std::size_t bytes() const;

 private:
  /// What is said of a tensor beside its form. Tensors of many parameters share it.
  struct Description {
    std::string name;
    std::vector<std::int64_t> shape;
    bool is_whole = false;

    bool operator<(const Description& other) const {
      return std::tie(name, shape, is_whole) < std::tie(other.name, other.shape, other.is_whole);
    }
  };
  static constexpr std::uint32_t kSlotBits = ~std::uint32_t{0} >> 1;
  /// A tensor of a parameter.
  struct Entry {
    const Description* about = nullptr;
    StateTensor tensor;
    std::int32_t owner = -1;
    std::uint32_t slot : 31 = 0;
    bool active : 1 = false;
  };
  /// By parameter, its entries by slot.
  class Entries {
   public:
    std::size_t size() const { return ends_.size(); }
    std::span<const Entry> operator[](std::size_t i) const {
      return std::span(all_).subspan(begin(i), ends_[i] - begin(i));
    }
    std::span<Entry> operator[](std::size_t i) { return std::span(all_).subspan(begin(i), ends_[i] - begin(i)); }
    std::span<const Entry> all() const { return all_; }
    /// NULL = the parameter has none in this slot, or is none of these.
    const Entry* find(std::size_t parameter, std::size_t slot) const;
    Entry* find(std::size_t parameter, std::size_t slot) {
      return const_cast<Entry*>(std::as_const(*this).find(parameter, slot));
    }
    /// The entries of one more parameter, in any order.
    void append(std::span<Entry> entries);
    /// Makes room for so many in all, and for no more.
    void reserve(std::size_t parameters, std::size_t entries);
    /// Makes room for replace(), and for as many entries again.
    void make_room(std::size_t first, const Entries& added);
    /// `added` are the entries of the parameters from `first` on. There is room for them.
    void replace(std::size_t first, Entries added) noexcept;
    /// Beside what the tensors hold.
    std::size_t bytes() const { return all_.capacity() * sizeof(Entry) + held_bytes(ends_); }

   private:
    std::size_t begin(std::size_t i) const { return i == 0 ? 0 : ends_[i - 1]; }

    std::vector<Entry> all_;
    std::vector<std::uint32_t> ends_;
  };
  struct Position {
    std::size_t parameter = 0;
    std::size_t slot = 0;
  };

  /// The parameter has it.
  const Entry& at(const Position& position) const { return *parameters_.find(position.parameter, position.slot); }
  static bool is_spread(const Entry& entry, Gathers gathers) {
    if (gathers == Gathers::nothing) return false;
    if (gathers == Gathers::everything || entry.owner >= 0) return true;
    return gathers == Gathers::slices && !entry.about->is_whole;
  }
  static std::vector<StoredState> stored(std::size_t parameter, const Entry& entry);
  void make(Entries& entries, std::span<const Position> positions) const;

  const Context& context_;
  const Site& site_;
  bool flags_at_site_;
  Entries parameters_;
  UsedFlags flags_;
  std::set<Description> descriptions_;  // which stay where they are: views show their shapes
  // Between prepare_move() and commit_move().
  Entries next_;
  std::vector<Position> moved_;
  UsedFlags next_flags_;
};

/// What waits to be taken over.
struct StateStore::Growth {
  std::size_t first = 0;
  Entries parameters;  ///< from there on
  std::optional<UsedFlags> flags;
};

}  // namespace gradstep
