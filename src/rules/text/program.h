// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule that a user has written as text, ready to run. What depends on hyper-parameters and t alone is computed once a
// step, in f64: the numbers of the step. The rest is a list of operations over registers, each of which holds one
// number of every element of a block; backends walk through the list for one block after the other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/description.h"
#include "rules/text/code.h"
#include "rules/text/limits.h"
#include "rules/text/parser.h"

namespace gradstep::rules::text {

class Program {
 public:
  /// Throws as parse(); INVALID_ARGUMENT for what has no room in a program as well.
  static std::shared_ptr<const Program> compile(std::string_view text, const Reserved& reserved);

  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Stays as long as the program.
  const Description& about() const { return about_; }
  const std::string& text() const { return text_; }
  /// Equal for texts that differ in comments and blanks alone.
  const std::string& words() const { return words_; }

  /// Places among the hyper-parameters. Without a learning rate of the text's, 1 counts as one.
  static constexpr std::size_t kNone = ~std::size_t{};
  std::size_t learning_rate() const { return learning_rate_; }
  /// Place of the decay that the library adds; kNone = the text has one of its own.
  std::size_t weight_decay() const { return weight_decay_; }

  /// The highest power of a gradient that a state grows with.
  double growth() const { return growth_; }

  /// What backends walk through.
  const Code& code() const { return code_; }

 private:
  class Compiler;

  Program() = default;
  void describe(const Parsed& parsed);
  void lower(Parsed& parsed);
  NodeId take_outcome(const Parsed& parsed);
  void list_constants(const Graph& graph, const std::vector<NodeId>& numbers);

  std::string text_;
  std::string words_;
  // What about_ points into.
  std::vector<std::string> names_;
  std::vector<Field> fields_;
  std::vector<State> state_list_;
  Description about_;
  std::size_t learning_rate_ = kNone;
  std::size_t weight_decay_ = kNone;
  double growth_ = 1;
  std::vector<Constant> constants_;
  std::vector<std::int16_t> used_;  // numbers of a step, among constants_
  std::vector<Operation> operations_;
  Code code_;
};

}  // namespace gradstep::rules::text
