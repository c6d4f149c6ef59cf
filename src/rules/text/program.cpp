// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/text/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "kernels/elementary.h"
#include "kernels/macros.h"
#include "rules/text/growth.h"
#include "rules/text/lexer.h"

namespace gradstep::rules::text {

namespace {

double evaluate(Op op, double a, double b, double c) {
  switch (op) {
    case Op::negate:
      return -a;
    case Op::absolute:
      return kernels::magnitude(a);
    case Op::sign:
      return kernels::sign<double>(a);
    case Op::root:
      return kernels::square_root(a);
    case Op::exponential:
      return kernels::exponential(a);
    case Op::logarithm:
      return kernels::logarithm_of_any(a);
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return a * b;
    case Op::divide:
      return a / b;
    case Op::power:
      return kernels::power_of_any(a, b);
    case Op::minimum:
      return kernels::smaller_of(a, b);
    case Op::maximum:
      return kernels::larger_of(a, b);
    case Op::less:
      return a < b ? 1 : 0;
    case Op::less_equal:
      return a <= b ? 1 : 0;
    case Op::equal:
      return a == b ? 1 : 0;
    case Op::not_equal:
      return a != b ? 1 : 0;
    default:
      return a != 0 ? b : c;
  }
}

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
  Compiler(Parsed& parsed, Program& program) : parsed_(parsed), graph_(parsed.graph), program_(program) {}

  void run() {
    choose_outcome();
    count_uses();
    for (NodeId id = 0; id < static_cast<NodeId>(uses_.size()); ++id) lower(id);
    end_states();
    assign_registers();
    list_constants();
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
  bool is_leaf(NodeId id, Op op) const { return graph_[id].op == op; }

  void choose_outcome() {
    const Node node = graph_[parsed_.param];
    result_ = parsed_.param;
    if (node.op == Op::add || node.op == Op::subtract) {
      if (is_leaf(node.a, Op::param)) {
        program_.code_.outcome = node.op == Op::add ? Outcome::added : Outcome::subtracted;
        result_ = node.b;
      } else if (node.op == Op::add && is_leaf(node.b, Op::param)) {
        program_.code_.outcome = Outcome::added;
        result_ = node.a;
      }
    }
  }

  /// For nodes that a result depends on.
  void count_uses() {
    uses_.assign(graph_.size(), 0);
    ++uses_[static_cast<std::size_t>(result_)];
    for (const Parsed::StateName& state : parsed_.states) ++uses_[static_cast<std::size_t>(state.after)];
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
    const auto count = static_cast<NodeId>(parsed_.states.size());
    state_leaf_.assign(parsed_.states.size(), kNoNode);
    for (NodeId s = 0; s < count; ++s) state_leaf_[static_cast<std::size_t>(s)] = graph_.leaf(Op::state, s);
    home_.assign(uses_.size(), -1);
    std::vector<NodeId> ends;
    for (const Parsed::StateName& state : parsed_.states) ends.push_back(state.after);
    const auto is_last = [&](NodeId leaf, std::size_t at) {
      if (result_ == leaf || std::ranges::find(ends, leaf) != ends.end()) return false;
      for (std::size_t i = at + 1; i < drafts_.size(); ++i) {
        if (std::ranges::find(drafts_[i].of, leaf) != drafts_[i].of.end()) return false;
      }
      return true;
    };
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      for (std::size_t s = 0; s < ends.size(); ++s) {
        int& home = home_[static_cast<std::size_t>(drafts_[i].to)];
        if (ends[s] == drafts_[i].to && home < 0 && is_last(state_leaf_[s], i)) home = static_cast<int>(s);
      }
    }
    std::vector<Draft> copies;
    const auto aside = [&](NodeId value) {
      const bool is_state = std::ranges::find(state_leaf_, value) != state_leaf_.end();
      if (!is_state) return value;
      const NodeId copy = new_value();
      drafts_.push_back({Step::copy, copy, {value, kNoNode, kNoNode, kNoNode}});
      return copy;
    };
    for (std::size_t s = 0; s < ends.size(); ++s) {
      const bool is_in_place = is_computed(ends[s]) && home_[static_cast<std::size_t>(ends[s])] == static_cast<int>(s);
      if (ends[s] == state_leaf_[s] || is_in_place) continue;
      copies.push_back(
          {Step::copy, kNoNode, {aside(ends[s]), kNoNode, kNoNode, kNoNode}, static_cast<std::int32_t>(s)});
    }
    if (!copies.empty()) result_ = aside(result_);
    drafts_.insert(drafts_.end(), copies.begin(), copies.end());
  }

