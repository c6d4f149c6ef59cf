// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Calls that carry bytes: sparse rows, collectives, and state that is saved and loaded.
#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "options.h"
#include "rank.h"

namespace gradstep_bits {

namespace {

using nlohmann::json;

/// Sparse rows of one parameter, by README.md's rule.
struct Rows {
  HostTensor indices;
  HostTensor values;
};

struct MemoryStream {
  std::vector<std::uint8_t> bytes;
  std::size_t read = 0;
};

gradstep_status write_bytes(void* user, const void* data, std::size_t size) {
  auto& bytes = static_cast<MemoryStream*>(user)->bytes;
  const auto* from = static_cast<const std::uint8_t*>(data);
  bytes.insert(bytes.end(), from, from + size);
  return GRADSTEP_OK;
}

gradstep_status read_bytes(void* user, void* data, std::size_t size, std::size_t* got) {
  auto& stream = *static_cast<MemoryStream*>(user);
  *got = std::min(size, stream.bytes.size() - stream.read);
  if (*got > 0) std::memcpy(data, stream.bytes.data() + stream.read, *got);
  stream.read += *got;
  return GRADSTEP_OK;
}

gradstep_stream stream_on(MemoryStream& memory) {
  gradstep_stream stream{};
  stream.struct_size = sizeof stream;
  stream.user = &memory;
  stream.write = write_bytes;
  stream.read = read_bytes;
  return stream;
}

template <class Handle>
MemoryStream saved(Handle* handle, gradstep_status (*save)(Handle*, const gradstep_stream*)) {
  MemoryStream memory;
  const gradstep_stream stream = stream_on(memory);
  check(save(handle, &stream));
  return memory;
}

template <class Handle>
void load_into(Handle* handle, MemoryStream memory,
               gradstep_status (*load)(Handle*, const gradstep_stream*, const gradstep_load_options*)) {
  const gradstep_stream stream = stream_on(memory);
  check(load(handle, &stream, nullptr));
}

/// Collective: rank 0 writes, and all ranks get its bytes.
template <class Handle>
MemoryStream saved_together(Handle* handle, gradstep_status (*save)(Handle*, const gradstep_stream*),
                            gradstep_comm* comm, std::int32_t rank, Shared& shared) {
  MemoryStream memory;
  const gradstep_stream stream = stream_on(memory);
  check(save(handle, rank == 0 ? &stream : nullptr));
  if (rank == 0) shared.saved = memory.bytes;
  check(gradstep_comm_barrier(comm));
  memory.bytes = shared.saved;
  check(gradstep_comm_barrier(comm));
  return memory;
}

std::uint32_t as_bits(std::uint64_t number) { return static_cast<std::uint32_t>(number); }

}  // namespace

void Rank::add(const json& call) {
  check_keys(call, "add", {"call", "times", "ranks", "fails", "missing", "plant", "weight", "rows", "dense"});
  Gradients grads = make_gradients(call);
  std::vector<Rows> rows;
  for (const json& spec : call.value("rows", json::array())) {
    check_keys(spec, "rows", {"parameter", "count", "indices", "dtype"});
    const auto parameter = spec.at("parameter").get<std::size_t>();
    const auto count_of_rows = spec.at("count").get<std::int64_t>();
    std::vector<std::int64_t> shape = shapes_.at(parameter);
    const auto extent = static_cast<std::uint64_t>(shape.at(0));
    shape[0] = count_of_rows;
    rows.push_back({HostTensor(device_, {count_of_rows}, dtype_of(spec.value("indices", "int64"))),
                    HostTensor(device_, shape, dtype_of(spec.value("dtype", "f32")))});
    const std::uint64_t bits = tensor_bits(key(DataKind::row_index, parameter));
    for (std::size_t k = 0; k < rows.back().indices.size(); ++k) {
      rows.back().indices.set(k, as_bits(mix(bits ^ k) % extent));
    }
    rows.back().values.fill(key(DataKind::row_value, parameter), 0);
  }
  std::vector<gradstep_tensor> views;
  for (Rows& some : rows) {
    views.push_back(some.indices.view());
    views.push_back(some.values.view());
  }
  std::vector<gradstep_rows> described;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto parameter = call.at("rows")[k].at("parameter").get<std::int64_t>();
    described.push_back({sizeof(gradstep_rows), 0, parameter, &views[2 * k], &views[2 * k + 1]});
  }
  const bool dense = call.value("dense", true);
  const double weight = call.value("weight", 1.0);
  std::int32_t ready = 0;
  feed_status(
      call,
      call.contains("rows")
          ? gradstep_accumulator_add_ex(accumulator_.get(), dense ? grads.views.data() : nullptr, dense ? count() : 0,
                                        described.data(), described.size(), weight, nullptr, &ready)
          : gradstep_accumulator_add(accumulator_.get(), grads.views.data(), count(), weight, nullptr, &ready));
  feed_accumulator(ready);
}

