// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Rules that are written as text take part in everything that compiled rules do.
#include "optim/first_order/defined_rules.h"

#include <cmath>
#include <numeric>
#include <span>
#include <thread>

#include "optim/first_order/named_options.h"
#include "optim/saved_optimizer.h"
#include "rules/text/program.h"
#include "unit/memory_stream.h"
#include "unit/optim/first_order/rules_as_text.h"
#include "unit/optim/optimizer_fixture.h"

namespace gradstep::test {
namespace {

constexpr double kRate = 0.01;

Rule rule_of(const RuleType& type, std::vector<gradstep_option> options) {
  options.push_back({"learning_rate", kRate, nullptr});
  return make_rule(type, options);
}

/// Options that are equal for both. Choices are the compiled rule's, and hyper-parameters that the text has as its
/// default.
struct Pair {
  Rule text;
  Rule compiled;

  Pair(const RuleAsText& rule, const std::vector<gradstep_option>& shared)
      : text(rule_of(define_rule(rule.text), shared)), compiled(compiled_of(rule, shared)) {}

 private:
  static Rule compiled_of(const RuleAsText& rule, std::vector<gradstep_option> options) {
    options.insert(options.end(), rule.choices.begin(), rule.choices.end());
    return rule_of(find_rule(rule.compiled), options);
  }
};

template <class T>
Model<T> stepped(const Rule& rule, int steps, std::vector<double>* norms = nullptr) {
  FirstOrderOptimizer optimizer(make_context(), rule, make_schema(kShapes, dtype_of<T>()));
  Model<T> model;
  for (int t = 0; t < steps; ++t) {
    model.draw_gradients(static_cast<std::uint32_t>(t));
    StepGuards guards;
    guards.max_norm = norms != nullptr ? 3 : 0;
    const StepOutcome outcome = model.step(optimizer, guards);
    if (norms != nullptr) norms->push_back(outcome.grad_norm);
  }
  return model;
}

template <class T>
double difference(const Model<T>& a, const Model<T>& b) {
  double worst = 0;
  for (std::size_t k = 0; k < a.params.size(); ++k) {
    for (std::size_t i = 0; i < a.params[k].values.size(); ++i) {
      worst = std::max(
          worst, std::abs(static_cast<double>(a.params[k].values[i]) - static_cast<double>(b.params[k].values[i])));
    }
  }
  return worst;
}

TEST(DefinedRules, TextsOfOtherChoicesStepAsTheCompiledRules) {
  for (const RuleAsText& rule : kTextsOfChoices) {
    for (const char* decay_mode : {"coupled", "decoupled"}) {
      const Pair pair(rule, {{"decay_mode", 0, decay_mode}, {"weight_decay", 0.1, nullptr}});
      EXPECT_LT(difference(stepped<double>(pair.text, 40), stepped<double>(pair.compiled, 40)), 1e-12) << rule.text;
    }
  }
}

TEST(DefinedRules, SumsStepAsThoseOfTheCompiledRulesInF32Too) {
  for (const char* rule : {"lamb", "lars", "mars", "novograd"}) {
    const Pair pair(text_of(rule), {{"weight_decay", 0.1, nullptr}, {"epsilon", 1e-6, nullptr}});
    EXPECT_LT(difference(stepped<float>(pair.text, 40), stepped<float>(pair.compiled, 40)), 1e-5) << rule;
  }
}

TEST(DefinedRules, SumsOfTheModelAreOverAllThatTheRuleSteps) {
  const RuleType& type =
      define_rule("rule model_sums\nhyper learning_rate\np = p - learning_rate * model_sum(g) / (1 + abs(sum(g)))");
  const Rule rule = rule_of(type, {});
  Schema schema = make_schema(kShapes, DType::f64);
  FirstOrderOptimizer optimizer(make_context(), rule, schema);
  Model<double> model;
  model.draw_gradients(3);
  const Model<double> before = model;
  model.step(optimizer);
  double all = 0;
  std::vector<double> own;
  for (const auto& gradient : model.grads) {
    own.push_back(std::accumulate(gradient.values.begin(), gradient.values.end(), 0.0));
    all += own.back();
  }
  for (std::size_t k = 0; k < own.size(); ++k) {
    for (std::size_t i = 0; i < model.params[k].values.size(); ++i) {
      EXPECT_NEAR(model.params[k].values[i], before.params[k].values[i] - kRate * all / (1 + std::abs(own[k])), 1e-12);
    }
  }
}

/// Where the text says what the kernel computes, the bits are equal, in every arithmetic and storage.
TEST(DefinedRules, EqualFormulasHaveEqualBits) {
  const gradstep_option decay = {"weight_decay", 0.1, nullptr};
  const gradstep_option momentum[] = {{"momentum", 0.9, nullptr}, {"dampening", 0.25, nullptr}};
  const auto expect_equal = [&](const RuleAsText& rule, std::span<const gradstep_option> numbers = {}) {
    const auto pair_of = [&](std::vector<gradstep_option> options) {
      options.push_back(decay);
      options.insert(options.end(), numbers.begin(), numbers.end());
      return Pair(rule, options);
    };
    for (const char* storage : {"native", "bf16", "int8"}) {
      const Pair pair = pair_of({{"state_dtype", 0, storage}, {"decay_mode", 0, "coupled"}});
      EXPECT_EQ(difference(stepped<float>(pair.text, 10), stepped<float>(pair.compiled, 10)), 0)
          << rule.text << storage;
    }
    const Pair clipped = pair_of({{"decay_mode", 0, "relative"}, {"peak_learning_rate", 0.02, nullptr}});
    std::vector<double> norms[2];
    EXPECT_EQ(difference(stepped<double>(clipped.text, 5, &norms[0]), stepped<double>(clipped.compiled, 5, &norms[1])),
              0);
    EXPECT_EQ(norms[0], norms[1]);
  };
  expect_equal(text_of("lion"));
  expect_equal(text_of("sgd"));
  expect_equal(text_of("sgd"), momentum);
  expect_equal(kNesterov);
  expect_equal(text_of("signum"));
}

TEST(DefinedRules, NarrowParametersWithMastersAndRandomRoundingHaveTheBitsToo) {
  for (const bool has_master : {false, true}) {
    const Pair pair(text_of("lion"), {{"master_weights", has_master ? 1.0 : 0.0, nullptr},
                                      {"stochastic_rounding", 1, nullptr},
                                      {"seed", 7, nullptr},
                                      {"state_dtype", 0, "bf16"}});
    std::vector<std::uint16_t> bits[2];
    for (const Rule* rule : {&pair.text, &pair.compiled}) {
      FirstOrderOptimizer optimizer(make_context(), *rule, make_schema({{1000}}, DType::bf16));
      NarrowModel model({1000});
      for (std::uint32_t t = 0; t < 5; ++t) model.step(optimizer, t);
      bits[rule == &pair.compiled ? 1 : 0] = bits_of(model.param.values);
    }
    EXPECT_EQ(bits[0], bits[1]);
  }
}

TEST(DefinedRules, GiveDeltasInsteadOfSteppingInPlace) {
  const RuleType& type = define_rule("rule shrink\nhyper rate = 0.5\np = rate * p - g");
  FirstOrderOptimizer optimizer(make_context(), make_rule(type, {}), make_schema(kShapes, DType::f64));
  Model<double> model;
  model.draw_gradients(0);
  const Model<double> before = model;
  model.update(optimizer);
  for (std::size_t i = 0; i < 1000; ++i) {
    const double p = before.params[1].values[i];
    EXPECT_EQ(model.params[1].values[i], p);
    EXPECT_DOUBLE_EQ(model.updates[1].values[i], 0.5 * p - model.grads[1].values[i] - p);
  }
  model.step(optimizer);
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(model.params[1].values[i], 0.5 * before.params[1].values[i] - model.grads[1].values[i]);
  }
}

TEST(DefinedRules, SchedulesChangeTheirHyperParameters) {
  const RuleType& type = define_rule("rule scheduled\nhyper rate in [0, inf)\np = p - rate");
  const gradstep_option options[] = {{"rate", 1, nullptr}};
  FirstOrderOptimizer optimizer(make_context(), make_rule(type, options), make_schema(kShapes, DType::f64));
  Model<double> model;
  const double before = model.params[0].values[0];
  model.step(optimizer);
  optimizer.set_schedule(-1, "rate", Schedule(0.25));
  model.step(optimizer);
  EXPECT_EQ(model.params[0].values[0], before - 1 - 0.25);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "expected a finite number of at least 0",
               [&] { optimizer.set_schedule(-1, "rate", Schedule(-1)); });
}

