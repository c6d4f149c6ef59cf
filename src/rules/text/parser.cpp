// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/text/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "core/error.h"
#include "core/text.h"
#include "rules/text/lexer.h"
#include "rules/text/limits.h"

namespace gradstep::rules::text {

namespace {

struct Function {
  const char* name;
  Op op;  ///< `clamp` is two
  std::size_t arguments;
};
constexpr Function kFunctions[] = {{"abs", Op::absolute, 1},    {"sign", Op::sign, 1},     {"sqrt", Op::root, 1},
                                   {"exp", Op::exponential, 1}, {"log", Op::logarithm, 1}, {"min", Op::minimum, 2},
                                   {"max", Op::maximum, 2},     {"select", Op::select, 3}, {"clamp", Op::maximum, 3}};

constexpr const char* kSums[] = {"sum", "mean", "norm", "model_sum"};
// What a text may come to say, of more than one element.
constexpr const char* kReserved[] = {"row_mean", "column_mean", "orthogonalize"};

constexpr const char* kWords[] = {"rule", "hyper", "state", "in", "inf", "unsigned", "g", "p", "t"};

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const char* each) { return name == each; });
}

const Function* find_function(std::string_view name) {
  const auto* found = std::ranges::find(kFunctions, name, [](const Function& f) { return std::string_view(f.name); });
  return found == std::end(kFunctions) ? nullptr : found;
}

class Parser {
 public:
  Parser(std::string_view text, const Reserved& reserved) : tokens_(tokens_of(text)), reserved_(reserved) {}

  Parsed run() {
    take_rule();
    while (next().kind != Token::Kind::text_end) {
      if (is_word("hyper")) {
        take_list([&] { take_hyper(); });
      } else if (is_word("state")) {
        take_list([&] { take_state(); });
      } else {
        do take_assignment();
        while (takes(";"));
        take_line_end();
      }
    }
    finish();
    return std::move(parsed_);
  }

 private:
  /// One level of what can hold itself, as long as it lives.
  class Depth {
   public:
    explicit Depth(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMostDepth) {
        fail_at(parser_.next().place, fmt::format("expected at most {} levels within each other", kMostDepth));
      }
    }
    ~Depth() { --parser_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Parser& parser_;
  };

  const Token& next() const { return tokens_[at_]; }
  bool is_word(std::string_view word) const { return next().kind == Token::Kind::name && next().text == word; }
  /// The end of the text stays.
  Token take() { return tokens_[next().kind == Token::Kind::text_end ? at_ : at_++]; }
  bool takes(std::string_view symbol) {
    if (!next().is(symbol)) return false;
    ++at_;
    return true;
  }

  [[noreturn]] void fail_expected(const std::string& what) const {
    fail_at(next().place, fmt::format("expected {}, found {}", what, next().shown()));
  }
  void take_symbol(std::string_view symbol) {
    if (!takes(symbol)) fail_expected(fmt::format("'{}'", symbol));
  }
  void take_line_end() {
    if (next().kind != Token::Kind::line_end) fail_expected("an operator or the end of the line");
    ++at_;
  }
  Token take_name(const char* what) {
    if (next().kind != Token::Kind::name) fail_expected(what);
    return take();
  }

  void take_rule() {
    if (!is_word("rule")) fail_expected("'rule' and its name");
    ++at_;
    const Token name = take_name("the name of the rule");
    check_not_among(reserved_.rules, name, "the name of the rule", "a rule of the library");
    parsed_.name = name.text;
    if (next().kind != Token::Kind::line_end) fail_expected("the end of the line");
    ++at_;
  }

  /// "hyper" or "state", and its items up to the end of the line.
  template <class Item>
  void take_list(Item item) {
    ++at_;
    do item();
    while (takes(";") || takes(","));
    if (next().kind != Token::Kind::line_end) fail_expected("';' or the end of the line");
    ++at_;
  }

