// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What a rank's digest is fed with. README.md, "Hashes", lists it.
#include <sstream>
#include <stdexcept>

#include "options.h"
#include "rank.h"

namespace gradstep_bits {

namespace {

const gradstep_dtype kF64 = {GRADSTEP_TYPE_FLOAT, 64, 1};

/// "exp_avg,exp_avg_sq" apart.
std::vector<std::string> names_of_state(gradstep_optimizer* optimizer) {
  std::size_t size = 0;
  check(gradstep_optimizer_state_names(optimizer, nullptr, 0, &size));
  std::string text(size, '\0');
  check(gradstep_optimizer_state_names(optimizer, text.data(), size, &size));
  std::istringstream stream(text.c_str());
  std::vector<std::string> names;
  for (std::string name; std::getline(stream, name, ',');) names.push_back(name);
  return names;
}

std::string numbered(const std::string& label, std::size_t index) {
  std::string text = label;
  return text.append(".").append(std::to_string(index));
}

}  // namespace

void Rank::feed_status(const Json& call, gradstep_status status) {
  const std::string expected =
      call.contains("fails") ? "GRADSTEP_ERR_" + call.at("fails").get<std::string>() : "GRADSTEP_OK";
  if (gradstep_status_name(status) != expected) {
    throw std::runtime_error(std::string("returned ") + gradstep_status_name(status) + ", expected " + expected + ": " +
                             gradstep_last_error());
  }
  digest_.add("status", std::int64_t{status});
}

void Rank::feed(const std::string& label, const std::vector<HostTensor>& tensors) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    digest_.add(numbered(label, i), tensors[i].dtype(), tensors[i].elements());
  }
}

void Rank::feed(const std::string& label, const std::vector<gradstep_tensor>& views) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].data == nullptr) {
      digest_.add(numbered(label, i) + ".absent", std::int64_t{1});
    } else {
      digest_.add(numbered(label, i), views[i].dtype, elements_of(device_, views[i]));
    }
  }
}

void Rank::feed_accumulator(std::int32_t ready) {
  gradstep_accumulator* accumulator = accumulator_.get();
  std::int64_t count = 0;
  std::int64_t skipped = 0;
  double weight = 0;
  check(gradstep_accumulator_count(accumulator, &count));
  check(gradstep_accumulator_skipped(accumulator, &skipped));
  check(gradstep_accumulator_weight(accumulator, &weight));
  digest_.add("ready", std::int64_t{ready});
  digest_.add("count", count);
  digest_.add("skipped", skipped);
  digest_.add("weight", weight);
  std::vector<gradstep_tensor> views(parameters_.size());
  const bool keeps_sums = case_.spec.at("accumulator").value("keep_sums", 0) != 0;
  if (ready == 0 || keeps_sums) {
    const gradstep_status status = gradstep_accumulator_sums(accumulator, views.data(), views.size(), nullptr);
    digest_.add("sums.status", std::int64_t{status});
    if (status == GRADSTEP_OK) feed("sum", views);
  }
  if (ready == 0) return;
  gradstep_tensor norm{};
  check(gradstep_accumulator_norm(accumulator, &norm, nullptr));
  digest_.add("norm", kF64, elements_of(device_, norm));
  check(gradstep_accumulator_gradients(accumulator, views.data(), views.size(), nullptr));
  feed("gradient", views);
}

void Rank::feed_reduced() {
  std::vector<gradstep_tensor> views(parameters_.size());
  check(gradstep_reducer_gradients(reducer_.get(), views.data(), views.size(), nullptr));
  feed("gradient", views);
  gradstep_tensor norm{};
  check(gradstep_reducer_norm(reducer_.get(), &norm, nullptr));
  digest_.add("norm", kF64, elements_of(device_, norm));
  feed_residuals();
}

void Rank::feed_residuals() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    gradstep_tensor residual{};
    const gradstep_status status = gradstep_reducer_residual(reducer_.get(), i, &residual);
    if (status == GRADSTEP_OK) feed(numbered("residual", i), {residual});
    if (status != GRADSTEP_OK && status != GRADSTEP_ERR_INVALID_STATE) check(status);
  }
}

