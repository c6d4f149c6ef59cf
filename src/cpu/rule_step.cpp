// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/rule_step.h"

#include <iterator>
#include <limits>
#include <vector>

#include "core/held_bytes.h"
#include "cpu/compact_chunk.h"
#include "kernels/gradient_units.h"
#include "rules/text/code.h"

namespace gradstep::cpu {

namespace {

/// What is kept of a step's plan.
struct StepForm {
  StepForm() = default;
  explicit StepForm(const StepPlan& plan)
      : powers(plan.rules.size()), kept(plan.constants.size()), values(static_cast<std::size_t>(plan.fields)) {}

  std::size_t bytes() const { return held_bytes(powers, kept, values); }

  std::vector<rules::Powers> powers;  // by group
  std::vector<kernels::Fold> kept;    // as constants
  std::vector<double> values;         // of one group
};

/// The numbers of a parameter; 0 in place of those that it does not have.
struct Numbers {
  Numbers() = default;
  explicit Numbers(const rules::NumberPlaces& places) {
    for (std::size_t i = 0; i < std::size(of); ++i) of[i] = places.of[i] != nullptr ? *places.of[i] : 0;
  }
  void store(const rules::NumberPlaces& places) const {
    for (std::size_t i = 0; i < std::size(of); ++i) {
      if (places.of[i] != nullptr) *places.of[i] = of[i];
    }
  }
  double of[rules::kMaxNumbers] = {};
};

void write_constants(const StepPlan& plan, const double* values, kernels::StepScalars& scalars) {
  auto& form = plan.prepared.get<StepForm>();
  if (form.powers.size() != plan.rules.size() || form.kept.size() != plan.constants.size()) form = StepForm(plan);
  for (std::size_t k = 0; k < plan.constants.size(); ++k) {
    const std::size_t g = plan.group_of != nullptr ? static_cast<std::size_t>(plan.group_of[k]) : k;
    const double* own = values != nullptr ? values + g * form.values.size() : form.values.data();
    if (values == nullptr) {
      const kernels::HyperParameterForm* forms = plan.forms.data() + g * form.values.size();
      const std::int32_t bad = kernels::evaluate(forms, plan.fields, scalars.steps, form.values.data());
      if (bad < plan.fields) return kernels::fail_step(static_cast<std::int32_t>(g) * plan.fields + bad, scalars);
    }
    const std::int64_t t = plan.counts != nullptr ? static_cast<std::int64_t>(*plan.counts[k]) : scalars.steps;
    const Numbers numbers = plan.numbers != nullptr ? Numbers(plan.numbers[k]) : Numbers();
    rules::GroupConstants& to = plan.constants[k];
    if (const auto* program = plan.programs.empty() ? nullptr : plan.programs[g]; program != nullptr) {
      rules::write_decay(plan.rules[g], own, program->weight_decay, program->learning_rate, to.usual);
      rules::text::begin_constants(
          program->constants, program->constant_count, own, t,
          plan.program_numbers.data() + k * (plan.program_numbers.size() / plan.constants.size()));
      continue;
    }
    const auto write = [&](bool is_first, rules::RuleConstants& constants) {
      rules::write_constants(plan.rules[g], own, t, is_first, numbers.of, form.powers[g], form.kept[k], constants);
    };
    write(false, to.usual);
    if (!plan.all_used) write(true, to.first);
  }
}

/// `size` times 1.
struct Ones {
  explicit Ones(std::int64_t count) : size(count) {
    array.data = const_cast<float*>(&kOne);
    array.size = size;
    array.ndim = 1;
    array.shape = &size;
    array.strides = &kNoStride;
  }
  Ones(const Ones&) = delete;
  Ones& operator=(const Ones&) = delete;