  /// A name that stands for nothing yet.
  std::string take_new_name(const char* what, std::span<const char* const> taken, const char* taken_by) {
    const Token name = take_name(what);
    check_free(name, what);
    check_not_among(taken, name, what, taken_by);
    return std::string(name.text);
  }

  static void check_not_among(std::span<const char* const> taken, const Token& name, const char* what,
                              const char* taken_by) {
    if (holds(taken, name.text))
      fail_at(name.place, fmt::format("expected {}, found '{}', {}", what, name.text, taken_by));
  }

  void check_free(const Token& name, const char* what) const {
    if (holds(kWords, name.text) || holds(kSums, name.text) || holds(kReserved, name.text) ||
        find_function(name.text) != nullptr) {
      fail_at(name.place, fmt::format("expected {}, found '{}', a word of the language", what, name.text));
    }
    if (values_.contains(name.text)) {
      fail_at(name.place, fmt::format("expected {}, found '{}', which stands for something already", what, name.text));
    }
  }

  void take_hyper() {
    const Place place = next().place;
    if (parsed_.hypers.size() == kMostHypers) {
      fail_at(place, fmt::format("expected at most {} hyper-parameters", kMostHypers));
    }
    Parsed::Hyper hyper;
    hyper.name = take_new_name("the name of a hyper-parameter", reserved_.hypers, "an option of every rule");
    if (takes("=")) hyper.initial = take_signed_number();
    if (is_word("in")) hyper.range = take_range();
    if (!std::isnan(hyper.initial) && !hyper.range.holds(hyper.initial)) {
      fail_at(place, fmt::format("expected a default within the range, found {} of {}", hyper.initial, hyper.name));
    }
    values_[hyper.name] = parsed_.graph.leaf(Op::hyper, static_cast<std::int32_t>(parsed_.hypers.size()));
    parsed_.hypers.push_back(std::move(hyper));
  }

  /// "in [0, 1)": a bound that belongs to the range becomes the number next to it where Range needs the other kind.
  Range take_range() {
    const Place place = take().place;
    Range range;
    if (!next().is("[") && !next().is("(")) fail_expected("'[' or '('");
    const bool is_open = take().is("(");
    const double minimum = take_bound();
    take_symbol(",");
    const double limit = take_bound();
    if (!next().is(")") && !next().is("]")) fail_expected("')' or ']'");
    const bool is_closed = take().is("]");
    const double inf = std::numeric_limits<double>::infinity();
    if (minimum > -inf) range.minimum = is_open ? std::nextafter(minimum, inf) : minimum;
    range.limit = is_closed ? std::nextafter(limit, inf) : limit;
    if (!(range.minimum < range.limit)) fail_at(place, "expected a range that has a number, found an empty one");
    return range;
  }

  double take_bound() {
    const bool is_negative = takes("-");
    if (is_word("inf")) {
      ++at_;
      return is_negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    }
    return is_negative ? -take_number() : take_number();
  }

  double take_signed_number() { return takes("-") ? -take_number() : take_number(); }

  double take_number() {
    if (next().kind != Token::Kind::number) fail_expected("a number");
    return take().number;
  }

  void take_state() {
    if (parsed_.states.size() == kMaxStates) {
      fail_at(next().place, fmt::format("expected at most {} states", kMaxStates));
    }
    Parsed::StateName state;
    state.name = take_new_name("the name of a state", reserved_.states, "a state that any rule may have");
    if (is_word("unsigned")) {
      ++at_;
      state.has_signs = false;
    }
    values_[state.name] = parsed_.graph.leaf(Op::state, static_cast<std::int32_t>(parsed_.states.size()));
    parsed_.states.push_back(std::move(state));
  }

  void take_assignment() {
    const Token name = take_name("'hyper', 'state' or a name that is given a value");
    const bool is_own = name.text == "g" || name.text == "p";
    const auto known = values_.find(name.text);
    if (!is_own && known == values_.end()) check_free(name, "the name of a value");
    if (is_hyper(name.text)) {
      fail_at(name.place,
              fmt::format("expected a state, p, g or a new name, found '{}', a hyper-parameter", name.text));
    }
    take_symbol("=");
    values_[std::string(name.text)] = take_comparison();
    if (name.text == "p") assigns_param_ = true;
  }

