// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank's buffers, and the calls of optimizers, accumulators, reducers and updaters.
#include "rank.h"

#include <algorithm>
#include <map>
#include <stdexcept>

#include "options.h"

namespace gradstep_bits {

namespace {

using nlohmann::json;

Layout layout_of(const json& spec) {
  static const std::vector<const char*> words = {"compact", "transposed", "padded"};
  return static_cast<Layout>(number_of(spec.value("layout", "compact"), words, "layout"));
}

std::uint32_t special_bits(const std::string& word) {
  static const std::map<std::string, std::uint32_t> known = {
      {"nan", 0x7FC00000U}, {"inf", 0x7F800000U}, {"-inf", 0xFF800000U}, {"largest", 0x7F7FFFFFU}};
  const auto found = known.find(word);
  if (found == known.end())
    throw std::runtime_error("plant.value: is '" + word + "', expected nan, inf, -inf or largest");
  return found->second;
}

/// A call's keys, beside those that every call may have.
void check_call(const json& call, std::vector<std::string> known) {
  for (const char* common : {"call", "times", "ranks", "fails"}) known.emplace_back(common);
  check_keys(call, call.at("call").get<std::string>().c_str(), known);
}

bool is_missing(const json& call, std::size_t parameter) {
  if (!call.contains("missing")) return false;
  const json& missing = call.at("missing");
  return missing == "all" || std::find(missing.begin(), missing.end(), parameter) != missing.end();
}

}  // namespace

Rank::Rank(const Case& described, gradstep_context* context, Device& device, gradstep_comm* comm, Shared& shared,
           bool trace)
    : case_(described), context_(context), device_(device), comm_(comm), shared_(shared), digest_(trace) {
  check(gradstep_comm_rank(comm, &rank_));
  for (const json& tensor : case_.model) shapes_.push_back(tensor.at("shape").get<std::vector<std::int64_t>>());
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const json& tensor = case_.model[i];
    gradstep_parameter parameter{};
    parameter.struct_size = sizeof parameter;
    parameter.shape = shapes_[i].data();
    parameter.ndim = static_cast<std::int32_t>(shapes_[i].size());
    parameter.dtype = dtype_of(tensor.value("dtype", "f32"));
    parameter.device = device.id();
    parameter.group = tensor.value("group", 0);
    if (tensor.value("may_be_unused", false)) parameter.flags = GRADSTEP_PARAMETER_MAY_BE_UNUSED;
    parameters_.push_back(parameter);
    values_.emplace_back(device_, shapes_[i], parameter.dtype, layout_of(tensor));
    values_.back().fill({DataKind::parameter, 0, 0, i}, 0);
  }
  sharding_ = case_.spec.value("sharding", json());
  active_ = static_cast<std::ptrdiff_t>(shapes_.size());
  if (case_.spec.contains("optimizer")) active_ = case_.spec.at("optimizer").value("first_parameters", active_);
}

DataKey Rank::key(DataKind kind, std::size_t parameter) const {
  return {kind, call_, static_cast<std::uint64_t>(rank_), parameter};
}

OptimizerHandle Rank::make_rank_optimizer() const {
  OptimizerHandle optimizer = make_optimizer(context_, case_.spec.at("optimizer"), active_parameters());
  for (const json& setting : settings_) {
    set_hyper_parameters(optimizer.get(), setting.value("group", -1), setting.at("values"));
  }
  if (!sharding_.is_null()) attach(optimizer.get(), comm_, sharding_);
  return optimizer;
}

void Rank::make_handles() {
  const json& spec = case_.spec;
  if (spec.contains("optimizer")) optimizer_ = make_rank_optimizer();
  if (spec.contains("accumulator")) accumulator_ = make_accumulator(context_, spec.at("accumulator"), parameters_);
  if (spec.contains("reducer")) reducer_ = make_reducer(context_, comm_, spec.at("reducer"), parameters_);
  if (!spec.contains("updater")) return;
  updater_ = make_updater(context_, optimizer_.get(), accumulator_.get(), reducer_.get(), spec.at("updater"));
}