TEST(DefinedRules, AWeightDecayOfTheTextIsTheTextsOwn) {
  const RuleType& type = define_rule(
      "rule own_decay\nhyper learning_rate; weight_decay = 0.5\np = p - learning_rate * (g + weight_decay * p)");
  const gradstep_option options[] = {{"learning_rate", 0.5, nullptr}, {"decay_mode", 0, "decoupled"}};
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options.decay_mode: the text of own_decay has a weight_decay of its own",
               [&] { make_rule(type, options); });
  const Model<double> own = stepped<double>(make_rule(type, std::span(options, 1)), 3);
  const gradstep_option coupled[] = {{"learning_rate", 0.5, nullptr}, {"weight_decay", 0.5, nullptr}};
  EXPECT_LT(difference(own, stepped<double>(make_rule(find_rule("sgd"), coupled), 3)), 1e-15);
}

TEST(DefinedRules, TheSameWordsAreTheSameRuleAndOthersAreNot) {
  const std::size_t before = rule_count();
  const RuleType& type = define_rule("rule twice\np = p - g");
  EXPECT_EQ(&define_rule("# a comment\n\nrule twice\n p=p  -  g\n"), &type);
  EXPECT_EQ(rule_count(), before + 1);
  EXPECT_EQ(&rule_at(before), &type);
  EXPECT_EQ(&find_rule("twice"), &type);
  expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
               "expected another name than twice, which has another text already:\nrule twice",
               [] { define_rule("rule twice\np = p + g"); });
  for (const char* name : {"adam", "shampoo"}) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "text: line 1, column 6: expected the name of the rule, found '",
                 [&] { define_rule(std::string("rule ") + name + "\np = p - g"); });
  }
  EXPECT_EQ(rule_count(), before + 1);
}