  bool is_hyper(std::string_view name) const {
    return std::ranges::any_of(parsed_.hypers, [&](const Parsed::Hyper& hyper) { return hyper.name == name; });
  }

  NodeId make(Op op, NodeId a, NodeId b = kNoNode, NodeId c = kNoNode) {
    const NodeId made = parsed_.graph.make(op, a, b, c);
    check_size();
    return made;
  }
  void check_size() const {
    if (parsed_.graph.size() > kMostNodes) {
      fail_at(next().place, fmt::format("expected at most {} different numbers, names and operations", kMostNodes));
    }
  }

  NodeId take_comparison() {
    const Depth depth(*this);
    const NodeId a = take_sum();
    const bool is_comparison =
        next().is("<") || next().is("<=") || next().is(">") || next().is(">=") || next().is("==") || next().is("!=");
    if (!is_comparison) return a;
    const std::string_view symbol = take().text;
    const NodeId b = take_sum();
    if (symbol == "<") return make(Op::less, a, b);
    if (symbol == "<=") return make(Op::less_equal, a, b);
    if (symbol == ">") return make(Op::less, b, a);
    if (symbol == ">=") return make(Op::less_equal, b, a);
    return make(symbol == "==" ? Op::equal : Op::not_equal, a, b);
  }

  NodeId take_sum() {
    NodeId sum = take_product();
    for (;;) {
      if (takes("+")) {
        sum = make(Op::add, sum, take_product());
      } else if (takes("-")) {
        sum = make(Op::subtract, sum, take_product());
      } else {
        return sum;
      }
    }
  }

  NodeId take_product() {
    NodeId product = take_factor();
    for (;;) {
      if (takes("*")) {
        product = make(Op::multiply, product, take_factor());
      } else if (takes("/")) {
        product = divided(product, take_factor());
      } else {
        return product;
      }
    }
  }

  /// By a constant of the step: multiplied by its reciprocal, which is of f64. A division takes many times as long.
  NodeId divided(NodeId a, NodeId b) {
    const Graph& graph = parsed_.graph;
    if (graph[a].is_constant || !graph[b].is_constant) return make(Op::divide, a, b);
    return make(Op::multiply, a, make(Op::divide, parsed_.graph.number(1), b));
  }

  /// A sign binds less than '^', so that -x^2 is -(x^2).
  NodeId take_factor() {
    const Depth depth(*this);
    if (takes("-")) return make(Op::negate, take_factor());
    const NodeId base = take_operand();
    if (!takes("^")) return base;
    return power(base, take_factor());
  }

  /// Small whole powers of elements are products.
  NodeId power(NodeId base, NodeId exponent) {
    const Graph& graph = parsed_.graph;
    if (graph[base].is_constant) return make(Op::power, base, exponent);
    if (graph.is_number(exponent, 1)) return base;
    const bool is_third = graph.is_number(exponent, 3);
    if (!is_third && !graph.is_number(exponent, 2)) return make(Op::power, base, exponent);
    const NodeId square = make(Op::multiply, base, base);
    return is_third ? make(Op::multiply, square, base) : square;
  }

  NodeId take_operand() {
    if (next().kind == Token::Kind::number) {
      const NodeId number = parsed_.graph.number(take().number);
      check_size();
      return number;
    }
    if (takes("(")) {
      const NodeId inner = take_comparison();
      if (!next().is(")")) fail_expected("an operator or ')'");
      ++at_;
      return inner;
    }
    if (next().kind != Token::Kind::name) fail_expected("a number, a name, '-' or '('");
    const Token name = take();
    if (next().is("(")) return take_call(name);
    if (name.text == "t") return parsed_.graph.leaf(Op::time);
    const auto known = values_.find(name.text);
    if (known == values_.end()) {
      fail_at(name.place,
              fmt::format("expected one of {}, found '{}'",
                          join(values_, ", ", [](const auto& value) { return value.first; }) + ", t", name.text));
    }
    return known->second;
  }

