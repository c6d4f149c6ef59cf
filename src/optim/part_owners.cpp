// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/part_owners.h"

#include <algorithm>
#include <utility>

#include "core/absence.h"

namespace gradstep {

namespace {

/// Arrays one after the other.
class Places {
 public:
  explicit Places(const Buffer& buffer) : next_(buffer.as<std::byte>()) {}
  Array take(std::int64_t elements, DType dtype) {
    const Array array = compact_array(next_, elements, dtype);
    next_ += line_bytes(elements, dtype);
    return array;
  }

 private:
  std::byte* next_;
};

}  // namespace

PartOwners::PartOwners(const Site& site, DataPlane& data, const Schema& schema, std::unique_ptr<const Parts> parts,
                       std::int32_t rank)
    : site_(site), data_(data), parts_(std::move(parts)), rank_(rank) {
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (!parts_->travels(i)) continue;
    const std::int64_t size = parts_->owner(i) == rank ? schema[i].whole_size() : 0;
    Tensor& tensor = tensors_.emplace_back();
    tensor.parameter = i;
    tensor.param = compact_array(nullptr, size, schema[i].dtype);
    tensor.grad = compact_array(nullptr, size, arithmetic_dtype(schema[i].dtype));
    tensor.strides = strides_of(schema[i].whole_shape());
  }
  to_owners_ = traffic(Way::to_owners);
  back_ = traffic(Way::back);
  const auto room_for = [&](std::int64_t bytes) {
    return site_.allocate(static_cast<std::size_t>(bytes), /*zeroed=*/true);  // what lies between pieces travels, too
  };
  near_ = room_for(std::max(total_of(to_owners_.sent), total_of(back_.received)));
  far_ = room_for(std::max(total_of(to_owners_.received), total_of(back_.sent)));
  std::int64_t bytes = 0;
  for (const Tensor& tensor : tensors_) {
    for (const Array& whole : {tensor.param, tensor.grad}) bytes += line_bytes(whole.size, whole.dtype);
  }
  wholes_ = room_for(bytes);
  place_wholes();
  place_pieces();
}

template <class Visit>
void PartOwners::for_each_piece(Way way, std::int32_t holder, std::int32_t owner, Visit visit) const {
  for (const Tensor& tensor : tensors_) {
    const std::size_t i = tensor.parameter;
    const std::int64_t size = parts_->box(holder, i).size;
    if (parts_->owner(i) == owner && size > 0 && (way == Way::back || parts_->stands(holder, i))) visit(tensor, size);
  }
}

PartOwners::Traffic PartOwners::traffic(Way way) const {
  const auto bytes = [&](std::int32_t holder, std::int32_t owner) {
    std::int64_t sum = 0;
    for_each_piece(way, holder, owner, [&](const Tensor& tensor, std::int64_t size) {
      sum += line_bytes(size, tensor.param.dtype);
      if (way == Way::to_owners) sum += line_bytes(size, tensor.grad.dtype);
    });
    return sum;
  };
  Traffic found;
  for (std::int32_t rank = 0; rank < parts_->ranks(); ++rank) {
    const std::int64_t of_parts = bytes(rank_, rank);
    const std::int64_t of_wholes = bytes(rank, rank_);
    found.sent.push_back(way == Way::to_owners ? of_parts : of_wholes);
    found.received.push_back(way == Way::to_owners ? of_wholes : of_parts);
  }
  return found;
}

void PartOwners::place_wholes() {
  Places places(wholes_);
  for (Tensor& tensor : tensors_) {
    for (Array* whole : {&tensor.param, &tensor.grad}) {
      *whole = places.take(whole->size, whole->dtype);
      place_if_empty(*whole);
    }
  }
}

void PartOwners::place_pieces() {
  Places out(near_);
  Places in(near_);
  Places joined(far_);
  Places parted(far_);
  for (std::int32_t rank = 0; rank < parts_->ranks(); ++rank) {
    const auto part_of = [&](const Array& whole, const Tensor& tensor) {
      return box_in(whole, tensor.strides, parts_->box(rank, tensor.parameter));
    };
    for_each_piece(Way::to_owners, rank_, rank, [&](const Tensor& tensor, std::int64_t size) {
      grads_out_.add(tensor.parameter, out.take(size, tensor.grad.dtype));
      params_out_.add(tensor.parameter, out.take(size, tensor.param.dtype));
      out_work_.append(size);
    });
    for_each_piece(Way::to_owners, rank, rank_, [&](const Tensor& tensor, std::int64_t size) {
      for (const Array& whole : {tensor.grad, tensor.param}) {
        joined_.push_back({part_of(whole, tensor), joined.take(size, whole.dtype)});
        join_work_.append(size);
      }
    });
    for_each_piece(Way::back, rank, rank_, [&](const Tensor& tensor, std::int64_t size) {
      parted_.push_back({parted.take(size, tensor.param.dtype), part_of(tensor.param, tensor)});
      cut_work_.append(size);
    });
    for_each_piece(Way::back, rank_, rank, [&](const Tensor& tensor, std::int64_t size) {
      results_in_.add(tensor.parameter, in.take(size, tensor.param.dtype));
      in_work_.append(size);
    });
  }
  join_ = {&join_work_, joined_, {}};
  cut_ = {&cut_work_, parted_, {}};
}

void PartOwners::bring(const StepBuffers& buffers, std::vector<Array>& grads, const Deadline& deadline) {
  Backend& backend = site_.backend();
  backend.copy(grads_out_.plan(out_work_, buffers.grads), 1, 1, site_.queue());
  backend.copy(params_out_.plan(out_work_, buffers.params), 1, 1, site_.queue());
  data_.exchange(near_.data(), to_owners_.sent, far_.data(), to_owners_.received, deadline);
  backend.copy(join_, 1, 1, site_.queue());
  params_.assign(buffers.params.begin(), buffers.params.end());
  updates_.assign(buffers.updates.begin(), buffers.updates.end());
  grads.assign(buffers.grads.begin(), buffers.grads.end());
  for (const Tensor& tensor : tensors_) {
    const std::size_t i = tensor.parameter;
    params_[i] = tensor.param;
    if (!updates_.empty()) updates_[i] = tensor.param;
    if (!is_absent(grads[i])) grads[i] = tensor.grad;
  }
}

void PartOwners::publish(const BufferList& targets, const Deadline& deadline) {
  site_.backend().copy(cut_, 1, 1, site_.queue());
  data_.exchange(far_.data(), back_.sent, near_.data(), back_.received, deadline);
  data_.settle(deadline);
  site_.backend().copy(results_in_.plan(in_work_, targets), 1, 1, site_.queue());
}

}  // namespace gradstep
