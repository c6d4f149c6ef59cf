// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The form of saved state: what is written, that it comes back, and that nothing damaged is ever taken.
#include "core/state_part.h"

#if !defined(_WIN32)
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "core/checksum.h"
#include "core/file.h"
#include "unit/memory_stream.h"
#include "unit/support.h"
#include "unit/temporary_directory.h"

namespace gradstep::test {
namespace {

const std::vector<float> kNumbers = {1.5F, -2, 3e-20F, 0, 5, 6};
const std::vector<std::uint8_t> kBytes = {1, 2, 3};

SavedPart example() {
  SavedPart part;
  part.set("steps", std::int64_t{42});
  part.set("weight", 0.1);
  part.set("name", std::string("ä \"quoted\""));
  part.tensors.push_back({"p/numbers", DType::f32, {2, 3}, kNumbers.data(), {}});
  part.tensors.push_back({"p/codes", DType::u8, {3}, kBytes.data(), {}});
  part.tensors.push_back({"empty/numbers", DType::f64, {0, 4}, nullptr, {}});
  return part;
}

std::string example_file() {
  Memory memory;
  write_state_file(&memory, "example", {{"a/", example()}});
  EXPECT_TRUE(memory.committed);
  return memory.bytes;
}

/// A file around a header of one's own, with the right length and checksum.
std::string file_with(const std::string& header, const std::string& data) {
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += header + data;
  Checksum checksum;
  checksum.add(bytes.data(), bytes.size());
  const std::uint64_t sum = checksum.value();
  bytes.append(reinterpret_cast<const char*>(&sum), sizeof sum);
  return bytes;
}

void expect_corrupt(const std::string& bytes, const std::string& part = "") {
  Memory memory(bytes);
  expect_error(GRADSTEP_ERR_CORRUPT, part, [&] { StateFile(memory, false); });
}

TEST(StateFile, WhatIsWrittenComesBack) {
  Memory memory(example_file());
  const StateFile file(memory, false);
  file.check_kind("example");
  expect_error(GRADSTEP_ERR_MISMATCH, "'example', expected 'other'", [&] { file.check_kind("other"); });
  LoadedPart part(file, "a/");
  EXPECT_EQ(part.integer("steps"), 42);
  EXPECT_EQ(part.number("weight"), 0.1);
  EXPECT_EQ(part.text("name"), "ä \"quoted\"");
  const auto& numbers = part.tensor("p/numbers", DType::f32, {2, 3});
  ASSERT_EQ(numbers.bytes, 24);
  EXPECT_EQ(std::memcmp(numbers.data, kNumbers.data(), 24), 0);
  expect_error(GRADSTEP_ERR_MISMATCH, "a/empty/numbers", [&] { part.check_all_taken(); });
  EXPECT_EQ(std::memcmp(part.tensor("p/codes", DType::u8, {3}).data, kBytes.data(), 3), 0);
  part.tensor("empty/numbers", DType::f64, {0, 4});
  part.check_all_taken();
}

TEST(StateFile, OfNamedTensorsAPartIsKeptAndAllBytesAreChecked) {
  const std::string bytes = example_file();
  const TensorParts parts = {{"a/p/numbers", {8, 12}}, {"a/p/codes", {0, 0}}, {"a/unknown", {5, 5}}};
  Memory memory(bytes);
  const StateFile file(memory, false, parts);
  LoadedPart part(file, "a/");
  const auto& numbers = part.tensor("p/numbers", DType::f32, {2, 3});
  EXPECT_EQ(numbers.first, 8);
  ASSERT_EQ(numbers.bytes, 12);
  EXPECT_EQ(std::memcmp(numbers.data, kNumbers.data() + 2, 12), 0);
  EXPECT_EQ(part.tensor("p/codes", DType::u8, {3}).bytes, 0);
  part.tensor("empty/numbers", DType::f64, {0, 4});
  part.check_all_taken();
  for (std::size_t from_end = 1; from_end <= 35; ++from_end) {
    std::string damaged = bytes;
    damaged[damaged.size() - from_end] ^= 1;
    Memory changed(damaged);
    expect_error(GRADSTEP_ERR_CORRUPT, "checksum", [&] { StateFile(changed, false, parts); });
    Memory cut(bytes.substr(0, bytes.size() - from_end));
    expect_error(GRADSTEP_ERR_CORRUPT, "are there", [&] { StateFile(cut, false, parts); });
  }
  // Parts of what a reader expects in tensors that are smaller.
  Memory other(bytes);
  const StateFile smaller(other, false, {{"a/p/numbers", {100, 12}}, {"a/p/codes", {1, 12}}});
  EXPECT_EQ(smaller.tensors().at("a/p/numbers").bytes, 0);
  EXPECT_EQ(smaller.tensors().at("a/p/codes").bytes, 2);
}

TEST(StateFile, OtherShapesDtypesAndNamesAreMismatches) {
  Memory memory(example_file());
  const StateFile file(memory, false);
  LoadedPart part(file, "a/");
  expect_error(GRADSTEP_ERR_MISMATCH, "F32 (2,3) in the saved state, expected F32 (3,2)",
               [&] { part.tensor("p/numbers", DType::f32, {3, 2}); });
  expect_error(GRADSTEP_ERR_MISMATCH, "expected BF16", [&] { part.tensor("p/numbers", DType::bf16, {2, 3}); });
  expect_error(GRADSTEP_ERR_MISMATCH, "has no 'a/q/numbers'", [&] { part.tensor("q/numbers", DType::f32, {2, 3}); });
  expect_error(GRADSTEP_ERR_CORRUPT, "a/nothing", [&] { part.integer("nothing"); });
  expect_error(GRADSTEP_ERR_CORRUPT, "a/name", [&] { part.integer("name"); });
  expect_error(GRADSTEP_ERR_CORRUPT, "a/steps", [&] { part.integer("steps", 43); });
}

TEST(StateFile, CountersLeaveRoomToCountOn) {
  SavedPart part;
  part.set("most", std::int64_t{1} << 62);
  part.set("more", (std::int64_t{1} << 62) + 1);
  Memory memory;
  write_state_file(&memory, "example", {{"a/", part}});
  const StateFile file(memory, false);
  const LoadedPart loaded(file, "a/");
  EXPECT_EQ(loaded.integer("most"), std::int64_t{1} << 62);
  expect_error(GRADSTEP_ERR_CORRUPT, "a/more", [&] { loaded.integer("more"); });
}

TEST(StateFile, TheLayoutIsThatOfSafetensors) {
  const std::string bytes = example_file();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header.at("__metadata__").at("gradstep.format"), "1");
  EXPECT_EQ(header.at("__metadata__").at("gradstep.kind"), "example");
  EXPECT_EQ(header.at("__metadata__").at("a/steps"), "42");
  EXPECT_EQ(header.at("a/p/numbers").at("dtype"), "F32");
  EXPECT_EQ(header.at("a/p/numbers").at("data_offsets"), (std::vector<int>{0, 24}));
  EXPECT_EQ(header.at("a/p/codes").at("data_offsets"), (std::vector<int>{24, 27}));
  EXPECT_EQ(header.at("gradstep.checksum").at("data_offsets"), (std::vector<int>{27, 35}));
  EXPECT_EQ(bytes.size(), 8 + length + 35);
}

/// Reading takes time in proportion to the number of tensors: with one more look at all earlier ones for each, ctest
/// would lose its patience.
TEST(StateFile, AHundredThousandTensorsAreReadInOneGo) {
  constexpr int kMany = 100'000;
  SavedPart part;
  for (int i = 0; i < kMany; ++i) {
    part.tensors.push_back({fmt::format("layer.{}/numbers", i), DType::f32, {2, 3}, kNumbers.data(), {}});
  }
  const StateFile file = read_bytes(saved_bytes("example", {{"a/", part}}));
  EXPECT_EQ(file.tensors().size(), std::size_t{kMany});
  LoadedPart loaded(file, "a/");
  for (const SavedTensor& tensor : part.tensors) loaded.tensor(tensor.key, DType::f32, {2, 3});
  loaded.check_all_taken();
}

std::string packed_file() {
  Memory memory;
  const std::map<std::string, SavedPart> parts = {{"a/", example()}};
  StateWriter("example", parts, /*longest_header=*/300).write(&memory);
  return memory.bytes;
}

TEST(StateFile, WhatAHeaderHasNoRoomForIsPackedAndComesBack) {
  const StateFile plain = read_bytes(example_file());
  const StateFile packed = read_bytes(packed_file());
  packed.check_kind("example");
  auto metadata = plain.metadata();
  EXPECT_EQ(metadata.at("gradstep.format"), "1");
  metadata.at("gradstep.format") = "2";
  EXPECT_EQ(packed.metadata(), metadata);
  ASSERT_EQ(packed.tensors().size(), plain.tensors().size());
  for (const auto& [key, expected] : plain.tensors()) {
    const StateFile::Tensor& found = packed.tensors().at(key);
    EXPECT_EQ(found.dtype, expected.dtype) << key;
    EXPECT_EQ(found.shape, expected.shape) << key;
    ASSERT_EQ(found.bytes, expected.bytes) << key;
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(found.data), static_cast<std::size_t>(found.bytes)),
              std::string(reinterpret_cast<const char*>(expected.data), static_cast<std::size_t>(expected.bytes)))
        << key;
  }
}