Digest Rank::run() {
  make_handles();
  for (const json& described : case_.spec.at("calls")) {
    json call = described.is_string() ? json{{"call", described}} : described;
    const std::string own = std::to_string(rank_);
    if (call.contains("ranks") && call.at("ranks").contains(own)) call.merge_patch(call.at("ranks").at(own));
    for (int k = 0; k < call.value("times", 1); ++k) {
      ++call_;
      const auto name = call.at("call").get<std::string>();
      digest_.begin_call(call_, name);
      try {
        make_call(call);
      } catch (const std::exception& error) {
        throw std::runtime_error("rank " + own + ", call " + std::to_string(call_) + " (" + name +
                                 "): " + error.what());
      }
    }
  }
  digest_.begin_call(call_ + 1, "end");
  feed_end();
  check_gaps();
  return std::move(digest_);
}

void Rank::make_call(const json& call) {
  using Method = void (Rank::*)(const json&);
  static const std::map<std::string, Method> methods = {
      {"step", &Rank::step},
      {"update", &Rank::step},
      {"add", &Rank::add},
      {"flush", &Rank::flush},
      {"reset", &Rank::reset},
      {"reduce", &Rank::reduce},
      {"exchange", &Rank::exchange},
      {"push", &Rank::push},
      {"updater_flush", &Rank::updater_flush},
      {"set", &Rank::set},
      {"set_step_count", &Rank::set_step_count},
      {"write", &Rank::write},
      {"attach", &Rank::attach_comm},
      {"detach", &Rank::detach_comm},
      {"add_parameters", &Rank::add_parameters},
      {"copy_state", &Rank::copy_state},
      {"save_load", &Rank::save_load},
      {"all_reduce", &Rank::collective},
      {"reduce_scatter", &Rank::collective},
      {"all_gather", &Rank::collective},
  };
  const auto method = methods.find(call.at("call").get<std::string>());
  if (method == methods.end()) throw std::runtime_error("there is no such call");
  (this->*method->second)(call);
}

Rank::Gradients Rank::make_gradients(const json& call) const {
  const json spec = case_.spec.value("gradients", json::object());
  check_keys(spec, "gradients", {"dtype", "layout", "exponent"});
  Gradients gradients;
  for (std::size_t i = 0; i < count(); ++i) {
    const gradstep_dtype dtype =
        spec.contains("dtype") ? dtype_of(spec.at("dtype").get<std::string>()) : parameters_[i].dtype;
    gradients.tensors.emplace_back(device_, shapes_[i], dtype, layout_of(spec));
    gradients.tensors.back().fill(key(DataKind::gradient, i), spec.value("exponent", 0));
  }
  for (const json& planted : call.value("plant", json::array())) {
    check_keys(planted, "plant", {"parameter", "element", "value"});
    gradients.tensors.at(planted.at("parameter").get<std::size_t>())
        .set(planted.value("element", std::size_t{0}), special_bits(planted.at("value").get<std::string>()));
  }
  for (std::size_t i = 0; i < count(); ++i) {
    gradients.views.push_back(is_missing(call, i) ? gradstep_tensor{} : gradients.tensors[i].view());
  }
  return gradients;
}

Rank::Gradients Rank::gradients_of(const json& call) {
  const auto source = call.value("gradients", "own");
  if (source == "own") return make_gradients(call);
  Gradients gradients;
  gradients.views.resize(count());
  if (source == "accumulator") {
    check(gradstep_accumulator_gradients(accumulator_.get(), gradients.views.data(), count(), nullptr));
  } else if (source == "reducer") {
    check(gradstep_reducer_gradients(reducer_.get(), gradients.views.data(), count(), nullptr));
  } else {
    throw std::runtime_error("gradients: is '" + source + "', expected own, accumulator or reducer");
  }
  return gradients;
}

std::vector<gradstep_tensor> Rank::parameter_views() {
  std::vector<gradstep_tensor> views;
  for (std::size_t i = 0; i < count(); ++i) views.push_back(values_[i].view());
  return views;
}

