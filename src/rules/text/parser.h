// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// From text to what it says (docs/rules_as_text.md has the grammar).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/description.h"
#include "rules/text/graph.h"

namespace gradstep::rules::text {

struct Parsed {
  struct Hyper {
    std::string name;
    double initial = kRequired;
    Range range;
  };
  struct StateName {
    std::string name;
    bool has_signs = true;
    NodeId after = kNoNode;  ///< its value after the step
  };

  /// A sum over elements, which nodes of Op::total stand for.
  struct Sum {
    NodeId of = kNoNode;
    bool squares = false;    ///< of the squares
    bool is_shared = false;  ///< over all tensors that the rule steps
    bool operator==(const Sum&) const = default;
  };

  std::string name;
  std::vector<Hyper> hypers;
  std::vector<StateName> states;
  std::vector<Sum> sums;
  Graph graph;
  NodeId param = kNoNode;  ///< the parameter after the step
};

/// Names that a text cannot take.
struct Reserved {
  std::span<const char* const> rules;
  std::span<const char* const> hypers;
  std::span<const char* const> states;
};

/// Throws INVALID_ARGUMENT, which names line, column, what was expected and what was found; UNSUPPORTED for functions
/// over more than an element.
Parsed parse(std::string_view text, const Reserved& reserved);

}  // namespace gradstep::rules::text
