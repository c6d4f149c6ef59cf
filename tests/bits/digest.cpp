// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <cstdio>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gradstep_bits {

namespace {

/// All NaNs are one: which payload survives an addition is the processor's and the compiler's choice.
template <class Bits>
void unify_nans(std::vector<std::uint8_t>& bytes, Bits infinity, Bits nan) {
  const auto magnitude = static_cast<Bits>(static_cast<Bits>(~Bits{0}) >> 1U);
  for (std::size_t k = 0; k + sizeof(Bits) <= bytes.size(); k += sizeof(Bits)) {
    Bits bits = 0;
    std::memcpy(&bits, &bytes[k], sizeof bits);
    if (static_cast<Bits>(bits & magnitude) > infinity) std::memcpy(&bytes[k], &nan, sizeof nan);
  }
}

void unify_nans(gradstep_dtype dtype, std::vector<std::uint8_t>& bytes) {
  if (dtype.code == GRADSTEP_TYPE_BFLOAT) {
    unify_nans<std::uint16_t>(bytes, 0x7F80, 0x7FC0);
  } else if (dtype.code != GRADSTEP_TYPE_FLOAT) {
    return;
  } else if (dtype.bits == 16) {
    unify_nans<std::uint16_t>(bytes, 0x7C00, 0x7E00);
  } else if (dtype.bits == 32) {
    unify_nans<std::uint32_t>(bytes, 0x7F800000U, 0x7FC00000U);
  } else {
    unify_nans<std::uint64_t>(bytes, 0x7FF0000000000000U, 0x7FF8000000000000U);
  }
}

template <class Number>
std::vector<std::uint8_t> bytes_of_number(Number number) {
  std::vector<std::uint8_t> bytes(sizeof number);
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

}  // namespace

std::uint64_t hash_of(const void* data, std::size_t size) { return XXH3_64bits(data, size); }

std::string hex(std::uint64_t hash) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

struct Digest::State {
  XXH3_state_t xxh3;
};

Digest::Digest(bool trace) : state_(std::make_unique<State>()), traces_(trace) { XXH3_64bits_reset(&state_->xxh3); }
Digest::~Digest() = default;
Digest::Digest(Digest&&) noexcept = default;

void Digest::feed(const std::string& label, const void* data, std::size_t size) {
  const std::uint64_t count = size;
  XXH3_64bits_update(&state_->xxh3, label.c_str(), label.size() + 1);
  XXH3_64bits_update(&state_->xxh3, &count, sizeof count);
  XXH3_64bits_update(&state_->xxh3, data, size);
}

void Digest::begin_call(std::size_t call, const std::string& name) {
  feed(name, nullptr, 0);
  if (traces_) lines_.push_back("call " + std::to_string(call) + ", " + name);
}

void Digest::add(const std::string& label, gradstep_dtype dtype, std::vector<std::uint8_t> bytes) {
  unify_nans(dtype, bytes);
  feed(label, bytes.data(), bytes.size());
  if (traces_) lines_.push_back("  " + hex(hash_of(bytes.data(), bytes.size())) + " " + label);
}

void Digest::add(const std::string& label, std::int64_t number) {
  feed(label, &number, sizeof number);
  if (traces_) lines_.push_back("  " + label + " = " + std::to_string(number));
}

void Digest::add(const std::string& label, double number) {
  std::vector<std::uint8_t> bytes = bytes_of_number(number);
  unify_nans(gradstep_dtype{GRADSTEP_TYPE_FLOAT, 64, 1}, bytes);
  feed(label, bytes.data(), bytes.size());
  char text[40];
  std::snprintf(text, sizeof text, "%a", number);
  if (traces_) lines_.push_back("  " + label + " = " + text);
}

std::uint64_t Digest::value() const { return XXH3_64bits_digest(&state_->xxh3); }

}  // namespace gradstep_bits
