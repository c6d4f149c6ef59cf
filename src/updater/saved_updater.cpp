// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "updater/saved_updater.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>
#include <numeric>

#include "comm/all_or_none.h"
#include "core/error.h"
#include "core/shape.h"
#include "core/state_header.h"
#include "optim/saved_optimizer.h"

namespace gradstep {

namespace {

constexpr const char* kOptimizer = "optimizer/";
constexpr const char* kReducer = "reducer/";
constexpr const char* kUpdater = "updater/";
constexpr const char* kOuter = "outer/";
constexpr const char* kParts = "parts";                 // that the rank of a window has of the parameters
constexpr const char* kStart = "start/";                // of the round that is under way, by parameter
constexpr const char* kRounds = "rounds";               // that are exchanged; without it there is no outer optimizer
constexpr const char* kRoundWindows = "round_windows";  // since it ended
constexpr const char* kFragments = "fragments";         // without it there is one
constexpr const char* kChange = "change/";              // by parameter of the fragment that is due, if it has arrived
constexpr const char* kWeights = "weights";             // of this rank, summed over the windows of its rounds
constexpr const char* kOptimizers = "optimizers";       // of ranks that have each its own; without it there is one

std::string of_rank(std::int64_t rank, const char* part) { return "rank/" + std::to_string(rank) + "/" + part; }
std::string weights_key(std::size_t fragment) {
  return fragment == 0 ? kWeights : fmt::format("{}.{}", kWeights, fragment);
}
std::string window_prefix(std::int64_t rank) { return of_rank(rank, "accumulator/"); }
std::string round_prefix(std::int64_t rank) { return of_rank(rank, "round/"); }
std::string kept_prefix(std::int64_t rank) { return of_rank(rank, "reducer/"); }
/// Rank 0's has the place that it has where there is one for all: readers that know no other find it.
std::string optimizer_prefix(std::int64_t rank) { return rank == 0 ? kOptimizer : of_rank(rank, kOptimizer); }

/// Which part of each parameter a rank has.
std::string parts_text(const Schema& schema) {
  std::string text;
  for (const Parameter& parameter : schema) text += shape_text(parameter.shape) + "@" + shape_text(parameter.offset());
  return text;
}

/// What each rank has of its own.
struct SavedShare {
  std::string (*prefix)(std::int64_t rank);
  SavedPart part;
};

/// How far tensors reach in the description of a part, if their numbers have to be finite.
constexpr std::int64_t kFinite = 2;

/// What describes a part, without its numbers: a header in which a tensor begins at its position.
std::string describe(const SavedPart& part) {
  StateHeader header;
  header.metadata = part.metadata;
  std::int64_t position = 0;
  for (const SavedTensor& tensor : part.tensors) {
    header.entries[tensor.key] = {stored_name(tensor.dtype), tensor.shape, position,
                                  position + (tensor.is_finite ? kFinite : 1)};
    ++position;
  }
  return state_header_text(header);
}

/// Its entries in the order of the part.
std::vector<const std::pair<const std::string, StateHeader::Entry>*> in_order(const StateHeader& header) {
  std::vector<const std::pair<const std::string, StateHeader::Entry>*> entries;
  for (const auto& entry : header.entries) entries.push_back(&entry);
  std::ranges::sort(entries, {}, [](const auto* entry) { return entry->second.begin; });
  return entries;
}

/// Another rank's part, whose tensors come over when they are written. `own` is this rank's part if it is that one.
SavedPart described(const std::string& text, Communicator& comm, std::int32_t owner, const SavedPart* own) {
  const StateHeader header = read_state_header(text);
  SavedPart part;
  part.metadata = header.metadata;
  for (const auto* entry : in_order(header)) {
    SavedTensor tensor;
    tensor.key = entry->first;
    tensor.dtype = stored_dtype(tensor.key, entry->second.type);
    tensor.shape = entry->second.shape;
    tensor.is_finite = entry->second.end - entry->second.begin == kFinite;
    std::int64_t bytes = size_of(tensor.dtype);
    for (const std::int64_t dimension : tensor.shape) bytes *= dimension;
    const SavedTensor here = own != nullptr ? own->tensors[part.tensors.size()] : SavedTensor{};
    tensor.gather = [&comm, owner, bytes, own = here](void* whole) {
      std::exception_ptr failure;  // the others wait for this rank
      try {
        if (own.gather) {
          own.gather(whole);
        } else if (own.data != nullptr && bytes > 0) {
          std::memcpy(whole, own.data, static_cast<std::size_t>(bytes));
        }
      } catch (...) {
        failure = std::current_exception();
      }
      if (bytes > 0) comm.broadcast(whole, bytes, owner, comm.deadline());
      if (failure) std::rethrow_exception(failure);
    };
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

bool has_tensors(const StateFile& file, const std::string& prefix) {
  const auto first = file.tensors().lower_bound(prefix);
  return first != file.tensors().end() && first->first.compare(0, prefix.size(), prefix) == 0;
}

/// `entries` of the file, of which every rank has at least one: nothing is made for ranks that it cannot have.
void check_rank_count(std::int64_t ranks, std::size_t entries) {
  if (static_cast<std::uint64_t>(ranks) > entries) corrupt("it is of {} ranks, and has {} entries", ranks, entries);
}

/// Collective: calls take(rank, text) for the text of each rank. Room is made where all ranks agree on it.
void gather_texts(Communicator& comm, FunctionRef<std::string()> own_text,
                  FunctionRef<void(std::int32_t, const std::string&)> take) {
  const Deadline deadline = comm.deadline();
  std::string own;
  std::vector<std::int64_t> sizes;
  all_or_none(comm, "save", deadline, [&] {
    own = own_text();
    sizes.resize(static_cast<std::size_t>(comm.world_size()));
  });
  const auto size = static_cast<std::int64_t>(own.size());
  comm.all_gather(&size, sizes.data(), sizeof size, deadline);
  std::string joined;
  all_or_none(comm, "save", deadline, [&] {
    joined.resize(static_cast<std::size_t>(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0})));
  });
  comm.all_gather_v(own.data(), joined.data(), sizes, deadline);
  all_or_none(comm, "save", deadline, [&] {
    std::size_t at = 0;
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      const auto length = static_cast<std::size_t>(sizes[rank]);
      take(static_cast<std::int32_t>(rank), joined.substr(at, length));
      at += length;
    }
  });
}

/// Collective: this rank's share, and those of its peers under their own names.
void add_of_all_ranks(std::map<std::string, SavedPart>& parts, const SavedShare& own, Communicator* comm) {
  if (comm == nullptr) {
    parts[own.prefix(0)] = own.part;
    return;
  }
  gather_texts(
      *comm, [&] { return describe(own.part); },
      [&](std::int32_t rank, const std::string& text) {
        parts[own.prefix(rank)] = described(text, *comm, rank, rank == comm->rank() ? &own.part : nullptr);
      });
}

}  // namespace

