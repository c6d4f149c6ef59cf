// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rule's expressions as a graph in which each occurs once. Operands come before what is made of them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <vector>

#include "rules/text/op.h"

namespace gradstep::rules::text {

using NodeId = std::int32_t;
inline constexpr NodeId kNoNode = -1;

struct Node {
  Op op = Op::number;
  NodeId a = kNoNode;
  NodeId b = kNoNode;
  NodeId c = kNoNode;
  std::int32_t index = 0;  ///< which hyper-parameter, state or sum
  double number = 0;
  bool is_constant = false;    ///< is equal for all elements of a tensor
  bool is_after_sums = false;  ///< depends on a sum, or on the size of the tensor

  bool is_leaf() const { return op <= Op::state; }
};

class Graph {
 public:
  std::size_t size() const { return nodes_.size(); }
  const Node& operator[](NodeId id) const { return nodes_[static_cast<std::size_t>(id)]; }

  NodeId number(double value);
  /// hyper, state, total: the index-th. Others: 0.
  NodeId leaf(Op op, std::int32_t index = 0);
  NodeId make(Op op, NodeId a, NodeId b = kNoNode, NodeId c = kNoNode);

  /// Is it this number, as written?
  bool is_number(NodeId id, double value) const { return (*this)[id].op == Op::number && (*this)[id].number == value; }

 private:
  struct Key {
    Op op;
    NodeId a, b, c;
    std::int32_t index;
    std::uint64_t bits;
    auto operator<=>(const Key&) const = default;
  };
  NodeId insert(const Node& node);

  std::vector<Node> nodes_;
  std::map<Key, NodeId> known_;
};

}  // namespace gradstep::rules::text