void Rank::feed_end() {
  if (optimizer_ != nullptr) feed_state();
  if (accumulator_ != nullptr) {
    std::int64_t windows = 0;
    check(gradstep_accumulator_count(accumulator_.get(), &windows));
    digest_.add("accumulator.count", windows);
  }
  if (reducer_ != nullptr) feed_residuals();
  if (updater_ == nullptr) return;
  gradstep_updater_statistics statistics{};
  statistics.struct_size = sizeof statistics;
  check(gradstep_updater_stats(updater_.get(), &statistics));
  digest_.add("updater.pushes", statistics.pushes);
  digest_.add("updater.windows", statistics.windows);
  digest_.add("updater.steps", statistics.steps);
  digest_.add("updater.skipped_steps", statistics.skipped_steps);
}

/// The counters, Shampoo's numbers about its roots, and every tensor of state that exists.
void Rank::feed_state() {
  gradstep_optimizer* optimizer = optimizer_.get();
  std::size_t count_of_metrics = 0;
  check(gradstep_optimizer_metrics(optimizer, nullptr, sizeof(gradstep_metric), 0, &count_of_metrics));
  std::vector<gradstep_metric> metrics(count_of_metrics);
  check(gradstep_optimizer_metrics(optimizer, metrics.data(), sizeof(gradstep_metric), metrics.size(),
                                   &count_of_metrics));
  for (const gradstep_metric& metric : metrics) {
    std::ostringstream label;
    label << metric.name << "." << metric.parameter << "." << metric.block << "." << metric.axis;
    digest_.add(label.str(), metric.value);
  }
  // Neither codes nor shares of ranks can be viewed; an optimizer without them tells which matrices there are.
  Json plain = case_.spec.at("optimizer");
  plain.erase("quantize_momentum");
  plain.erase("quantize_statistics");
  const OptimizerHandle twin = make_optimizer(context_, plain, active_parameters());
  const std::string pattern = ".{block}.{axis}";
  for (const std::string& name : names_of_state(optimizer)) {
    const bool is_matrix = name.size() > pattern.size() && name.ends_with(pattern);
    const std::string stem = name.substr(0, name.size() - (is_matrix ? pattern.size() : 0));
    for (std::size_t i = 0; i < count(); ++i) {
      if (!is_matrix) {
        gradstep_tensor shown{};
        const bool exists = gradstep_optimizer_state(twin.get(), i, name.c_str(), &shown) == GRADSTEP_OK;
        feed_state_tensor(i, name, exists ? std::vector(shown.shape, shown.shape + shown.ndim) : shapes_[i]);
        continue;
      }
      bool found = true;
      for (std::size_t block = 0; found; ++block) {
        found = false;
        for (std::size_t axis = 0; axis < shapes_[i].size(); ++axis) {
          const std::string matrix = numbered(numbered(stem, block), axis);
          gradstep_tensor view{};
          if (gradstep_optimizer_state(twin.get(), i, matrix.c_str(), &view) != GRADSTEP_OK) continue;
          found = true;
          feed_state_tensor(i, matrix, {view.shape, view.shape + view.ndim});
        }
      }
    }
  }
}

/// Nothing where the state does not exist.
void Rank::feed_state_tensor(std::size_t index, const std::string& name, std::vector<std::int64_t> shape) {
  HostTensor tensor(host(), std::move(shape), parameters_[index].dtype.bits == 64 ? kF64 : dtype_of("f32"));
  const gradstep_tensor view = tensor.view();
  const gradstep_status status = gradstep_optimizer_get_state(optimizer_.get(), index, name.c_str(), &view, nullptr);
  if (status == GRADSTEP_ERR_INVALID_STATE) return;
  check(status);
  digest_.add(numbered(name, index), tensor.dtype(), tensor.elements());
}

void Rank::check_gaps() const {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (!values_[i].gaps_are_untouched()) {
      throw std::runtime_error("rank " + std::to_string(rank_) + ": bytes between the elements of parameter " +
                               std::to_string(i) + " were written");
    }
  }
}

}  // namespace gradstep_bits
