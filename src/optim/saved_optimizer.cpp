// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/saved_optimizer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "core/error.h"
#include "core/json_text.h"
#include "core/shape.h"
#include "core/state_header.h"
#include "optim/first_order/dynamic_code.h"
#include "optim/parts.h"
#include "optim/state_gather.h"
#include "rules/text/lexer.h"

namespace gradstep {

namespace {

constexpr const char* kRule = "rule";
constexpr const char* kRuleText = "rule_text";
constexpr const char* kSteps = "step_count";
constexpr const char* kSkipped = "skipped_steps";
constexpr const char* kUnused = "unused_parameters";
constexpr const char* kHyperParameters = "hyper_parameters";
// How 8-bit codes are to be read: kernels/block_code.h. Files without it have the dynamic code.
constexpr const char* kBlockCode = "block_code";
constexpr const char* kOctaves = "octaves";

std::string key_of(const Schema& schema, const StoredState& stored) {
  return schema[stored.parameter].name + "/" + stored.name;
}

/// States are shaped as their parameters unless they say else; factors of block codes are a list.
std::vector<std::int64_t> shape_of(const Schema& schema, const StoredState& stored) {
  if (!stored.shape.empty()) return stored.shape;
  if (stored.is_blocked) return {stored.total};
  const std::span<const std::int64_t> shape = schema[stored.parameter].whole_shape();
  return {shape.begin(), shape.end()};
}

/// Whether the stored array is a box of the whole, not a slice.
bool is_box(const Parameter& parameter, const StoredState& stored) {
  return parameter.is_part() && stored.owner < 0 && !stored.is_whole && stored.shape.empty() && !stored.is_blocked;
}

/// A list of what the groups have.
std::string hyper_parameters_of(const Optimizer& optimizer) {
  std::vector<std::map<std::string_view, double>> groups(
      static_cast<std::size_t>(optimizer.hyper_parameters().group_count()));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const auto group = static_cast<std::int32_t>(g);
    for (const rules::Field& field : optimizer.hyper_parameters().fields(group)) {
      groups[g][field.name] = optimizer.get_value(group, field.name);
    }
  }
  std::string json;
  append_json_list(json, groups, [&](const auto& values) {
    append_json_object(json, values, [&](double value) { append_json(json, value); });
  });
  return json;
}

bool is_coded(const StoredState& stored) { return stored.code != StoredState::Code::none; }

/// Throws UNSUPPORTED for a code of a later version.
bool has_dynamic_code(const LoadedPart& part) {
  if (!part.has_text(kBlockCode)) return true;
  if (part.text(kBlockCode) != kOctaves) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "the saved state's '{}' is '{}', this version of gradstep reads '{}'", kBlockCode,
         part.text(kBlockCode), kOctaves);
  }
  return false;
}

/// What is to be written into a buffer of the optimizer.
struct Move {
  Array to;
  const std::byte* from;
  std::shared_ptr<const void> own;  ///< what `from` points into, if not the file
};

/// Rules that are written as text step alike where their words are equal.
void check_rule_texts(const LoadedPart& part, const Optimizer& optimizer) {
  const std::string saved = part.has_text(kRuleText) ? part.text(kRuleText) : "";
  if (saved == optimizer.rule_texts()) return;
  std::string words;
  try {
    words = rules::text::canonical(saved);
  } catch (const Error&) {
    corrupt("its '{}' is none", kRuleText);
  }
  if (words == rules::text::canonical(optimizer.rule_texts())) return;
  fail(GRADSTEP_ERR_MISMATCH, "the saved state was made by another text of {}:\n{}", optimizer.kind(), saved);
}

/// From the beginning of this rank's part on.
const std::byte* own_part(const StateFile::Tensor& tensor, const StoredState& stored) {
  return tensor.data + (stored.begin * size_of(stored.array.dtype) - tensor.first);
}

/// The elements of a box, one after the other.
Move move_of_box(const StateFile::Tensor& tensor, const StoredState& stored, const Parameter& parameter) {
  const std::int64_t each = size_of(stored.array.dtype);
  const auto own = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(stored.array.bytes()));
  std::byte* to = own->data();
  for_each_run(parameter.whole_shape(), box_of(parameter), [&](std::int64_t begin, std::int64_t count) {
    std::memcpy(to, tensor.data + (begin * each - tensor.first), static_cast<std::size_t>(count * each));
    to += count * each;
  });
  return {stored.array, own->data(), own};
}

/// The bytes of the whole from the first element of a box to its last one.
TensorPart bytes_around(const Parameter& parameter, std::int64_t each) {
  TensorPart part;
  for_each_run(parameter.whole_shape(), box_of(parameter), [&](std::int64_t begin, std::int64_t count) {
    if (part.bytes == 0) part.first = begin * each;
    part.bytes = (begin + count) * each - part.first;
  });
  return part;
}

/// Codes and factors of the dynamic code, as those of kernels/block_code.h.
void append_recoded(const StoredState& codes, const std::byte* from_codes, const StoredState& factors,
                    const std::byte* from_factors, std::vector<Move>& moves) {
  struct Recoded {
    std::vector<std::uint8_t> codes;
    std::vector<float> factors;
  };
  const auto recoded = std::make_shared<Recoded>();
  recoded->codes.resize(static_cast<std::size_t>(codes.array.size));
  recoded->factors.resize(static_cast<std::size_t>(factors.array.size));
  recode_dynamic(from_codes, from_factors, codes.array.size, codes.code == StoredState::Code::with_signs,
                 recoded->codes.data(), recoded->factors.data());
  moves.push_back({codes.array, std::as_bytes(std::span(recoded->codes)).data(), recoded});
  moves.push_back({factors.array, std::as_bytes(std::span(recoded->factors)).data(), recoded});
}

}  // namespace

