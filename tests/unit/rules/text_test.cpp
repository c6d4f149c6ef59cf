// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The language of rules: each operation beside its meaning in the language of this test, and what is no rule.
#include <cmath>
#include <functional>
#include <limits>

#include "optim/first_order/defined_rules.h"
#include "optim/first_order/named_options.h"
#include "rules/text/lexer.h"
#include "rules/text/program.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

using rules::text::kMostBytes;
using rules::text::Program;

std::shared_ptr<const Program> compile(const std::string& text) { return Program::compile(text, {}); }

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What p becomes by "p = <expression>", for pairs of p and g. `head` declares hyper-parameters.
template <class T>
std::vector<T> values_of(const std::string& expression, std::vector<T> p, std::vector<T> g,
                         const std::string& head = "") {
  static int count = 0;
  const RuleType& type = define_rule("rule text_" + std::to_string(count++) + (sizeof(T) == 4 ? "f" : "d") + "\n" +
                                     head + "\np = " + expression);
  const auto n = static_cast<std::int64_t>(p.size());
  FirstOrderOptimizer optimizer(make_context(), make_rule(type, {}), make_schema({{n}}, dtype_of<T>()));
  TestTensor<T> param({n}, std::move(p));
  TestTensor<T> gradient({n}, std::move(g));
  const gradstep_tensor params[] = {param.tensor()};
  const gradstep_tensor gradients[] = {gradient.tensor()};
  host::step(optimizer, params, gradients, nullptr, 1);
  return param.values;
}

struct Case {
  const char* expression;
  std::function<double(double p, double g)> meaning;
};

double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }

const Case kCases[] = {
    {"p + g", [](double p, double g) { return p + g; }},
    {"g + p", [](double p, double g) { return p + g; }},
    {"p - g", [](double p, double g) { return p - g; }},
    {"g - p", [](double p, double g) { return g - p; }},
    {"p * g", [](double p, double g) { return p * g; }},
    {"p / g", [](double p, double g) { return p / g; }},
    {"2 / g", [](double, double g) { return 2 / g; }},
    {"g / 3", [](double, double g) { return g / 3; }},
    {"2 - g", [](double, double g) { return 2 - g; }},
    {"g - 2", [](double, double g) { return g - 2; }},
    {"-g", [](double, double g) { return -g; }},
    {"- -g", [](double, double g) { return g; }},
    {"-g^2", [](double, double g) { return -(g * g); }},
    {"2^3^2", [](double, double) { return 512; }},
    {"2^-1", [](double, double) { return 0.5; }},
    {"g^3", [](double, double g) { return g * g * g; }},
    {"g^5", [](double, double g) { return std::pow(g, 5); }},
    {"g^-2", [](double, double g) { return std::pow(g, -2); }},
    {"abs(g)^p", [](double p, double g) { return std::pow(std::abs(g), p); }},
    {"2^g", [](double, double g) { return std::exp2(g); }},
    {"p * 2 + g * 3", [](double p, double g) { return p * 2 + g * 3; }},
    {"2 * p - 3 * g", [](double p, double g) { return 2 * p - 3 * g; }},
    {"p * g + g * g", [](double p, double g) { return p * g + g * g; }},
    {"p * g - g * g", [](double p, double g) { return p * g - g * g; }},
    {"p * g + 2 * g", [](double p, double g) { return p * g + 2 * g; }},
    {"g * 2 + p", [](double p, double g) { return g * 2 + p; }},
    {"p * g + g", [](double p, double g) { return p * g + g; }},
    {"p * g - 0.5", [](double p, double g) { return p * g - 0.5; }},
    {"p * g + 0.5", [](double p, double g) { return p * g + 0.5; }},
    {"2 * g + 0.5", [](double, double g) { return 2 * g + 0.5; }},
    {"0.5 - p * g", [](double p, double g) { return 0.5 - p * g; }},
    {"p - p * g", [](double p, double g) { return p - p * g; }},
    {"(p + g) * (p - g)", [](double p, double g) { return (p + g) * (p - g); }},
    {"p - g - g", [](double p, double g) { return p - g - g; }},
    {"p / g / 2", [](double p, double g) { return p / g / 2; }},
    {"abs(g)", [](double, double g) { return std::abs(g); }},
    {"sign(g)", [](double, double g) { return sign_of(g); }},
    {"sqrt(g)", [](double, double g) { return std::sqrt(g); }},
    {"exp(g)", [](double, double g) { return std::exp(g); }},
    {"log(g)", [](double, double g) { return std::log(g); }},
    {"min(p, g)", [](double p, double g) { return std::isnan(p) || std::isnan(g) ? kNaN : std::min(p, g); }},
    {"max(p, g)", [](double p, double g) { return std::isnan(p) || std::isnan(g) ? kNaN : std::max(p, g); }},
    {"max(g, 0.25)", [](double, double g) { return std::isnan(g) ? g : std::max(g, 0.25); }},
    {"clamp(g, -0.5, 0.5)", [](double, double g) { return std::isnan(g) ? g : std::min(std::max(g, -0.5), 0.5); }},
    {"p < g", [](double p, double g) { return p < g ? 1 : 0; }},
    {"p <= g", [](double p, double g) { return p <= g ? 1 : 0; }},
    {"p > g", [](double p, double g) { return p > g ? 1 : 0; }},
    {"p >= g", [](double p, double g) { return p >= g ? 1 : 0; }},
    {"p == g", [](double p, double g) { return p == g ? 1 : 0; }},
    {"p != g", [](double p, double g) { return p != g ? 1 : 0; }},
    {"0.5 < g", [](double, double g) { return 0.5 < g ? 1 : 0; }},
    {"select(p, g, 3)", [](double p, double g) { return p != 0 ? g : 3; }},
    {"select(p < g, p, g * 2)", [](double p, double g) { return p < g ? p : g * 2; }},
    {"select(t == 1, g, p)", [](double, double g) { return g; }},
    {"select(2 < 1, g, p)", [](double p, double) { return p; }},
    {"g * (t + 1)", [](double, double g) { return g * 2; }},
    {"7", [](double, double) { return 7; }},
    {"p", [](double p, double) { return p; }},
    {"g", [](double, double g) { return g; }},
};

