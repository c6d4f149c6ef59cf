// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole chain in one file. Optimizer and reducer are equal on all ranks, but for the optimizer where ranks step by
// themselves; that, each rank's window and what its reducer keeps are its own, and travel to the rank that writes.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/state_part.h"
#include "updater/chain.h"
#include "updater/local_steps.h"
#include "updater/outer_rounds.h"

namespace gradstep {

/// Shows an updater, which outlives it and what it returns. The caller has its HeldChain until what was saved is
/// written, or what is loaded has been taken over.
class SavedUpdater {
 public:
  /// `local` and `rounds` NULL: no rank steps by itself.
  SavedUpdater(Chain& chain, LocalSteps* local, OuterRounds* rounds, Progress& progress)
      : chain_(chain), local_(local), rounds_(rounds), progress_(progress) {}

  /// Where saving is collective, the communicator over which it is; else NULL.
  Communicator* peers() const { return chain_.peers(); }
  /// The parts of a file, by prefix: "optimizer/", "reducer/", "outer/", in the middle of a round "start/", of a
  /// change that has arrived "change/", and for every rank its own window, "rank/<r>/accumulator/". Collective over
  /// peers(), and a failure on one rank is one on all. They show the handles' own buffers.
  std::map<std::string, SavedPart> save() const;
  /// What this rank has use for of the tensors of such a file that it does not take whole.
  TensorParts own_parts() const;
  /// Checks everything; what it returns takes it over, and fails only where a device does.
  std::function<void()> load(const StateFile& file) const;

 private:
  void check_exchanged() const;
  bool has_same_parts(const StateFile& file, std::int64_t rank) const;
  bool has_state_of_its_own() const;
  /// Numbers of an array, from a file.
  struct Move {
    Array to;
    const std::byte* from;
  };

  void arrive() const;
  void save_rounds(std::map<std::string, SavedPart>& parts) const;
  void save_arrays(SavedPart& part, const BufferList& arrays) const;
  void load_arrays(const StateFile& file, const char* prefix, const BufferList& arrays, std::vector<Move>& moves) const;
  SavedPart weights_of_rounds() const;
  std::function<void()> load_rounds(const StateFile& file, std::int64_t own_rank, std::int64_t saved_ranks) const;
  std::function<void()> load_reducer(const StateFile& file, std::int64_t saved_ranks) const;

  Chain& chain_;
  LocalSteps* local_;
  OuterRounds* rounds_;
  Progress& progress_;
};

}  // namespace gradstep
