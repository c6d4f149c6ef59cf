// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "comm/data_plane.h"

#include <cstring>
#include <numeric>

namespace gradstep {

namespace {

std::int64_t total_of(std::span<const std::int64_t> bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0});
}

}  // namespace

void DataPlane::download(std::byte* to, const void* from, std::int64_t bytes) {
  site_.queue().download(to, from, static_cast<std::size_t>(bytes));
}

void DataPlane::upload(void* to, const std::byte* from, std::int64_t bytes) {
  site_.queue().upload(to, from, static_cast<std::size_t>(bytes));
}

void DataPlane::all_reduce(const Array& data, std::int32_t op, double divisor, const Deadline& deadline) {
  if (site_.is_host()) return comm_.all_reduce(data, op, divisor, deadline);
  if (is_queued()) return device_->all_reduce(data, op, divisor, deadline);
  Array staged = data;
  std::byte* host = staging_.reserve(data.bytes());
  staged.data = host;
  download(host, data.data, data.bytes());
  comm_.all_reduce(staged, op, divisor, deadline);
  upload(data.data, host, data.bytes());
}

void DataPlane::reduce_scatter(const Array& input, const Array& output, std::int32_t op, const Deadline& deadline) {
  if (site_.is_host()) return comm_.reduce_scatter(input, output, op, deadline);
  if (is_queued()) return device_->reduce_scatter(input, output, op, deadline);
  Array in = input;
  Array out = output;
  std::byte* host = staging_.reserve(input.bytes() + output.bytes());
  in.data = host;
  out.data = host + input.bytes();
  download(host, input.data, input.bytes());
  comm_.reduce_scatter(in, out, op, deadline);
  upload(output.data, host + input.bytes(), output.bytes());
}

void DataPlane::reduce_scatter_v(const Array& data, std::span<const std::int64_t> counts, std::int32_t op,
                                 double divisor, const Deadline& deadline) {
  if (site_.is_host()) return comm_.reduce_scatter_v(data, counts, op, divisor, deadline);
  if (is_queued()) return device_->reduce_scatter_v(data, counts, op, divisor, deadline);
  Array staged = data;
  std::byte* host = staging_.reserve(data.bytes());
  staged.data = host;
  download(host, data.data, data.bytes());
  comm_.reduce_scatter_v(staged, counts, op, divisor, deadline);
  const std::int64_t begin = total_of(counts.first(rank())) * size_of(data.dtype);
  upload(static_cast<std::byte*>(data.data) + begin, host + begin, counts[rank()] * size_of(data.dtype));
}

void DataPlane::all_gather(const void* send, void* receive, std::int64_t bytes, const Deadline& deadline) {
  if (is_queued()) return device_->all_gather(send, receive, bytes, deadline);
  const auto at_host = [&](const void* from, void* to) { comm_.all_gather(from, to, bytes, deadline); };
  gather(send, bytes, receive, bytes * comm_.world_size(), at_host);
}

DataPlane::Seen DataPlane::all_gather_seen(const void* send, void* receive, std::int64_t bytes, std::int64_t seen,
                                           const Deadline& deadline) {
  if (!is_queued()) {
    const auto at_host = [&](const void* from, void* to) { comm_.all_gather(from, to, bytes, deadline); };
    return {gather(send, bytes, receive, bytes * comm_.world_size(), at_host), bytes};
  }
  device_->all_gather(send, receive, bytes, deadline);
  std::byte* together = seen_.reserve(seen * comm_.world_size());
  for (std::int32_t r = 0; r < comm_.world_size(); ++r) {
    site_.queue().copy(together + r * seen, static_cast<const std::byte*>(receive) + r * bytes,
                       static_cast<std::size_t>(seen));
  }
  device_->settle(deadline);
  std::byte* host = staging_.reserve(seen * comm_.world_size());
  download(host, together, seen * comm_.world_size());
  return {host, seen};
}

void DataPlane::all_gather_v(const void* send, void* receive, std::span<const std::int64_t> bytes,
                             const Deadline& deadline) {
  if (is_queued()) return device_->all_gather_v(send, receive, bytes, deadline);
  const auto at_host = [&](const void* from, void* to) { comm_.all_gather_v(from, to, bytes, deadline); };
  gather(send, bytes[rank()], receive, total_of(bytes), at_host);
}

