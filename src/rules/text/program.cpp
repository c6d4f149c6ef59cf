// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/text/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <utility>

#include "rules/text/growth.h"
#include "rules/text/lexer.h"

namespace gradstep::rules::text {

namespace {

/// The step that is an operation of the graph.
Step step_of(Op op) {
  switch (op) {
    case Op::negate:
      return Step::negate;
    case Op::absolute:
      return Step::absolute;
    case Op::sign:
      return Step::sign;
    case Op::root:
      return Step::root;
    case Op::exponential:
      return Step::exponential;
    case Op::logarithm:
      return Step::logarithm;
    case Op::add:
      return Step::add;
    case Op::subtract:
      return Step::subtract;
    case Op::multiply:
      return Step::multiply;
    case Op::divide:
      return Step::divide;
    case Op::power:
      return Step::power;
    case Op::minimum:
      return Step::minimum;
    case Op::maximum:
      return Step::maximum;
    case Op::less:
      return Step::less;
    case Op::less_equal:
      return Step::less_equal;
    case Op::equal:
      return Step::equal;
    case Op::not_equal:
      return Step::not_equal;
    default:
      return Step::select;
  }
}

}  // namespace

/// From the graph to operations: products are fused with the sums that they go into, results find registers.
class Program::Compiler {
 public:
  /// `ends` are what states become. Constants that elements are computed with are listed in `numbers`.
  Compiler(Graph& graph, std::vector<NodeId> ends, std::vector<NodeId> results, std::vector<NodeId>& numbers)
      : graph_(graph), ends_(std::move(ends)), results_(std::move(results)), numbers_(numbers) {}

  void run() {
    count_uses();
    for (NodeId id = 0; id < static_cast<NodeId>(uses_.size()); ++id) lower(id);
    end_states();
    assign_registers();
  }

  const std::vector<Operation>& operations() const { return operations_; }
  Operand result(std::size_t place) { return operand_of(results_[place]); }
  Walk walk(const Operation* operations) const {
    return {operations, static_cast<std::int32_t>(operations_.size()), temporary_count_};
  }

 private:
  /// An operation before registers are known. Values are nodes, or copies behind them.
  struct Draft {
    Step step = Step::copy;
    NodeId to = kNoNode;
    std::array<NodeId, 4> of = {kNoNode, kNoNode, kNoNode, kNoNode};
    std::int32_t state = -1;  ///< `to` is this state, at the end of the step
  };

  bool is_constant(NodeId id) const { return graph_[id].is_constant; }
  /// A value that an operation computes.
  bool is_computed(NodeId id) const { return !graph_[id].is_constant && !graph_[id].is_leaf(); }

  /// For nodes that a result depends on.
  void count_uses() {
    uses_.assign(graph_.size(), 0);
    for (const NodeId result : results_) ++uses_[static_cast<std::size_t>(result)];
    for (const NodeId end : ends_) ++uses_[static_cast<std::size_t>(end)];
    for (std::size_t i = uses_.size(); i-- > 0;) {
      const Node& node = graph_[static_cast<NodeId>(i)];
      if (uses_[i] == 0 || node.is_constant) continue;
      for (const NodeId operand : {node.a, node.b, node.c}) {
        if (operand != kNoNode) ++uses_[static_cast<std::size_t>(operand)];
      }
    }
    is_fused_.assign(uses_.size(), false);
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      const Node& node = graph_[static_cast<NodeId>(i)];
      if (uses_[i] == 0 || node.is_constant || (node.op != Op::add && node.op != Op::subtract)) continue;
      const bool is_sum = node.op == Op::add;
      // a - c * x is a + (-c) * x to the bit, where c is a constant; so is a * x - c.
      if (is_product(node.b) && (is_sum || has_constant_factor(node.b))) fuse(node.b);
      if (is_product(node.a) && (is_sum || is_constant(node.b) || is_fused(node.b))) fuse(node.a);
    }
  }
  bool is_product(NodeId id) const {
    return graph_[id].op == Op::multiply && !is_constant(id) && uses_[static_cast<std::size_t>(id)] == 1;
  }
  bool has_constant_factor(NodeId id) const { return is_constant(graph_[id].a) || is_constant(graph_[id].b); }
  void fuse(NodeId id) { is_fused_[static_cast<std::size_t>(id)] = true; }
  bool is_fused(NodeId id) const {
    return id < static_cast<NodeId>(is_fused_.size()) && is_fused_[static_cast<std::size_t>(id)];
  }

