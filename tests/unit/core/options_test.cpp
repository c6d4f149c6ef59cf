// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Every growing struct of the C API, between a host and a library of different ages. "Later" is the struct of a library
// that has appended two fields since the host was compiled.
#include "core/options.h"

#include <array>

#include "unit/support.h"

namespace gradstep::test {

template <class T>
struct Later : T {
  std::array<std::int64_t, 2> added;
};

}  // namespace gradstep::test

template <class T>
struct gradstep::Version1<gradstep::test::Later<T>> : gradstep::Version1<T> {};

namespace gradstep::test {
namespace {

constexpr unsigned char kBehind = 0xee;  // what stands behind the host's struct, and is not the library's to touch

/// The memory of a host whose struct has `size` bytes. Its known bytes count up from 1.
template <class T>
class Host {
 public:
  explicit Host(std::size_t size) : size_(size) {
    memory_.fill(kBehind);
    for (std::size_t i = 0; i < size; ++i) memory_[i] = static_cast<unsigned char>(i < sizeof(T) ? i % 255 + 1 : 0);
    const auto word = static_cast<std::uint32_t>(size);
    std::memcpy(memory_.data(), &word, sizeof word);
  }

  template <class Read = T>
  Read* get() {
    return reinterpret_cast<Read*>(memory_.data());
  }
  unsigned char& operator[](std::size_t i) { return memory_[i]; }
  bool is_zero(std::size_t begin, std::size_t end) const { return all(begin, end, 0); }
  bool is_untouched_behind() const { return all(std::max(size_, sizeof(std::uint32_t)), memory_.size(), kBehind); }

 private:
  bool all(std::size_t begin, std::size_t end, unsigned char value) const {
    return std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(begin),
                       memory_.begin() + static_cast<std::ptrdiff_t>(end), [&](auto byte) { return byte == value; });
  }