TEST(DefinedRules, AreDefinedByManyThreadsAtOnce) {
  const RuleType* found[4] = {};
  std::vector<std::thread> threads;
  for (const RuleType*& mine : found) {
    threads.emplace_back([&mine] {
      for (int i = 0; i < 50; ++i) {
        mine = &define_rule("rule threads_" + std::to_string(i) + "\np = p - g");
        EXPECT_EQ(&find_rule(mine->about.name), mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const RuleType* each : found) EXPECT_EQ(each, found[0]);
}

std::string save(Optimizer& optimizer) { return saved_bytes("optimizer", {{"", save_optimizer(optimizer)}}); }

void load(Optimizer& optimizer, const std::string& bytes) {
  const StateFile file = read_bytes(bytes);
  LoadedPart part(file, "");
  load_optimizer(part, optimizer)();
}

TEST(DefinedRules, SavedStateHoldsTheTextAndIsLoadedIntoTheSameOneAlone) {
  for (const char* storage : {"native", "bf16", "int8"}) {
    const Pair pair(text_of("adam"), {{"state_dtype", 0, storage}});
    const auto make = [&] {
      return std::make_unique<FirstOrderOptimizer>(make_context(), pair.text, make_schema(kShapes));
    };
    const auto first = make();
    Model<float> model;
    model.draw_gradients(1);
    model.step(*first);
    const std::string bytes = save(*first);
    EXPECT_NE(bytes.find("rule my_adam"), std::string::npos);
    Model<float> resumed = model;
    const auto second = make();
    load(*second, bytes);
    model.step(*first);
    resumed.step(*second);
    EXPECT_EQ(difference(model, resumed), 0);
    EXPECT_EQ(save(*first), save(*second));
    // Another process may have another text of that name.
    const auto load_into = [&](const std::string& text) {
      const auto program = rules::text::Program::compile(text, {});
      const RuleType type = program_rule(*program);
      FirstOrderOptimizer other(make_context(), rule_of(type, {{"state_dtype", 0, storage}}), make_schema(kShapes));
      load(other, bytes);
      EXPECT_EQ(other.step_count(), 1);
    };
    std::string text = text_of("adam").text;
    load_into("# with a comment\n" + text);
    text.replace(text.find("beta1^t"), 7, "beta2^t");
    expect_error(GRADSTEP_ERR_MISMATCH, "the saved state was made by another text of my_adam",
                 [&] { load_into(text); });
    EXPECT_EQ(second->step_count(), 2);
  }
}

TEST(DefinedRules, GroupsMixThemWithCompiledRules) {
  const Pair pair(text_of("lion"), {});
  const auto of = [&](const Rule& rule) {
    Schema schema = make_schema(kShapes, DType::f64);
    FirstOrderOptimizer optimizer(make_context(), RulesByGroup({rule, pair.compiled}), std::move(schema));
    EXPECT_EQ(std::string(optimizer.kind()), std::string(rule.name()) + "+lion");
    Model<double> model;
    for (std::uint32_t t = 0; t < 5; ++t) {
      model.draw_gradients(t);
      model.step(optimizer);
    }
    return model;
  };
  EXPECT_EQ(difference(of(pair.text), of(pair.compiled)), 0);
}

TEST(DefinedRules, StepsOfAParameterAreCountedWhereAskedFor) {
  const RuleType& type = define_rule("rule count\np = p + t");
  for (const char* counting : {"optimizer", "parameter"}) {
    const gradstep_option options[] = {{"step_counting", 0, counting}};
    FirstOrderOptimizer optimizer(make_context(), make_rule(type, options), make_schema(kShapes, DType::f64));
    Model<double> model;
    model.params[0].values.assign(35, 0);
    const auto p = Model<double>::tensors(model.params);
    auto g = Model<double>::tensors(model.grads);
    g[0] = model.grads[0].absent();
    host::step(optimizer, p.data(), g.data(), nullptr, 2);
    model.step(optimizer);
    EXPECT_EQ(model.params[0].values[0], counting == std::string("parameter") ? 1 : 2);
  }
}

/// The square of a gradient beyond the root of the largest float is no float.
TEST(DefinedRules, StepsThatWouldStoreInfinityAreSkippedWhereAsked) {
  const Pair pair(text_of("adam"), {});
  FirstOrderOptimizer optimizer(make_context(), pair.text, make_schema(kShapes));
  StepGuards guards;
  guards.skip_nonfinite = true;
  Model<float> model;
  model.grads[0].values[3] = 1e19F;
  EXPECT_TRUE(model.step(optimizer, guards).applied);
  model.grads[0].values[3] = 1e20F;
  EXPECT_FALSE(model.step(optimizer, guards).applied);
}

}  // namespace
}  // namespace gradstep::test
