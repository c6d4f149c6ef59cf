// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/saved_optimizer.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/json_text.h"

namespace gradstep {

namespace {

constexpr const char* kRule = "rule";
constexpr const char* kSteps = "step_count";
constexpr const char* kSkipped = "skipped_steps";
constexpr const char* kUnused = "unused_parameters";
constexpr const char* kHyperParameters = "hyper_parameters";

std::string key_of(const Schema& schema, const StoredState& stored) {
  return schema[stored.parameter].name + "/" + stored.name;
}

/// States are shaped as their parameters unless they say else; factors of block codes are a list.
std::vector<std::int64_t> shape_of(const Schema& schema, const StoredState& stored) {
  if (!stored.shape.empty()) return stored.shape;
  const Parameter& parameter = schema[stored.parameter];
  return stored.is_blocked ? std::vector<std::int64_t>{stored.total} : parameter.shape;
}

nlohmann::json hyper_parameters_of(const Optimizer& optimizer) {
  nlohmann::json groups = nlohmann::json::array();
  for (std::int32_t g = 0; g < optimizer.group_count(); ++g) {
    nlohmann::json values = nlohmann::json::object();
    for (const char* name : optimizer.hyper_parameter_names()) values[name] = optimizer.get_value(g, name);
    groups.push_back(values);
  }
  return groups;
}

}  // namespace

SavedPart save_optimizer(Optimizer& optimizer) {
  optimizer.check_state_is_whole();
  const Schema& schema = optimizer.schema();
  SavedPart part;
  save_parameters(part, schema);
  part.set(kRule, optimizer.kind());
  part.set(kSteps, optimizer.step_count());
  part.set(kSkipped, optimizer.skipped_steps());
  part.set(kHyperParameters, hyper_parameters_of(optimizer).dump());
  nlohmann::json unused = nlohmann::json::array();
  const std::vector<std::uint8_t> used = optimizer.state_flags();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] == 0) unused.push_back(schema[i].name);
  }
  part.set(kUnused, json_text(unused));
  for (const StoredState& stored : optimizer.stored_states()) {
    SavedTensor tensor;
    tensor.key = key_of(schema, stored);
    tensor.dtype = stored.array.dtype;
    tensor.shape = shape_of(schema, stored);
    tensor.data = stored.array.data;
    if (optimizer.is_sharded() || !optimizer.site().is_host())
      tensor.gather = [&optimizer, stored] { return optimizer.gather(stored); };
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

std::function<void()> load_optimizer(LoadedPart& part, Optimizer& optimizer) {
  const Schema& schema = optimizer.schema();
  if (part.text(kRule) != optimizer.kind()) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved state is that of {}, the optimizer is {}", part.text(kRule),
         optimizer.kind());
  }
  check_parameters(part, schema);
  const std::int64_t steps = part.integer(kSteps);
  const std::int64_t skipped = part.integer(kSkipped);
  std::set<std::string> unused;
  const auto names = nlohmann::json::parse(part.text(kUnused), nullptr, /*allow_exceptions=*/false);
  if (!names.is_array()) fail(GRADSTEP_ERR_CORRUPT, "the saved state's '{}' is no list", kUnused);
  for (const auto& name : names) {
    if (!name.is_string()) fail(GRADSTEP_ERR_CORRUPT, "the saved state's '{}' is no list of names", kUnused);
    unused.insert(name.get<std::string>());
  }
  std::vector<std::uint8_t> flags;
  flags.reserve(schema.size());
  for (const Parameter& parameter : schema) flags.push_back(unused.count(parameter.name) == 0 ? 1 : 0);

  struct Move {
    Array to;
    const std::byte* from;
  };
  std::vector<Move> moves;
  for (const StoredState& stored : optimizer.stored_states()) {
    const auto& tensor = part.finite_tensor(key_of(schema, stored), stored.array.dtype, shape_of(schema, stored));
    moves.push_back({stored.array, tensor.data + stored.begin * size_of(stored.array.dtype)});
  }
  part.check_all_taken();
  return [&optimizer, moves, flags, steps, skipped] {
    for (const Move& move : moves) {
      optimizer.site().queue().upload(move.to.data, move.from, static_cast<std::size_t>(move.to.bytes()));
    }
    optimizer.set_state_flags(flags);
    optimizer.set_counters(steps, skipped);
    optimizer.context()->log().write(GRADSTEP_LOG_INFO, "optimizer {}: loaded a state of {} steps", optimizer.kind(),
                                     steps);
  };
}

}  // namespace gradstep
