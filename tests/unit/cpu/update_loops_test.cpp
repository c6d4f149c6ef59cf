// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "cpu_test_support.h"

namespace gradstep::test {
namespace {

using rules::Decay;
using AdaGradConstants = rules::AdaGrad::Constants<double>;
using AdamConstants = rules::Adam::Constants<double>;
using RmsPropConstants = rules::RmsProp::Constants<double>;
using SgdConstants = rules::Sgd::Constants<double>;

constexpr double kWeightDecay = 0.01;
constexpr SgdConstants kSgd{.learning_rate = 0.05, .momentum = 0.9, .gradient_factor = 0.75};
constexpr AdamConstants kAdam{.beta1 = 0.9,
                              .one_minus_beta1 = 1 - 0.9,
                              .beta2 = 0.99,
                              .one_minus_beta2 = 1 - 0.99,
                              .step_size = 0.02,
                              .root_factor = 1.5,
                              .epsilon = 1e-3};
constexpr RmsPropConstants kInside{
    .learning_rate = 0.02, .rho = 0.9, .one_minus_rho = 1 - 0.9, .momentum = 0.8, .epsilon = {1e-2, 0}};
constexpr RmsPropConstants kOutside{
    .learning_rate = 0.02, .rho = 0.9, .one_minus_rho = 1 - 0.9, .momentum = 0.8, .epsilon = {0, 1e-2}};
constexpr AdaGradConstants kAdaGrad{.learning_rate = 0.05, .epsilon = {1e-2, 0}};

constexpr std::size_t kMostStates = 3;
using State = std::array<double, kMostStates>;

/// One element of a rule in f64: changes the state, returns the change of p. Written from docs/numerics.md, without a
/// look at src/rules.
using Reference = double (*)(double p, double g, State& state);

double plain_sgd(double g, State& /*state*/) { return -kSgd.learning_rate * g; }

template <bool kNesterov>
double momentum_sgd(double g, State& state) {
  state[0] = kSgd.momentum * state[0] + kSgd.gradient_factor * g;
  return -kSgd.learning_rate * (kNesterov ? g + kSgd.momentum * state[0] : state[0]);
}

template <const RmsPropConstants& kConstants, bool kCentered, bool kMomentum>
double rmsprop(double g, State& state) {
  const auto& c = kConstants;
  state[0] = c.rho * state[0] + (1 - c.rho) * g * g;
  double variance = state[0];
  std::size_t next = 1;
  if (kCentered) {
    state[next] = c.rho * state[next] + (1 - c.rho) * g;
    variance -= state[next] * state[next];
    ++next;
  }
  const double direction = g / (std::sqrt(variance + c.epsilon.inside) + c.epsilon.outside);
  if (!kMomentum) return -c.learning_rate * direction;
  state[next] = c.momentum * state[next] + direction;
  return -c.learning_rate * state[next];
}

double adagrad(double g, State& state) {
  state[0] += g * g;
  return -kAdaGrad.learning_rate * g / std::sqrt(state[0] + kAdaGrad.epsilon.inside);
}

template <bool kAmsgrad>
double adam(double g, State& state) {
  state[0] = kAdam.beta1 * state[0] + (1 - kAdam.beta1) * g;
  state[1] = kAdam.beta2 * state[1] + (1 - kAdam.beta2) * g * g;
  double second = state[1];
  if (kAmsgrad) second = state[2] = std::max(state[2], second);
  return -kAdam.step_size * state[0] / (kAdam.root_factor * std::sqrt(second) + kAdam.epsilon);
}

/// A formula with a decay around it.
template <double (*kFormula)(double g, State& state), Decay kDecay>
double decaying(double p, double g, State& state) {
  const double change = kFormula(g + (kDecay == Decay::coupled ? kWeightDecay * p : 0), state);
  return change - (kDecay == Decay::decoupled ? kWeightDecay * p : 0);
}

template <const auto& kConstants>
const rules::GroupConstants* constants() {
  static const rules::GroupConstants* group = group_constants(kConstants, kWeightDecay);
  return group;
}

struct KernelCase {
  rules::KernelId kernel;
  int states;
  const rules::GroupConstants* (*constants)();
  Reference reference;