/// `scale` is the unit in the last place of 1.
template <class T>
void expect_meaning(const Case& each, double scale) {
  std::vector<T> p = random_values<T>(600, 1);
  std::vector<T> g = random_values<T>(600, 2);
  const double special[] = {0, -0.0, 1, -1, kInfinity, -kInfinity, kNaN, 1e-30, 700};
  for (const double a : special) {
    for (const double b : special) {
      p.push_back(static_cast<T>(a));
      g.push_back(static_cast<T>(b));
    }
  }
  const std::vector<T> found = values_of<T>(each.expression, p, g);
  for (std::size_t i = 0; i < p.size(); ++i) {
    const auto a = static_cast<double>(p[i]);
    const auto b = static_cast<double>(g[i]);
    const auto expected = static_cast<double>(static_cast<T>(each.meaning(a, b)));
    const auto value = static_cast<double>(found[i]);
    if (std::isnan(expected) || std::isinf(expected)) {
      EXPECT_TRUE(std::isnan(expected) ? std::isnan(value) : value == expected)
          << each.expression << ": " << a << ", " << b << ": " << value << ", expected " << expected;
      continue;
    }
    // Sums of products cancel; powers have the error of their logarithm.
    const double size = std::abs(expected) * 60 + 20 * (1 + a * a + b * b < 1e9 ? a * a + b * b : 0);
    ASSERT_NEAR(value, expected, scale * size + static_cast<double>(std::numeric_limits<T>::min()))
        << each.expression << ": " << a << ", " << b;
  }
}

TEST(RuleText, OperationsMeanWhatTheySay) {
  for (const Case& each : kCases) {
    expect_meaning<double>(each, 0x1p-52);
    expect_meaning<float>(each, 0x1p-23);
  }
}

/// Values whose sums are exact in any order.
TEST(RuleText, SumsAreTakenOverTheTensor) {
  const std::vector<double> p = {1, 2, -3, 0.5};
  const std::vector<double> g = {4, -1, 0.25, 8};
  const struct {
    const char* expression;
    double value;
  } kSums[] = {
      {"sum(p)", 0.5},          {"mean(p)", 0.125}, {"norm(p * 2)^2", 57}, {"sum(p * g)", 5.25},
      {"model_sum(g)", 11.25},  {"sum(1)", 4},      {"sum(g > 0) * 2", 6}, {"sqrt(sum(abs(p)) + mean(2) + 0.5)", 3},
      {"sum(g - p + t)", 14.75}};
  for (const auto& each : kSums) {
    for (const double found : values_of<double>(each.expression, p, g)) {
      EXPECT_NEAR(found, each.value, 1e-14) << each.expression;
    }
  }
  EXPECT_EQ(values_of<double>("p - g / sum(abs(g))", p, g)[3], 0.5 - 8 * (1 / 13.25));
}