/// Whether the file's window of that rank is of the parts that this rank has; of whole parameters: of none.
bool SavedUpdater::has_same_parts(const StateFile& file, std::int64_t rank) const {
  const LoadedPart window(file, window_prefix(rank));
  const std::string own = chain_.has_parts() ? parts_text(chain_.optimizer->schema()) : "";
  return (window.has_text(kParts) ? window.text(kParts) : "") == own;
}

/// A file has no place for what was stepped and not yet exchanged.
void SavedUpdater::check_exchanged() const {
  if (progress_.is_stepped(rounds_ != nullptr)) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the exchange of the last step has failed: flush finishes it, then save");
  }
}

bool SavedUpdater::has_state_of_its_own() const {
  return (local_ != nullptr || rounds_ != nullptr) && peers() != nullptr && !chain_.optimizer->is_sharded();
}

std::map<std::string, SavedPart> SavedUpdater::save() const {
  if (rounds_ != nullptr && !progress_.is_stepped(/*in_rounds=*/true)) arrive();
  std::map<std::string, SavedPart> parts;
  std::vector<SavedShare> shares;
  Communicator* comm = peers();
  // What can fail on one rank, a host's schedule for example, comes before anything is exchanged.
  all_or_none(comm, "save", [&] {
    check_exchanged();
    chain_.check_parts();
    SavedPart& self = parts[kUpdater];
    const std::int64_t ranks = comm != nullptr ? comm->world_size() : 1;
    self.set("ranks", ranks);
    self.set("windows", progress_.windows);
    self.set("has_accumulator", std::int64_t{chain_.accumulator ? 1 : 0});
    if (local_ != nullptr) {
      self.set("local_steps", local_->count());
      self.set("partition", local_->partition());
    }
    if (rounds_ != nullptr) {
      save_rounds(parts);
      shares.push_back({round_prefix, weights_of_rounds()});
    }
    if (has_state_of_its_own()) {
      self.set(kOptimizers, ranks);
      shares.push_back({optimizer_prefix, save_optimizer(*chain_.optimizer)});
    } else {
      parts[kOptimizer] = save_optimizer(*chain_.optimizer);
    }
    if (chain_.reducer) {
      // What the reducer is goes into the file once, what each rank has kept under its own name.
      SavedPart reducer = chain_.reducer->saved().save();
      SavedPart kept;
      kept.tensors.swap(reducer.tensors);
      parts[kReducer] = std::move(reducer);
      if (!kept.tensors.empty()) shares.push_back({kept_prefix, std::move(kept)});
    }
    if (chain_.accumulator) {
      SavedPart window = chain_.accumulator->save();
      window.set("pending", std::int64_t{progress_.window != Window::open ? 1 : 0});
      if (chain_.has_parts()) window.set(kParts, parts_text(chain_.optimizer->schema()));
      shares.push_back({window_prefix, std::move(window)});
    }
  });
  for (const SavedShare& share : shares) add_of_all_ranks(parts, share, comm);
  return parts;
}

