// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Gradients of all ranks become one, in fused buckets that leave in a fixed order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "backend/context.h"
#include "comm/communicator.h"
#include "core/buffer_list.h"
#include "core/busy_flag.h"
#include "core/schema.h"
#include "gradstep/reducer.h"
#include "reduce/bucket_layout.h"
#include "reduce/bucket_queue.h"
#include "reduce/control_round.h"
#include "reduce/reducer_options.h"
#include "reduce/saved_reducer.h"
#include "reduce/window_memory.h"
#include "reduce/window_outcome.h"
#include "reduce/window_packing.h"

namespace gradstep {

class Reducer {
 public:
  /// Collective: takes a channel of its own and compares the plans.
  Reducer(const std::shared_ptr<Context>& context, Communicator& comm, const gradstep_reducer_options& options,
          Schema schema)
      : Reducer(context, comm, options, std::move(schema), comm.deadline()) {}
  /// For a call that has a deadline already.
  Reducer(const std::shared_ptr<Context>& context, Communicator& comm, const gradstep_reducer_options& options,
          Schema schema, const Deadline& deadline);
  ~Reducer() { drop_exchanges(); }
  Reducer(const Reducer&) = delete;
  Reducer& operator=(const Reducer&) = delete;

  // Lists of arrays were checked against the schema.

  /// A whole window. `results`, if not empty, get the outcome.
  void reduce(const BufferList& grads, const BufferList& results, double weight);
  /// reduce() that keeps what the window leaves behind for the next one only by commit(): a window that is reduced
  /// again instead has left nothing.
  void exchange_window(const BufferList& grads, double weight, const BufferList& results = {});
  /// Nothing, if the window's result is not finite.
  void commit() { memory_.commit(layout_.buckets(window_.buckets)); }

  // A window of some buckets alone. Arrays of other parameters are left as they are, and gradients() shows nothing.

  /// These leave, behind the caller's back where the channel overlaps. The window is open until receive() or cancel().
  void send(BucketRange range, const BufferList& grads, double weight);
  /// Waits for what was sent, and writes the outcome to `results`. What it leaves behind is kept by commit().
  void receive(const BufferList& results);

  void begin(double weight);
  void push(std::size_t index, const Array& grad);
  void wait(const BufferList& results);
  /// No bucket is being exchanged behind the caller's back, and nothing is on its way on the device.
  bool is_idle() const { return queue_.is_idle() && resources_.site.is_idle() && resources_.lane().is_idle(); }
  void cancel();

  const BucketLayout& layout() const { return layout_; }
  /// Collective. From the next window on this rank gets its slices alone. Returns false if it did so already. Throws
  /// with nothing changed on any rank; INVALID_STATE if other slices are dealt out.
  bool deal(const DealtSlices& dealt);
  /// Undoes deal(), before that window.
  void collect() noexcept;
  /// The host has begun to push a window.
  bool is_open() const { return window_.is_open && !window_.is_sent; }
  /// wait() without commit().
  void finish_pushed();

  /// An updater asks for a control exchange in every window, to learn that no rank had a gradient.
  ControlRound& control() { return control_; }

  /// The outcome of the last window, in the buckets, dealt out: this rank's slices; data NULL where no rank had a
  /// gradient.
  BufferList gradients() { return outcome_.gradients(); }
  /// The norm of gradients(), at the site.
  const double* norm() { return outcome_.norm(); }
  std::vector<gradstep_bucket_statistics> bucket_stats() const;

  // Throw INVALID_STATE while a window is open.
  /// What they leave.
  WindowMemory& memory();
  /// What the next window depends on, to be saved and loaded.
  SavedReducer saved();
  /// As SavedReducer::take_over(), whatever the state of `old`.
  void take_over(Reducer& old, bool finished = false);

  Communicator& comm() const { return *resources_.comm; }
  /// The sum over all channels.
  gradstep_comm_statistics comm_stats() const { return resources_.comm_stats(); }
  const Schema& schema() const { return schema_; }
  const gradstep_reducer_options& options() const { return resources_.options; }
  BusyFlag& busy() { return busy_; }
  Site& site() { return resources_.site; }

 private:
  /// The one that was opened last.
  struct Window {
    bool is_open = false;
    bool is_sent = false;  ///< by send(), and open
    BucketRange buckets;
  };

  void check_closed() const;
  void check_not_sent() const;
  /// For all buckets, or for those given. `at_once`: all gradients are there.
  void open_window(double weight, bool at_once = false, std::optional<BucketRange> range = std::nullopt);
  /// What is written to `targets` is there.
  void finish_window(const BufferList& targets, const Deadline& deadline);
  void settle(const Deadline& deadline);
  /// Call in a catch block. Where buckets of the window may have left, and this rank alone has failed, the channel is
  /// aborted: peers would take the buckets of its next window for those that are missing.
  void give_up_window(bool has_left) noexcept;
  /// Nothing of an open window goes on: peers get an error, not a hang, where buckets have left.
  void drop_exchanges() noexcept;

  ExchangeResources resources_;
  Schema schema_;
  ControlRound control_;
  BucketLayout layout_;
  WindowPacking packing_;
  WindowOutcome outcome_;
  WindowMemory memory_;
  BusyFlag busy_;
  Window window_;
  BucketQueue queue_;  // last: its exchanges use all the above
};

}  // namespace gradstep
