// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo beside Google's: in every step the recorded parameters and gradients go in, and the update must be the
// recorded one; after the last step statistics and preconditioners must be too. With either root method.
#include <cstring>
#include <map>
#include <ostream>
#include <vector>

#include "support.h"

namespace gradstep_conformance {
namespace {

std::int32_t choice(const nlohmann::json& options, const char* name, const std::vector<std::string>& names) {
  if (!options.contains(name)) return 0;
  const auto text = options.at(name).get<std::string>();
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end()) throw std::runtime_error(std::string(name) + ": unknown word " + text);
  return static_cast<std::int32_t>(found - names.begin());
}

gradstep_shampoo_options options_of(const nlohmann::json& options, std::int32_t root_method) {
  gradstep_shampoo_options o;
  check(gradstep_shampoo_options_init(&o, sizeof o));
  const std::map<std::string, double*> numbers = {{"learning_rate", &o.learning_rate},
                                                  {"beta2", &o.beta2},
                                                  {"weight_decay", &o.weight_decay},
                                                  {"clip_by_scaled_gradient_norm", &o.clip_by_scaled_gradient_norm}};
  const std::map<std::string, std::int64_t*> counts = {
      {"block_size", &o.block_size},
      {"start_preconditioning_step", &o.start_preconditioning_step},
      {"preconditioning_compute_steps", &o.preconditioning_compute_steps},
      {"statistics_compute_steps", &o.statistics_compute_steps},
      {"skip_preconditioning_dim_size_gt", &o.skip_preconditioning_dim_size_gt}};
  const std::map<std::string, std::int32_t*> flags = {
      {"best_effort_shape_interpretation", &o.best_effort_shape_interpretation},
      {"exponent_override", &o.exponent_override},
      {"moving_average_for_momentum", &o.moving_average_for_momentum},
      {"nesterov", &o.nesterov},
      {"quantize_momentum", &o.quantize_momentum},
      {"quantize_statistics", &o.quantize_statistics},
      {"root_retries", &o.root_retries}};
  for (const auto& [name, value] : options.items()) {
    if (value.is_string()) continue;
    if (numbers.count(name) != 0) {
      *numbers.at(name) = value.get<double>();
    } else if (counts.count(name) != 0) {
      *counts.at(name) = value.get<std::int64_t>();
    } else if (flags.count(name) != 0) {
      *flags.at(name) = value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<std::int32_t>();
    } else {
      throw std::runtime_error("unknown option " + name);
    }
  }
  o.graft_type = choice(options, "graft_type",
                        {"sgd", "adagrad", "rmsprop", "rmsprop_normalized", "sqrt_n", "adagrad_normalized"});
  o.root_padding = choice(options, "root_padding", {"none", "largest"});
  o.refresh = choice(options, "refresh", {"fresh", "stale"});
  o.root_method = root_method;
  return o;
}

struct Case {
  std::string file;
  std::int32_t root_method;
  int threads;
};

/// GoogleTest's name for a case in listings.
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.file << ", root method " << c.root_method << ", " << c.threads << " threads";
}

class ShampooVectors : public testing::TestWithParam<Case> {};

/// Elements further off than `tolerance` times the largest expected magnitude.
std::size_t count_outliers(const float* actual, const StoredArray& expected, double tolerance) {
  double largest = 0;
  for (std::size_t k = 0; k < expected.f32_count(); ++k) {
    largest = std::max(largest, std::abs(static_cast<double>(expected.f32()[k])));
  }
  std::size_t count = 0;
  for (std::size_t k = 0; k < expected.f32_count(); ++k) {
    const double difference = std::abs(static_cast<double>(actual[k]) - static_cast<double>(expected.f32()[k]));
    if (!(difference <= tolerance * largest)) ++count;
  }
  return count;
}

/// "stat_2_5" of the file against state "statistics.{block}.{axis}" of parameter 2.
void expect_matrices(gradstep_optimizer* optimizer, VectorFile& file, const char* prefix, const char* state,
                     double tolerance) {
  double worst = 0;
  for (auto& [name, expected] : file.arrays) {
    if (name.compare(0, std::strlen(prefix), prefix) != 0) continue;
    const std::size_t underscore = name.find('_', std::strlen(prefix));
    const auto parameter = static_cast<std::size_t>(std::stoul(name.substr(std::strlen(prefix))));
    const std::size_t k = std::stoul(name.substr(underscore + 1));
    // The rank is the number of axes of block 0 that have a statistic.
    std::size_t rank = 0;
    gradstep_tensor view{};
    for (; gradstep_optimizer_state(optimizer, parameter, (std::string(state) + ".0." + std::to_string(rank)).c_str(),
                                    &view) == GRADSTEP_OK;
         ++rank) {
    }
    ASSERT_GT(rank, 0U) << name;
    const std::string place = std::to_string(k / rank) + "." + std::to_string(k % rank);
    check(gradstep_optimizer_state(optimizer, parameter, (std::string(state) + "." + place).c_str(), &view));
    ASSERT_EQ(view.ndim, 2) << name;
    ASSERT_EQ(view.shape[0], expected.shape[0]) << name;
    ASSERT_EQ(view.shape[1], expected.shape[1]) << name;
    const double error = relative_error(static_cast<const float*>(view.data), expected.f32(), expected.f32_count());
    EXPECT_LE(error, tolerance) << name;
    worst = std::max(worst, error);
  }
  testing::Test::RecordProperty(std::string("worst_") + state, std::to_string(worst));
}

