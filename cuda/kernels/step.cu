// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <vector>

#include "device/block.h"
#include "kernels/kept_numbers.h"
#include "kernels/program_constants.h"
#include "kernels/schedule.h"
#include "operations.h"
#include "rules/constants.h"
#include "runtime/launch.h"
#include "runtime/table.h"

namespace gradstep::cuda {

/// It has some, which without_padding() makes zero.
template <>
inline constexpr bool kHasNoPadding<kernels::HyperParameterForm> = true;

namespace {

using kernels::HyperParameterForm;
using kernels::StepLimits;
using kernels::StepRequest;
using kernels::StepScalars;
using rules::GroupConstants;

/// Kept from step to step, for each of the constants.
struct KeptPowers {
  rules::Powers powers;
  kernels::Fold fold;
};

/// One block decides, and its threads write the constants, those of a group or of a parameter each.
struct BeginStep {
  static constexpr const char* kName = "begin_step";
  static constexpr int kThreads = 128;
  struct Shared {
    std::int32_t bad[kThreads];
  };

  StepRequest request;
  StepLimits limits;
  const double* norm;  ///< NULL = not asked for
  StepScalars* scalars;
  const rules::RuleForm* rules;  ///< by group; NULL = the host computes the numbers
  std::int32_t fields;
  std::int32_t groups;
  std::int32_t count;                  ///< of constants
  const std::int32_t* group_of;        ///< by constants; NULL = they are by group
  const double* const* counts;         ///< t of each; NULL = that of the optimizer
  const rules::NumberPlaces* numbers;  ///< by constants; NULL = rules keep none
  const HyperParameterForm* forms;     ///< [group][field]; NULL = values
  const double* values;
  GroupConstants* constants;
  KeptPowers* powers;
  const DeviceProgram* programs;  ///< by group; NULL = there are none
  double* program_numbers;        ///< as many for each of constants
  std::int64_t numbers_each;
  bool all_used;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    StepScalars& s = *block.checked(scalars);
    if (block.thread() == 0) {
      const double measured = norm != nullptr ? block.load(norm) : __builtin_nan("");
      kernels::decide(request, limits, measured, measured, s);
    }
    block.sync();
    std::int32_t bad = fields * groups;
    if (s.gate != 0 && rules != nullptr) {
      for (std::int32_t k = block.thread(); k < count; k += kThreads) {
        const std::int32_t found = write_constants(block, k, s.steps);
        bad = found < bad ? found : bad;
      }
    }
    shared.bad[block.thread()] = bad;
    block.sync();
    if (block.thread() != 0) return;
    for (int t = 1; t < kThreads && t < count; ++t) bad = shared.bad[t] < bad ? shared.bad[t] : bad;
    if (bad < fields * groups) kernels::fail_step(bad, s);
    kernels::report(request, s);
  }

  /// The position of the first hyper-parameter that is out of its range, or that behind the last.
  GRADSTEP_DEVICE std::int32_t write_constants(Block& block, std::int32_t k, std::int64_t t) const {
    const std::int32_t g = group_of != nullptr ? block.load(group_of + k) : k;
    double evaluated[rules::kMaxFields];
    const double* own = evaluated;
    if (forms != nullptr) {
      const std::int32_t bad = kernels::evaluate(block.checked(forms + g * fields, fields), fields, t, evaluated);
      if (bad < fields) return g * fields + bad;
    } else {
      own = block.checked(values + g * fields, fields);
    }
    if (counts != nullptr) t = static_cast<std::int64_t>(block.load(block.load(counts + k)));
    const rules::RuleForm& rule = *block.checked(rules + g);
    GroupConstants& to = *block.checked(constants + k);
    if (programs != nullptr && block.checked(programs + g)->constants != nullptr) {
      const DeviceProgram& program = *block.checked(programs + g);
      rules::write_decay(rule, own, program.weight_decay, program.learning_rate, to.usual);
      rules::text::begin_constants(block.checked(program.constants, program.count), program.count, own, t,
                                   block.checked(program_numbers + k * numbers_each, program.count));
      return fields * groups;
    }
    KeptPowers& kept = *block.checked(powers + k);
    const KeptNumbers held = numbers != nullptr ? KeptNumbers(block, *block.checked(numbers + k)) : KeptNumbers();
    rules::write_constants(rule, own, t, /*is_first=*/false, held.of, kept.powers, kept.fold, to.usual);
    if (!all_used) rules::write_constants(rule, own, t, /*is_first=*/true, held.of, kept.powers, kept.fold, to.first);
    return fields * groups;
  }
};

struct CloseStep {
  static constexpr const char* kName = "close_step";
  static constexpr int kThreads = 1;

  StepScalars* scalars;