  /// "rule 3 variant 1 decay 2", of the list and of its header.
  std::string name() const {
    const rules::KernelForm& form = rules::kKernels[static_cast<std::size_t>(kernel)];
    return fmt::format("rule {} variant {} decay {}", form.rule, form.variant, static_cast<int>(form.decay));
  }
};

/// A variant of a rule, with each kind of decay.
template <class Rule, int kVariant, const auto& kConstants, double (*kFormula)(double g, State& state)>
constexpr std::array<KernelCase, 3> cases_of(int states) {
  const auto with = [&](Decay decay, Reference reference) {
    return KernelCase{rules::kernel_id<Rule>(kVariant, decay), states, constants<kConstants>, reference};
  };
  return {with(Decay::none, decaying<kFormula, Decay::none>), with(Decay::coupled, decaying<kFormula, Decay::coupled>),
          with(Decay::decoupled, decaying<kFormula, Decay::decoupled>)};
}

template <std::size_t kSize>
constexpr std::array<KernelCase, 3 * kSize> flat(const std::array<KernelCase, 3> (&lists)[kSize]) {
  std::array<KernelCase, 3 * kSize> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = lists[i / 3][i % 3];
  return all;
}

constexpr auto kKernels = flat({
    cases_of<rules::Sgd, 0, kSgd, plain_sgd>(0),
    cases_of<rules::Sgd, 1, kSgd, momentum_sgd<false>>(1),
    cases_of<rules::Sgd, 2, kSgd, momentum_sgd<true>>(1),
    cases_of<rules::Adam, 0, kAdam, adam<false>>(2),
    cases_of<rules::Adam, 1, kAdam, adam<true>>(3),
    cases_of<rules::RmsProp, 0, kOutside, rmsprop<kOutside, false, false>>(1),
    cases_of<rules::RmsProp, 1, kInside, rmsprop<kInside, true, false>>(2),
    cases_of<rules::RmsProp, 2, kOutside, rmsprop<kOutside, false, true>>(2),
    cases_of<rules::RmsProp, 3, kInside, rmsprop<kInside, true, true>>(3),
    cases_of<rules::AdaGrad, 0, kAdaGrad, adagrad>(1),
});

/// A rule that has cases has one for each of its kernels. Others are tested in unit/rules and conformance.
consteval bool cases_are_complete() {
  int cases[rules::kKernelCount] = {};
  bool has_cases[rules::AllRules::kCount] = {};
  for (const KernelCase& each : kKernels) {
    ++cases[static_cast<int>(each.kernel)];
    has_cases[rules::kKernels[static_cast<std::size_t>(each.kernel)].rule] = true;
  }
  for (int id = 0; id < rules::kKernelCount; ++id) {
    if (cases[id] != (has_cases[rules::kKernels[static_cast<std::size_t>(id)].rule] ? 1 : 0)) return false;
  }
  return true;
}
static_assert(cases_are_complete());

/// One parameter with all that belongs to it.
struct Problem {
  Problem(const KernelCase& rule_case, DType dtype, std::int64_t size, Layout layout = Layout::contiguous)
      : rule(rule_case),
        param(dtype, size, layout),
        gradient(dtype, size, layout),
        update(dtype, size, layout),
        states(kMostStates, TestArray(arithmetic_dtype(dtype), size)) {
    param.fill(1);
    gradient.fill(2);
    update.fill(3);
    // The first is a sum of squares in some rules, and larger than the second one's square, as averages are.
    for (std::int64_t i = 0; i < size; ++i) {
      const double x = static_cast<double>(i);
      states[0].set(i, 0.4 + 0.1 * std::sin(x));
      states[1].set(i, 0.25 + 0.1 * std::cos(x));
      states[2].set(i, 0.3 + 0.2 * std::cos(2 * x));
    }
    work.append(size);
  }

  OwnItem item(bool in_place) const {
    OwnItem item;
    item.param = param.array();
    item.gradient = gradient.array();
    if (!in_place) item.update = update.array();
    for (std::size_t s = 0; s < states.size(); ++s) item.states[s] = states[s].array().data;
    item.kernel = rule.kernel;
    item.constants = rule.constants();
    return item;
  }

  void run(BackendCalls& backend, bool in_place, double multiplier = 1, double clip = 0) {
    const OwnItem one = item(in_place);
    UpdateJob job;
    job.work = &work;
    job.items = {&one, 1};
    job.grad_multiplier = multiplier;
    job.clip_value = clip;
    backend.update(job);
  }