  /// The factors of a product, a constant behind.
  std::array<NodeId, 2> factors(NodeId id, bool is_subtracted = false) {
    NodeId a = graph_[id].a;
    NodeId b = graph_[id].b;
    if (is_constant(a)) std::swap(a, b);
    if (is_subtracted) b = graph_.make(Op::negate, b);
    return {a, b};
  }

  void lower(NodeId id) {
    if (uses_[static_cast<std::size_t>(id)] == 0 || is_fused(id) || !is_computed(id)) return;
    const Node node = graph_[id];
    Draft draft{step_of(node.op), id, {node.a, node.b, node.c, kNoNode}};
    if (node.op == Op::multiply) {
      const auto [a, b] = factors(id);
      draft.of = {a, b, kNoNode, kNoNode};
    } else if (node.op == Op::add || node.op == Op::subtract) {
      draft = sum(id, node);
    }
    drafts_.push_back(draft);
  }

  Draft sum(NodeId id, const Node& node) {
    const bool is_subtracted = node.op == Op::subtract;
    if (is_fused(node.a) && is_fused(node.b)) {
      const auto [a, b] = factors(node.a);
      const auto [c, d] = factors(node.b, is_subtracted);
      return {Step::sum_of_products, id, {a, b, c, d}};
    }
    if (is_fused(node.b)) {
      const auto [a, b] = factors(node.b, is_subtracted);
      return {Step::multiply_add, id, {a, b, node.a, kNoNode}};
    }
    const bool is_moved = is_constant(node.b) && is_subtracted;
    const NodeId other = is_moved ? graph_.make(Op::negate, node.b) : node.b;
    if (is_fused(node.a)) {
      const auto [a, b] = factors(node.a);
      return {Step::multiply_add, id, {a, b, other, kNoNode}};
    }
    if (is_subtracted && !is_moved) return {Step::subtract, id, {node.a, node.b, kNoNode, kNoNode}};
    if (is_constant(node.a)) return {Step::add, id, {other, node.a, kNoNode, kNoNode}};
    return {Step::add, id, {node.a, other, kNoNode, kNoNode}};
  }

