// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/sums_phase.h"

#include <map>
#include <utility>

namespace gradstep {

void SumsPhase::fill(std::span<const UpdateItem> items, std::span<const rules::NumberPlaces> numbers,
                     const RulesByGroup& rules, const Schema& schema, const WorkList& work, const Sharding* sharding) {
  settled_.clear();
  measures_ = false;
  if (!rules.settles()) return;
  std::map<std::pair<std::int32_t, const void*>, std::int32_t> leaders;  // by rule
  std::int64_t first = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const Rule& rule = rules.of(schema[i].group);
    SettledItem& item = settled_.emplace_back();
    const std::int64_t chunks = sharding != nullptr ? sharding->partials().count(i) : chunks_of(schema[i].size);
    item.first = first;
    first += chunks;
    if (!rule.type().settles) continue;
    item.rule = rule.form();
    item.numbers = numbers[i];
    item.constants = const_cast<rules::GroupConstants*>(items[i].constants);
    item.used = items[i].used;
    item.has_gradient = items[i].gradient->data != nullptr;
    item.program = items[i].program;
    item.program_numbers = const_cast<double*>(items[i].numbers);
    item.size = static_cast<double>(schema[i].whole_size());
    item.sum_count = rule.type().sums;
    item.shared_sums = rule.shared_sums();
    if (item.sum_count == 0) continue;
    measures_ = true;
    item.count = chunks;
    if (item.shared_sums == 0) continue;
    const std::pair<std::int32_t, const void*> key(item.rule.rule, item.program);
    item.leader = leaders.try_emplace(key, static_cast<std::int32_t>(i)).first->second;
  }
  const std::int64_t chunks = sharding != nullptr ? sharding->partials().count() : std::ssize(work.chunks());
  site_.fit(partials_, measures_ ? chunks * static_cast<std::int64_t>(sizeof(rules::Sums)) : 0, /*zeroed=*/true);
  plan_.work = &work;
  plan_.items = items;
  plan_.settled = settled_;
  plan_.sums = partials_.as<rules::Sums>();
  plan_.prepared.forget();
}

void SumsPhase::run(const UpdatePlan& update, const kernels::StepScalars* scalars, const Sharding* sharding) {
  Backend& backend = site_.backend();
  Queue& queue = site_.queue();
  plan_.maximize = update.maximize;
  plan_.clip_value = update.clip_value;
  if (measures_) {
    const auto measure = [&](rules::Sums* to) { backend.measure_sums(plan_, scalars, to, queue); };
    auto* all = partials_.as<rules::Sums>();
    if (sharding == nullptr) {
      measure(all);
    } else {
      sharding->partials().gather<rules::Sums>(measure, all, sharding->comm().deadline());
      sharding->data().settle(sharding->comm().deadline());
    }
  }
  backend.settle(plan_, scalars, queue);
}

}  // namespace gradstep