void Rank::step(const json& call) {
  check_call(call, {"missing", "plant", "gradients", "options", "in_gradients"});
  const bool gives_updates = call.at("call") == "update";
  Gradients grads = gradients_of(call);
  std::vector<HostTensor> apart;
  std::vector<gradstep_tensor> updates;
  if (gives_updates && call.value("in_gradients", false)) {
    updates = grads.views;
  } else if (gives_updates) {
    for (std::size_t i = 0; i < count(); ++i) apart.emplace_back(device_, shapes_[i], parameters_[i].dtype);
    for (HostTensor& tensor : apart) updates.push_back(tensor.view());
  }
  std::vector<gradstep_tensor> params = parameter_views();
  const gradstep_tensor* out = gives_updates ? updates.data() : nullptr;
  gradstep_optimizer* optimizer = optimizer_.get();
  if (!call.contains("options")) {
    feed_status(call,
                gives_updates
                    ? gradstep_optimizer_update(optimizer, params.data(), grads.views.data(), out, count(), nullptr)
                    : gradstep_optimizer_step(optimizer, params.data(), grads.views.data(), count(), nullptr));
  } else {
    const json& spec = call.at("options");
    auto options = options_of<gradstep_step_options>(spec, "options", {"grad_norm", "found_inf"});
    HostTensor norm(device_, {1}, dtype_of("f64"));
    HostTensor found(device_, {1}, dtype_of("f32"));
    const double given_norm = spec.value("grad_norm", 0.0);
    const float given_found = spec.value("found_inf", 0.0F);
    norm.set_bytes(0, &given_norm);
    found.set_bytes(0, &given_found);
    const gradstep_tensor norm_tensor = norm.view();
    gradstep_tensor found_tensor = found.view();
    gradstep_step_result result{};
    result.struct_size = sizeof result;
    if (spec.contains("grad_norm")) options.grad_norm = &norm_tensor;
    if (spec.contains("found_inf")) options.found_inf = &found_tensor;
    options.result = &result;
    feed_status(call, gradstep_optimizer_step_ex(optimizer, params.data(), grads.views.data(), out, count(), &options,
                                                 nullptr));
    digest_.add("applied", std::int64_t{result.applied});
    digest_.add("grad_norm", result.grad_norm);
    digest_.add("clip_coefficient", result.clip_coefficient);
    float found_now = 0;
    std::memcpy(&found_now, found.elements().data(), sizeof found_now);
    digest_.add("found_inf", static_cast<double>(found_now));
  }
  feed("parameter", values_);
  if (gives_updates && apart.empty()) feed("update", grads.tensors);
  if (gives_updates && !apart.empty()) feed("update", apart);
}

void Rank::set(const json& call) {
  check_call(call, {"group", "values"});
  set_hyper_parameters(optimizer_.get(), call.value("group", -1), call.at("values"));
  settings_.push_back(call);
}

void Rank::set_step_count(const json& call) {
  check_call(call, {"count"});
  feed_status(call, gradstep_optimizer_set_step_count(optimizer_.get(), call.at("count").get<std::int64_t>()));
}

void Rank::write(const json& call) {
  check_call(call, {"parameters"});
  for (const json& index : call.at("parameters")) {
    const auto i = index.get<std::size_t>();
    values_.at(i).fill({DataKind::parameter, call_, 0, i}, 0);
  }
}

void Rank::attach_comm(const json& call) {
  check_call(call, {"sharding"});
  sharding_ = call.value("sharding", json::object());
  attach(optimizer_.get(), comm_, sharding_);
}

void Rank::detach_comm(const json& call) {
  check_call(call, {});
  check(gradstep_optimizer_attach_comm(optimizer_.get(), nullptr, nullptr));
  sharding_ = json();
}

void Rank::add_parameters(const json& call) {
  check_call(call, {"parameters"});
  const auto more = call.at("parameters").get<std::ptrdiff_t>();
  if (count() + static_cast<std::size_t>(more) > parameters_.size()) throw std::runtime_error("the model has no more");
  check(gradstep_optimizer_add_parameters(optimizer_.get(), &parameters_[count()], static_cast<std::size_t>(more)));
  active_ += more;
}

