// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "optim/state/state_tensor.h"

#include <algorithm>
#include <bit>
#include <tuple>
#include <type_traits>

#include "backend/host_copies.h"
#include "kernels/block_code.h"
#include "kernels/random.h"

namespace gradstep {

namespace {

DType dtype_of(Encoding encoding) {
  switch (encoding) {
    case Encoding::f32:
      return DType::f32;
    case Encoding::f64:
      return DType::f64;
    case Encoding::bf16:
      return DType::bf16;
    default:
      return DType::u8;
  }
}

kernels::Coding coding_of(Encoding encoding) {
  if (encoding == Encoding::columns_int8) return kernels::Coding::int8;
  return encoding == Encoding::columns_int16 ? kernels::Coding::int16 : kernels::Coding::none;
}

/// Bytes of one number.
std::int64_t number_size(Encoding encoding) {
  return encoding == Encoding::columns_int16 ? 2 : size_of(dtype_of(encoding));
}

std::int64_t block_count(std::int64_t elements) { return (elements + kernels::kCodeBlock - 1) / kernels::kCodeBlock; }

std::int64_t factor_count(const TensorForm& form, std::int64_t elements) {
  if (form.encoding < Encoding::blocks) return 0;
  return form.encoding == Encoding::blocks ? block_count(elements) : form.columns;
}

std::int64_t diagonal_length(const TensorForm& form) {
  return form.encoding == Encoding::columns_int16 ? form.columns : 0;
}

/// Lists of so many bytes are padded to a multiple of this: a cache line, unless an eighth of the list is less. Devices
/// read 16 bytes at once.
std::size_t unit_of(std::size_t bytes) { return std::clamp<std::size_t>(std::bit_floor(bytes / 8), 16, kAlignment); }

/// `unit` is a power of two.
std::size_t padded(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) & ~(unit - 1); }
std::size_t padded(std::int64_t bytes) {
  return padded(static_cast<std::size_t>(bytes), unit_of(static_cast<std::size_t>(bytes)));
}

}  // namespace

std::int64_t TensorForm::bytes(std::int64_t elements) const {
  const std::int64_t lists = factor_count(*this, elements) + diagonal_length(*this);
  return elements * number_size(encoding) + lists * size_of(DType::f32);
}

/// How the memory of tensors of one form is divided: all numbers, then all factors, then all diagonals.
struct StateTensor::Layout {
  std::size_t numbers = 0;   // bytes of one tensor
  std::size_t factors = 0;   // f32: one for each block, or for each column
  std::size_t diagonal = 0;  // f32

  explicit Layout(const StateTensor& tensor)
      : numbers(padded(tensor.slice_.size * number_size(tensor.form_.encoding))),
        factors(padded(factor_count(tensor.form_, tensor.slice_.size) * size_of(DType::f32))),
        diagonal(padded(diagonal_length(tensor.form_) * size_of(DType::f32))) {}

  std::size_t bytes() const { return numbers + factors + diagonal; }
};

float* StateTensor::factors() const {
  if (!is_coded() || !is_here()) return nullptr;
  const Layout layout(*this);
  if (layout.factors == 0) return nullptr;
  return reinterpret_cast<float*>(memory_.get() + (batch_ - place_) * layout.numbers + place_ * layout.factors);
}

float* StateTensor::diagonal() const {
  if (!is_coded() || !is_here()) return nullptr;
  const Layout layout(*this);
  if (layout.diagonal == 0) return nullptr;
  return reinterpret_cast<float*>(memory_.get() + (batch_ - place_) * layout.numbers + batch_ * layout.factors +
                                  place_ * layout.diagonal);
}

Array StateTensor::numbers() const {
  const std::int64_t bytes_each = number_size(form_.encoding) / size_of(dtype_of(form_.encoding));
  return compact_array(stored_numbers(), slice_.size * bytes_each, dtype_of(form_.encoding));
}

StoredMatrix StateTensor::matrix() const {
  return {form_.rows, form_.columns, coding_of(form_.encoding), stored_numbers(),
          factors(),  diagonal(),    dtype_of(form_.encoding)};
}

CodedNumbers StateTensor::codes() const {
  return {static_cast<std::uint8_t*>(stored_numbers()), factors(), slice_.size, form_.has_signs};
}

void StateTensor::encode(const Site& site, const float* from) const {
  if (form_.encoding == Encoding::blocks) {
    site.backend().encode(from, codes(), site.queue());
  } else {
    site.backend().encode(from, matrix(), site.queue());
  }
}

void StateTensor::decode(const Site& site, float* to) const {
  if (form_.encoding == Encoding::blocks) {
    site.backend().decode(codes(), to, site.queue());
  } else {
    site.backend().decode(matrix(), to, site.queue());
  }
}