TEST(RuleText, AssignmentsAreReadInTheirOrder) {
  EXPECT_EQ(values_of<double>("a; p = p + a", {3}, {2}, "a = g; a = a * a; g = a + 1; a = g")[0], 5 + 5);
}

/// Each state ends as another one, or as what another one was.
TEST(RuleText, StatesThatTradePlacesKeepTheirValues) {
  const RuleType& type = define_rule(
      "rule text_trade\nstate a, b, c, d\n"
      "old = a; a = b; b = old\n"                  // a swap
      "c = c + g; d = select(t == 1, 0, c - g)\n"  // d becomes what c was
      "p = a * 1000 + b * 100 + c * 10 + d + (t == 1) * 0\n"
      "a = select(t == 1, 1, a); b = select(t == 1, 2, b)");
  FirstOrderOptimizer optimizer(make_context(), make_rule(type, {}), make_schema({{1}}, DType::f64));
  TestTensor<double> param({1}, 0.0);
  TestTensor<double> gradient({1}, 3.0);
  const double expected[] = {30, 2000 + 100 + 60 + 3, 1000 + 200 + 90 + 6};
  for (const double value : expected) {
    const gradstep_tensor params[] = {param.tensor()};
    const gradstep_tensor gradients[] = {gradient.tensor()};
    host::step(optimizer, params, gradients, nullptr, 1);
    EXPECT_EQ(param.values[0], value);
  }
}

TEST(RuleText, HypersHaveDefaultsAndRanges) {
  const RuleType& type = define_rule(
      "rule text_hypers\nhyper a; b = -0.5 in [-1, 1); c = 1 in (0, 1]; d = 2 in (-inf, inf)\np = p - a - b - c - d");
  const std::span<const rules::Field> fields = type.about.fields;
  ASSERT_EQ(fields.size(), 5U);
  EXPECT_TRUE(std::isnan(fields[0].initial));
  EXPECT_EQ(fields[1].initial, -0.5);
  EXPECT_TRUE(fields[1].range.holds(-1) && !fields[1].range.holds(1));
  EXPECT_TRUE(!fields[2].range.holds(0) && fields[2].range.holds(1e-300) && fields[2].range.holds(1));
  EXPECT_FALSE(fields[2].range.holds(1.0000000000000002));
  EXPECT_TRUE(fields[3].range.holds(-1e300) && !fields[3].range.holds(kInfinity));
  EXPECT_STREQ(fields[4].name, "weight_decay");
  const gradstep_option bad[] = {{"a", 1, nullptr}, {"b", 1, nullptr}};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options[1] (b): is 1, expected in [-1, 1)",
               [&] { make_rule(type, bad); });
}

/// Constants are of f64, even in a step of f32: 1 - 0.999^t at t = 1 has no more than three good digits in f32.
TEST(RuleText, WhatDependsOnHypersAndTimeAloneIsOfF64) {
  const auto found = values_of<float>("(1 - beta^t) * 1000", {0}, {0}, "hyper beta = 0.99999999")[0];
  EXPECT_EQ(found, static_cast<float>((1 - 0.99999999) * 1000));
}