  GRADSTEP_DEVICE void operator()(Block& block) const { kernels::close_step(*block.checked(scalars)); }
};

/// Closed forms on the device: the points of piecewise ones are in the table as well.
struct PreparedStep {
  Table rules;
  Table program_constants;
  Table programs;
  Table forms;
  std::vector<Table> points;
  Table values;
  ScratchBuffer powers;
  ScratchBuffer norm;
  std::vector<HyperParameterForm> shown;

  std::size_t bytes() const {
    return held_bytes(rules, program_constants, programs, forms, points, values, powers, norm, shown);
  }
};

/// Copies the form with zeros between its fields.
HyperParameterForm without_padding(const HyperParameterForm& from) {
  HyperParameterForm to;
  std::memset(static_cast<void*>(&to), 0, sizeof to);
  to.schedule.kind = from.schedule.kind;
  to.schedule.staircase = from.schedule.staircase;
  to.schedule.init_value = from.schedule.init_value;
  to.schedule.end_value = from.schedule.end_value;
  to.schedule.decay_steps = from.schedule.decay_steps;
  to.schedule.decay_rate = from.schedule.decay_rate;
  to.schedule.power = from.schedule.power;
  to.schedule.warmup_steps = from.schedule.warmup_steps;
  to.schedule.n_points = from.schedule.n_points;
  to.schedule.boundaries = from.schedule.boundaries;
  to.schedule.values = from.schedule.values;
  to.schedule.number = from.schedule.number;
  to.minimum = from.minimum;
  to.limit = from.limit;
  return to;
}

void send_forms(PreparedStep& form, const StepPlan& plan, CudaQueue& queue) {
  form.shown.resize(plan.forms.size());
  form.points.resize(plan.forms.size());
  for (std::size_t i = 0; i < form.shown.size(); ++i) {
    form.shown[i] = without_padding(plan.forms[i]);
    kernels::ScheduleForm& schedule = form.shown[i].schedule;
    if (schedule.kind != kernels::ScheduleKind::piecewise) continue;
    const auto count = static_cast<std::size_t>(schedule.n_points);
    Table& points = form.points[i];
    points.begin(queue);
    const auto boundaries = points.add(schedule.boundaries, count - 1);
    const auto values = points.add(schedule.values, count);
    points.send();
    schedule.boundaries = points.at(boundaries);
    schedule.values = points.at(values);
  }
}

}  // namespace

void begin_step(const StepPlan& plan, const StepRequest& request, const double* values, StepScalars* scalars,
                CudaQueue& queue) {
  auto& form = plan.prepared.get<PreparedStep>();
  const bool is_form = !plan.rules.empty();
  if (values != nullptr) {
    queue.check_not_capturing(is_form ? "the host evaluates a schedule" : "the host computes this rule's numbers");
  }
  const double* norm = request.norm;
  if (norm == nullptr && request.depends_on_norm()) {
    auto* measured = form.norm.of<double>(queue, 1);
    measure(plan.gradients, measured, queue);
    norm = measured;
  }
  BeginStep kernel{};
  kernel.request = request;
  kernel.limits = plan.limits;
  kernel.norm = norm;
  kernel.scalars = scalars;
  kernel.fields = plan.fields;
  kernel.groups = static_cast<std::int32_t>(plan.rules.size());
  kernel.count = static_cast<std::int32_t>(plan.constants.size());
  kernel.group_of = plan.group_of;
  kernel.counts = plan.counts;
  kernel.numbers = plan.numbers;
  kernel.constants = plan.constants.data();
  kernel.all_used = plan.all_used;
  if (is_form) {
    form.rules.begin(queue);
    const auto rules = form.rules.add(plan.rules.data(), plan.rules.size());
    form.rules.send();
    kernel.rules = form.rules.at(rules);
    if (!plan.program_numbers.empty()) {
      const ProgramConstants constants(form.program_constants, plan.programs, queue);
      std::vector<DeviceProgram> programs;
      for (const rules::text::Code* program : plan.programs) programs.push_back(constants.of(program));
      form.programs.begin(queue);
      const auto section = form.programs.add(programs);
      form.programs.send();
      kernel.programs = form.programs.at(section);
      kernel.program_numbers = plan.program_numbers.data();
      kernel.numbers_each = static_cast<std::int64_t>(plan.program_numbers.size() / plan.constants.size());
    }
    kernel.powers = form.powers.filled(queue, plan.constants.size(), KeptPowers{});
    if (values != nullptr) {
      form.values.begin(queue);
      const auto section = form.values.add(values, plan.rules.size() * static_cast<std::size_t>(plan.fields));
      form.values.send();
      kernel.values = form.values.at(section);
    } else {
      send_forms(form, plan, queue);
      form.forms.begin(queue);
      const auto section = form.forms.add(form.shown);
      form.forms.send();
      kernel.forms = form.forms.at(section);
    }
  }
  launch(queue, 1, kernel);
}

void close_step(StepScalars* scalars, CudaQueue& queue) { launch(queue, 1, CloseStep{scalars}); }

}  // namespace gradstep::cuda