  /// States that end as something which is not computed in their place are copied at the end; before that, what was in
  /// others and is still needed goes aside.
  void end_states() {
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      state_leaf_.push_back(graph_.leaf(Op::state, static_cast<std::int32_t>(s)));
    }
    home_.assign(uses_.size(), -1);
    const auto holds = [](const std::vector<NodeId>& list, NodeId value) {
      return std::ranges::find(list, value) != list.end();
    };
    const auto is_last = [&](NodeId leaf, std::size_t at) {
      if (holds(results_, leaf) || holds(ends_, leaf)) return false;
      for (std::size_t i = at + 1; i < drafts_.size(); ++i) {
        if (std::ranges::find(drafts_[i].of, leaf) != drafts_[i].of.end()) return false;
      }
      return true;
    };
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      for (std::size_t s = 0; s < ends_.size(); ++s) {
        int& home = home_[static_cast<std::size_t>(drafts_[i].to)];
        if (ends_[s] == drafts_[i].to && home < 0 && is_last(state_leaf_[s], i)) home = static_cast<int>(s);
      }
    }
    std::vector<Draft> copies;
    const auto aside = [&](NodeId value) {
      if (!holds(state_leaf_, value)) return value;
      const NodeId copy = new_value();
      drafts_.push_back({Step::copy, copy, {value, kNoNode, kNoNode, kNoNode}});
      return copy;
    };
    for (std::size_t s = 0; s < ends_.size(); ++s) {
      const bool is_in_place =
          is_computed(ends_[s]) && home_[static_cast<std::size_t>(ends_[s])] == static_cast<int>(s);
      if (ends_[s] == state_leaf_[s] || is_in_place) continue;
      copies.push_back(
          {Step::copy, kNoNode, {aside(ends_[s]), kNoNode, kNoNode, kNoNode}, static_cast<std::int32_t>(s)});
    }
    for (NodeId& result : results_) {
      if (!copies.empty()) result = aside(result);
    }
    drafts_.insert(drafts_.end(), copies.begin(), copies.end());
  }

  NodeId new_value() { return kAside + asides_++; }

  void assign_registers() {
    std::map<NodeId, std::size_t> last_use;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      for (const NodeId operand : drafts_[i].of) last_use[operand] = i;
    }
    for (const NodeId result : results_) last_use[result] = drafts_.size();
    std::vector<bool> taken;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      const Draft& draft = drafts_[i];
      Operation operation;
      operation.step = draft.step;
      Operand* const operands[] = {&operation.a, &operation.b, &operation.c, &operation.d};
      for (std::size_t k = 0; k < draft.of.size(); ++k) {
        if (draft.of[k] != kNoNode) *operands[k] = operand_of(draft.of[k]);
      }
      for (const NodeId operand : draft.of) {
        const auto found = temporary_.find(operand);
        if (found != temporary_.end() && last_use[operand] == i) taken[found->second] = false;
      }
      operation.to = draft.state >= 0 ? register_of_state(draft.state) : place_for(draft.to, taken);
      operations_.push_back(operation);
    }
    temporary_count_ = static_cast<std::int32_t>(taken.size());
    if (taken.size() > kMostTemporaries) {
      fail_at({1, 1}, fmt::format("expected at most {} results that are needed at the same time, found {}",
                                  kMostTemporaries, taken.size()));
    }
  }

  static std::int16_t register_of_state(std::int32_t state) {
    return static_cast<std::int16_t>(Register::first_state + state);
  }
  static std::int16_t register_of_temporary(std::size_t place) {
    return static_cast<std::int16_t>(Register::first_temporary + place);
  }

  std::int16_t place_for(NodeId value, std::vector<bool>& taken) {
    const int home = value < kAside ? home_[static_cast<std::size_t>(value)] : -1;
    if (home >= 0) return register_of_state(home);
    const auto free = std::ranges::find(taken, false);
    const auto place = static_cast<std::size_t>(free - taken.begin());
    if (free == taken.end()) taken.push_back(false);
    taken[place] = true;
    temporary_[value] = place;
    return register_of_temporary(place);
  }

  Operand operand_of(NodeId value) {
    if (value < kAside && graph_[value].is_constant)
      return {static_cast<std::int16_t>(-1 - static_cast<int>(number_of(value)))};
    if (const auto found = temporary_.find(value); found != temporary_.end()) {
      return {register_of_temporary(found->second)};
    }
    const Node& node = graph_[value];
    if (node.op == Op::gradient) return {Register::gradient};
    if (node.op == Op::param) return {Register::param};
    if (node.op == Op::state) return {register_of_state(node.index)};
    return {register_of_state(home_[static_cast<std::size_t>(value)])};
  }

  std::size_t number_of(NodeId constant) {
    const auto known = std::ranges::find(numbers_, constant);
    const auto place = static_cast<std::size_t>(known - numbers_.begin());
    if (known == numbers_.end()) numbers_.push_back(constant);
    return place;
  }

  static constexpr NodeId kAside = 1 << 20;  // behind it are values that are no nodes

  Graph& graph_;
  std::vector<NodeId> ends_;     // by state
  std::vector<NodeId> results_;  // beside states
  std::vector<NodeId>& numbers_;
  std::vector<Operation> operations_;
  std::int32_t temporary_count_ = 0;
  NodeId asides_ = 0;
  std::vector<int> uses_;  // by node of the text
  std::vector<bool> is_fused_;
  std::vector<Draft> drafts_;
  std::vector<NodeId> state_leaf_;  // by state
  std::vector<int> home_;           // by node: the state in whose place it is computed; -1 = none
  std::map<NodeId, std::size_t> temporary_;
};

std::shared_ptr<const Program> Program::compile(std::string_view text, const Reserved& reserved) {
  Parsed parsed = parse(text, reserved);
  const std::shared_ptr<Program> program(new Program);
  program->text_ = text;
  program->words_ = canonical(text);
  program->growth_ = growth_of_states(parsed);
  program->describe(parsed);
  program->lower(parsed);
  return program;
}