TEST(RuleText, ErrorsNameLineColumnAndWhatIsExpected) {
  const struct {
    const char* text;
    const char* error;
  } kBad[] = {
      {"", "text: line 1, column 1: expected 'rule' and its name, found the end of the text"},
      {"p = 1", "text: line 1, column 1: expected 'rule' and its name, found 'p'"},
      {"rule 3", "text: line 1, column 6: expected the name of the rule, found '3'"},
      {"rule a b", "text: line 1, column 8: expected the end of the line, found 'b'"},
      {"rule a", "expected 'p = ...' before the end, found the end of the text"},
      {"rule a\nx = 1", "expected 'p = ...' before the end, found the end of the text"},
      {"rule a\np = q", "text: line 2, column 5: expected one of g, p, t, found 'q'"},
      {"rule a\np = (p", "text: line 2, column 7: expected an operator or ')', found the end of the line"},
      {"rule a\np = p +", "text: line 2, column 8: expected a number, a name, '-' or '(', found the end of the line"},
      {"rule a\np = p g", "text: line 2, column 7: expected an operator or the end of the line, found 'g'"},
      {"rule a\np = 1 < 2 < 3", "text: line 2, column 11: expected an operator or the end of the line, found '<'"},
      {"rule a\np p", "text: line 2, column 3: expected '=', found 'p'"},
      {"rule a\n# \xC3\xA9\n  p = $", "text: line 3, column 7: expected a name, a number or an operator, found '$'"},
      {"rule a\np = \x01", "text: line 2, column 5: expected a name, a number or an operator, found the byte 0x01"},
      {"rule a\np = \xC3\xA9", "text: line 2, column 5: expected a name, a number or an operator, found the byte 0xc3"},
      {"rule a\np = \xff", "text: byte 11 is not UTF-8"},
      {"rule a\np = 1e999", "text: line 2, column 5: expected a number that a double holds, found '1e999'"},
      {"rule a\np = 2x", "text: line 2, column 5: expected a number, found '2x'"},
      {"rule a\np = 1.2.3", "text: line 2, column 5: expected a number, found '1.2.'"},
      {"rule a\nhyper g",
       "text: line 2, column 7: expected the name of a hyper-parameter, found 'g', a word of the language"},
      {"rule a\nhyper a; a",
       "text: line 2, column 10: expected the name of a hyper-parameter, found 'a', which stands for"},
      {"rule a\nhyper a = b", "text: line 2, column 11: expected a number, found 'b'"},
      {"rule a\nhyper a = 2 in [0, 1]", "text: line 2, column 7: expected a default within the range, found 2 of a"},
      {"rule a\nhyper a in [1, 0]", "text: line 2, column 9: expected a range that has a number, found an empty one"},
      {"rule a\nhyper a in {", "text: line 2, column 12: expected a name, a number or an operator, found '{'"},
      {"rule a\nhyper a in 0", "text: line 2, column 12: expected '[' or '(', found '0'"},
      {"rule a\nhyper a in [0; 1)", "text: line 2, column 14: expected ',', found ';'"},
      {"rule a\nhyper a 1", "text: line 2, column 9: expected ';' or the end of the line, found '1'"},
      {"rule a\nstate a\nstate b\nhyper c\na = c; c = 1",
       "text: line 5, column 8: expected a state, p, g or a new name, found 'c', a hyper-parameter"},
      {"rule a\nstate a, b, c, d, e", "text: line 2, column 19: expected at most 4 states"},
      {"rule a\nt = 1", "text: line 2, column 1: expected the name of a value, found 't', a word of the language"},
      {"rule a\nabs = 1", "text: line 2, column 1: expected the name of a value, found 'abs', a word of the language"},
      {"rule a\np = abs(p, g)",
       "text: line 2, column 10: expected an operator or ')' after argument 1 of abs, found ','"},
      {"rule a\np = min(p)", "text: line 2, column 10: expected ',' and argument 2 of the 2 of min, found ')'"},
      {"rule a\np = tanh(p)",
       "text: line 2, column 5: expected a function, one of abs, sign, sqrt, exp, log, min, max, select, clamp, sum, "
       "mean, norm, model_sum, found 'tanh'"},
      {"rule a\nsum = 1", "text: line 2, column 1: expected the name of a value, found 'sum', a word of the language"},
      {"rule a\np = norm(p, g)",
       "text: line 2, column 11: expected an operator or ')' after the argument of norm, found ','"},
      {"rule a\nn = norm(g)\np = p -\n  mean(g / n)", "text: line 3, column 8: expected a number"},
      {"rule a\nn = norm(g)\np = p - mean(g / n)",
       "text: line 3, column 9: expected mean of what does not depend on another sum"},
      {"rule a\np = p - mean(g - mean(g))",
       "text: line 2, column 9: expected mean of what does not depend on another sum"},
      {"rule a\np = sum(g) + norm(g) + mean(p) + norm(p) + model_sum(g)",
       "text: line 2, column 44: expected at most 4 different sums"},
      {"rule a\np = min", "text: line 2, column 5: expected one of g, p, t, found 'min'"},
  };
  for (const auto& bad : kBad) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, bad.error, [&] { compile(bad.text); });
  }
  for (const char* name : {"row_mean", "column_mean", "orthogonalize"}) {
    expect_error(
        GRADSTEP_ERR_UNSUPPORTED,
        std::string("text: line 2, column 9: ") + name + " is not supported yet; sums are sum, mean, norm, model_sum",
        [&] { compile(std::string("rule a\np = p - ") + name + "(g)"); });
  }
  for (const char* name : {"seed", "maximize"}) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                 "text: line 2, column 7: expected the name of a hyper-parameter, found '",
                 [&] { define_rule(std::string("rule a\nhyper ") + name); });
  }
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "found 'master_weights', a state that any rule may have",
               [] { define_rule("rule a\nstate master_weights"); });
}