void StateTensor::write_initial(const Context& context, const Site& site) const {
  if (!is_here() || slice_.size == 0) return;
  if (form_.is_diagonal) {
    return site.backend().write_identity(matrix(), form_.initial, site.queue());
  }
  const Array kept = numbers();
  site.queue().zero(kept.data, static_cast<std::size_t>(kept.bytes()));
  site.queue().zero(factors(), static_cast<std::size_t>(factor_count(form_, slice_.size) * size_of(DType::f32)));
  site.queue().zero(diagonal(), static_cast<std::size_t>(diagonal_length(form_) * size_of(DType::f32)));
  if (form_.initial == 0 && form_.random_key == 0) return;
  const DType dtype = form_.encoding == Encoding::f64 ? DType::f64 : DType::f32;
  Buffer filled = context.allocate(static_cast<std::size_t>(slice_.size * size_of(dtype)), /*zeroed=*/false);
  const auto fill = [&](auto* numbers) {
    using T = std::remove_pointer_t<decltype(numbers)>;
    for (std::int64_t i = 0; i < slice_.size; ++i) {
      const auto place = static_cast<std::uint64_t>(slice_.begin + i);
      const double random = kernels::signed_unit(kernels::mix64(form_.random_key + place));
      numbers[i] = static_cast<T>(form_.random_key == 0 ? form_.initial : random);
    }
  };
  dtype == DType::f64 ? fill(filled.as<double>()) : fill(filled.as<float>());
  const Buffer source = upload(site, std::move(filled));
  if (is_coded()) return encode(site, source.as<float>());
  site.copy(kept, compact_array(source.data(), slice_.size, dtype));
}

void StateTensor::append_stored(std::size_t parameter, const std::string& name, std::span<const std::int64_t> shape,
                                std::int32_t owner, std::vector<StoredState>& stored) const {
  using Code = StoredState::Code;
  StoredState numbers_stored{parameter, name, numbers(), slice_.begin, form_.size(), false, owner};
  numbers_stored.shape.assign(shape.begin(), shape.end());
  if (form_.encoding == Encoding::blocks)
    numbers_stored.code = form_.has_signs ? Code::with_signs : Code::of_magnitudes;
  if (form_.encoding == Encoding::columns_int16) {
    numbers_stored.total *= 2;
    numbers_stored.shape.push_back(2);
  }
  stored.push_back(std::move(numbers_stored));
  const auto append_list = [&](const char* suffix, void* list, std::int64_t length) {
    const Array array = compact_array(list, is_here() ? length : 0, DType::f32);
    stored.push_back({parameter, name + suffix, array, 0, length, false, owner, {length}});
  };
  if (form_.encoding == Encoding::blocks) {
    const Array array = compact_array(factors(), block_count(slice_.size), DType::f32);
    stored.push_back({parameter, name + ".scales", array, slice_.begin / kernels::kCodeBlock, block_count(form_.size()),
                      true, owner});
  } else if (is_coded()) {
    append_list(".buckets", factors(), form_.columns);
    if (diagonal_length(form_) > 0) append_list(".diagonal", diagonal(), form_.columns);
  }
}

std::size_t StateTensor::padding() const {
  return is_here() ? Layout(*this).bytes() - static_cast<std::size_t>(form_.bytes(slice_.size)) : 0;
}

void allocate_tensors(const Site& site, std::span<StateTensor* const> tensors, bool side_by_side) {
  const auto allocate = [&](std::size_t bytes) {
    return std::make_shared<const Buffer>(site.allocate(bytes, /*zeroed=*/true));
  };
  const auto part_of = [](const std::shared_ptr<const Buffer>& memory, std::size_t offset) {
    return std::shared_ptr<std::byte>(memory, memory->bytes() > 0 ? memory->as<std::byte>() + offset : nullptr);
  };
  if (!side_by_side) {
    constexpr std::size_t kShared = std::size_t{256} << 10;
    // Streams that are whole pages apart would wait for one another.
    const auto room = [](const StateTensor* tensor) {
      const std::size_t bytes = StateTensor::Layout(*tensor).bytes();
      return bytes > 0 && bytes % 4096 == 0 ? bytes + kAlignment : bytes;
    };
    /// Where a tensor begins behind those that take `bytes`, which then has it, too.
    const auto place_behind = [&](std::size_t& bytes, const StateTensor* tensor) {
      const std::size_t begin = padded(bytes, unit_of(StateTensor::Layout(*tensor).numbers));
      bytes = begin + room(tensor);
      return begin;
    };
    for (auto begin = tensors.begin(); begin != tensors.end();) {
      auto end = begin;
      std::size_t bytes = 0;
      for (std::size_t next = 0; end != tensors.end(); ++end) {
        place_behind(next, *end);
        if (end != begin && next > kShared) break;
        bytes = next;
      }
      const auto memory = allocate(end == begin + 1 ? StateTensor::Layout(**begin).bytes() : bytes);
      for (std::size_t next = 0; begin != end; ++begin) (*begin)->memory_ = part_of(memory, place_behind(next, *begin));
    }
    return;
  }
  std::vector<StateTensor*> sorted(tensors.begin(), tensors.end());
  const auto form_of = [](const StateTensor* tensor) {
    const TensorForm& form = tensor->form_;
    return std::tuple(form.rows, form.columns, form.encoding);
  };
  std::ranges::stable_sort(sorted, {}, form_of);
  for (auto begin = sorted.begin(); begin != sorted.end();) {
    const auto end =
        std::find_if(begin, sorted.end(), [&](const StateTensor* t) { return form_of(t) != form_of(*begin); });
    const auto count = static_cast<std::size_t>(end - begin);
    const StateTensor::Layout layout(**begin);
    const auto memory = allocate(count * layout.bytes());
    for (std::uint32_t k = 0; begin != end; ++begin, ++k) {
      (*begin)->memory_ = part_of(memory, k * layout.numbers);
      (*begin)->place_ = k;
      (*begin)->batch_ = static_cast<std::uint32_t>(count);
    }
  }
}

}  // namespace gradstep
