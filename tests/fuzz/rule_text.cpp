// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Any bytes at all are taken for the text of a rule. What is refused has a place in the text; what is a rule makes
// three steps in f64, and each element and state becomes what its expressions say, node by node, to the bit; then steps
// in f32 with narrow state, which only have to end. With libFuzzer (GRADSTEP_BUILD_FUZZERS, clang) it makes up bytes;
// built with replay.cpp it runs over the corpus.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "kernels/elementary.h"
#include "optim/first_order/first_order_optimizer.h"
#include "optim/first_order/named_options.h"
#include "rules/text/lexer.h"
#include "rules/text/parser.h"
#include "rules/text/program.h"
#include "unit/host_calls.h"
#include "unit/support.h"

namespace gradstep::test {
namespace {

using rules::text::Graph;
using rules::text::Node;
using rules::text::NodeId;
using rules::text::Op;
using rules::text::Parsed;
using rules::text::Program;

constexpr std::size_t kElements = 300;  // more than a block
constexpr std::size_t kCompared = 7;    // of them; the others have the same values

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "rule_text: %s\n", what);
  std::abort();
}

/// The f64 reference of one element.
class Element {
 public:
  Element(const Parsed& parsed, const double* hypers) : parsed_(parsed), hypers_(hypers) {}

  /// The term of a sum.
  double term(double t, double g, double p, const double* states, const Parsed::Sum& sum) {
    evaluate(t, g, p, states);
    return at(sum.of);
  }

  void step(double t, double g, double& p, double* states, std::vector<double> sums) {
    sums_ = std::move(sums);
    evaluate(t, g, p, states);
    p = at(parsed_.param);
    for (std::size_t s = 0; s < parsed_.states.size(); ++s) states[s] = at(parsed_.states[s].after);
  }

 private:
  void evaluate(double t, double g, double p, const double* states) {
    of_.clear();
    for (std::size_t i = 0; i < parsed_.graph.size(); ++i) {
      of_.push_back(value_of(parsed_.graph[static_cast<NodeId>(i)], t, g, p, states));
    }
  }

  double at(NodeId id) const { return of_[static_cast<std::size_t>(id)]; }

  double value_of(const Node& node, double t, double g, double p, const double* states) const {
    const double a = node.a < 0 ? 0 : at(node.a);
    const double b = node.b < 0 ? 0 : at(node.b);
    switch (node.op) {
      case Op::number:
        return node.number;
      case Op::hyper:
        return hypers_[node.index];
      case Op::time:
        return t;
      case Op::size:
        return kElements;
      case Op::total:
        return sums_.empty() ? 0 : sums_[static_cast<std::size_t>(node.index)];
      case Op::gradient:
        return g;
      case Op::param:
        return p;
      case Op::state:
        return states[node.index];
      case Op::negate:
        return -a;
      case Op::absolute:
        return std::abs(a);
      case Op::sign:
        return a > 0 ? 1 : a < 0 ? -1 : a;
      case Op::root:
        return std::sqrt(a);
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
        return std::isnan(a) || std::isnan(b) ? a + b : a < b ? a : b;
      case Op::maximum:
        return std::isnan(a) || std::isnan(b) ? a + b : a > b ? a : b;
      case Op::less:
        return a < b ? 1 : 0;
      case Op::less_equal:
        return a <= b ? 1 : 0;
      case Op::equal:
        return a == b ? 1 : 0;
      case Op::not_equal:
        return a != b ? 1 : 0;
      case Op::select:
        return a != 0 ? b : at(node.c);
    }
    return 0;
  }

  const Parsed& parsed_;
  const double* hypers_;
  std::vector<double> sums_;
  std::vector<double> of_;
};

