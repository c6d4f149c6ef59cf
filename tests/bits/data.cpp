// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "data.h"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace gradstep_bits {

namespace {

constexpr std::uint8_t kMark = 0xA5;
constexpr std::int64_t kPadding = 3;  // elements after each row of a padded tensor
constexpr std::size_t kFront = 5;     // and before its first row

/// Rounds to `bits` fewer, to nearest, ties to even. The carry may run over into what lies above.
std::uint32_t round_off(std::uint32_t value, unsigned bits) {
  if (bits == 0) return value;
  if (bits > 31) return 0;
  const std::uint32_t half = 1U << (bits - 1);
  const std::uint32_t rest = value & ((1U << bits) - 1);
  std::uint32_t rounded = value >> bits;
  if (rest > half || (rest == half && (rounded & 1U) != 0)) ++rounded;
  return rounded;
}

std::uint16_t bf16_bits(std::uint32_t f32) {
  if ((f32 & 0x7FFFFFFFU) > 0x7F800000U) return 0x7FC0;
  return static_cast<std::uint16_t>(round_off(f32, 16));
}

std::uint16_t f16_bits(std::uint32_t f32) {
  const std::uint32_t sign = f32 >> 16 & 0x8000U;
  const std::uint32_t magnitude = f32 & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return 0x7E00;
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  std::uint32_t half = 0x7C00;  // infinity
  if (exponent < -14) {
    // Subnormal: in units of 2^-24.
    if (exponent >= -25) half = round_off((magnitude & 0x7FFFFFU) | 0x800000U, static_cast<unsigned>(-1 - exponent));
    if (exponent < -25) half = 0;
  } else if (exponent < 16) {
    half = round_off(magnitude - (112U << 23), 13);
  }
  return static_cast<std::uint16_t>(sign | half);
}

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape, Layout layout) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    const std::size_t axis = layout == Layout::transposed ? k : shape.size() - 1 - k;
    strides[axis] = step;
    step *= shape[axis];
    if (k == 0 && layout == Layout::padded) step += kPadding;
  }
  return strides;
}

}  // namespace

std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30U) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27U) * 0x94D049BB133111EBU;
  return x ^ x >> 31U;
}

std::uint64_t tensor_bits(const DataKey& key) {
  return mix(mix(mix(mix(static_cast<std::uint64_t>(key.kind)) ^ key.call) ^ key.rank) ^ key.parameter);
}

std::uint32_t f32_bits(std::uint64_t tensor_bits, std::uint64_t element, int exponent) {
  const std::uint64_t bits = mix(tensor_bits ^ element);
  const auto sign = static_cast<std::uint32_t>(bits >> 63U) << 31U;
  if ((bits >> 3U & 31U) == 0) return sign;
  const int octave = static_cast<int>(bits & 7U) + static_cast<int>(tensor_bits & 3U);
  const bool is_power_of_two = (bits >> 8U & 15U) == 0;
  const auto mantissa = is_power_of_two ? 0U : static_cast<std::uint32_t>(bits >> 40U & 0x7FFFFFU);
  return sign | static_cast<std::uint32_t>(127 + exponent - octave) << 23U | mantissa;
}

gradstep_dtype dtype_of(const std::string& name) {
  if (name == "f32") return {GRADSTEP_TYPE_FLOAT, 32, 1};
  if (name == "f64") return {GRADSTEP_TYPE_FLOAT, 64, 1};
  if (name == "f16") return {GRADSTEP_TYPE_FLOAT, 16, 1};
  if (name == "bf16") return {GRADSTEP_TYPE_BFLOAT, 16, 1};
  if (name == "int32") return {GRADSTEP_TYPE_INT, 32, 1};
  if (name == "int64") return {GRADSTEP_TYPE_INT, 64, 1};
  throw std::runtime_error("dtype '" + name + "': expected f32, f64, f16, bf16, int32 or int64");
}

std::size_t bytes_of(gradstep_dtype dtype) { return dtype.bits / 8U; }

void store(gradstep_dtype dtype, std::uint32_t f32_bits, void* to) {
  if (dtype.code == GRADSTEP_TYPE_INT) {
    // The bits as a number: sums of them wrap.
    const std::int64_t wide = static_cast<std::int32_t>(f32_bits);
    std::memcpy(to, &wide, bytes_of(dtype));
  } else if (dtype.bits == 16) {
    const std::uint16_t bits = dtype.code == GRADSTEP_TYPE_BFLOAT ? bf16_bits(f32_bits) : f16_bits(f32_bits);
    std::memcpy(to, &bits, sizeof bits);
  } else if (dtype.bits == 64) {
    const double wide = std::bit_cast<float>(f32_bits);
    std::memcpy(to, &wide, sizeof wide);
  } else {
    std::memcpy(to, &f32_bits, sizeof f32_bits);
  }
}