/// What all ranks have in common.
void SavedUpdater::save_rounds(std::map<std::string, SavedPart>& parts) const {
  if (chain_.optimizer->is_sharded() && chain_.has_peers()) {
    fail(
        GRADSTEP_ERR_UNSUPPORTED,
        "save: the state of the optimizer inside an outer one is spread over ranks of its own: save the optimizers and "
        "the reducer each by itself, after the exchange of a round");
  }
  SavedPart& self = parts[kUpdater];
  const OuterRounds::Standing standing = rounds_->standing();
  self.set(kRounds, standing.rounds);
  self.set(kRoundWindows, standing.windows);
  if (rounds_->fragments() > 1) self.set(kFragments, std::int64_t{rounds_->fragments()});
  parts[kOuter] = save_optimizer(*chain_.outer);
  if (rounds_->is_under_way(standing)) save_arrays(parts[kStart], rounds_->start());
  if (standing.has_arrived) save_arrays(parts[kChange], rounds_->changes(standing));
}

/// Arrays of the outer optimizer's parameters, but for those whose data is NULL.
void SavedUpdater::save_arrays(SavedPart& part, const BufferList& arrays) const {
  const Schema& schema = chain_.outer->schema();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (arrays[i].data == nullptr) continue;
    SavedTensor tensor;
    tensor.key = schema[i].name;
    tensor.dtype = schema[i].dtype;
    tensor.shape.assign(schema[i].shape.begin(), schema[i].shape.end());
    tensor.data = arrays[i].data;
    if (Queue& queue = chain_.outer->site().queue(); !queue.is_host()) {
      tensor.gather = [&queue, from = arrays[i]](void* whole) {
        queue.download(whole, from.data, static_cast<std::size_t>(from.bytes()));
      };
    }
    part.tensors.push_back(std::move(tensor));
  }
}

/// What is on its way arrives, and what that leaves behind in the reducer is kept: a file has no place for it.
void SavedUpdater::arrive() const {
  rounds_->receive(chain_.reducer.get());
  if (chain_.reducer && rounds_->standing().has_arrived) chain_.reducer->commit();
}

