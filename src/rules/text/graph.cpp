// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/text/graph.h"

#include <bit>

namespace gradstep::rules::text {

NodeId Graph::number(double value) {
  Node node;
  node.number = value;
  node.is_constant = true;
  return insert(node);
}

NodeId Graph::leaf(Op op, std::int32_t index) {
  Node node;
  node.op = op;
  node.index = index;
  node.is_after_sums = op == Op::total || op == Op::size;
  node.is_constant = op == Op::hyper || op == Op::time || node.is_after_sums;
  return insert(node);
}

NodeId Graph::make(Op op, NodeId a, NodeId b, NodeId c) {
  Node node;
  node.op = op;
  node.a = a;
  node.b = b;
  node.c = c;
  node.is_constant = true;
  for (const NodeId operand : {a, b, c}) {
    if (operand == kNoNode) continue;
    node.is_constant = node.is_constant && (*this)[operand].is_constant;
    node.is_after_sums = node.is_after_sums || (*this)[operand].is_after_sums;
  }
  return insert(node);
}

NodeId Graph::insert(const Node& node) {
  const Key key{node.op, node.a, node.b, node.c, node.index, std::bit_cast<std::uint64_t>(node.number)};
  const auto [known, is_new] = known_.try_emplace(key, static_cast<NodeId>(nodes_.size()));
  if (is_new) nodes_.push_back(node);
  return known->second;
}

}  // namespace gradstep::rules::text