TEST(StateFile, APackedFileHasTheLayoutOfSafetensors) {
  const std::string bytes = packed_file();
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  EXPECT_LE(length, 300U);
  const auto header = nlohmann::json::parse(bytes.substr(8, length));
  EXPECT_EQ(header.at("__metadata__"), (nlohmann::json{{"gradstep.format", "2"}, {"gradstep.kind", "example"}}));
  const auto& listed = header.at("gradstep.header");
  const auto size = listed.at("shape").at(0).get<std::size_t>();
  EXPECT_EQ(listed.at("dtype"), "U8");
  EXPECT_EQ(listed.at("data_offsets"), (std::vector<std::size_t>{0, size}));
  EXPECT_EQ(header.at("gradstep.tensors").at("dtype"), "U8");
  EXPECT_EQ(header.at("gradstep.tensors").at("shape"), (std::vector<std::size_t>{27}));
  EXPECT_EQ(header.at("gradstep.tensors").at("data_offsets"), (std::vector<std::size_t>{size, size + 27}));
  EXPECT_EQ(header.at("gradstep.checksum").at("data_offsets"), (std::vector<std::size_t>{size + 27, size + 35}));
  const auto within = nlohmann::json::parse(bytes.substr(8 + length, size));
  EXPECT_EQ(within.at("a/p/codes").at("data_offsets"), (std::vector<int>{24, 27}));
  EXPECT_EQ(std::memcmp(bytes.data() + 8 + length + size, kNumbers.data(), 24), 0);
}