void Rank::copy_state(const json& call) {
  check_call(call, {});
  OptimizerHandle next = make_rank_optimizer();
  feed_status(call, gradstep_optimizer_copy_state(next.get(), optimizer_.get()));
  optimizer_ = std::move(next);
}

void Rank::flush(const json& call) {
  check_call(call, {});
  std::int32_t ready = 0;
  feed_status(call, gradstep_accumulator_flush(accumulator_.get(), nullptr, &ready));
  feed_accumulator(ready);
}

void Rank::reset(const json& call) {
  check_call(call, {});
  feed_status(call, gradstep_accumulator_reset(accumulator_.get(), nullptr));
  feed_accumulator(0);
}

void Rank::reduce(const json& call) {
  check_call(call, {"missing", "plant", "weight", "gradients", "results"});
  Gradients grads = gradients_of(call);
  const auto kind = call.value("results", "apart");
  std::vector<HostTensor> apart;
  std::vector<gradstep_tensor> results;
  if (kind == "in_place") results = grads.views;
  if (kind == "apart") {
    // What no rank has a gradient for stays as it is: zeros.
    for (std::size_t i = 0; i < count(); ++i) {
      apart.emplace_back(device_, shapes_[i], grads.tensors.empty() ? parameters_[i].dtype : grads.tensors[i].dtype());
      for (std::size_t k = 0; k < apart.back().size(); ++k) apart.back().set(k, 0);
    }
    for (HostTensor& tensor : apart) results.push_back(tensor.view());
  }
  feed_status(call,
              gradstep_reducer_reduce(reducer_.get(), grads.views.data(), results.empty() ? nullptr : results.data(),
                                      count(), call.value("weight", 1.0), nullptr));
  if (kind == "in_place") feed("result", grads.tensors);
  if (kind == "apart") feed("result", apart);
  if (!call.contains("fails")) feed_reduced();
}

void Rank::exchange(const json& call) {
  check_call(call, {"missing", "plant", "weight", "order"});
  Gradients grads = make_gradients(call);
  if (call.contains("weight")) check(gradstep_reducer_begin(reducer_.get(), call.at("weight").get<double>(), nullptr));
  const auto order = call.value("order", "backward");
  for (std::size_t k = 0; k < count(); ++k) {
    std::size_t i = count() - 1 - k;
    if (order == "forward") i = k;
    if (order == "rotated") i = (k + static_cast<std::size_t>(rank_)) % count();
    if (is_missing(call, i)) continue;
    check(gradstep_reducer_push(reducer_.get(), i, &grads.views[i], nullptr));
  }
  feed_status(call, gradstep_reducer_wait(reducer_.get(), nullptr, 0, nullptr));
  if (!call.contains("fails")) feed_reduced();
}

std::int64_t Rank::step_count() const {
  std::int64_t count = 0;
  check(gradstep_optimizer_step_count(optimizer_.get(), &count));
  return count;
}

/// Where work is queued, `applied` says that a step is on its way, which may be skipped yet.
void Rank::feed_applied(std::int32_t applied, std::int64_t steps_before) {
  if (!device_.is_host() && applied != 0) applied = step_count() > steps_before ? 1 : 0;
  digest_.add("applied", std::int64_t{applied});
}

void Rank::push(const json& call) {
  check_call(call, {"missing", "plant", "weight"});
  Gradients grads = make_gradients(call);
  std::vector<gradstep_tensor> params = parameter_views();
  const std::int64_t before = step_count();
  std::int32_t applied = 0;
  feed_status(call, gradstep_updater_push(updater_.get(), params.data(), grads.views.data(), count(),
                                          call.value("weight", 1.0), nullptr, &applied));
  feed_applied(applied, before);
  feed("parameter", values_);
}

void Rank::updater_flush(const json& call) {
  check_call(call, {});
  std::vector<gradstep_tensor> params = parameter_views();
  const std::int64_t before = step_count();
  std::int32_t applied = 0;
  feed_status(call, gradstep_updater_flush(updater_.get(), params.data(), count(), nullptr, &applied));
  feed_applied(applied, before);
  feed("parameter", values_);
}

}  // namespace gradstep_bits