const std::byte* DataPlane::gather(const void* send, std::int64_t own, void* receive, std::int64_t all,
                                   FunctionRef<void(const void*, void*)> at_host) {
  if (site_.is_host()) {
    at_host(send, receive);
    return static_cast<const std::byte*>(receive);
  }
  std::byte* host = staging_.reserve(all + own);
  download(host + all, send, own);
  at_host(host + all, host);
  upload(receive, host, all);
  return host;
}

void DataPlane::exchange(const void* send, std::span<const std::int64_t> send_bytes, void* receive,
                         std::span<const std::int64_t> receive_bytes, const Deadline& deadline) {
  if (is_queued()) {
    list_pieces(static_cast<const std::byte*>(send), send_bytes, static_cast<std::byte*>(receive), receive_bytes);
    const Communicator::Outgoing& own = outgoing_[rank()];
    site_.queue().copy(incoming_[rank()].data, own.data, static_cast<std::size_t>(own.bytes));
    return device_->exchange(outgoing_, incoming_, deadline);
  }
  if (site_.is_host()) {
    return exchange_at_host(static_cast<const std::byte*>(send), send_bytes, static_cast<std::byte*>(receive),
                            receive_bytes, deadline);
  }
  const std::int64_t out = total_of(send_bytes);
  const std::int64_t in = total_of(receive_bytes);
  std::byte* host = staging_.reserve(out + in);
  download(host, send, out);
  exchange_at_host(host, send_bytes, host + out, receive_bytes, deadline);
  upload(receive, host + out, in);
}

void DataPlane::list_pieces(const std::byte* send, std::span<const std::int64_t> send_bytes, std::byte* receive,
                            std::span<const std::int64_t> receive_bytes) {
  outgoing_.clear();
  incoming_.clear();
  for (std::size_t r = 0; r < send_bytes.size(); ++r) {
    outgoing_.push_back({send, send_bytes[r]});
    incoming_.push_back({receive, receive_bytes[r]});
    send += send_bytes[r];
    receive += receive_bytes[r];
  }
}

void DataPlane::exchange_at_host(const std::byte* send, std::span<const std::int64_t> send_bytes, std::byte* receive,
                                 std::span<const std::int64_t> receive_bytes, const Deadline& deadline) {
  list_pieces(send, send_bytes, receive, receive_bytes);
  const Communicator::Outgoing& own = outgoing_[rank()];
  if (own.bytes > 0) std::memcpy(incoming_[rank()].data, own.data, static_cast<std::size_t>(own.bytes));
  comm_.exchange(outgoing_, incoming_, deadline);
}

void DataPlane::all_to_all(const void* send, void* receive, std::span<const std::int64_t> bytes,
                           const Deadline& deadline) {
  if (site_.is_host()) return comm_.all_to_all(send, receive, bytes, deadline);
  if (is_queued()) return device_->all_to_all(send, receive, bytes, deadline);
  const std::int64_t out = total_of(bytes);
  const std::int64_t in = bytes[rank()] * comm_.world_size();
  std::byte* host = staging_.reserve(out + in);
  download(host, send, out);
  comm_.all_to_all(host, host + out, bytes, deadline);
  upload(receive, host + out, in);
}

void DataPlane::broadcast(void* data, std::int64_t bytes, std::int32_t root, const Deadline& deadline) {
  if (site_.is_host()) return comm_.broadcast(data, bytes, root, deadline);
  if (is_queued()) return device_->broadcast(data, bytes, root, deadline);
  std::byte* host = staging_.reserve(bytes);
  if (comm_.rank() == root) download(host, data, bytes);
  comm_.broadcast(host, bytes, root, deadline);
  if (comm_.rank() != root) upload(data, host, bytes);
}

void DataPlane::send(const void* data, std::int64_t bytes, std::int32_t to, const Deadline& deadline) {
  if (site_.is_host()) return comm_.send(data, bytes, to, deadline);
  if (is_queued()) return device_->send(data, bytes, to, deadline);
  std::byte* host = staging_.reserve(bytes);
  download(host, data, bytes);
  comm_.send(host, bytes, to, deadline);
}

void DataPlane::recv(void* data, std::int64_t bytes, std::int32_t from, const Deadline& deadline) {
  if (site_.is_host()) return comm_.recv(data, bytes, from, deadline);
  if (is_queued()) return device_->recv(data, bytes, from, deadline);
  std::byte* host = staging_.reserve(bytes);
  comm_.recv(host, bytes, from, deadline);
  upload(data, host, bytes);
}

}  // namespace gradstep