  NodeId take_call(const Token& name) {
    const auto named = [](const auto& function) { return std::string(function.name); };
    const Function* function = find_function(name.text);
    if (holds(kSums, name.text)) return take_sum_over_elements(name);
    if (holds(kReserved, name.text)) {
      fail(GRADSTEP_ERR_UNSUPPORTED, "text: line {}, column {}: {} is not supported yet; sums are {}", name.place.line,
           name.place.column, name.text, join(kSums, ", ", [](const char* sum) { return sum; }));
    }
    if (function == nullptr) {
      fail_at(name.place, fmt::format("expected a function, one of {}, {}, found '{}'", join(kFunctions, ", ", named),
                                      join(kSums, ", ", [](const char* sum) { return sum; }), name.text));
    }
    take_symbol("(");
    NodeId arguments[3] = {kNoNode, kNoNode, kNoNode};
    for (std::size_t i = 0; i < function->arguments; ++i) {
      if (i > 0 && !takes(",")) {
        fail_expected(fmt::format("',' and argument {} of the {} of {}", i + 1, function->arguments, name.text));
      }
      arguments[i] = take_comparison();
    }
    if (!next().is(")")) {
      fail_expected(fmt::format("an operator or ')' after argument {} of {}", function->arguments, name.text));
    }
    ++at_;
    if (name.text == "clamp") return make(Op::minimum, make(Op::maximum, arguments[0], arguments[1]), arguments[2]);
    return make(function->op, arguments[0], arguments[1], arguments[2]);
  }

  /// sum(x), mean(x), norm(x), model_sum(x)
  NodeId take_sum_over_elements(const Token& name) {
    const Depth depth(*this);
    take_symbol("(");
    const Parsed::Sum sum{take_comparison(), name.text == "norm", name.text == "model_sum"};
    if (!next().is(")")) fail_expected(fmt::format("an operator or ')' after the argument of {}", name.text));
    ++at_;
    Graph& graph = parsed_.graph;
    if (graph[sum.of].is_after_sums) {
      fail_at(name.place, fmt::format("expected {} of what does not depend on another sum", name.text));
    }
    const auto known = std::ranges::find(parsed_.sums, sum);
    const auto place = static_cast<std::int32_t>(known - parsed_.sums.begin());
    if (known == parsed_.sums.end()) {
      if (parsed_.sums.size() == kMostSums) {
        fail_at(name.place, fmt::format("expected at most {} different sums", kMostSums));
      }
      parsed_.sums.push_back(sum);
    }
    const NodeId total = graph.leaf(Op::total, place);
    check_size();
    if (name.text == "norm") return make(Op::root, total);
    return name.text == "mean" ? make(Op::divide, total, graph.leaf(Op::size)) : total;
  }

  void finish() {
    if (!assigns_param_) fail_expected("'p = ...' before the end");
    parsed_.param = values_.find("p")->second;
    for (Parsed::StateName& state : parsed_.states) state.after = values_.find(state.name)->second;
  }

  std::vector<Token> tokens_;
  const Reserved& reserved_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;
  bool assigns_param_ = false;
  Parsed parsed_;
  // What names stand for now. Names of a new text:
  std::map<std::string, NodeId, std::less<>> values_ = {{"g", parsed_.graph.leaf(Op::gradient)},
                                                        {"p", parsed_.graph.leaf(Op::param)}};
};

}  // namespace

Parsed parse(std::string_view text, const Reserved& reserved) {
  if (text.size() > kMostBytes) fail_argument("text: has {} bytes, expected at most {}", text.size(), kMostBytes);
  return Parser(text, reserved).run();
}

}  // namespace gradstep::rules::text