SavedPart SavedUpdater::weights_of_rounds() const {
  SavedPart part;
  const std::vector<double> weights = rounds_->standing().weights;
  for (std::size_t f = 0; f < weights.size(); ++f) part.set(weights_key(f), weights[f]);
  return part;
}

/// Checks that the file has an outer optimizer where this updater has one.
std::function<void()> SavedUpdater::load_rounds(const StateFile& file, std::int64_t own_rank,
                                                std::int64_t saved_ranks) const {
  const LoadedPart self(file, kUpdater);
  if (self.has_text(kRounds) != (rounds_ != nullptr)) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved updater has {} outer optimizer, this one has {}",
         self.has_text(kRounds) ? "an" : "no", rounds_ != nullptr ? "one" : "none");
  }
  if (rounds_ == nullptr) return [] {};
  const std::int64_t fragments = self.has_text(kFragments) ? self.integer(kFragments) : 1;
  if (fragments != rounds_->fragments()) {
    fail(GRADSTEP_ERR_MISMATCH, "options.outer_fragments: the saved updater has {}, this one {}", fragments,
         rounds_->fragments());
  }
  OuterRounds::Standing standing{self.integer(kRounds), self.integer(kRoundWindows), has_tensors(file, kChange), {}};
  if (standing.rounds < 0 || standing.windows < 0) {
    fail(GRADSTEP_ERR_CORRUPT, "rounds and their windows are {} and {}, expected numbers >= 0", standing.rounds,
         standing.windows);
  }
  const LoadedPart own(file, round_prefix(own_rank % saved_ranks));
  for (std::size_t f = 0; f < static_cast<std::size_t>(fragments); ++f) {
    const double weights = own.number(weights_key(f));
    if (!std::isfinite(weights) || weights < 0) {
      fail(GRADSTEP_ERR_CORRUPT, "the weights of rank {}'s round are {}, expected a finite sum >= 0", own_rank,
           weights);
    }
    standing.weights.push_back(weights);
  }
  LoadedPart outer(file, kOuter);
  std::vector<Move> moves;
  const BufferList start = rounds_->start();
  if (rounds_->is_under_way(standing)) load_arrays(file, kStart, start, moves);
  if (standing.has_arrived) load_arrays(file, kChange, rounds_->changes(standing), moves);
  return [standing, moves, to = rounds_, queue = &chain_.outer->site().queue(),
          take_outer = load_optimizer(outer, *chain_.outer)] {
    take_outer();
    for (const Move& move : moves) {
      queue->upload(move.to.data, move.from, static_cast<std::size_t>(move.to.bytes()));
    }
    to->go_on_from(standing);
  };
}

/// Skips arrays whose data is NULL.
void SavedUpdater::load_arrays(const StateFile& file, const char* prefix, const BufferList& arrays,
                               std::vector<Move>& moves) const {
  LoadedPart part(file, prefix);
  const Schema& schema = chain_.outer->schema();
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (arrays[i].data == nullptr) continue;
    const std::vector<std::int64_t> shape(schema[i].shape.begin(), schema[i].shape.end());
    moves.push_back({arrays[i], part.tensor(schema[i].name, schema[i].dtype, shape).data});
  }
  part.check_all_taken();
}

/// Old rank r's residuals go to the rank r mod the number of ranks there are now: none is lost, none counts twice.
std::function<void()> SavedUpdater::load_reducer(const StateFile& file, std::int64_t saved_ranks) const {
  if (!chain_.reducer) return [] {};
  if (file.metadata().count(std::string(kReducer) + "mode") == 0) return [] {};  // saved without one
  const LoadedPart common(file, kReducer);
  const std::function<void()> take_common = chain_.reducer->saved().load_numbers(common);
  std::vector<LoadedPart> kept;
  const Communicator& comm = chain_.reducer->comm();
  const bool has_kept = has_tensors(file, kept_prefix(0));
  if (has_kept) check_rank_count(saved_ranks, file.tensors().size());
  for (std::int64_t r = comm.rank(); r < saved_ranks; r += comm.world_size()) {
    kept.emplace_back(file, kept_prefix(r));
    if (!has_kept) break;  // one is enough to find that it is missing, if it is
  }
  LoadedPart any(file, kept_prefix(0));
  return [take_common, take_kept = chain_.reducer->saved().load_kept(kept, any)] {
    take_common();
    take_kept();
  };
}