TEST(StateFile, APartOfAPackedTensorIsKept) {
  Memory memory(packed_file());
  const StateFile file(memory, false, {{"a/p/numbers", {8, 12}}});
  const StateFile::Tensor& numbers = file.tensors().at("a/p/numbers");
  ASSERT_EQ(numbers.bytes, 12);
  EXPECT_EQ(std::memcmp(numbers.data, kNumbers.data() + 2, 12), 0);
}

TEST(StateFile, NamesThatTakeMoreThanAHeaderArePacked) {
  SavedPart part;
  part.set("long", std::string(99'999'000, 'x'));
  EXPECT_EQ(read_bytes(saved_bytes("example", {{"", part}})).metadata().at("gradstep.format"), "1");
  part.set("long", std::string(100'000'000, 'x'));
  const StateFile file = read_bytes(saved_bytes("example", {{"", part}}));
  EXPECT_EQ(file.metadata().at("gradstep.format"), "2");
  EXPECT_EQ(file.metadata().at("long"), part.metadata.at("long"));
}

TEST(StateFile, PackedFormsThatNoWriterMakesAreCorrupt) {
  const std::string within = R"({"__metadata__":{"gradstep.format":"2","gradstep.kind":"k"},)"
                             R"("t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const auto header = [&](const std::string& tensors, std::size_t size) {
    const std::size_t listed = within.size();
    return fmt::format(R"({{"__metadata__":{{"gradstep.format":"2","gradstep.kind":"k"}},)"
                       R"("gradstep.header":{{"dtype":"U8","shape":[{}],"data_offsets":[0,{}]}},)"
                       R"("{}":{{"dtype":"U8","shape":[{}],"data_offsets":[{},{}]}},)"
                       R"("gradstep.checksum":{{"dtype":"U64","shape":[1],"data_offsets":[{},{}]}}}})",
                       listed, listed, tensors, size, listed, listed + size, listed + size, listed + size + 8);
  };
  Memory fine(file_with(header("gradstep.tensors", 8), within + std::string(8, 'd')));
  EXPECT_EQ(StateFile(fine, false).tensors().size(), 1U);
  expect_corrupt(file_with(header("other", 8), within + std::string(8, 'd')), "its tensors are packed, and are not");
  expect_corrupt(file_with(header("gradstep.tensors", 9), within + std::string(9, 'd')),
                 "its packed tensors should have 8 bytes, 'gradstep.tensors' has 9");
}