SavedPart save_optimizer(Optimizer& optimizer) {
  optimizer.check_state_is_whole();
  check_parts_are_attached(optimizer.schema(), optimizer.is_sharded());
  const Schema& schema = optimizer.schema();
  SavedPart part;
  save_parameters(part, schema, SavedShapes::of_wholes);
  part.set(kRule, optimizer.kind());
  if (!optimizer.rule_texts().empty()) part.set(kRuleText, optimizer.rule_texts());
  part.set(kSteps, optimizer.step_count());
  part.set(kSkipped, optimizer.skipped_steps());
  part.set(kHyperParameters, hyper_parameters_of(optimizer));
  std::vector<std::string_view> unused;
  const std::vector<std::uint8_t> used = optimizer.state().flags();
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i] == 0) unused.push_back(schema[i].name);
  }
  std::string names;
  append_json_list(names, unused, [&](std::string_view name) { append_json(names, name); });
  part.set(kUnused, std::move(names));
  const std::vector<StoredState> states = optimizer.state().stored();
  std::shared_ptr<StateGather> gather;
  if (optimizer.is_sharded() || !optimizer.site().is_host()) gather = std::make_shared<StateGather>(optimizer, states);
  for (std::size_t k = 0; k < states.size(); ++k) {
    const StoredState& stored = states[k];
    if (is_coded(stored)) part.set(kBlockCode, kOctaves);
    SavedTensor tensor;
    tensor.key = key_of(schema, stored);
    tensor.dtype = stored.array.dtype;
    tensor.shape = shape_of(schema, stored);
    tensor.data = stored.array.data;
    tensor.is_finite = true;
    if (gather) tensor.gather = [gather, k](void* whole) { gather->gather(k, whole); };
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

TensorParts own_parts(Optimizer& optimizer, const std::string& prefix) {
  TensorParts parts;
  const Schema& schema = optimizer.schema();
  if (!optimizer.is_sharded() && !schema.has_parts()) return parts;
  for (const StoredState& stored : optimizer.state().stored()) {
    const Parameter& parameter = schema[stored.parameter];
    const std::int64_t each = size_of(stored.array.dtype);
    parts[prefix + key_of(schema, stored)] = is_box(parameter, stored)
                                                 ? bytes_around(parameter, each)
                                                 : TensorPart{stored.begin * each, stored.array.bytes()};
  }
  return parts;
}

std::function<void()> load_optimizer(LoadedPart& part, Optimizer& optimizer) {
  const Schema& schema = optimizer.schema();
  if (part.text(kRule) != optimizer.kind()) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved state is that of {}, the optimizer is {}", part.text(kRule),
         optimizer.kind());
  }
  check_rule_texts(part, optimizer);
  check_parameters(part, schema, SavedShapes::of_wholes);
  const std::int64_t steps = part.integer(kSteps);
  const std::int64_t skipped = part.integer(kSkipped);
  const std::vector<std::string> names = read_json_names(part.text(kUnused), kUnused);
  const std::set<std::string_view> unused(names.begin(), names.end());
  std::vector<std::uint8_t> flags;
  flags.reserve(schema.size());
  for (const Parameter& parameter : schema) flags.push_back(unused.count(parameter.name) == 0 ? 1 : 0);

  const std::vector<StoredState> stored = optimizer.state().stored();
  if (std::ranges::any_of(stored, [](const StoredState& state) { return state.owner >= 0; })) {
    check_parts_are_attached(schema, optimizer.is_sharded());
  }
  const bool recodes = std::ranges::any_of(stored, is_coded) && has_dynamic_code(part);
  const auto find = [&](const StoredState& state) -> const StateFile::Tensor& {
    return part.finite_tensor(key_of(schema, state), state.array.dtype, shape_of(schema, state));
  };
  const auto take = [&](const StoredState& state) { return own_part(find(state), state); };
  std::vector<Move> moves;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (const Parameter& parameter = schema[stored[i].parameter]; is_box(parameter, stored[i])) {
      if (is_coded(stored[i])) {
        fail(GRADSTEP_ERR_UNSUPPORTED, "parameter '{}': state in 8-bit codes cannot be loaded by parts of {}",
             parameter.name, shape_text(parameter.whole_shape()));
      }
      moves.push_back(move_of_box(find(stored[i]), stored[i], parameter));
      continue;
    }
    const std::byte* from = take(stored[i]);
    if (recodes && is_coded(stored[i])) {
      append_recoded(stored[i], from, stored[i + 1], take(stored[i + 1]), moves);
      ++i;
    } else {
      moves.push_back({stored[i].array, from, nullptr});
    }
  }
  part.check_all_taken();
  return [&optimizer, moves = std::move(moves), flags, steps, skipped] {
    for (const Move& move : moves) {
      optimizer.site().queue().upload(move.to.data, move.from, static_cast<std::size_t>(move.to.bytes()));
    }
    optimizer.state().set_flags(flags);
    optimizer.set_counters(steps, skipped);
    optimizer.context()->log().write(GRADSTEP_LOG_INFO, "optimizer {}: loaded a state of {} steps", optimizer.kind(),
                                     steps);
  };
}

}  // namespace gradstep
