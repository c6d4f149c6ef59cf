// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rule says about itself, as data. Each header of this folder is one rule: its description beside its formula.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "rules/room.h"

namespace gradstep::rules {

/// Legal values: finite, at least `minimum`, below `limit`.
struct Range {
  double minimum = -std::numeric_limits<double>::max();
  double limit = std::numeric_limits<double>::infinity();
  bool is_whole = false;  ///< a whole number

  constexpr bool holds(double value) const {
    return value - value == 0 && value >= minimum && value < limit && (!is_whole || value == __builtin_floor(value));
  }
};
constexpr Range at_least(double minimum) { return {.minimum = minimum}; }
/// Whole numbers from `first` to `last`.
constexpr Range whole(double first, double last) { return {.minimum = first, .limit = last + 1, .is_whole = true}; }
/// [0, 1)
inline constexpr Range kFraction = {.minimum = 0, .limit = 1};

/// In place of an initial value: the host must give one.
inline constexpr double kRequired = std::numeric_limits<double>::quiet_NaN();

/// A number of the options. Hyper-parameters may change with the steps by a schedule; settings are read at creation.
struct Field {
  const char* name = nullptr;
  Range range;
  double initial = 0;
  const char* meaning = "";
};

/// An option that chooses between formulas.
struct Choice {
  const char* name = nullptr;
  std::span<const char* const> values;  ///< names of 0, 1, ...; empty = a flag
  const char* meaning = "";
  std::int32_t initial = 0;
};

/// A state of one number per element.
struct State {
  static constexpr int kNone = -1;

  const char* name = nullptr;
  bool has_signs = false;
  bool is_exact = false;    ///< kept in the arithmetic type, whatever the options say: no rounding may build up in it
  int initial = kNone;      ///< the setting that it starts with; kNone = 0
  int listed_with = kNone;  ///< the flag without which its name is unknown; such states come last; kNone = always known
};

/// A number that is kept for each parameter, in f64.
struct Number {
  const char* name = nullptr;
  int initial = State::kNone;  ///< the setting that it starts with; kNone = 0
};

/// Where the numbers of a parameter lie, in the order of the description; NULL = it has no such number.
struct NumberPlaces {
  double* of[kMaxNumbers] = {};
};

/// What the sums of a rule are taken over.
enum class Scope : std::uint8_t {
  tensor,  ///< each parameter has its own
  rule,    ///< all parameters that the rule steps have one
};

/// A flag that needs a hyper-parameter to be positive, or to be zero.
struct Requirement {
  std::uint8_t flag = 0;
  std::uint8_t field = 0;
  bool positive = true;
};

struct Description {
  const char* name = nullptr;     ///< in the API and in files
  const char* source = nullptr;   ///< paper, algorithm; where the numbers come from
  const char* formula = nullptr;  ///< g: gradient; p: parameter; t: steps before this one
  /// The rule in the language of docs/rules_as_text.md, by the name my_NAME, for the default choices. Its states are in
  /// the order of the description's, then its numbers. A weight decay that is not in it is that of `decay_mode`.
  const char* text = nullptr;
  const char* no_text = nullptr;  ///< in place of a text: why the language cannot say the rule
  std::span<const Field> fields;
  std::span<const Field> settings;
  std::span<const Choice> choices;
  std::span<const State> states;
  std::span<const Requirement> requirements;
  std::span<const Number> numbers = {};  // NOLINT(readability-redundant-member-init): rules without any say nothing
  const char* whole_states = nullptr;    ///< those that a tensor has as a whole, in words
  /// Their names.
  std::span<const char* const> whole_names = {};  // NOLINT(readability-redundant-member-init): likewise
  bool trust_ratio = false;                       ///< the change of a tensor is scaled to the length of the tensor
};

/// How the weights shrink. `coupled` adds decay * p to the gradient; `decoupled` subtracts learning_rate * decay * p
/// from the parameter; `any` is a kernel that does both, with factors that may be 0. A rule that says `none` has its
/// decay in its formula.
enum class Decay : std::uint8_t { none, coupled, decoupled, any };
inline constexpr Decay kDecays[] = {Decay::none, Decay::coupled, Decay::decoupled};

/// What a host may choose in place of the rule's own decay. All but the first two subtract from the parameter.
enum class DecayMode : std::int32_t {
  of_rule,
  coupled,      ///< decay * p is added to the gradient (L2)
  decoupled,    ///< learning_rate * decay * p (Loshchilov and Hutter 2019)
  independent,  ///< decay * p
  relative,     ///< learning_rate / peak * decay * p
  corrected,    ///< learning_rate^2 / peak * decay * p (Defazio 2025)
};

/// What an optimizer's options and a group's schedules say, for rules to decide by.
struct Setup {
  /// A hyper-parameter's schedule.
  struct Value {
    double constant = 0;  ///< NaN = it changes with the steps
    bool is_absent = false;
  };
  const std::int32_t* choices = nullptr;
  const Value* fields = nullptr;

  constexpr bool has(std::size_t field) const { return !fields[field].is_absent; }
  /// The value; `otherwise` for one that changes with the steps.
  constexpr double constant(std::size_t field, double otherwise) const {
    const double value = fields[field].constant;
    return __builtin_isnan(value) ? otherwise : value;
  }
};

}  // namespace gradstep::rules