TEST(StateFile, EveryTruncationIsCorrupt) {
  for (const std::string& bytes : {example_file(), packed_file()}) {
    for (std::size_t size = 0; size < bytes.size(); ++size) expect_corrupt(bytes.substr(0, size));
    expect_corrupt(bytes + 'x');
  }
}

/// Gives the same byte after its text for ever, and counts.
class Endless final : public ByteSource {
 public:
  explicit Endless(std::string text) : text_(std::move(text)) {}
  std::size_t read(void* data, std::size_t size) override {
    auto* to = static_cast<char*>(data);
    for (std::size_t i = 0; i < size; ++i, ++given) to[i] = given < text_.size() ? text_[given] : '\x7f';
    if (given > (std::size_t{1} << 28)) fail(GRADSTEP_ERR_IO, "nobody should read so far");
    return size;
  }
  std::size_t given = 0;

 private:
  std::string text_;
};

TEST(StateFile, NoMoreIsReadThanItsHeaderSays) {
  Endless no_header("");
  expect_error(GRADSTEP_ERR_CORRUPT, "header", [&] { StateFile(no_header, false); });
  EXPECT_EQ(no_header.given, 8U);
  const std::string whole = example_file();
  Endless longer(whole);
  expect_error(GRADSTEP_ERR_CORRUPT, "more bytes follow", [&] { StateFile(longer, false); });
  EXPECT_EQ(longer.given, whole.size() + 1);
  const std::string no_json = std::string(1, '\x40') + std::string(7, '\0');
  Endless damaged(no_json);
  expect_error(GRADSTEP_ERR_CORRUPT, "not JSON", [&] { StateFile(damaged, false); });
  EXPECT_EQ(damaged.given, 8U + 0x40U);
  // A header that is fine, of a tensor that is longer than what comes: memory is taken as it comes.
  const std::string exabyte =
      R"({"__metadata__":{"gradstep.format":"1"},"t":{"dtype":"U8","shape":[1152921504606846976],)"
      R"("data_offsets":[0,1152921504606846976]},)"
      R"("gradstep.checksum":{"dtype":"U64","shape":[1],"data_offsets":[1152921504606846976,1152921504606846984]}})";
  expect_corrupt(file_with(exabyte, "d"), "should have 1152921504606846984 bytes, 9 are there");
}

TEST(StateFile, EveryFlippedByteIsCorrupt) {
  for (const std::string& bytes : {example_file(), packed_file()}) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      for (const int flip : {0x01, 0x20, 0x80, 0xff}) {
        std::string damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ flip);
        expect_corrupt(damaged);
      }
    }
  }
}

TEST(StateFile, FormsThatNoWriterMakesAreCorrupt) {
  const std::string sum = R"("gradstep.checksum":{"dtype":"U64","shape":[1],"data_offsets":[8,16]})";
  const std::string meta = R"("__metadata__":{"gradstep.format":"1","gradstep.kind":"k"})";
  const std::string good = R"("t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const std::string data(8, 'd');
  const auto with = [&](const std::string& tensor) { return "{" + meta + "," + tensor + "," + sum + "}"; };
  Memory fine(file_with(with(good), data));
  EXPECT_EQ(StateFile(fine, false).tensors().size(), 1U);

  expect_corrupt(file_with(with(good + "," + good), data), "twice");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), data), "not its size");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})"), data), "begins at 8");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[2],"data_offsets":[8,16]})"), data), "overlaps");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F33","shape":[2],"data_offsets":[0,8]})"), data), "F33");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), data), "shape");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]})"), data), "shape");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[2],"data_offsets":[8,0]})"), data), "not its size");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1})"), data), "fields");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[2]})"), data), "data_offsets");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F64","shape":[4294967296,4294967296,2],"data_offsets":[0,8]})"), data),
                 "counted");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F64","shape":[9223372036854775807],"data_offsets":[0,8]})"), data),
                 "not its size");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F64","shape":[18446744073709551615],"data_offsets":[0,8]})"), data),
                 "dimension");
  expect_corrupt(file_with(with(R"("t":[1])"), data), "'t'");
  expect_corrupt(file_with(with(R"("t":3)"), data), "'t'");
  expect_corrupt(file_with(with(R"("t":{"dtype":32,"shape":[2],"data_offsets":[0,8]})"), data), "fields");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":2,"data_offsets":[0,8]})"), data), "fields");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]})"), data), "shape");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]})"), data), "data_offsets");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","shape":[2],"data_offsets":[8]})"), data), "data_offsets");
  expect_corrupt(file_with(with(R"("t":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]})"), data),
                 "twice");
  expect_corrupt(file_with(with(R"("t":{"dtype":{},"shape":[2],"data_offsets":[0,8]})"), data), "fields");
  expect_corrupt(file_with(with(good + R"(,"__metadata__":{})"), data), "twice");
  std::string ones = "1";
  for (int i = 0; i < 32; ++i) ones += ",1";
  expect_corrupt(file_with(with(R"("t":{"dtype":"F64","shape":[)" + ones + R"(],"data_offsets":[0,8]})"), data),
                 "more than 32 dimensions");
  expect_corrupt(file_with(with(good) + "{}", data), "not JSON");
  expect_corrupt(file_with("", data), "not JSON");
  expect_corrupt(file_with("null", data), "no JSON object");
  expect_corrupt(file_with("[1]", data), "no JSON object");
  expect_corrupt(file_with("{\"__metadata__\":3," + good + "," + sum + "}", data), "metadata");
  expect_corrupt(file_with(R"({"__metadata__":{"gradstep.format":1},)" + good + "," + sum + "}", data), "no text");
  expect_corrupt(file_with("{" + good + "," + sum + "}", data), "gradstep.format");
  expect_corrupt(file_with(std::string(100, '['), data), "no JSON object");
}

