// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the optimizers over recorded trajectories: the parameters after every step must be the recorded ones. Options
// and schedules come from the file's metadata, whose words are those of the C API.
#include <algorithm>
#include <filesystem>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support.h"

namespace gradstep_conformance {
namespace {

/// A schedule, and the lists that it shows.
struct OwnSchedule {
  gradstep_schedule schedule;
  std::vector<std::int64_t> boundaries;
  std::vector<double> values;
};

OwnSchedule schedule_of(const nlohmann::json& value) {
  static const std::map<std::string, std::int32_t> kinds = {{"constant", GRADSTEP_SCHEDULE_CONSTANT},
                                                            {"exponential_decay", GRADSTEP_SCHEDULE_EXPONENTIAL_DECAY},
                                                            {"piecewise", GRADSTEP_SCHEDULE_PIECEWISE}};
  OwnSchedule own;
  gradstep_schedule& schedule = own.schedule;
  check(gradstep_schedule_init(&schedule, sizeof schedule));
  schedule.kind = kinds.at(value.at("kind").get<std::string>());
  schedule.init_value = value.value("init_value", 0.0);
  own.boundaries = value.value("boundaries", std::vector<std::int64_t>());
  own.values = value.value("values", std::vector<double>());
  schedule.boundaries = own.boundaries.data();
  schedule.values = own.values.data();
  schedule.n_points = static_cast<std::int32_t>(own.values.size());
  schedule.decay_steps = value.value("decay_steps", std::int64_t{0});
  schedule.decay_rate = value.value("decay_rate", 0.0);
  schedule.staircase = value.value("staircase", false) ? 1 : 0;
  return own;
}

/// The options of a rule that schedules may change.
std::set<std::string> hyper_parameters_of(const std::string& rule) {
  std::size_t count = 0;
  check(gradstep_rule_options(rule.c_str(), nullptr, sizeof(gradstep_rule_option), 0, &count));
  std::vector<gradstep_rule_option> options(count);
  check(gradstep_rule_options(rule.c_str(), options.data(), sizeof(gradstep_rule_option), count, &count));
  std::set<std::string> names;
  for (const gradstep_rule_option& option : options) {
    if (option.kind == GRADSTEP_OPTION_HYPER_PARAMETER) names.insert(option.name);
  }
  return names;
}

/// Numbers and schedules are set by name after creation, as a host that reads a configuration would.
void set_hyper_parameters(gradstep_optimizer* optimizer, const nlohmann::json& meta) {
  const std::set<std::string> known = hyper_parameters_of(meta.at("optimizer").get<std::string>());
  for (const auto& [name, value] : meta.at("options").items()) {
    if (value.is_object()) {
      const OwnSchedule own = schedule_of(value);
      check(gradstep_optimizer_set_schedule(optimizer, -1, name.c_str(), &own.schedule));
    } else if (known.contains(name)) {
      check(gradstep_optimizer_set_value(optimizer, -1, name.c_str(), value.get<double>()));
    }
  }
}

/// What creation is given: a constant, or a schedule's value at step 0.
double at_step_0(const nlohmann::json& value) {
  if (!value.is_object()) return value.get<double>();
  return value.contains("values") ? value.at("values").at(0).get<double>() : value.at("init_value").get<double>();
}

OptimizerHandle make_optimizer(gradstep_context* context, const nlohmann::json& meta,
                               const std::vector<gradstep_parameter>& parameters) {
  std::vector<gradstep_option> options;
  for (const auto& [name, value] : meta.at("options").items()) {
    if (value.is_string()) {
      options.push_back({name.c_str(), 0, value.get_ptr<const std::string*>()->c_str()});
      continue;
    }
    const double number = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : at_step_0(value);
    options.push_back({name.c_str(), number, nullptr});
  }
  gradstep_optimizer* optimizer = nullptr;
  check(gradstep_optimizer_create(context, meta.at("optimizer").get<std::string>().c_str(), options.data(),
                                  options.size(), parameters.data(), parameters.size(), &optimizer));
  return OptimizerHandle(optimizer);
}

struct Case {
  std::string file;
  int threads;
};

/// GoogleTest's name for a case in listings.
void PrintTo(const Case& c, std::ostream* out) { *out << c.file << " with " << c.threads << " threads"; }

class OptimizerVectors : public testing::TestWithParam<Case> {};

TEST_P(OptimizerVectors, ParametersFollowTheRecordedTrajectory) {
  VectorFile file = read_vector_file(vector_path(GetParam().file));
  const std::size_t n = file.meta.at("shapes").size();
  std::vector<gradstep_parameter> parameters;
  std::vector<StoredArray> values;
  for (std::size_t i = 0; i < n; ++i) {
    values.push_back(file[array_name("p", 0, i)]);
    parameters.push_back(parameter_of(file[array_name("p", 0, i)]));
  }
  const ContextHandle context = make_context(GetParam().threads);
  const OptimizerHandle optimizer = make_optimizer(context.get(), file.meta, parameters);
  set_hyper_parameters(optimizer.get(), file.meta);

  const int steps = file.meta.at("steps").get<int>();
  const double tolerance = file.meta.at("relative_tolerance").get<double>();
  ASSERT_GT(steps, 0);
  for (int t = 0; t < steps; ++t) {
    std::vector<gradstep_tensor> params;
    std::vector<gradstep_tensor> grads;
    for (std::size_t i = 0; i < n; ++i) {
      params.push_back(values[i].view());
      grads.push_back(file[array_name("g", t, i)].view());
    }
    check(gradstep_optimizer_step(optimizer.get(), params.data(), grads.data(), n, nullptr));
    for (std::size_t i = 0; i < n; ++i) {
      const StoredArray& expected = file[array_name("p", t + 1, i)];
      EXPECT_LE(relative_error(values[i].f32(), expected.f32(), expected.f32_count()), tolerance)
          << "parameter " << i << " after step " << t;
    }
  }
}

/// The files of rules that are made by their names: those of SINGA, of optax and of Meta.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& entry : std::filesystem::directory_iterator(GRADSTEP_VECTOR_DIRECTORY)) {
    const std::string file = entry.path().stem().string();
    if (!file.starts_with("singa_") && !file.starts_with("optax_") && !file.starts_with("meta_")) continue;
    for (const int threads : {1, 2}) cases.push_back({file, threads});
  }
  std::ranges::sort(cases, {}, [](const Case& c) { return std::pair(c.file, c.threads); });
  return cases;
}

TEST(OptimizerVectorFiles, AreThere) { EXPECT_GE(all_cases().size(), 38U); }

INSTANTIATE_TEST_SUITE_P(Recorded, OptimizerVectors, testing::ValuesIn(all_cases()), [](const auto& test) {
  return test.param.file + "_threads_" + std::to_string(test.param.threads);
});

}  // namespace
}  // namespace gradstep_conformance