std::string repeated(const char* text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(RuleText, LimitsAreNamed) {
  const auto expect_refused = [](const std::string& text, const char* error) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, error, [&] { compile(text); });
  };
  const std::string head = "rule a\n";
  expect_refused(head + "p = p #" + std::string(kMostBytes, 'x'), "text: has 16398 bytes, expected at most 16384");
  expect_refused(head + std::string(64, 'x') + " = 1", "expected a name of at most 63 bytes, found one of 64");
  EXPECT_NO_THROW(compile(head + std::string(63, 'x') + " = 1\np = g"));
  for (const char* open : {"(", "-", "2^", "abs("}) {
    expect_refused(head + "p = " + repeated(open, 3000) + "p", "expected at most 100 levels within each other");
  }
  EXPECT_NO_THROW(compile(head + "p = " + repeated("(", 49) + "p" + repeated(")", 49)));
  std::string hypers = "hyper h0";
  for (int i = 1; i < 15; ++i) hypers += "; h" + std::to_string(i);
  EXPECT_NO_THROW(compile(head + hypers + "\np = g"));
  expect_refused(head + hypers + "; h15\np = g", "expected at most 15 hyper-parameters");
  std::string numbers = "p = p";
  for (int i = 2; i < 80; ++i) numbers += " + g / " + std::to_string(i);
  expect_refused(head + numbers, "expected at most 64 constants that elements are computed with, found 78");
  std::string nodes = "p = p";
  for (int i = 0; i < 600; ++i) nodes += " + " + std::to_string(i);
  expect_refused(head + nodes, "expected at most 1024 different numbers, names and operations");
  std::string wide = "p = g + ";
  for (int i = 2; i < 20; ++i) wide += "(g^" + std::to_string(i + 2) + " + ";
  expect_refused(head + wide + "g" + repeated(")", 18),
                 "expected at most 16 results that are needed at the same time, found 1");
}

TEST(RuleText, EqualExpressionsAreComputedOnceAndProductsJoinTheirSums) {
  const auto program = compile(
      "rule a\nhyper lr; b1 = 0.9; b2 = 0.99\nstate m, v unsigned\nm = b1 * m + (1 - b1) * g\n"
      "v = b2 * v + (1 - b2) * g^2\np = p - lr / (1 - b1^t) * m / (sqrt(v / (1 - b2^t)) + 1e-8)");
  // m; g^2; v; lr m; v / .; sqrt; + epsilon; /
  EXPECT_EQ(program->code().step.count, 8);
  EXPECT_EQ(program->code().step.temporary_count, 2);
  EXPECT_EQ(compile("rule a\np = p - (g * g + sqrt(g * g))")->code().step.count, 3);
  const auto with_sums = compile("rule a\nstate m\nm = m + g\np = p - m / norm(m) - norm(m) * sum(p) + mean(p)");
  EXPECT_EQ(with_sums->code().sum_count, 2);
  EXPECT_EQ(with_sums->code().measurement.count, 1);
}

TEST(RuleText, BlanksAndCommentsAreNoPartOfItsWords) {
  using rules::text::canonical;
  EXPECT_EQ(canonical("rule a # b\n\n\r\n p=p-\tg;q =1"), canonical("rule a\np = p - g; q = 1\n# the end"));
  EXPECT_EQ(canonical("rule a\np = (p\n - g)"), canonical("rule a\np = (p - g)"));
  EXPECT_NE(canonical("rule a\np = p - g"), canonical("rule a\np = p\n- g"));
  EXPECT_NE(canonical("rule a\np = pg"), canonical("rule a\np = p g"));
}

}  // namespace
}  // namespace gradstep::test