TEST(StateFile, ALaterFormatIsUnsupported) {
  const std::string header =
      R"({"__metadata__":{"gradstep.format":"3"},"gradstep.checksum":{"dtype":"U64","shape":[1],"data_offsets":[0,8]}})";
  Memory memory(file_with(header, ""));
  expect_error(GRADSTEP_ERR_UNSUPPORTED, "format 3", [&] { StateFile(memory, false); });
}

TEST(StateFile, WithoutAChecksumOnlyWhereThatIsAllowed) {
  const std::string header =
      R"({"__metadata__":{"gradstep.format":"1"},"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  std::string bytes(8, '\0');
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, sizeof length);
  bytes += header + "dddd";
  expect_corrupt(bytes, "allow_unchecked");
  Memory memory(bytes);
  EXPECT_EQ(StateFile(memory, true).tensors().size(), 1U);
}

TEST(StateFile, NumbersThatAreNotFiniteAreNamed) {
  const std::vector<float> bad = {1, std::numeric_limits<float>::infinity()};
  const std::vector<double> wide = {1, std::numeric_limits<double>::quiet_NaN()};
  const std::vector<std::uint16_t> half = {0x3c00, 0x7c01};
  const std::vector<std::uint16_t> brain = {0x3f80, 0xff80};
  SavedPart part;
  part.tensors.push_back({"f32", DType::f32, {2}, bad.data(), {}});
  part.tensors.push_back({"f64", DType::f64, {2}, wide.data(), {}});
  part.tensors.push_back({"f16", DType::f16, {2}, half.data(), {}});
  part.tensors.push_back({"bf16", DType::bf16, {2}, brain.data(), {}});
  Memory memory;
  write_state_file(&memory, "k", {{"", part}});
  const StateFile file(memory, false);
  LoadedPart loaded(file, "");
  for (const auto& [key, dtype] :
       {std::pair{"f32", DType::f32}, {"f64", DType::f64}, {"f16", DType::f16}, {"bf16", DType::bf16}}) {
    expect_error(GRADSTEP_ERR_CORRUPT, key, [&] { loaded.finite_tensor(key, dtype, {2}); });
    loaded.tensor(key, dtype, {2});
  }
}

TEST(StateFile, AFailureOfTheSinkComesAfterEverythingWasGathered) {
  struct Failing final : ByteSink {
    void write(const void*, std::size_t) override { fail(GRADSTEP_ERR_IO, "full"); }
    void commit() override { ADD_FAILURE(); }
  } sink;
  int gathered = 0;
  SavedPart part;
  for (const char* key : {"a", "b"}) {
    SavedTensor tensor{key, DType::f32, {0}, nullptr, [&](void*) { ++gathered; }};
    part.tensors.push_back(std::move(tensor));
  }
  expect_error(GRADSTEP_ERR_IO, "full", [&] { write_state_file(&sink, "k", {{"", part}}); });
  EXPECT_EQ(gathered, 2);
  write_state_file(nullptr, "k", {{"", part}});
  EXPECT_EQ(gathered, 4);
}

