// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A whole chain in one file. Optimizer and reducer are equal on all ranks; each rank's window is its own, and travels
// to the rank that writes.
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json_text.h"
#include "optim/saved_optimizer.h"
#include "updater/chain.h"

namespace gradstep {

namespace {

constexpr const char* kOptimizer = "optimizer/";
constexpr const char* kReducer = "reducer/";
constexpr const char* kUpdater = "updater/";

std::string window_prefix(std::int32_t rank) { return "rank/" + std::to_string(rank) + "/accumulator/"; }
std::string kept_prefix(std::int32_t rank) { return "rank/" + std::to_string(rank) + "/reducer/"; }

/// What describes a part, without its numbers.
std::string describe(const SavedPart& part) {
  nlohmann::json tensors = nlohmann::json::array();
  for (const SavedTensor& tensor : part.tensors) {
    tensors.push_back({{"key", tensor.key}, {"dtype", static_cast<int>(tensor.dtype)}, {"shape", tensor.shape}});
  }
  return json_text(nlohmann::json{{"metadata", part.metadata}, {"tensors", tensors}});
}

/// Another rank's part, whose tensors come over when they are written. `own` is this rank's part if it is that one.
SavedPart described(const std::string& text, Context& context, Communicator& comm, std::int32_t owner,
                    const SavedPart* own) {
  const auto json = nlohmann::json::parse(text);
  SavedPart part;
  part.metadata = json.at("metadata").get<std::map<std::string, std::string>>();
  for (const auto& entry : json.at("tensors")) {
    SavedTensor tensor;
    tensor.key = entry.at("key").get<std::string>();
    tensor.dtype = static_cast<DType>(entry.at("dtype").get<int>());
    tensor.shape = entry.at("shape").get<std::vector<std::int64_t>>();
    std::int64_t bytes = size_of(tensor.dtype);
    for (const std::int64_t dimension : tensor.shape) bytes *= dimension;
    const SavedTensor here = own != nullptr ? own->tensors[part.tensors.size()] : SavedTensor{};
    tensor.gather = [&context, &comm, owner, bytes, own = here] {
      Buffer whole = context.allocate(static_cast<std::size_t>(bytes), /*zeroed=*/false);
      if (own.data != nullptr && bytes > 0) std::memcpy(whole.data(), own.data, whole.bytes());
      if (own.gather) whole = own.gather();
      if (bytes > 0) comm.broadcast(whole.data(), bytes, owner, comm.deadline());
      return whole;
    };
    part.tensors.push_back(std::move(tensor));
  }
  return part;
}

std::vector<std::string> gather_texts(Communicator& comm, const std::string& own) {
  const auto ranks = static_cast<std::size_t>(comm.world_size());
  const Deadline deadline = comm.deadline();
  std::vector<std::int64_t> sizes(ranks);
  const auto size = static_cast<std::int64_t>(own.size());
  comm.all_gather(&size, sizes.data(), sizeof size, deadline);
  std::int64_t all = 0;
  for (const std::int64_t s : sizes) all += s;
  std::string joined(static_cast<std::size_t>(all), ' ');
  comm.all_gather_v(own.data(), joined.data(), sizes, deadline);
  std::vector<std::string> texts;
  std::size_t at = 0;
  for (const std::int64_t s : sizes) {
    texts.push_back(joined.substr(at, static_cast<std::size_t>(s)));
    at += static_cast<std::size_t>(s);
  }
  return texts;
}

}  // namespace

Communicator* Updater::peers() const {
  if (reducer_ && reducer_->comm().world_size() > 1) return &reducer_->comm();
  return optimizer_->is_sharded() ? &optimizer_->sharding()->comm() : nullptr;
}

/// A file has no place for what was stepped and not yet exchanged. All ranks are told alike.
void Updater::check_exchanged() {
  if (options_.sync == GRADSTEP_SYNC_GRADIENTS) return;
  Communicator* comm = peers();
  const bool is_stepped = window_ == Window::stepped;
  const bool all = comm == nullptr || comm->vote(!is_stepped, comm->deadline());
  if (is_stepped) {
    fail(GRADSTEP_ERR_INVALID_STATE, "the exchange of the last step has failed: flush finishes it, then save");
  }
  if (!all) fail(GRADSTEP_ERR_ABORTED, "another rank could not save: the exchange of its last step has failed");
}

std::map<std::string, SavedPart> Updater::save() {
  check_exchanged();
  std::map<std::string, SavedPart> parts;
  parts[kOptimizer] = save_optimizer(*optimizer_);
  Communicator* comm = peers();
  SavedPart& self = parts[kUpdater];
  self.set("ranks", std::int64_t{comm != nullptr ? comm->world_size() : 1});
  self.set("windows", windows_);
  self.set("has_accumulator", std::int64_t{accumulator_ ? 1 : 0});
  if (local_) {
    self.set("local_steps", local_->count());
    self.set("partition", local_->partition());
  }
  if (reducer_) {
    // What the reducer is goes into the file once, what each rank has kept under its own name.
    SavedPart reducer = reducer_->save();
    SavedPart kept;
    kept.tensors.swap(reducer.tensors);
    parts[kReducer] = std::move(reducer);
    if (!kept.tensors.empty()) add_of_all_ranks(parts, kept_prefix, kept);
  }
  if (!accumulator_) return parts;
  SavedPart window = accumulator_->save();
  window.set("pending", std::int64_t{window_ != Window::open ? 1 : 0});
  add_of_all_ranks(parts, window_prefix, window);
  return parts;
}

void Updater::add_of_all_ranks(std::map<std::string, SavedPart>& parts, std::string (*prefix)(std::int32_t rank),
                               const SavedPart& own) {
  Communicator* comm = peers();
  if (comm == nullptr) {
    parts[prefix(0)] = own;
    return;
  }
  const std::vector<std::string> texts = gather_texts(*comm, describe(own));
  for (std::int32_t r = 0; r < comm->world_size(); ++r) {
    parts[prefix(r)] =
        described(texts[static_cast<std::size_t>(r)], *context_, *comm, r, r == comm->rank() ? &own : nullptr);
  }
}

/// Old rank r's residuals go to the rank r mod the number of ranks there are now: none is lost, none counts twice.
std::function<void()> Updater::load_reducer(const StateFile& file, std::int32_t saved_ranks) {
  if (!reducer_) return [] {};
  if (file.metadata().count(std::string(kReducer) + "mode") == 0) return [] {};  // saved without one
  const LoadedPart common(file, kReducer);
  const std::function<void()> take_common = reducer_->check_saved(common);
  std::vector<LoadedPart> kept;
  const Communicator& comm = reducer_->comm();
  for (std::int32_t r = comm.rank(); r < saved_ranks; r += comm.world_size()) kept.emplace_back(file, kept_prefix(r));
  LoadedPart any(file, kept_prefix(0));
  return [take_common, take_kept = reducer_->load_kept(kept, any)] {
    take_common();
    take_kept();
  };
}

std::function<void()> Updater::load(const StateFile& file) {
  LoadedPart self(file, kUpdater);
  if (self.integer("has_accumulator") != (accumulator_ ? 1 : 0)) {
    fail(GRADSTEP_ERR_MISMATCH, "the saved updater has {} accumulator, this one has {}",
         self.integer("has_accumulator") != 0 ? "an" : "no", accumulator_ ? "one" : "none");
  }
  LoadedPart optimizer(file, kOptimizer);
  const std::int64_t saved_ranks = self.integer("ranks", 1);
  const bool has_windows = file.metadata().count(std::string(kUpdater) + "windows") != 0;  // not in older files
  const std::int64_t windows = has_windows ? self.integer("windows") : 0;
  const std::int64_t local_steps = local_ ? self.integer("local_steps") : 0;
  const std::int64_t partition = local_ ? self.integer("partition") : 0;
  if (local_ && reducer_) local_->check_partition(partition, *reducer_);
  std::function<void()> take_optimizer = [this, windows, local_steps, partition,
                                          first = load_optimizer(optimizer, *optimizer_),
                                          second = load_reducer(file, static_cast<std::int32_t>(saved_ranks))] {
    first();
    known_skips_ = optimizer_->skipped_steps();
    second();
    if (local_) local_->go_on_from(local_steps, partition);
    windows_ = recovered_at_ = windows;
    window_ = Window::open;
  };
  if (!accumulator_) return take_optimizer;

  Communicator* comm = peers();
  const std::int64_t ranks = comm != nullptr ? comm->world_size() : 1;
  if (saved_ranks != ranks) {
    // The windows of other ranks could be added to these, but what they are divided by would be another number.
    for (std::int64_t r = 0; r < saved_ranks; ++r) {
      const LoadedPart window(file, window_prefix(static_cast<std::int32_t>(r)));
      const bool open = window.integer("pushes") != 0 && window.integer("ready") == 0;
      const bool waits = window.integer("pending") != 0 && window.integer("ready") != 0;
      if (open || waits) {
        fail(GRADSTEP_ERR_MISMATCH,
             "the updater was saved by {} ranks {} and is loaded by {}: save it after a step, or load the optimizer "
             "alone",
             saved_ranks, open ? "in the middle of a window" : "with a window that was not applied", ranks);
      }
    }
    return [this, take_optimizer] {
      take_optimizer();
      accumulator_->reset();
    };
  }
  LoadedPart window(file, window_prefix(comm != nullptr ? comm->rank() : 0));
  const bool pending = window.integer("pending") != 0;
  std::function<void()> take_window = accumulator_->load(window);
  return [this, take_optimizer, take_window, pending] {
    take_optimizer();
    take_window();
    if (pending) window_ = Window::full;
  };
}

}  // namespace gradstep
