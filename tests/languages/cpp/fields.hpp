// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// fields.hpp: options filled by the keys of a script's line (README.md one folder up has them).
#pragma once

#include <functional>
#include <gradstep/gradstep.hpp>
#include <map>
#include <string>

extern "C" {
#include "../c/script.h"
}

namespace languages {

/// Sets a field of Options to what a line gives under a key.
template <class Options>
using Setters = std::map<std::string, std::function<void(Options&, const script_line*, const char*)>>;

inline void read(const script_line* line, const char* key, double& to) { to = number_of(line, key, 0); }
inline void read(const script_line* line, const char* key, std::int64_t& to) { to = integer_of(line, key, 0); }
inline void read(const script_line* line, const char* key, std::int32_t& to) {
  to = static_cast<std::int32_t>(integer_of(line, key, 0));
}
inline void read(const script_line* line, const char* key, bool& to) { to = integer_of(line, key, 0) != 0; }

/// An enum's words, in the order of its numbers from 0.
inline const char* words_of(gradstep::StateDtype) { return "native,bf16,int8"; }
inline const char* words_of(gradstep::EpsilonPlacement) { return "inside,outside"; }
inline const char* words_of(gradstep::SgdFirstStep) { return "dampen,copy"; }
inline const char* words_of(gradstep::BiasCorrection) { return "standard,tf"; }
inline const char* words_of(gradstep::GraftType) {
  return "sgd,adagrad,rmsprop,rmsprop_normalized,sqrt_n,adagrad_normalized,adam,none";
}
inline const char* words_of(gradstep::RootMethod) { return "auto,coupled_newton,eigh"; }
inline const char* words_of(gradstep::AccumulationMode) { return "mean_each,sum,mean,running_mean,weighted"; }
inline const char* words_of(gradstep::AccumulationTrigger) { return "steps,schedule,min_weight,manual"; }
inline const char* words_of(gradstep::NonfinitePolicy) { return "none,poison,skip"; }
inline const char* words_of(gradstep::ReducerMode) {
  return "dense,half,bfloat16,sparse_threshold,sparse_topk,adasum_tree,adasum_nway,powersgd,auto";
}
inline const char* words_of(gradstep::Average) { return "unset,sum,mean,weighted"; }
inline const char* words_of(gradstep::HalfSum) { return "f32,fp16,fp16_predivided"; }
inline const char* words_of(gradstep::Selection) { return "bucket,tensor"; }
inline const char* words_of(gradstep::UpdaterSync) { return "gradients,parameters_partial,parameters,deltas"; }

template <class Enum>
  requires std::is_enum_v<Enum>
void read(const script_line* line, const char* key, Enum& to) {
  const char* word = value_of(line, key);
  const int place = place_in(words_of(to), word);
  if (place < 0) die(line, "%s: '%s' is none of %s", key, word, words_of(to));
  to = static_cast<Enum>(place);
}

/// The setter of one field.
template <class Options, class Field>
auto field(Field Options::* member) {
  return [member](Options& options, const script_line* line, const char* key) { read(line, key, options.*member); };
}

const Setters<gradstep::SgdOptions>& setters(const gradstep::SgdOptions&);
const Setters<gradstep::RmspropOptions>& setters(const gradstep::RmspropOptions&);
const Setters<gradstep::AdagradOptions>& setters(const gradstep::AdagradOptions&);
const Setters<gradstep::AdamOptions>& setters(const gradstep::AdamOptions&);
const Setters<gradstep::ShampooOptions>& setters(const gradstep::ShampooOptions&);
const Setters<gradstep::AccumulatorOptions>& setters(const gradstep::AccumulatorOptions&);
const Setters<gradstep::ReducerOptions>& setters(const gradstep::ReducerOptions&);
const Setters<gradstep::UpdaterOptions>& setters(const gradstep::UpdaterOptions&);
const Setters<gradstep::StepOptions>& setters(const gradstep::StepOptions&);

/// The options that the line gives; keys in `known` ("first,second") are others'. *count: how many fields it gives.
template <class Options>
Options options_of(const script_line* line, const char* known = "", int* count = nullptr) {
  Options options{};
  const auto& fields = setters(options);
  for (int k = 0; k < line->n_keys; ++k) {
    const char* key = line->keys[k];
    if (place_in("times,only,fails", key) >= 0 || place_in(known, key) >= 0) continue;
    if (std::string(key).find('.') != std::string::npos) continue;
    const auto found = fields.find(key);
    if (found == fields.end()) die(line, "there is no key '%s'", key);
    found->second(options, line, key);
    if (count != nullptr) ++*count;
  }
  return options;
}

/// The schedule that the line gives, its keys with the prefix.
gradstep::Schedule schedule_of(const script_line* line, const std::string& prefix);

}  // namespace languages
