// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// rank.hpp: one rank of a script: its model, its handles, and the calls.
#pragma once

#include <deque>
#include <optional>
#include <sstream>

#include "field_tables.hpp"

namespace languages {

/// A tensor's own memory.
struct Array {
  std::vector<std::byte> bytes;
  gradstep::Shape shape;
  data_type type = kF32;
  [[nodiscard]] std::size_t elements() const { return bytes.size() / size_of_type(type); }
  [[nodiscard]] gradstep::Tensor tensor();
};

class Rank {
 public:
  Rank(const script& own, std::string directory, std::int32_t index, const gradstep::Context& context,
       gradstep::Communicator& comm, bool trace)
      : script_(own), directory_(std::move(directory)), index_(index), context_(context), comm_(comm), trace_(trace) {}

  /// Makes all calls of the script; what does not end as it says ends the program.
  void run();
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  using Call = void (Rank::*)(const script_line*);
  static Call call_of(const script_line* line);

  void add_parameter(const script_line* line);
  void run_line(const script_line* line);
  void read_data(const script_line* line, std::deque<Array>& arrays) const;
  /// New gradients, of which some may be missing.
  gradstep::ConstTensorList new_gradients(const script_line* line);
  /// Calls function(gradients) with those of the line, which may be views of a handle.
  template <class F>
  void with_gradients(const script_line* line, F&& function);
  [[nodiscard]] gradstep::TensorList values();

  template <class Options, auto kCreate>
  void create_optimizer(const script_line* line) {
    optimizer_ = kCreate(context_, options_of<Options>(line), parameters_);
  }
  void create_by_name(const script_line* line);
  void create_accumulator(const script_line* line);
  void create_reducer(const script_line* line);
  void create_updater(const script_line* line);

  void set(const script_line* line);
  void schedule(const script_line* line);
  void step(const script_line* line);
  void add(const script_line* line);
  void flush(const script_line* line);
  void reset(const script_line* line);
  void reduce(const script_line* line);
  void exchange(const script_line* line);
  void push(const script_line* line);
  void finish(const script_line* line);
  void save(const script_line* line);
  void load(const script_line* line);
  void read_parameters(const script_line* line);

  void feed_hash(const script_line* line);
  void feed(const void* data, std::size_t size) { hash_ = hash_bytes(hash_, data, size); }
  void feed_int32(std::int32_t number) { feed(&number, sizeof number); }
  void feed_int64(std::int64_t number) { feed(&number, sizeof number); }
  void feed_number(double number);
  void feed_view(const gradstep::View& view);
  void feed_state(const std::string& name);

  const script& script_;
  std::string directory_;
  std::int32_t index_;
  const gradstep::Context& context_;
  gradstep::Communicator& comm_;
  bool trace_;
  std::uint64_t hash_ = HASH_START;
  gradstep::Parameters parameters_;
  std::deque<Array> values_, gradients_;
  std::uint64_t generated_ = 0;  // how many times gradients were
  std::string saved_;
  std::optional<gradstep::Optimizer> optimizer_;
  std::optional<gradstep::Accumulator> accumulator_;
  std::optional<gradstep::Reducer> reducer_;
  std::optional<gradstep::Updater> updater_;
};

}  // namespace languages
