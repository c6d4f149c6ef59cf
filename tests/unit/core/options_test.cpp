// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Every growing struct of the C API, between a host and a library of different ages. "Later" is the struct of a library
// that has appended two fields since the host was compiled.
#include "core/options.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

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

using Bytes = std::vector<unsigned char>;

constexpr unsigned char kBehind = 0xee;  // what stands behind the host's struct, and is not the library's to touch
constexpr unsigned char kFilled = 0x55;  // every byte of what the library writes

template <class T>
T filled() {
  T value;
  std::memset(static_cast<void*>(&value), kFilled, sizeof value);
  return value;
}

template <class T>
Bytes bytes_of(const T& value) {
  const auto* begin = reinterpret_cast<const unsigned char*>(&value);
  return {begin, begin + sizeof value};
}

/// What a library whose struct is T does with it. Behind pointers to functions, so that tests of many structs are
/// compiled once.
struct Library {
  std::size_t size;
  Bytes (*read)(const void* source);
  Bytes (*read_known)(const void* source);
  void (*check_unknown)(const void* source);
  void (*write)(void* destination);
  void (*init)(void* destination, std::size_t struct_size);
  void (*write_records)(void* records, std::size_t stride, std::size_t capacity, std::size_t count);
};

template <class T>
constexpr Library kLibrary = {
    sizeof(T),
    [](const void* source) { return bytes_of(read_struct("options", static_cast<const T*>(source))); },
    [](const void* source) { return bytes_of(read_known_fields("options", static_cast<const T*>(source))); },
    [](const void* source) { check_unknown_fields("options", static_cast<const T*>(source)); },
    [](void* destination) { write_struct("stats", static_cast<T*>(destination), filled<T>()); },
    [](void* destination, std::size_t size) { init_struct("o", static_cast<T*>(destination), size, filled<T>()); },
    [](void* records, std::size_t stride, std::size_t capacity, std::size_t count) {
      const std::vector<T> values(count, filled<T>());
      gradstep::write_records<T>(static_cast<T*>(records), stride, capacity, values);
    }};

struct Struct {
  const char* name;
  std::size_t smallest;
  Library library;
  Library later;
};

#define GRADSTEP_STRUCT(Struct, last_field, bytes) \
  {#Struct, Version1<Struct>::kSize, kLibrary<Struct>, kLibrary<Later<Struct>>},
const Struct kStructs[] = {GRADSTEP_GROWING_STRUCTS(GRADSTEP_STRUCT)};
#undef GRADSTEP_STRUCT

/// The memory of a host whose struct has `size` bytes. Its `known` fields count up from 1.
class Host {
 public:
  Host(std::size_t size, std::size_t known) : size_(size) {
    memory_.fill(kBehind);
    for (std::size_t i = 0; i < size; ++i) memory_[i] = static_cast<unsigned char>(i < known ? i % 255 + 1 : 0);
    const auto word = static_cast<std::uint32_t>(size);
    std::memcpy(memory_.data(), &word, sizeof word);
  }

  unsigned char* get() { return memory_.data(); }
  unsigned char& operator[](std::size_t i) { return memory_[i]; }
  std::size_t struct_size(std::size_t begin = 0) const {
    std::uint32_t word = 0;
    std::memcpy(&word, &memory_[begin], sizeof word);
    return word;
  }
  bool begins_with(const Bytes& bytes) const { return std::equal(bytes.begin(), bytes.end(), memory_.begin()); }
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

TEST(Options, StructOfANewerHostIsReadIfItsTailIsZero) {
  for (const auto& [name, smallest, library, later] : kStructs) {
    SCOPED_TRACE(name);
    for (const std::size_t size : {library.size, library.size + 16, kMaxStructSize}) {
      Host host(size, library.size);
      const Bytes read = library.read(host.get());
      EXPECT_EQ(read.size(), library.size);
      EXPECT_TRUE(host.begins_with(read));
    }
  }
}

TEST(Options, StructOfANewerHostIsUnsupportedIfItsTailIsNot) {
  for (const auto& [name, smallest, library, later] : kStructs) {
    SCOPED_TRACE(name);
    const std::size_t size = library.size + 16;
    for (const std::size_t byte : {library.size, library.size + 15}) {
      Host host(size, library.size);
      host[byte] = 1;
      const std::string text = fmt::format(
          "options: struct_size is {}, this library knows {} bytes, and byte {} is not zero", size, library.size, byte);
      expect_error(GRADSTEP_ERR_UNSUPPORTED, text, [&, read = library.read] { read(host.get()); });
      EXPECT_TRUE(host.begins_with(library.read_known(host.get()))) << "who is to be released?";
    }
  }
}

TEST(Options, StructOfAnOlderHostIsCompletedWithZeros) {
  for (const auto& [name, smallest, library, later] : kStructs) {
    SCOPED_TRACE(name);
    Host host(smallest, library.size);
    Bytes read = later.read(host.get());
    ASSERT_EQ(read.size(), library.size + 16);
    EXPECT_EQ(Bytes(read.end() - 16, read.end()), Bytes(16, 0)) << "what lies behind the host's struct was read";
    read.resize(smallest);
    EXPECT_TRUE(host.begins_with(read));
  }
}

void expect_refused(const Struct& of, std::size_t size) {
  const Library& library = of.library;
  Host host(size, library.size);
  const auto refused = [&](const std::function<void()>& body) {
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT,
                 fmt::format("struct_size is {}, expected a multiple of 8 from {} to 4096", size, of.smallest), body);
  };
  refused([&] { library.read(host.get()); });
  refused([&] { library.check_unknown(host.get()); });
  // What has version 1 can be given back to the host before it is refused.
  if (size >= of.smallest && size <= kMaxStructSize) {
    EXPECT_NO_THROW(library.read_known(host.get()));
  } else {
    refused([&] { library.read_known(host.get()); });
  }
  refused([&] { library.write(host.get()); });
  refused([&] { library.init(host.get(), size); });
  refused([&] { library.write_records(host.get(), size, 1, 0); });
  EXPECT_TRUE(host.is_untouched_behind());
}

TEST(Options, SizesThatNoVersionHasAreInvalid) {
  for (const Struct& each : kStructs) {
    SCOPED_TRACE(each.name);
    for (const std::size_t size : {std::size_t{0}, std::size_t{4}, each.smallest - 8, each.smallest - 1,
                                   each.library.size + 3, each.library.size + 4, kMaxStructSize + 8}) {
      expect_refused(each, size);
    }
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "options: is NULL", [&] { each.library.read(nullptr); });
    expect_error(GRADSTEP_ERR_INVALID_ARGUMENT, "o: is NULL", [&] { each.library.init(nullptr, each.library.size); });
  }
}

