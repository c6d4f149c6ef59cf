// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The one list of engines: what can be asked of them by name.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace gradstep {

/// How a communicator of an engine comes about.
enum class EngineMaking {
  alone,     ///< gradstep_comm_create, without peers
  meeting,   ///< gradstep_comm_create, by a rendezvous
  launched,  ///< gradstep_comm_create, the system that has started the ranks connects them
  apart,     ///< a function of its own, gradstep_comm_create_<name>
};

struct EngineEntry {
  std::string_view name;
  EngineMaking making;
  bool is_plugin;  ///< libgradstep_<name>.so
  bool is_choice;  ///< stands for one of the others
};

inline constexpr std::array<EngineEntry, 8> kEngines = {{
    {"self", EngineMaking::alone, false, false},
    {"local", EngineMaking::apart, false, false},
    {"shm", EngineMaking::meeting, false, false},
    {"host", EngineMaking::apart, false, false},
    {"gloo", EngineMaking::meeting, true, false},
    {"auto", EngineMaking::meeting, false, true},
    {"mpi", EngineMaking::launched, true, false},
    {"nccl", EngineMaking::meeting, false, false},
}};

constexpr bool connects_processes(const EngineEntry& engine) {
  return engine.making == EngineMaking::meeting || engine.making == EngineMaking::launched;
}

/// NULL = there is none of this name.
constexpr const EngineEntry* find_engine(std::string_view name) {
  for (const EngineEntry& engine : kEngines) {
    if (engine.name == name) return &engine;
  }
  return nullptr;
}

/// "self, shm or mpi": those for which `belongs` holds.
template <class Predicate>
std::string engine_names(Predicate belongs) {
  std::string text;
  std::string_view last;
  for (const EngineEntry& engine : kEngines) {
    if (!belongs(engine)) continue;
    if (!last.empty()) text.append(text.empty() ? "" : ", ").append(last);
    last = engine.name;
  }
  return text.empty() ? std::string(last) : text.append(" or ").append(last);
}

}  // namespace gradstep
