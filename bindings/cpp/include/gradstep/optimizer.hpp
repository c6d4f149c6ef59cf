// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// optimizer.hpp: update rules on the host's own parameters.
#pragma once

#include <gradstep/rule.h>
#include <gradstep/shampoo.h>
#include <gradstep/sharding.h>

#include <gradstep/context.hpp>
#include <gradstep/saved_state.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradstep::inline cpp_v0 {

class Communicator;
class Reducer;

/// All hyper-parameter groups.
inline constexpr std::int32_t kAllGroups = -1;

using RmspropOptions [[deprecated("use RmsPropOptions")]] = RmsPropOptions;
using AdagradOptions [[deprecated("use AdaGradOptions")]] = AdaGradOptions;

using StepResult = gradstep_step_result;
using Metric = gradstep_metric;
using Memory = gradstep_memory;

/// What tensors there are is borrowed during the call (gradstep_step_options).
struct StepOptions {
  bool skip_nonfinite = false;
  double grad_scale = 1;
  double max_norm = 0;    ///< 0 = off
  double clip_value = 0;  ///< 0 = off
  ConstTensor grad_norm = nullptr;
  Tensor found_inf = nullptr;
  ConstTensor grad_scale_tensor = nullptr;
  Tensor outcome = nullptr;
  bool disjoint = false;
};