TEST(Options, OutStructOfANewerHostEndsInZeros) {
  for (const auto& [name, smallest, library, later] : kStructs) {
    SCOPED_TRACE(name);
    Host host(library.size + 16, library.size);
    host[library.size] = host[library.size + 15] = 7;  // left over from an earlier call
    library.write(host.get());
    EXPECT_EQ(host.struct_size(), library.size + 16);
    EXPECT_EQ(host[library.size - 1], kFilled);
    EXPECT_TRUE(host.is_zero(library.size, library.size + 16));
    EXPECT_TRUE(host.is_untouched_behind());
  }
}

TEST(Options, OutStructOfAnOlderHostGetsWhatItHasRoomFor) {
  for (const auto& [name, smallest, library, later] : kStructs) {
    SCOPED_TRACE(name);
    Host host(smallest, library.size);
    later.write(host.get());
    EXPECT_EQ(host.struct_size(), smallest);
    EXPECT_EQ(host[smallest - 1], kFilled);
    EXPECT_TRUE(host.is_untouched_behind());
  }
}

TEST(Options, DefaultsFillTheStructsOfHostsOfAllAges) {
  for (const auto& [name, smallest, library, later] : kStructs) {
    SCOPED_TRACE(name);
    Host newer(library.size + 16, library.size);
    newer[library.size + 15] = 7;
    library.init(newer.get(), library.size + 16);
    EXPECT_EQ(newer.struct_size(), library.size + 16);
    EXPECT_EQ(newer[library.size - 1], kFilled);
    EXPECT_TRUE(newer.is_zero(library.size, library.size + 16));
    EXPECT_TRUE(newer.is_untouched_behind());

    Host older(smallest, library.size);
    later.init(older.get(), smallest);
    EXPECT_EQ(older.struct_size(), smallest);
    EXPECT_TRUE(older.is_untouched_behind());
  }
}

/// Three records for a host with room for two, whose stride is that of its own header.
void check_records(const Library& library, std::size_t stride) {
  const std::size_t known = std::min(stride, library.size);
  Host host(2 * stride, library.size);
  library.write_records(host.get(), stride, 2, 3);
  for (const std::size_t begin : {std::size_t{0}, stride}) {
    EXPECT_EQ(host.struct_size(begin), stride);
    EXPECT_EQ(host[begin + known - 1], kFilled);
    EXPECT_TRUE(host.is_zero(begin + known, begin + stride));
  }
  EXPECT_TRUE(host.is_untouched_behind());
}

TEST(Options, RecordsHaveTheStrideAndTheCapacityOfTheHost) {
  for (const auto& [name, smallest, library, later] : kStructs) {
    SCOPED_TRACE(name);
    check_records(library, library.size);
    check_records(library, library.size + 16);
    check_records(later, smallest);
    library.write_records(nullptr, 0, 0, 0);  // only counts: the stride does not matter
  }
}

}  // namespace
}  // namespace gradstep::test