/// The other ranks are in the same gathers.
TEST(StateFile, AFailureInGatheringComesAfterEverythingWasGathered) {
  Memory memory;
  int gathered = 0;
  SavedPart part;
  for (const char* key : {"a", "b"}) {
    part.tensors.push_back({key, DType::f32, {1}, nullptr, [&](void*) {
                              if (++gathered == 1) fail(GRADSTEP_ERR_IO, "gone");
                            }});
  }
  expect_error(GRADSTEP_ERR_IO, "gone", [&] { write_state_file(&memory, "k", {{"", part}}); });
  EXPECT_EQ(gathered, 2);
  EXPECT_FALSE(memory.committed);
}

/// What load refuses by finite_tensor() is not written. Where it must be gathered first, it still is on all ranks.
TEST(StateFile, NumbersThatNoLoadTakesAreNotWritten) {
  const std::vector<float> bad = {1, std::numeric_limits<float>::infinity()};
  Memory memory;
  SavedPart part;
  part.tensors.push_back({"state", DType::f32, {2}, bad.data(), {}, /*is_finite=*/true});
  expect_error(GRADSTEP_ERR_NUMERIC, "'optimizer/state' holds NaN or infinity",
               [&] { write_state_file(&memory, "k", {{"optimizer/", part}}); });
  EXPECT_TRUE(memory.bytes.empty());
  int gathered = 0;
  SavedPart spread;
  for (const char* key : {"a", "b"}) {
    const auto gather = [&](void* whole) {
      ++gathered;
      std::memcpy(whole, bad.data(), sizeof(float) * bad.size());
    };
    spread.tensors.push_back({key, DType::f32, {2}, nullptr, gather, /*is_finite=*/true});
  }
  for (Memory* sink : {&memory, static_cast<Memory*>(nullptr)}) {
    gathered = 0;
    expect_error(GRADSTEP_ERR_NUMERIC, "'a' holds NaN", [&] { write_state_file(sink, "k", {{"", spread}}); });
    EXPECT_EQ(gathered, 2);
  }
  EXPECT_FALSE(memory.committed);
}

std::string contents(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(AtomicFile, AppearsWholeOrNotAtAll) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("state");
  {
    AtomicFile file(path);
    file.write("first", 5);
    EXPECT_EQ(contents(path), "");
    file.commit();
  }
  EXPECT_EQ(contents(path), "first");
  {
    AtomicFile file(path);
    file.write("never", 5);
  }
  EXPECT_EQ(contents(path), "first");
  EXPECT_EQ(folder.names(), std::vector<std::string>{"state"}) << "nothing stays beside it";
}

TEST(AtomicFile, FailuresNameThePathAndTheReason) {
  expect_error(GRADSTEP_ERR_IO, "/nonexistent/state.tmp.", [] { AtomicFile("/nonexistent/state"); });
  expect_error(GRADSTEP_ERR_IO, "'/nonexistent/state' cannot be opened: ", [] { FileSource("/nonexistent/state"); });
#if !defined(_WIN32)  // whose words are others
  expect_error(GRADSTEP_ERR_IO, "No such file", [] { FileSource("/nonexistent/state"); });
#endif
}

#if !defined(_WIN32)  // which has no fork()
// A process that is killed while it saves over an old file leaves the old one or a new one, whole.
TEST(AtomicFile, AKilledWriterLeavesAWholeFile) {
  const TemporaryDirectory folder;
  const std::string path = folder.file("state");
  std::vector<float> numbers(50000, 1);
  SavedPart part;
  part.tensors.push_back({"t", DType::f32, {50000}, numbers.data(), {}});
  const auto save = [&] {
    AtomicFile file(path);
    write_state_file(&file, "k", {{"", part}});
  };
  save();
  std::mt19937 generator(1);
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (float value = 0;; ++value) {
        std::fill(numbers.begin(), numbers.end(), value);
        save();
      }
    }
    usleep(static_cast<useconds_t>(generator() % 20000));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    FileSource source(path);
    const StateFile file(source, false);
    const auto& tensor = file.tensors().at("t");
    float first = 0;
    std::memcpy(&first, tensor.data, sizeof first);
    for (int i = 0; i < 50000; i += 999) {
      float value = 0;
      std::memcpy(&value, tensor.data + i * 4, sizeof value);
      ASSERT_EQ(value, first);
    }
  }
}
#endif

}  // namespace
}  // namespace gradstep::test