  KernelCase rule;
  TestArray param;
  TestArray gradient;
  TestArray update;
  std::vector<TestArray> states;
  WorkList work;
};

class UpdateLoops : public testing::TestWithParam<std::string> {
 protected:
  UpdateLoops() : context_(make_cpu_context(1, GetParam().c_str())), backend_(context_->cpu()) {}

  std::unique_ptr<Context> context_;
  BackendCalls backend_;
};

INSTANTIATE_TEST_SUITE_P(cpu, UpdateLoops, testing::ValuesIn(cpu::compiled_instruction_sets()),
                         [](const auto& set) { return set.param; });

// Tolerance: each rule does at most 12 roundings of quantities of magnitude about 1 in the arithmetic type, and the
// stored result is rounded once more to its own dtype.
void expect_reference(BackendCalls& backend, const KernelCase& rule, DType dtype, std::int64_t size, Layout layout,
                      bool in_place) {
  SCOPED_TRACE(testing::Message() << rule.name() << " " << name_of(dtype) << " size " << size << " layout "
                                  << static_cast<int>(layout) << (in_place ? " in place" : " delta"));
  const double multiplier = 0.5;
  const double clip = 0.3;
  const Problem before(rule, dtype, size, layout);
  Problem after = before;
  after.run(backend, in_place, multiplier, clip);
  const DType arithmetic = arithmetic_dtype(dtype);
  int failures = 0;
  for (std::int64_t i = 0; i < size && failures < 3; ++i) {
    const double p = before.param.get(i);
    const double g = std::min(std::max(before.gradient.get(i) * multiplier, -clip), clip);
    State state = {before.states[0].get(i), before.states[1].get(i), before.states[2].get(i)};
    const double delta = rule.reference(p, g, state);
    const double result = in_place ? after.param.get(i) : after.update.get(i);
    const double expected = in_place ? p + delta : delta;
    const double slack = 12 * tolerance(arithmetic, 1, 1);
    const auto check = [&](const char* what, double found, double wanted, double bound) {
      if (std::abs(found - wanted) <= bound) return;
      ADD_FAILURE() << what << "[" << i << "] is " << found << ", expected " << wanted;
      ++failures;
    };
    check("result", result, expected, tolerance(dtype, expected, 0) + slack);
    for (std::size_t s = 0; s < static_cast<std::size_t>(rule.states); ++s) {
      check("state", after.states[s].get(i), state[s], slack);
    }
    if (!in_place) check("param", after.param.get(i), p, 0);
    check("gradient", after.gradient.get(i), before.gradient.get(i), 0);
  }
}

TEST_P(UpdateLoops, every_rule_matches_its_definition_for_all_sizes) {
  for (const KernelCase& rule : kKernels) {
    for (const std::int64_t size : odd_sizes()) {
      for (const DType dtype : {DType::f32, DType::f64}) {
        expect_reference(backend_, rule, dtype, size, Layout::contiguous, true);
        expect_reference(backend_, rule, dtype, size, Layout::contiguous, false);
      }
    }
  }
}

TEST_P(UpdateLoops, every_dtype_and_layout_matches) {
  for (const KernelCase& rule : {kKernels[5], kKernels[8]}) {
    for (const DType dtype : kFloatTypes) {
      for (const Layout layout : kLayouts) {
        for (const std::int64_t size : {1, 17, 1025, 17850}) {
          expect_reference(backend_, rule, dtype, size, layout, true);
          expect_reference(backend_, rule, dtype, size, layout, false);
        }
      }
    }
  }
}

TEST_P(UpdateLoops, param_plus_delta_is_the_step_in_place) {
  for (const KernelCase& rule : kKernels) {
    Problem in_place(rule, DType::f32, 20000);
    Problem apart = in_place;
    in_place.run(backend_, true, 0.25, 0.2);
    apart.run(backend_, false, 0.25, 0.2);
    for (std::int64_t i = 0; i < apart.param.size(); ++i) {
      ASSERT_EQ(apart.param.read<float>(i) + apart.update.read<float>(i), in_place.param.read<float>(i)) << rule.name();
    }
    for (std::size_t s = 0; s < kMostStates; ++s) EXPECT_EQ(in_place.states[s].bytes(), apart.states[s].bytes());
  }
}

TEST_P(UpdateLoops, the_update_may_be_the_gradient_itself) {
  for (const KernelCase& rule : kKernels) {
    for (const DType dtype : kFloatTypes) {
      for (const Layout layout : kLayouts) {
        Problem apart(rule, dtype, 3000, layout);
        Problem aliased = apart;
        apart.run(backend_, false);
        OwnItem item = aliased.item(true);
        item.update = item.gradient;
        UpdateJob job;
        job.work = &aliased.work;
        job.items = {&item, 1};
        backend_.update(job);
        for (std::int64_t i = 0; i < 3000; ++i) ASSERT_EQ(aliased.gradient.get(i), apart.update.get(i)) << rule.name();
        EXPECT_EQ(aliased.param.bytes(), apart.param.bytes());
      }
    }
  }
}

TEST_P(UpdateLoops, operands_may_differ_in_dtype) {
  Problem reference(kKernels[8], DType::f32, 5000);
  for (std::int64_t i = 0; i < 5000; ++i) reference.gradient.set(i, decode16(DType::bf16, encode16(DType::bf16, 0.1)));
  Problem mixed = reference;
  TestArray narrow(DType::bf16, 5000, Layout::strided);
  for (std::int64_t i = 0; i < 5000; ++i) narrow.set(i, 0.1);
  OwnItem item = mixed.item(true);
  item.gradient = narrow.array();
  UpdateJob job;
  job.work = &mixed.work;
  job.items = {&item, 1};
  backend_.update(job);
  reference.run(backend_, true);
  EXPECT_EQ(mixed.param.bytes(), reference.param.bytes());
}

TEST_P(UpdateLoops, a_parameter_without_gradient_is_left_alone_and_has_a_delta_of_zero) {
  Problem problem(kKernels[6], DType::f32, 17000);
  const Problem before(kKernels[6], DType::f32, 17000);
  OwnItem item = problem.item(true);
  item.gradient.data = nullptr;
  UpdateJob job;
  job.work = &problem.work;
  job.items = {&item, 1};
  backend_.update(job);
  item.update = problem.update.array();
  backend_.update(job);
  EXPECT_EQ(problem.param.bytes(), before.param.bytes());
  EXPECT_EQ(problem.states[0].bytes(), before.states[0].bytes());
  for (std::int64_t i = 0; i < 17000; ++i) ASSERT_EQ(problem.update.read<std::uint32_t>(i), 0U);
}

TEST_P(UpdateLoops, clipping_bounds_infinities_and_keeps_nan) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    Problem problem(kKernels[0], dtype, 40);
    for (std::int64_t i = 0; i < 40; ++i) problem.param.set(i, 0);
    problem.gradient.set(0, kInfinity);
    problem.gradient.set(1, -kInfinity);
    problem.gradient.set(2, std::numeric_limits<double>::quiet_NaN());
    problem.gradient.set(39, std::numeric_limits<double>::quiet_NaN());
    problem.run(backend_, false, 1, 2);
    const double bound = kSgd.learning_rate * 2;
    EXPECT_NEAR(problem.update.get(0), -bound, tolerance(dtype, bound, 2));
    EXPECT_NEAR(problem.update.get(1), bound, tolerance(dtype, bound, 2));
    EXPECT_TRUE(std::isnan(problem.update.get(2)));
    EXPECT_TRUE(std::isnan(problem.update.get(39)));
    problem.run(backend_, false, 1, 0);
    EXPECT_EQ(problem.update.get(0), -kInfinity) << "no clipping";
  }
}

TEST_P(UpdateLoops, one_call_serves_a_list_of_different_parameters) {
  std::vector<Problem> together;
  std::vector<Problem> alone;
  const std::vector<std::int64_t> sizes = {5, 0, 40000, 1, 300, 17};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    together.emplace_back(kKernels[i], kFloatTypes[i % 4], sizes[i]);
    alone.push_back(together.back());
  }
  const WorkList work(sizes);
  std::vector<OwnItem> items;
  items.reserve(together.size());
  for (Problem& problem : together) items.push_back(problem.item(true));
  UpdateJob job;
  job.work = &work;
  job.items = items;
  backend_.update(job);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    alone[i].run(backend_, true);
    EXPECT_EQ(together[i].param.bytes(), alone[i].param.bytes()) << i;
    EXPECT_EQ(together[i].states[0].bytes(), alone[i].states[0].bytes()) << i;
  }
}

}  // namespace
}  // namespace gradstep::test