void Rank::collective(const json& call) {
  check_keys(call, "a collective", {"call", "times", "ranks", "dtype", "op", "elements"});
  const auto name = call.at("call").get<std::string>();
  const gradstep_dtype dtype = dtype_of(call.value("dtype", "f32"));
  const std::int32_t op = number_of(call.value("op", "sum"), {"sum", "max", "min"}, "op");
  const auto elements = call.at("elements").get<std::int64_t>();
  const std::int64_t ranks = case_.ranks();
  HostTensor input(host(), {elements * (name == "reduce_scatter" ? ranks : 1)}, dtype);
  HostTensor output(host(), {elements * (name == "all_gather" ? ranks : 1)}, dtype);
  input.fill(key(DataKind::collective, 0), 0);
  const gradstep_tensor from = input.view();
  const gradstep_tensor to = output.view();
  if (name == "all_reduce") check(gradstep_comm_all_reduce(comm_, &from, op, nullptr));
  if (name == "reduce_scatter") check(gradstep_comm_reduce_scatter(comm_, &from, &to, op, nullptr));
  if (name == "all_gather") check(gradstep_comm_all_gather(comm_, &from, &to, nullptr));
  const HostTensor& result = name == "all_reduce" ? input : output;
  digest_.add("result", dtype, result.elements());
}

/// Everything goes on in fresh handles that have loaded what the old ones saved.
void Rank::save_load(const json& call) {
  check_keys(call, "save_load", {"call", "times", "ranks"});
  if (updater_ != nullptr) {
    const bool together = reducer_ != nullptr || !sharding_.is_null();
    MemoryStream memory = together ? saved_together(updater_.get(), gradstep_updater_save, comm_, rank_, shared_)
                                   : saved(updater_.get(), gradstep_updater_save);
    make_handles();
    load_into(updater_.get(), std::move(memory), gradstep_updater_load);
    return;
  }
  MemoryStream optimizer;
  MemoryStream accumulator;
  MemoryStream reducer;
  if (optimizer_ != nullptr) {
    optimizer = sharding_.is_null() ? saved(optimizer_.get(), gradstep_optimizer_save)
                                    : saved_together(optimizer_.get(), gradstep_optimizer_save, comm_, rank_, shared_);
  }
  if (accumulator_ != nullptr) accumulator = saved(accumulator_.get(), gradstep_accumulator_save);
  if (reducer_ != nullptr) reducer = saved(reducer_.get(), gradstep_reducer_save);
  make_handles();
  if (optimizer_ != nullptr) load_into(optimizer_.get(), std::move(optimizer), gradstep_optimizer_load);
  if (accumulator_ != nullptr) load_into(accumulator_.get(), std::move(accumulator), gradstep_accumulator_load);
  if (reducer_ != nullptr) load_into(reducer_.get(), std::move(reducer), gradstep_reducer_load);
}

}  // namespace gradstep_bits