TensorParts SavedUpdater::own_parts() const {
  TensorParts parts = gradstep::own_parts(*chain_.optimizer, optimizer_prefix(0));
  if (chain_.outer) parts.merge(gradstep::own_parts(*chain_.outer, kOuter));
  return parts;
}

std::function<void()> SavedUpdater::load(const StateFile& file) const {
  if (rounds_ != nullptr) rounds_->receive(chain_.reducer.get());  // the reducer's state is not taken on its way
  LoadedPart self(file, kUpdater);
  if (self.integer("has_accumulator") != (chain_.accumulator ? 1 : 0)) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved updater has {} accumulator, this one has {}",
         self.integer("has_accumulator") != 0 ? "an" : "no", chain_.accumulator ? "one" : "none");
  }
  Communicator* comm = peers();
  const std::int64_t own_rank = comm != nullptr ? comm->rank() : 0;
  const std::int64_t ranks = comm != nullptr ? comm->world_size() : 1;
  const std::int64_t saved_ranks = self.integer("ranks", 1);
  if (chain_.accumulator) check_rank_count(saved_ranks, file.metadata().size());
  // Older files have one for all, also where each rank had its own.
  const std::int64_t optimizers = self.has_text(kOptimizers) ? self.integer(kOptimizers, 1) : 1;
  LoadedPart optimizer(file, optimizer_prefix(has_state_of_its_own() ? own_rank % optimizers : 0));
  const bool has_windows = self.has_text("windows");  // not in older files
  const std::int64_t windows = has_windows ? self.integer("windows") : 0;
  const std::int64_t local_steps = local_ != nullptr ? self.integer("local_steps") : 0;
  const std::int64_t partition = local_ != nullptr ? self.integer("partition") : 0;
  if (local_ != nullptr && chain_.reducer) local_->check_partition(partition, *chain_.reducer);
  std::function<void()> take_optimizer =
      [*this, windows, local_steps, partition, first = load_optimizer(optimizer, *chain_.optimizer),
       second = load_reducer(file, saved_ranks), third = load_rounds(file, own_rank, saved_ranks)] {
        first();
        progress_.known_skips = chain_.optimizer->skipped_steps();
        second();
        third();
        if (local_ != nullptr) local_->go_on_from(local_steps, partition);
        progress_.windows = progress_.recovered_at = windows;
        progress_.window = Window::open;
      };
  if (!chain_.accumulator) return take_optimizer;

  if (saved_ranks != ranks || !has_same_parts(file, own_rank)) {
    // The windows of other ranks could be added to these, but what they are divided by would be another number.
    for (std::int64_t r = 0; r < saved_ranks; ++r) {
      const LoadedPart window(file, window_prefix(r));
      const bool open = window.integer("pushes") != 0 && window.integer("ready") == 0;
      const bool waits = window.integer("pending") != 0 && window.integer("ready") != 0;
      if (open || waits) {
        fail(GRADSTEP_ERR_MISMATCH,
             "the updater was saved by {} ranks {} and is loaded by {}{}: save it after a step, or load the optimizer "
             "alone",
             saved_ranks, open ? "in the middle of a window" : "with a window that was not applied", ranks,
             saved_ranks == ranks ? " with other parts of the parameters" : "");
      }
    }
    return [*this, take_optimizer] {
      take_optimizer();
      chain_.accumulator->reset();
    };
  }
  LoadedPart window(file, window_prefix(own_rank));
  const bool pending = window.integer("pending") != 0;
  std::function<void()> take_window = chain_.accumulator->load(window);
  return [*this, take_optimizer, take_window, pending] {
    take_optimizer();
    take_window();
    if (pending) progress_.window = Window::full;
  };
}

}  // namespace gradstep