double count_refused_roots(gradstep_optimizer* optimizer) {
  std::size_t count = 0;
  check(gradstep_optimizer_metrics(optimizer, nullptr, sizeof(gradstep_metric), 0, &count));
  std::vector<gradstep_metric> metrics(count);
  check(gradstep_optimizer_metrics(optimizer, metrics.data(), sizeof(gradstep_metric), count, &count));
  double refused = 0;
  for (const gradstep_metric& metric : metrics)
    refused += std::strcmp(metric.name, "root_failures") == 0 ? metric.value : 0;
  return refused;
}

TEST_P(ShampooVectors, UpdatesAndMatricesAreTheRecordedOnes) {
  VectorFile file = read_vector_file(vector_path(GetParam().file));
  const std::size_t n = file.meta.at("shapes").size();
  std::vector<gradstep_parameter> parameters;
  std::vector<StoredArray> values;
  for (std::size_t i = 0; i < n; ++i) {
    // A file may leave out parameters, and updates of early steps, where its rule does not look at parameters.
    const bool has_values = file.arrays.count(array_name("p", 0, i)) != 0;
    values.push_back(file[array_name(has_values ? "p" : "g", 0, i)]);
    if (!has_values) std::fill(values.back().storage.begin(), values.back().storage.end(), std::uint64_t{0});
    parameters.push_back(parameter_of(file[array_name("g", 0, i)]));
  }
  std::vector<StoredArray> updates = values;
  const ContextHandle context = make_context(GetParam().threads);
  const gradstep_shampoo_options options = options_of(file.meta.at("options"), GetParam().root_method);
  gradstep_optimizer* created = nullptr;
  check(gradstep_optimizer_create_shampoo(context.get(), &options, parameters.data(), n, &created));
  const OptimizerHandle optimizer(created);

  const double tolerance = file.meta.at("relative_tolerance").get<double>();
  const bool coded = file.meta.contains("outliers");
  double worst = 0;
  std::size_t elements = 0;
  std::size_t outliers = 0;
  for (int t = 0; t < file.meta.at("steps").get<int>(); ++t) {
    std::vector<gradstep_tensor> params;
    std::vector<gradstep_tensor> grads;
    std::vector<gradstep_tensor> deltas;
    for (std::size_t i = 0; i < n; ++i) {
      params.push_back(values[i].view());
      grads.push_back(file[array_name("g", t, i)].view());
      deltas.push_back(updates[i].view());
    }
    check(gradstep_optimizer_update(optimizer.get(), params.data(), grads.data(), deltas.data(), n, nullptr));
    for (std::size_t i = 0; i < n; ++i) {
      if (file.arrays.count(array_name("u", t, i)) == 0) continue;
      const StoredArray& expected = file[array_name("u", t, i)];
      worst = std::max(worst, relative_error(updates[i].f32(), expected.f32(), expected.f32_count()));
      elements += expected.f32_count();
      outliers += count_outliers(updates[i].f32(), expected, tolerance);
      if (!coded) {
        EXPECT_EQ(count_outliers(updates[i].f32(), expected, tolerance), 0U) << "u" << t << "_" << i;
      }
      for (std::size_t k = 0; k < expected.f32_count(); ++k) values[i].f32()[k] += expected.f32()[k];
    }
  }
  ASSERT_GT(elements, 0U);
  RecordProperty("worst_update", std::to_string(worst));
  if (coded) {
    // A number that lies between two codes may take the other one.
    const auto& allowed = file.meta.at("outliers");
    EXPECT_LE(static_cast<double>(outliers), allowed.at("fraction").get<double>() * static_cast<double>(elements));
    EXPECT_LE(worst, allowed.at("relative_tolerance").get<double>());
    RecordProperty("outlier_fraction", std::to_string(static_cast<double>(outliers) / static_cast<double>(elements)));
  }
  if (file.meta.value("refuses_roots", false)) {
    EXPECT_GT(count_refused_roots(optimizer.get()), 0);
  }
  if (file.meta.contains("statistics_tolerance")) {
    expect_matrices(optimizer.get(), file, "stat_", "statistics", file.meta.at("statistics_tolerance").get<double>());
    expect_matrices(optimizer.get(), file, "prec_", "preconditioners",
                    file.meta.at("preconditioners_tolerance").get<double>());
  }
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const char* name : {"graft_sgd",
                           "graft_adagrad",
                           "graft_adagrad_normalized",
                           "graft_rmsprop",
                           "graft_rmsprop_normalized",
                           "graft_sqrt_n",
                           "nesterov_off",
                           "moving_average",
                           "weight_decay",
                           "start_step_0",
                           "cadence",
                           "no_merge",
                           "exponent_2",
                           "skip_gt_16",
                           "clip_scaled",
                           "lowrank",
                           "block_128",
                           "beta2_one",
                           "pmap2",
                           "sharded",
                           "quantized",
                           "quantized_momentum_only",
                           "failure"}) {
    for (const std::int32_t method : {GRADSTEP_ROOT_METHOD_COUPLED_NEWTON, GRADSTEP_ROOT_METHOD_EIGH}) {
      // Its refusals are those of the iteration.
      if (std::string(name) == "failure" && method == GRADSTEP_ROOT_METHOD_EIGH) continue;
      for (const int threads : {1, 2}) cases.push_back({std::string("shampoo_").append(name), method, threads});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Google, ShampooVectors, testing::ValuesIn(all_cases()), [](const auto& test) {
  const bool newton = test.param.root_method == GRADSTEP_ROOT_METHOD_COUPLED_NEWTON;
  return test.param.file + (newton ? "_newton" : "_eigh") + "_threads_" + std::to_string(test.param.threads);
});

}  // namespace
}  // namespace gradstep_conformance
