// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a first-order rule keeps for its parameters, in the form that the options say: by parameter a buffer for each of
// the rule's states and one for master weights. Over several ranks these are this rank's slices.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/context.h"
#include "core/function_ref.h"
#include "optim/first_order/rule.h"
#include "optim/optimizer.h"

namespace gradstep {

class FirstOrderState {
 public:
  /// A rule's states come first, then the master weights.
  static constexpr std::size_t kMaster = rules::kMaxStates;
  static constexpr std::size_t kSlots = rules::kMaxStates + 1;

  /// What is to be kept for one parameter.
  struct Want {
    const Parameter* parameter = nullptr;
    std::uint32_t slots = 0;  ///< bit s: slot s takes part
    Slice slice;
  };
  struct Growth;

  /// All outlive it.
  FirstOrderState(const Context& context, const Site& site, const Rule& rule);

  std::span<const char* const> names() const { return names_; }
  /// The slot of a name that exists for this parameter. Throws INVALID_ARGUMENT or INVALID_STATE.
  std::size_t find(const Schema& schema, std::size_t index, const char* name) const;
  bool is_coded(std::size_t slot) const { return format_of(slot) == StateFormat::block_code; }
  Slice slice(std::size_t index) const { return parameters_[index].slice; }

  // This rank's part of a state that exists.
  Array numbers(std::size_t index, std::size_t slot) const;
  CodedNumbers codes(std::size_t index, std::size_t slot) const;
  /// All of them, factors of codes beside their numbers.
  std::vector<StoredState> stored() const;
  /// Where an update finds what belongs to this parameter.
  void show(std::size_t index, UpdateItem& item) const;

  /// Will `slots` of this parameter begin, or begin again, with numbers that no gradient has gone into?
  bool begins_anew(std::size_t index, std::uint32_t slots) const;
  /// Makes what is missing, aside. What was switched off and comes back starts anew; until then it stays, for views of
  /// it. Throws with everything as before.
  Growth grow(std::span<const Want> wants);
  void commit(Growth growth, std::span<const Want> wants) noexcept;

  /// Makes the state under other slices, aside.
  void prepare_slices(std::span<const Slice> slices);
  /// Bytes of the largest tensor of the state as a whole.
  std::int64_t largest() const;
  /// fill(present, part, begin) for each tensor of the state: `part` is what was prepared for its elements from
  /// `begin`.
  void fill_slices(FunctionRef<void(const StoredState&, const Buffer&, std::int64_t)> fill) const;
  void commit_slices() noexcept;
  void discard_slices() noexcept { prepared_.clear(); }

  std::size_t bytes() const { return parameters_.capacity() * sizeof(PerParameter); }

 private:
  struct StateBuffer {
    Buffer numbers;
    Buffer factors;  // of block codes
  };
  struct PerParameter {
    std::array<StateBuffer, kSlots> states;
    std::uint32_t active = 0;  // bit s: slot s takes part
    DType dtype = DType::f32;  // the parameter's
    Slice slice;
    std::int64_t total = 0;  // elements of the parameter
  };

  StateFormat format_of(std::size_t slot) const;
  const char* name_of(std::size_t slot) const;
  bool is_signed(std::size_t slot) const;
  StateBuffer allocate(std::size_t slot, DType parameter, std::int64_t elements) const;
  void set_initial(std::size_t slot, DType parameter, const StateBuffer& buffer, std::int64_t elements) const;
  StoredState stored_numbers(std::size_t index, std::size_t slot) const;
  StoredState stored_factors(std::size_t index, std::size_t slot) const;

  const Context& context_;
  const Site& site_;
  const Rule& rule_;
  std::vector<const char*> names_;
  std::vector<PerParameter> parameters_;
  std::vector<PerParameter> prepared_;  // between prepare_slices and commit_slices
};

/// Buffers that wait to be taken over.
struct FirstOrderState::Growth {
  struct Fresh {
    std::size_t parameter;
    std::size_t slot;
    StateBuffer buffer;
  };
  std::vector<Fresh> fresh;
};

}  // namespace gradstep