/// An option of a rule by its name, as of the C struct's field: {"beta1", 0.9}, {"amsgrad", true}, {"state_dtype",
/// "bf16"}.
class RuleOption {
 public:
  /// A number, or a flag.
  RuleOption(std::string name, double value) : name_(std::move(name)), value_(value) {}
  /// The name of a choice, or a whole number beyond 2^53.
  RuleOption(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {}

  [[nodiscard]] gradstep_option c() const { return {name_.c_str(), value_, text_ ? text_->c_str() : nullptr}; }

 private:
  std::string name_;
  double value_ = 0;
  std::optional<std::string> text_;
};
using RuleOptions = std::vector<RuleOption>;

/// A rule with its options: of a parameter group, or of all.
struct GroupRule {
  std::string rule;
  RuleOptions options;
};

namespace detail {

inline std::vector<gradstep_option> c_options(const RuleOptions& options) {
  std::vector<gradstep_option> list;
  for (const RuleOption& option : options) list.push_back(option.c());
  return list;
}

}  // namespace detail

class Optimizer : public SavedState<Optimizer, gradstep_optimizer_save, gradstep_optimizer_load,
                                    gradstep_optimizer_save_file, gradstep_optimizer_load_file> {
 public:
  static Optimizer sgd(const Context& context, const SgdOptions& options, const Parameters& parameters) {
    return create<gradstep_optimizer_create_sgd>(context, options.c(), parameters);
  }
  static Optimizer rmsprop(const Context& context, const RmsPropOptions& options, const Parameters& parameters) {
    return create<gradstep_optimizer_create_rmsprop>(context, options.c(), parameters);
  }
  static Optimizer adagrad(const Context& context, const AdaGradOptions& options, const Parameters& parameters) {
    return create<gradstep_optimizer_create_adagrad>(context, options.c(), parameters);
  }
  static Optimizer adam(const Context& context, const AdamOptions& options, const Parameters& parameters) {
    return create<gradstep_optimizer_create_adam>(context, options.c(), parameters);
  }
  static Optimizer shampoo(const Context& context, const ShampooOptions& options, const Parameters& parameters) {
    return create<gradstep_optimizer_create_shampoo>(context, options.c(), parameters);
  }
  /// Makes an optimizer of one rule: LionOptions and the others of rule_options.hpp, or a name with options.
  Optimizer(const Context& context, const GroupRule& rule, const Parameters& parameters)
      : Optimizer(by_name(context, rule.rule, rule.options, parameters)) {}
  /// Makes an optimizer of the rule of that name, such as "lion"; describe_rules() lists them (rules.hpp). Throws
  /// InvalidArgument, which lists the known names, for a rule or an option that is unknown.
  static Optimizer by_name(const Context& context, const std::string& rule, const RuleOptions& options,
                           const Parameters& parameters) {
    const auto list = detail::c_parameters(parameters);
    const auto named = detail::c_options(options);
    gradstep_optimizer* made = nullptr;
    check(gradstep_optimizer_create(context.c(), rule.c_str(), named.data(), named.size(), list.data(), list.size(),
                                    &made));
    return Optimizer(made);
  }

  /// Makes one optimizer of several rules: groups[g] is that of the parameters of group g. Throws InvalidArgument as
  /// by_name(), and for a parameter whose group has no rule.
  ///
  ///     Optimizer::by_group(context, {{"lion", {{"learning_rate", 1e-4}}}, {"adam", {{"learning_rate", 1e-3}}}},
  ///     schema);
  static Optimizer by_group(const Context& context, const std::vector<GroupRule>& groups,
                            const Parameters& parameters) {
    const auto list = detail::c_parameters(parameters);
    std::vector<std::vector<gradstep_option>> options;
    std::vector<gradstep_group_rule> rules;
    for (const GroupRule& group : groups) options.push_back(detail::c_options(group.options));
    for (std::size_t g = 0; g < groups.size(); ++g) {
      rules.push_back({groups[g].rule.c_str(), options[g].data(), options[g].size()});
    }
    gradstep_optimizer* made = nullptr;
    check(gradstep_optimizer_create_by_group(context.c(), rules.data(), rules.size(), list.data(), list.size(), &made));
    return Optimizer(made);
  }

  /// Steps the parameters in place. A gradient of nullptr leaves its parameter alone.
  void step(const TensorList& params, ConstTensors grads, void* stream = nullptr) {
    detail::require_size(grads.size(), params.size(), "grads");
    check(gradstep_optimizer_step(c(), params.c(), grads.c(), params.size(), stream));
  }
  StepResult step(const TensorList& params, ConstTensors grads, const StepOptions& options, void* stream = nullptr) {
    return step_ex(params, grads, nullptr, options, stream);
  }

  /// Writes what a step would add, and leaves the parameters as they are. updates may be grads.
  void update(const TensorList& params, ConstTensors grads, const TensorList& updates, void* stream = nullptr) {
    detail::require_size(grads.size(), params.size(), "grads");
    detail::require_size(updates.size(), params.size(), "updates");
    check(gradstep_optimizer_update(c(), params.c(), grads.c(), updates.c(), params.size(), stream));
  }
  StepResult update(const TensorList& params, ConstTensors grads, const TensorList& updates, const StepOptions& options,
                    void* stream = nullptr) {
    detail::require_size(updates.size(), params.size(), "updates");
    return step_ex(params, grads, updates.c(), options, stream);
  }

  void set_value(const std::string& name, double value, std::int32_t group = kAllGroups) {
    check(gradstep_optimizer_set_value(c(), group, name.c_str(), value));
  }
  void set_value(const std::string& name, const Schedule& schedule, std::int32_t group = kAllGroups) {
    const gradstep_schedule given = schedule.given();
    check(gradstep_optimizer_set_schedule(c(), group, name.c_str(), &given));
  }
  /// One f64 of the host's that every step reads: borrowed until another value takes its place.
  void set_tensor(const std::string& name, const ConstTensor& tensor, std::int32_t group = kAllGroups) {
    const gradstep_tensor shown = tensor.c();
    check(gradstep_optimizer_set_tensor(c(), group, name.c_str(), &shown));
  }
  /// What the next step would use.
  [[nodiscard]] double get_value(const std::string& name, std::int32_t group = 0) const {
    double found = 0;
    check(gradstep_optimizer_get_value(c(), group, name.c_str(), &found));
    return found;
  }
  [[deprecated("use get_value()")]] double value(const std::string& name, std::int32_t group = 0) const {
    return get_value(name, group);
  }
  [[nodiscard]] std::int32_t group_count() const {
    std::int32_t count = 0;
    check(gradstep_optimizer_group_count(c(), &count));
    return count;
  }
  void add_parameters(const Parameters& parameters) {
    const auto list = detail::c_parameters(parameters);
    check(gradstep_optimizer_add_parameters(c(), list.data(), list.size()));
  }

  /// t, the number of applied steps.
  [[nodiscard]] std::int64_t step_count() const {
    std::int64_t count = 0;
    check(gradstep_optimizer_step_count(c(), &count));
    return count;
  }
  void set_step_count(std::int64_t count) { check(gradstep_optimizer_set_step_count(c(), count)); }

  /// The rule's state names, separated by commas.
  [[nodiscard]] std::string state_names() const {
    return detail::text_of([this](char* buf, std::size_t cap, std::size_t* len) {
      return gradstep_optimizer_state_names(c(), buf, cap, len);
    });
  }
  /// A view, valid until this handle is destroyed or its state is sharded; it may be written to between steps.
  [[nodiscard]] View state(std::size_t index, const std::string& name) & {
    gradstep_tensor tensor{};
    check(gradstep_optimizer_state(c(), index, name.c_str(), &tensor));
    return View(tensor);
  }
  View state(std::size_t index, const std::string& name) && = delete;
  /// Copies, from and to any float dtype.
  void get_state(std::size_t index, const std::string& name, const Tensor& to, void* stream = nullptr) const {
    const gradstep_tensor shown = to.c();
    check(gradstep_optimizer_get_state(c(), index, name.c_str(), &shown, stream));
  }
  void set_state(std::size_t index, const std::string& name, const ConstTensor& from, void* stream = nullptr) {
    const gradstep_tensor shown = from.c();
    check(gradstep_optimizer_set_state(c(), index, name.c_str(), &shown, stream));
  }
  /// Copies the averages of the weights (options average_decay and average_equal; rules asgd and schedule_free) into
  /// tensors of the parameters' shapes and any float dtype. For schedule_free they hold the parameters when the call
  /// begins.
  void average(const TensorList& to, void* stream = nullptr) const {
    check(gradstep_optimizer_average(c(), to.c(), to.size(), stream));
  }
  void copy_state(const Optimizer& source) { check(gradstep_optimizer_copy_state(c(), source.c())); }

  [[nodiscard]] std::vector<Metric> metrics() const {
    return detail::records_of<Metric>(
        [this](Metric* records, std::size_t size, std::size_t capacity, std::size_t* count) {
          return gradstep_optimizer_metrics(c(), records, size, capacity, count);
        });
  }
  [[nodiscard]] Memory memory() const {
    auto found = detail::sized<Memory>();
    check(gradstep_optimizer_memory(c(), &found));
    return found;
  }

  /// Deals the state out to the ranks; collective, as steps are from then on (<gradstep/sharding.h>).
  void shard(Communicator& comm, const ShardingOptions& options = {});
  /// The ranks of a reducer of the same parameters, which brings each of them its share of the gradients; an updater of
  /// both makes the steps.
  void shard(Reducer& reducer, const ShardingOptions& options = {});
  /// The ranks have parts of the parameters (Parameter::whole_shape), which each of them steps; collective, as steps
  /// are from then on (<gradstep/sharding.h>).
  void attach_shards(Communicator& comm);
  /// Gathers the state on every rank again, or ends what attach_shards() began. Collective while it is sharded.
  void unshard() { check(gradstep_optimizer_attach_comm(c(), nullptr, nullptr)); }
  template <class Ranks>
  [[deprecated("use shard()")]] void attach(Ranks& ranks, const ShardingOptions& options = {}) {
    shard(ranks, options);
  }
  [[deprecated("use unshard()")]] void detach() { unshard(); }

  /// Whether no step is under way.
  [[nodiscard]] bool poll() const {
    std::int32_t done = 0;
    check(gradstep_optimizer_poll(c(), &done));
    return done != 0;
  }

  [[nodiscard]] gradstep_optimizer* c() const noexcept { return handle_.get(); }

 private:
  explicit Optimizer(gradstep_optimizer* made) noexcept : handle_(made) {}

  template <auto kCreate, class Options>
  static Optimizer create(const Context& context, const Options& options, const Parameters& parameters) {
    const auto list = detail::c_parameters(parameters);
    gradstep_optimizer* made = nullptr;
    check(kCreate(context.c(), &options, list.data(), list.size(), &made));
    return Optimizer(made);
  }

  StepResult step_ex(const TensorList& params, ConstTensors grads, const gradstep_tensor* updates,
                     const StepOptions& options, void* stream) {
    detail::require_size(grads.size(), params.size(), "grads");
    const gradstep_tensor grad_norm = options.grad_norm.c();
    const gradstep_tensor grad_scale_tensor = options.grad_scale_tensor.c();
    gradstep_tensor found_inf = options.found_inf.c();
    gradstep_tensor outcome = options.outcome.c();
    auto result = detail::sized<StepResult>();
    gradstep_step_options c_options = detail::defaults<gradstep_step_options, gradstep_step_options_init>();
    c_options.skip_nonfinite = options.skip_nonfinite ? 1 : 0;
    c_options.grad_scale = options.grad_scale;
    c_options.max_norm = options.max_norm;
    c_options.clip_value = options.clip_value;
    c_options.grad_norm = grad_norm.data != nullptr ? &grad_norm : nullptr;
    c_options.found_inf = found_inf.data != nullptr ? &found_inf : nullptr;
    c_options.grad_scale_tensor = grad_scale_tensor.data != nullptr ? &grad_scale_tensor : nullptr;
    c_options.outcome = outcome.data != nullptr ? &outcome : nullptr;
    c_options.disjoint = options.disjoint ? 1 : 0;
    c_options.result = &result;
    check(gradstep_optimizer_step_ex(c(), params.c(), grads.c(), updates, params.size(), &c_options, stream));
    return result;
  }

  detail::Handle<gradstep_optimizer, gradstep_optimizer_destroy> handle_;
};

namespace detail {

template <auto kBytes, class Options>
std::int64_t state_bytes(const Options& options, const Parameters& parameters) {
  const auto list = c_parameters(parameters);
  std::int64_t bytes = 0;
  check(kBytes(&options, list.data(), list.size(), &bytes));
  return bytes;
}

}  // namespace detail

/// The bytes of state that an optimizer would have. Nothing is allocated.
inline std::int64_t state_bytes(const std::string& rule, const RuleOptions& options, const Parameters& parameters) {
  const auto list = detail::c_parameters(parameters);
  const auto named = detail::c_options(options);
  std::int64_t bytes = 0;
  check(gradstep_rule_state_bytes(rule.c_str(), named.data(), named.size(), list.data(), list.size(), &bytes));
  return bytes;
}
inline std::int64_t state_bytes(const GroupRule& rule, const Parameters& parameters) {
  return state_bytes(rule.rule, rule.options, parameters);
}
inline std::int64_t state_bytes(const SgdOptions& options, const Parameters& parameters) {
  return detail::state_bytes<gradstep_sgd_state_bytes>(options.c(), parameters);
}
inline std::int64_t state_bytes(const RmsPropOptions& options, const Parameters& parameters) {
  return detail::state_bytes<gradstep_rmsprop_state_bytes>(options.c(), parameters);
}
inline std::int64_t state_bytes(const AdaGradOptions& options, const Parameters& parameters) {
  return detail::state_bytes<gradstep_adagrad_state_bytes>(options.c(), parameters);
}
inline std::int64_t state_bytes(const AdamOptions& options, const Parameters& parameters) {
  return detail::state_bytes<gradstep_adam_state_bytes>(options.c(), parameters);
}
inline std::int64_t state_bytes(const ShampooOptions& options, const Parameters& parameters) {
  return detail::state_bytes<gradstep_shampoo_state_bytes>(options.c(), parameters);
}

}  // namespace gradstep::inline cpp_v0
