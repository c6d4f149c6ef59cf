// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/first_order/defined_rules.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "optim/first_order/second_names.h"
#include "optim/first_order/shared_options.h"
#include "optim/state/state_store.h"

namespace gradstep {

namespace {

/// A host that makes texts without end gets an error before memory ends.
constexpr std::size_t kMostRules = 4096;

struct Defined {
  std::shared_ptr<const rules::text::Program> program;
  RuleType type;
};

/// Not destroyed: threads may outlive the library's destructors.
struct Registry {
  std::mutex mutex;
  std::deque<Defined> rules;  // whose elements stay where they are
};
Registry& registry() {
  static Registry& made = *new Registry;
  return made;
}

/// Names that a text cannot take.
struct ReservedNames {
  ReservedNames() {
    for (const RuleType& type : rule_types()) rules.push_back(type.about.name);
    for (const SecondName& second : kSecondNames) rules.push_back(second.name);
    rules.push_back("shampoo");
    for (const RuleOption& option : kSharedOptions) options.push_back(option.name);
  }

  std::vector<const char*> rules;
  std::vector<const char*> options;
  std::vector<const char*> states = {kMasterWeights, kWeightAverage, kWeightAverageCount, kStepCount};
};

}  // namespace

const RuleType& define_rule(std::string_view text) {
  static const ReservedNames reserved;
  auto program = rules::text::Program::compile(text, {reserved.rules, reserved.options, reserved.states});
  const std::string_view name = program->about().name;
  const std::scoped_lock lock(registry().mutex);
  std::deque<Defined>& rules = registry().rules;
  const auto known = std::ranges::find(rules, name, [](const Defined& rule) { return rule.type.about.name; });
  if (known != rules.end()) {
    if (known->program->words() == program->words()) return known->type;
    fail_argument("text: expected another name than {}, which has another text already:\n{}", name,
                  known->program->text());
  }
  if (rules.size() == kMostRules)
    fail_argument("text: there are {} rules of texts already, expected fewer", kMostRules);
  const rules::text::Program& own = *program;
  rules.push_back({std::move(program), program_rule(own)});
  return rules.back().type;
}

std::size_t rule_count() {
  const std::scoped_lock lock(registry().mutex);
  return rule_types().size() + registry().rules.size();
}

const RuleType& rule_at(std::size_t index) {
  if (index < rule_types().size()) return rule_types()[index];
  const std::scoped_lock lock(registry().mutex);
  return registry().rules[index - rule_types().size()].type;
}

}  // namespace gradstep