  std::size_t size_;
  alignas(8) std::array<unsigned char, kMaxStructSize + 64> memory_;
};

/// Calls check<T>() for every struct of the table.
template <class Check>
void for_every_struct(const Check& check) {
#define GRADSTEP_CHECK(Struct, last_field, bytes) \
  {                                               \
    SCOPED_TRACE(#Struct);                        \
    check.template operator()<Struct>();          \
  }
  GRADSTEP_GROWING_STRUCTS(GRADSTEP_CHECK)
#undef GRADSTEP_CHECK
}

/// A value of which every byte is 0x55.
template <class T>
T filled() {
  T value;
  std::memset(static_cast<void*>(&value), 0x55, sizeof value);
  return value;
}

TEST(Options, StructOfANewerHostIsReadIfItsTailIsZero) {
  for_every_struct([]<class T>() {
    for (const std::size_t size : {sizeof(T), sizeof(T) + 16, kMaxStructSize}) {
      Host<T> host(size);
      const T read = read_struct("options", host.get());
      EXPECT_EQ(std::memcmp(&read, host.get(), sizeof(T)), 0);
    }
  });
}

TEST(Options, StructOfANewerHostIsUnsupportedIfItsTailIsNot) {
  for_every_struct([]<class T>() {
    for (const std::size_t byte : {sizeof(T), sizeof(T) + 15}) {
      Host<T> host(sizeof(T) + 16);
      host[byte] = 1;
      expect_error(GRADSTEP_ERR_UNSUPPORTED,
                   fmt::format("options: struct_size is {}, this library knows {} bytes, and byte {} is not zero",
                               sizeof(T) + 16, sizeof(T), byte),
                   [&] { read_struct("options", host.get()); });
      EXPECT_EQ(read_known_fields("options", host.get()).struct_size, sizeof(T) + 16) << "who is to be released?";
    }
  });
}

TEST(Options, StructOfAnOlderHostIsCompletedWithZeros) {
  for_every_struct([]<class T>() {
    Host<T> host(Version1<T>::kSize);
    const auto read = read_struct("options", host.template get<Later<T>>());
    EXPECT_EQ(std::memcmp(&read, host.get(), Version1<T>::kSize), 0);
    EXPECT_EQ(read.added[0], 0) << "what lies behind the host's struct was read";
    EXPECT_EQ(read.added[1], 0);
  });
}

TEST(Options, SizesThatNoVersionHasAreInvalid) {
  for_every_struct([]<class T>() {
    for (const std::size_t size : {std::size_t{0}, std::size_t{4}, Version1<T>::kSize - 8, Version1<T>::kSize - 1,
                                   sizeof(T) + 3, sizeof(T) + 4, kMaxStructSize + 8}) {
      Host<T> host(size);
      const auto refused = [&](auto&& body) {
        expect_error(
            GRADSTEP_ERR_INVALID_ARGUMENT,
            fmt::format("struct_size is {}, expected a multiple of 8 from {} to 4096", size, Version1<T>::kSize), body);
      };
      refused([&] { read_struct("options", host.get()); });
      refused([&] { check_unknown_fields("options", host.get()); });
      // What has version 1 can be given back to the host before it is refused.
      if (has_version1<T>(size)) {
        EXPECT_NO_THROW(read_known_fields("options", host.get()));
      } else {
        refused([&] { read_known_fields("options", host.get()); });
      }
      refused([&] { write_struct("stats", host.get(), T{}); });
      refused([&] { init_struct("o", host.get(), size, T{}); });
      refused([&] { write_records<T>(host.get(), size, 1, std::span<const T>()); });
      EXPECT_TRUE(host.is_untouched_behind());
    }
    const T* const none = nullptr;
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options: is NULL", [&] { read_struct("options", none); });
  });
}

TEST(Options, OutStructOfANewerHostEndsInZeros) {
  for_every_struct([]<class T>() {
    Host<T> host(sizeof(T) + 16);
    host[sizeof(T)] = host[sizeof(T) + 15] = 7;  // left over from an earlier call
    write_struct("stats", host.get(), filled<T>());
    EXPECT_EQ(host.get()->struct_size, sizeof(T) + 16);
    EXPECT_EQ(host[sizeof(T) - 1], 0x55);
    EXPECT_TRUE(host.is_zero(sizeof(T), sizeof(T) + 16));
    EXPECT_TRUE(host.is_untouched_behind());
  });
}

TEST(Options, OutStructOfAnOlderHostGetsWhatItHasRoomFor) {
  for_every_struct([]<class T>() {
    constexpr std::size_t kSize = Version1<T>::kSize;
    Host<T> host(kSize);
    write_struct("stats", host.template get<Later<T>>(), filled<Later<T>>());
    EXPECT_EQ(host.get()->struct_size, kSize);
    EXPECT_EQ(host[kSize - 1], 0x55);
    EXPECT_TRUE(host.is_untouched_behind());
  });
}

TEST(Options, DefaultsFillTheStructsOfHostsOfAllAges) {
  for_every_struct([]<class T>() {
    Host<T> newer(sizeof(T) + 16);
    newer[sizeof(T) + 15] = 7;
    init_struct("o", newer.get(), sizeof(T) + 16, filled<T>());
    EXPECT_EQ(newer.get()->struct_size, sizeof(T) + 16);
    EXPECT_EQ(newer[sizeof(T) - 1], 0x55);
    EXPECT_TRUE(newer.is_zero(sizeof(T), sizeof(T) + 16));
    EXPECT_TRUE(newer.is_untouched_behind());

    Host<T> older(Version1<T>::kSize);
    init_struct("o", older.template get<Later<T>>(), Version1<T>::kSize, filled<Later<T>>());
    EXPECT_EQ(older.get()->struct_size, Version1<T>::kSize);
    EXPECT_TRUE(older.is_untouched_behind());
  });
}

/// Three records for a host with room for two, whose stride is that of its own header.
template <class T, class Library>
void check_records(std::size_t stride) {
  const std::array<Library, 3> values = {filled<Library>(), filled<Library>(), filled<Library>()};
  const std::size_t known = std::min(stride, sizeof(Library));
  Host<T> host(2 * stride);
  write_records<Library>(host.template get<Library>(), stride, 2, values);
  for (const std::size_t begin : {std::size_t{0}, stride}) {
    std::uint32_t size = 0;
    std::memcpy(&size, &host[begin], sizeof size);
    EXPECT_EQ(size, stride);
    EXPECT_EQ(host[begin + known - 1], 0x55);
    EXPECT_TRUE(host.is_zero(begin + known, begin + stride));
  }
  EXPECT_TRUE(host.is_untouched_behind());
}

TEST(Options, RecordsHaveTheStrideAndTheCapacityOfTheHost) {
  for_every_struct([]<class T>() {
    check_records<T, T>(sizeof(T));
    check_records<T, T>(sizeof(T) + 16);
    check_records<T, Later<T>>(Version1<T>::kSize);
    write_records<T>(nullptr, 0, 0, std::span<const T>());  // only counts: the stride does not matter
  });
}

}  // namespace
}  // namespace gradstep::test