  NodeId new_value() { return kAside + asides_++; }

  void assign_registers() {
    std::map<NodeId, std::size_t> last_use;
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      for (const NodeId operand : drafts_[i].of) last_use[operand] = i;
    }
    last_use[result_] = drafts_.size();
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
      program_.operations_.push_back(operation);
    }
    program_.code_.result = operand_of(result_);
    program_.code_.temporary_count = static_cast<std::int32_t>(taken.size());
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

  /// Constants that numbers of the step are made of, each behind its operands.
  void list_constants() {
    if (numbers_.size() > kMostNumbers) {
      fail_at({1, 1}, fmt::format("expected at most {} constants that elements are computed with, found {}",
                                  kMostNumbers, numbers_.size()));
    }
    std::vector<bool> needed(graph_.size());
    for (const NodeId number : numbers_) needed[static_cast<std::size_t>(number)] = true;
    for (std::size_t i = needed.size(); i-- > 0;) {
      if (!needed[i]) continue;
      const Node& node = graph_[static_cast<NodeId>(i)];
      for (const NodeId operand : {node.a, node.b, node.c}) {
        if (operand != kNoNode) needed[static_cast<std::size_t>(operand)] = true;
      }
    }
    std::vector<std::int16_t> places(graph_.size(), -1);
    const auto place = [&](NodeId id) {
      return id == kNoNode ? std::int16_t{-1} : places[static_cast<std::size_t>(id)];
    };
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      const Node& node = graph_[static_cast<NodeId>(i)];
      places[i] = static_cast<std::int16_t>(program_.constants_.size());
      program_.constants_.push_back({node.op, place(node.a), place(node.b), place(node.c), node.index, node.number});
    }
    for (const NodeId number : numbers_) program_.used_.push_back(place(number));
  }

  static constexpr NodeId kAside = 1 << 20;  // behind it are values that are no nodes

  Parsed& parsed_;
  Graph& graph_;
  Program& program_;
  NodeId result_ = kNoNode;
  NodeId asides_ = 0;
  std::vector<int> uses_;  // by node of the text
  std::vector<bool> is_fused_;
  std::vector<Draft> drafts_;
  std::vector<NodeId> state_leaf_;  // by state
  std::vector<int> home_;           // by node: the state in whose place it is computed; -1 = none
  std::map<NodeId, std::size_t> temporary_;
  std::vector<NodeId> numbers_;
};

std::shared_ptr<const Program> Program::compile(std::string_view text, const Reserved& reserved) {
  Parsed parsed = parse(text, reserved);
  const std::shared_ptr<Program> program(new Program);
  program->text_ = text;
  program->words_ = canonical(text);
  program->growth_ = growth_of_states(parsed);
  program->describe(parsed);
  Compiler(parsed, *program).run();
  Code& code = program->code_;
  code.operations = program->operations_.data();
  code.operation_count = static_cast<std::int32_t>(program->operations_.size());
  code.number_count = static_cast<std::int32_t>(program->used_.size());
  code.state_count = static_cast<std::int32_t>(program->state_list_.size());
  return program;
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

void Program::write_decay(const RuleForm& form, const double* values, RuleConstants& to) const {
  rules::write_decay(form, Decay::decoupled, weight_decay_ == kNone ? 0 : values[weight_decay_],
                     learning_rate_ == kNone ? 1 : values[learning_rate_], to);
}

void Program::write_numbers(const double* values, std::int64_t t, double* numbers) const {
  double all[2 * kMostNodes];
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    const Constant& constant = constants_[i];
    const auto at = [&](std::int16_t place) { return place < 0 ? 0 : all[place]; };
    if (constant.op == Op::number) {
      all[i] = constant.number;
    } else if (constant.op == Op::hyper) {
      all[i] = values[constant.index];
    } else if (constant.op == Op::time) {
      all[i] = static_cast<double>(t + 1);
    } else {
      all[i] = evaluate(constant.op, at(constant.a), at(constant.b), at(constant.c));
    }
  }
  for (std::size_t k = 0; k < used_.size(); ++k) numbers[k] = all[used_[k]];
}

}  // namespace gradstep::rules::text