/// The sum of less than a quarter of a chunk: element i goes to lane i mod 16, and lanes are folded in halves
/// (docs/numerics.md).
template <class TermOf>
double folded(TermOf term_of) {
  double lanes[16] = {};
  for (std::size_t i = 0; i < kElements; ++i) lanes[i % 16] += term_of(i);
  for (std::size_t width = 8; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

double gradient_of(std::size_t element, int t) {
  constexpr double kGradients[kCompared] = {0.5, -2, 0, 1e-3, -1e200, 3, 0.25};
  return kGradients[(element + static_cast<std::size_t>(t)) % kCompared];
}

std::vector<gradstep_option> hypers_of(const Program& program) {
  std::vector<gradstep_option> options;
  for (const rules::Field& field : program.about().fields) {
    double value = std::isnan(field.initial) ? 0.5 : field.initial;
    if (!field.range.holds(value)) value = field.range.minimum;
    options.push_back({field.name, value, nullptr});
  }
  return options;
}

template <class T>
class Run {
 public:
  Run(const RuleType& type, const std::vector<gradstep_option>& options)
      : optimizer_(context(), make_rule(type, options), make_schema({{kElements}}, dtype_of<T>())),
        param_({kElements}),
        gradient_({kElements}) {
    for (std::size_t i = 0; i < kElements; ++i) param_.values[i] = static_cast<T>(i % kCompared) / 2 - 1;
  }

  void step(int t) {
    for (std::size_t i = 0; i < kElements; ++i) gradient_.values[i] = static_cast<T>(gradient_of(i % kCompared, t));
    const gradstep_tensor params[] = {param_.tensor()};
    const gradstep_tensor gradients[] = {gradient_.tensor()};
    host::step(optimizer_, params, gradients, nullptr, 1);
  }
  const std::vector<T>& params() const { return param_.values; }
  std::vector<T> state(const char* name) {
    TestTensor<T> copy({kElements});
    optimizer_.state().get(0, name, compact_array(copy.values.data(), kElements, dtype_of<T>()));
    return copy.values;
  }

 private:
  static std::shared_ptr<Context> context() {
    static const std::shared_ptr<Context> made = make_context();
    return made;
  }

  FirstOrderOptimizer optimizer_;
  TestTensor<T> param_;
  TestTensor<T> gradient_;
};

void check_steps(std::string_view text, const Program& program) {
  const RuleType type = program_rule(program);
  std::vector<gradstep_option> options = hypers_of(program);
  for (const gradstep_option& option : options) {
    if (!std::isfinite(option.value)) return;
  }
  const Parsed parsed = rules::text::parse(text, {});
  std::vector<double> hypers;
  for (const gradstep_option& option : options) hypers.push_back(option.value);
  Run<double> run(type, options);
  std::vector<double> p(run.params().begin(), run.params().begin() + kCompared);
  double states[kCompared][rules::kMaxStates] = {};
  for (int t = 0; t < 3; ++t) {
    run.step(t);
    std::vector<double> sums;
    for (const Parsed::Sum& sum : parsed.sums) {
      double terms[kCompared];
      for (std::size_t i = 0; i < kCompared; ++i) {
        const double term = Element(parsed, hypers.data()).term(t + 1, gradient_of(i, t), p[i], states[i], sum);
        terms[i] = sum.squares ? term * term : term;
      }
      sums.push_back(folded([&](std::size_t i) { return terms[i % kCompared]; }));
    }
    for (std::size_t i = 0; i < kCompared; ++i) {
      Element(parsed, hypers.data()).step(t + 1, gradient_of(i, t), p[i], states[i], sums);
    }
    for (std::size_t i = 0; i < kElements; ++i) require(is_same(run.params()[i], p[i % kCompared]), "another p");
    for (std::size_t s = 0; s < parsed.states.size(); ++s) {
      const std::vector<double> found = run.state(parsed.states[s].name.c_str());
      for (std::size_t i = 0; i < kElements; ++i) require(is_same(found[i], states[i % kCompared][s]), "another state");
    }
  }
  for (const char* storage : {"bf16", "int8"}) {
    options.push_back({"state_dtype", 0, storage});
    Run<float> narrow(type, options);
    for (int t = 0; t < 2; ++t) narrow.step(t);
    options.pop_back();
  }
}

}  // namespace
}  // namespace gradstep::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstep;
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::shared_ptr<const rules::text::Program> program;
  try {
    program = rules::text::Program::compile(text, {});
  } catch (const Error& error) {
    test::require(std::strncmp(error.what(), "text: ", 6) == 0, "an error that is not the text's");
    return 0;
  }
  test::require(rules::text::canonical(program->text()) == program->words(), "words are not the text's");
  test::check_steps(text, *program);
  return 0;
}