HostTensor::HostTensor(Device& device, std::vector<std::int64_t> shape, gradstep_dtype dtype, Layout layout)
    : device_(&device), shape_(std::move(shape)), dtype_(dtype) {
  std::size_t rows = 1;
  for (std::size_t k = 0; k < shape_.size(); ++k) {
    size_ *= static_cast<std::size_t>(shape_[k]);
    if (k + 1 < shape_.size()) rows *= static_cast<std::size_t>(shape_[k]);
  }
  if (layout != Layout::compact && !shape_.empty()) strides_ = strides_of(shape_, layout);
  std::size_t room = size_;
  if (layout == Layout::padded && !shape_.empty()) {
    front_ = kFront;
    room += kFront + rows * static_cast<std::size_t>(kPadding);
  }
  words_.resize(room * bytes_of(dtype) / sizeof(std::uint64_t) + 1);
  std::memset(words_.data(), kMark, bytes());
  there_ = device.allocate(bytes());
}

HostTensor::HostTensor(HostTensor&& other) noexcept
    : device_(other.device_),
      there_(std::exchange(other.there_, nullptr)),
      is_new_(other.is_new_),
      shape_(std::move(other.shape_)),
      dtype_(other.dtype_),
      strides_(std::move(other.strides_)),
      size_(other.size_),
      front_(other.front_),
      words_(std::move(other.words_)) {}

HostTensor::~HostTensor() {
  if (there_ != nullptr) device_->deallocate(there_, bytes());
}

std::size_t HostTensor::place(std::size_t element) const {
  if (strides_.empty()) return (front_ + element) * bytes_of(dtype_);
  std::size_t offset = front_;
  for (std::size_t axis = shape_.size(); axis-- > 0;) {
    const auto extent = static_cast<std::size_t>(shape_[axis]);
    offset += element % extent * static_cast<std::size_t>(strides_[axis]);
    element /= extent;
  }
  return offset * bytes_of(dtype_);
}

void HostTensor::set(std::size_t element, std::uint32_t f32_bits) {
  store(dtype_, f32_bits, reinterpret_cast<std::uint8_t*>(words_.data()) + place(element));
  is_new_ = true;
}

void HostTensor::set_bytes(std::size_t element, const void* bytes) {
  std::memcpy(reinterpret_cast<std::uint8_t*>(words_.data()) + place(element), bytes, bytes_of(dtype_));
  is_new_ = true;
}

void HostTensor::fill(const DataKey& key, int exponent) {
  const std::uint64_t bits = tensor_bits(key);
  for (std::size_t k = 0; k < size_; ++k) set(k, f32_bits(bits, k, exponent));
}

gradstep_tensor HostTensor::view() {
  if (is_new_) device_->write(there_, words_.data(), bytes());
  is_new_ = false;
  gradstep_tensor tensor{};
  tensor.data = there_;
  tensor.byte_offset = front_ * bytes_of(dtype_);
  tensor.device = device_->id();
  tensor.ndim = static_cast<std::int32_t>(shape_.size());
  tensor.dtype = dtype_;
  tensor.shape = shape_.data();
  tensor.strides = strides_.empty() ? nullptr : strides_.data();
  return tensor;
}

std::vector<std::uint8_t> HostTensor::read() const {
  std::vector<std::uint8_t> found(bytes());
  if (is_new_) {
    std::memcpy(found.data(), words_.data(), found.size());
  } else {
    device_->read(found.data(), there_, found.size());
  }
  return found;
}

std::vector<std::uint8_t> HostTensor::elements() const {
  const std::size_t width = bytes_of(dtype_);
  std::vector<std::uint8_t> elements(size_ * width);
  if (size_ == 0) return elements;
  const std::vector<std::uint8_t> found = read();
  if (strides_.empty()) {
    std::memcpy(elements.data(), found.data() + place(0), elements.size());
    return elements;
  }
  for (std::size_t k = 0; k < size_; ++k) std::memcpy(&elements[k * width], found.data() + place(k), width);
  return elements;
}

bool HostTensor::gaps_are_untouched() const {
  std::vector<std::uint8_t> marks = read();
  for (std::size_t k = 0; k < size_; ++k) std::memset(&marks[place(k)], kMark, bytes_of(dtype_));
  for (const std::uint8_t mark : marks) {
    if (mark != kMark) return false;
  }
  return true;
}

std::vector<std::uint8_t> elements_of(Device& device, const gradstep_tensor& view) {
  std::size_t size = 1;
  for (std::int32_t k = 0; k < view.ndim; ++k) size *= static_cast<std::size_t>(view.shape[k]);
  if (view.strides != nullptr) {
    std::int64_t step = 1;
    for (std::int32_t k = view.ndim; k-- > 0;) {
      if (view.shape[k] > 1 && view.strides[k] != step)
        throw std::runtime_error("a view of the library is not compact");
      step *= view.shape[k];
    }
  }
  std::vector<std::uint8_t> bytes(size * bytes_of(view.dtype));
  const void* data = static_cast<const std::uint8_t*>(view.data) + view.byte_offset;
  if (size > 0 && view.device.device_type == GRADSTEP_DEVICE_CPU) {
    std::memcpy(bytes.data(), data, bytes.size());
  } else if (size > 0) {
    device.read(bytes.data(), data, bytes.size());
  }
  return bytes;
}

}  // namespace gradstep_bits