  static constexpr float kOne = 1;
  static constexpr std::int64_t kNoStride = 0;
  std::int64_t size;
  Array array;
};

Array change_of(const FinishItem& item) {
  const UpdateItem& operands = item.item;
  return compact_array(operands.states[0], operands.param->size, arithmetic_dtype(operands.param->dtype));
}

/// What all items of an update, or of the sums before it, share.
template <class Plan>
UpdateScalars scalars_of(const Plan& plan, const kernels::StepScalars& scalars) {
  UpdateScalars step;
  step.grad_multiplier = plan.maximize ? -scalars.grad_multiplier : scalars.grad_multiplier;
  step.clip_bound = plan.clip_value > 0 ? plan.clip_value : std::numeric_limits<double>::infinity();
  step.step = scalars.steps;
  return step;
}

/// The sign of what the rule saw, beside the host's gradient.
double gradient_sign(const FinishPlan& plan, const kernels::StepScalars& scalars) {
  return (scalars.grad_multiplier < 0) != plan.maximize ? -1 : 1;
}

/// The sign of what is added to the parameter, beside the change.
double direction_sign(const FinishItem& item) { return subtracts(item.scale) ? -1 : 1; }

/// What the change of a parameter is multiplied by.
double factor_of(const FinishPlan& plan, const FinishItem& item) {
  const auto sum = [&](const double* partials) {
    return fold_partials({partials + item.first, static_cast<std::size_t>(item.count)});
  };
  const double rate = item.item.constants->usual.learning_rate;
  double factor = 1;
  if (item.scale == ChangeScale::step) factor = -rate * item.step_scale;
  if (item.scale == ChangeScale::factored) factor = *item.factor;
  if (item.scale == ChangeScale::trust_ratio) factor = rules::trust_ratio(sum(plan.values), sum(plan.changes), rate);
  if (item.cautious == CautiousUpdate::off) return factor;
  return factor * rules::cautious_factor(item.cautious == CautiousUpdate::mean, sum(plan.staying),
                                         static_cast<double>(item.size));
}

}  // namespace

void RuleStep::begin(const StepPlan& plan, const kernels::StepRequest& request, const double* values,
                     kernels::StepScalars* scalars, Queue& queue) {
  double norm = std::numeric_limits<double>::quiet_NaN();
  if (request.norm != nullptr) {
    norm = *request.norm;
  } else if (request.depends_on_norm()) {
    backend_.measure(plan.gradients, &norm, queue);
  }
  double largest = norm;
  if (request.largest != nullptr) {
    largest = *request.largest;
  } else if (!request.is_part && kernels::depends_on_elements(request, plan.limits, norm)) {
    backend_.find_largest(plan.gradients, &largest, queue);
  }
  kernels::decide(request, plan.limits, norm, largest, *scalars);
  if (scalars->gate != 0 && !plan.rules.empty()) {
    write_constants(plan, values, *scalars);
  }
  kernels::report(request, *scalars);
}

void RuleStep::shape_gradients(const UnitPlan& plan, const kernels::StepScalars* scalars) {
  if (scalars->gate == 0) return;
  const std::span<const Chunk> chunks = plan.work->chunks();
  auto& dots = plan.prepared.get<std::vector<Dots>>();
  dots.resize(chunks.size());
  for_each_chunk(chunks, [&](std::size_t i) {
    const UnitItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
    if (item.gradient.data == nullptr) return;
    const Ones ones(item.gradient.size);
    dots[i] = loops_.dot(item.gradient, item.clip > 0 ? item.value : ones.array, chunks[i]);
  });
  for_each_chunk(chunks, [&](std::size_t i) {
    const UnitItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
    if (item.gradient.data == nullptr) return;
    const auto place = static_cast<std::int64_t>(i) - item.first;
    const auto pieces = static_cast<std::size_t>(item.chunks_of_unit());
    const auto begin = static_cast<std::size_t>(item.first) + static_cast<std::size_t>(place) / pieces * pieces;
    Dots sum;
    for (std::size_t k = begin; k < begin + pieces; ++k) {
      sum.ab += dots[k].ab;
      sum.aa += dots[k].aa;
      sum.bb += dots[k].bb;
    }
    const Ones ones(item.gradient.size);
    CombineItem shaped{item.to, item.gradient, {}, 1, 0};
    if (item.clip > 0) {
      shaped.a_factor = kernels::unit_clip_factor(item.clip, item.epsilon, sum.aa, sum.bb, scalars->grad_multiplier);
    } else {
      shaped.b = ones.array;
      shaped.b_factor = -sum.ab / static_cast<double>(item.length);
    }
    loops_.combine(shaped, chunks[i]);
  });
}

void RuleStep::measure_sums(const SumsPlan& plan, const kernels::StepScalars* scalars, rules::Sums* partials) {
  const std::span<const Chunk> chunks = plan.work->chunks();
  const UpdateScalars step = scalars_of(plan, *scalars);
  for_each_chunk(chunks, [&](std::size_t i) {
    const UpdateItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
    partials[i] = {};
    if (item.program != nullptr && item.program->sum_count == 0) return;
    const auto& loops =
        item.program != nullptr ? loops_.measure_program : loops_.measure[static_cast<std::size_t>(item.kernel)];
    const Loops::Measure run = loops[item.param->dtype == DType::f64 ? 1 : 0];
    if (run == nullptr || scalars->gate == 0 || item.gradient->data == nullptr) return;
    read_chunk(item, chunks[i],
               [&](const UpdateItem& operands, const Chunk& chunk) { partials[i] = run(operands, chunk, step); });
  });
}

void RuleStep::settle(const SumsPlan& plan, const kernels::StepScalars* scalars) {
  if (scalars->gate == 0) return;
  auto& sums = plan.prepared.get<std::vector<rules::Sums>>();
  sums.assign(plan.settled.size(), {});
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const SettledItem& item = plan.settled[i];
    for (int s = 0; s < item.sum_count && item.count > 0; ++s) {
      sums[item.place_of_sum(i, s)].of[s] +=
          kernels::fold<double>(item.count, [&](std::int64_t c) { return plan.sums[item.first + c].of[s]; });
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const SettledItem& item = plan.settled[i];
    if (item.constants == nullptr || (!item.has_gradient && item.leader < 0)) continue;
    rules::Sums own;
    for (int s = 0; s < item.sum_count; ++s) own.of[s] = sums[item.place_of_sum(i, s)].of[s];
    if (item.program != nullptr) {
      rules::text::settle_constants(item.program->constants, item.program->constant_count, own.of, item.size,
                                    item.program_numbers);
      continue;
    }
    Numbers numbers(item.numbers);
    rules::advance(item.rule, own.of, numbers.of, *item.used != 0 ? item.constants->usual : item.constants->first);
    numbers.store(item.numbers);
  }
}

void RuleStep::update(const UpdatePlan& plan, kernels::StepScalars* scalars) {
  const std::span<const Chunk> chunks = plan.work->chunks();
  const bool is_open = scalars->gate != 0;
  const UpdateScalars step = scalars_of(plan, *scalars);
  for_each_chunk(chunks, [&](std::size_t i) {
    const UpdateItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
    if (is_open && item.gradient->data != nullptr) {
      const bool is_wide = item.param->dtype == DType::f64;
      const auto& loops =
          item.program != nullptr ? loops_.update_program : loops_.update[static_cast<std::size_t>(item.kernel)];
      const Loops::Update run = loops[is_wide ? 1 : 0];
      update_chunk(item, chunks[i],
                   [&](const UpdateItem& operands, const Chunk& chunk) { run(operands, chunk, step); });
    } else if (item.update->data != nullptr) {
      loops_.copy(CopyItem{*item.update, {}}, chunks[i], 1, 1);
    }
  });
  if (!is_open) return;
  if (!plan.all_used || plan.counts_each) {
    for (const UpdateItem& item : plan.items) {
      if (item.gradient->data == nullptr) continue;
      *item.used = 1;
      if (item.count != nullptr) ++*item.count;
    }
  }
  kernels::close_step(*scalars);
}

/// run(item, chunk) of a parameter and a gradient that loops read well.
template <class Run>
void RuleStep::read_chunk(const UpdateItem& item, const Chunk& chunk, Run run) {
  if (!CompactChunk::is_for(*item.param) && !CompactChunk::is_for(*item.gradient)) return run(item, chunk);
  CompactChunk param(loops_, *item.param, chunk);
  CompactChunk gradient(loops_, *item.gradient, chunk);
  UpdateItem compact = item;
  const Array compact_param = param.read();
  const Array compact_gradient = gradient.read();
  compact.param = &compact_param;
  compact.gradient = &compact_gradient;
  run(compact, chunk);
}

/// Likewise, and what the run has written to the parameter or the update goes there.
template <class Run>
void RuleStep::update_chunk(const UpdateItem& item, const Chunk& chunk, Run run) {
  if (!CompactChunk::is_for(*item.param) && !CompactChunk::is_for(*item.gradient) &&
      !CompactChunk::is_for(*item.update)) {
    return run(item, chunk);
  }
  CompactChunk param(loops_, *item.param, chunk);
  CompactChunk gradient(loops_, *item.gradient, chunk);
  CompactChunk delta(loops_, *item.update, chunk);
  UpdateItem compact = item;
  const Array compact_param = param.read();
  const Array compact_gradient = gradient.read();
  const Array compact_update = delta.place();
  compact.param = &compact_param;
  compact.gradient = &compact_gradient;
  compact.update = &compact_update;
  run(compact, chunk);
  item.update->data != nullptr ? delta.write() : param.write();
}

void RuleStep::count_staying(const FinishPlan& plan, const kernels::StepScalars* scalars, double* partials) {
  const std::span<const Chunk> chunks = plan.work->chunks();
  for_each_chunk(chunks, [&](std::size_t i) {
    const FinishItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
    partials[i] = 0;
    if (item.cautious == CautiousUpdate::off || item.item.gradient->data == nullptr || scalars->gate == 0) return;
    partials[i] = static_cast<double>(loops_.count_opposed(change_of(item), *item.item.gradient, chunks[i],
                                                           gradient_sign(plan, *scalars) * direction_sign(item) < 0));
  });
}

void RuleStep::finish(const FinishPlan& plan, const kernels::StepScalars* scalars) {
  const bool is_open = scalars->gate != 0;
  auto& factors = plan.prepared.get<std::vector<double>>();
  factors.resize(plan.items.size());
  for (std::size_t i = 0; i < factors.size() && is_open; ++i) {
    if (plan.items[i].item.gradient->data != nullptr) factors[i] = factor_of(plan, plan.items[i]);
  }
  UpdateScalars step;
  step.grad_multiplier = gradient_sign(plan, *scalars);
  step.clip_bound = std::numeric_limits<double>::infinity();
  step.step = scalars->steps - scalars->gate;  // update() has closed it
  const std::span<const Chunk> chunks = plan.work->chunks();
  for_each_chunk(chunks, [&](std::size_t i) {
    const auto at = static_cast<std::size_t>(chunks[i].item);
    const FinishItem& item = plan.items[at];
    if (is_open && item.item.gradient->data != nullptr) {
      const int decays = !item.decays ? 0 : item.decays_aligned ? 2 : 1;
      const Loops::Finish run = loops_.finish[item.cautious != CautiousUpdate::off ? 1 : 0][decays];
      update_chunk(item.item, chunks[i], [&](const UpdateItem& operands, const Chunk& chunk) {
        run(operands, chunk, step, factors[at], item.item.constants->usual.decay);
      });
    } else if (item.item.update->data != nullptr) {
      loops_.copy(CopyItem{*item.item.update, {}}, chunks[i], 1, 1);
    }
  });
}

void RuleStep::average(const AveragePlan& plan, const kernels::StepScalars* scalars) {
  if (scalars->gate == 0) return;
  const std::span<const Chunk> chunks = plan.work->chunks();
  for_each_chunk(chunks, [&](std::size_t i) {
    const AverageItem& item = plan.items[static_cast<std::size_t>(chunks[i].item)];
    const double share = kernels::kept_share(item.form, *item.count);
    if (share == 1) return;
    if (share == 0) return loops_.copy(CopyItem{item.average, item.value}, chunks[i], 1, 1);
    loops_.combine(CombineItem{item.average, item.average, item.value, share, 1 - share}, chunks[i]);
  });
  for (const AverageItem& item : plan.items) ++*item.count;
}

}  // namespace gradstep::cpu