void Program::lower(Parsed& parsed) {
  Graph& graph = parsed.graph;
  std::vector<NodeId> ends;
  std::vector<NodeId> leaves;
  for (std::size_t s = 0; s < parsed.states.size(); ++s) {
    ends.push_back(parsed.states[s].after);
    leaves.push_back(graph.leaf(Op::state, static_cast<std::int32_t>(s)));
  }
  std::vector<NodeId> terms;
  for (const Parsed::Sum& sum : parsed.sums) terms.push_back(sum.of);
  std::vector<NodeId> numbers;
  Compiler measurement(graph, leaves, terms, numbers);
  measurement.run();
  Compiler step(graph, ends, {take_outcome(parsed)}, numbers);
  step.run();

  static std::atomic<std::uint64_t> last_id = 0;
  code_.id = ++last_id;
  code_.result = step.result(0);
  for (std::size_t s = 0; s < terms.size(); ++s) {
    code_.sums[s] = {measurement.result(s), parsed.sums[s].squares, parsed.sums[s].is_shared};
  }
  list_constants(graph, numbers);
  operations_ = measurement.operations();
  operations_.insert(operations_.end(), step.operations().begin(), step.operations().end());
  code_.measurement = measurement.walk(operations_.data());
  code_.step = step.walk(operations_.data() + measurement.operations().size());
  code_.constants = constants_.data();
  code_.constant_count = static_cast<std::int32_t>(constants_.size());
  code_.numbers = used_.data();
  code_.number_count = static_cast<std::int32_t>(used_.size());
  code_.state_count = static_cast<std::int32_t>(state_list_.size());
  code_.sum_count = static_cast<std::int32_t>(terms.size());
  code_.learning_rate = learning_rate_ == kNone ? -1 : static_cast<std::int32_t>(learning_rate_);
  code_.weight_decay = weight_decay_ == kNone ? -1 : static_cast<std::int32_t>(weight_decay_);
}

/// Returns the number that `p` becomes, or that is added to it or subtracted from it.
NodeId Program::take_outcome(const Parsed& parsed) {
  const Node node = parsed.graph[parsed.param];
  const auto is_param = [&](NodeId id) { return parsed.graph[id].op == Op::param; };
  if (node.op == Op::add && is_param(node.b) && !is_param(node.a)) {
    code_.outcome = Outcome::added;
    return node.a;
  }
  if ((node.op != Op::add && node.op != Op::subtract) || !is_param(node.a)) return parsed.param;
  code_.outcome = node.op == Op::add ? Outcome::added : Outcome::subtracted;
  return node.b;
}

/// Constants that numbers of the step are made of, each behind its operands.
void Program::list_constants(const Graph& graph, const std::vector<NodeId>& numbers) {
  if (numbers.size() > kMostNumbers) {
    fail_at({1, 1}, fmt::format("expected at most {} constants that elements are computed with, found {}", kMostNumbers,
                                numbers.size()));
  }
  std::vector<bool> needed(graph.size());
  for (const NodeId number : numbers) needed[static_cast<std::size_t>(number)] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph[static_cast<NodeId>(i)];
    for (const NodeId operand : {node.a, node.b, node.c}) {
      if (operand != kNoNode) needed[static_cast<std::size_t>(operand)] = true;
    }
  }
  std::vector<std::int16_t> places(graph.size(), -1);
  const auto place = [&](NodeId id) { return id == kNoNode ? std::int16_t{-1} : places[static_cast<std::size_t>(id)]; };
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    const Node& node = graph[static_cast<NodeId>(i)];
    places[i] = static_cast<std::int16_t>(constants_.size());
    constants_.push_back({.number = node.number,
                          .a = place(node.a),
                          .b = place(node.b),
                          .c = place(node.c),
                          .index = static_cast<std::int16_t>(node.index),
                          .op = node.op,
                          .is_after_sums = node.is_after_sums});
  }
  for (const NodeId number : numbers) used_.push_back(place(number));
}

void Program::describe(const Parsed& parsed) {
  names_.push_back(parsed.name);
  for (const Parsed::Hyper& hyper : parsed.hypers) names_.push_back(hyper.name);
  for (const Parsed::StateName& state : parsed.states) names_.push_back(state.name);
  const std::string* name = names_.data() + 1;
  for (const Parsed::Hyper& hyper : parsed.hypers) {
    if (hyper.name == "learning_rate") learning_rate_ = fields_.size();
    fields_.push_back({(name++)->c_str(), hyper.range, hyper.initial, "of the rule's text"});
  }
  const bool decays_itself =
      std::ranges::any_of(parsed.hypers, [](const Parsed::Hyper& hyper) { return hyper.name == "weight_decay"; });
  if (!decays_itself) {
    weight_decay_ = fields_.size();
    fields_.push_back({"weight_decay", at_least(0), 0, "learning_rate * weight_decay * p is subtracted from p"});
  }
  for (const Parsed::StateName& state : parsed.states) {
    state_list_.push_back({.name = (name++)->c_str(), .has_signs = state.has_signs});
  }
  about_.name = names_.front().c_str();
  about_.source = "a text of the host's";
  about_.formula = text_.c_str();
  about_.fields = fields_;
  about_.states = state_list_;
}

}  // namespace gradstep::rules::text
