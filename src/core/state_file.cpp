// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/state_file.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <exception>
#include <nlohmann/json.hpp>

#include "core/checksum.h"
#include "core/error.h"
#include "core/json_text.h"
#include "core/shape.h"
#include "core/state_header.h"

namespace gradstep {

namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are written as they lie in memory");

constexpr const char* kFormat = "gradstep.format";
constexpr const char* kKind = "gradstep.kind";
constexpr const char* kChecksum = "gradstep.checksum";
constexpr const char* kVersion = "1";
constexpr const char* kParameters = "parameters";
constexpr std::size_t kWord = sizeof(std::uint64_t);

struct TypeName {
  DType dtype;
  const char* name;
};
constexpr TypeName kTypeNames[] = {{DType::f32, "F32"}, {DType::f64, "F64"}, {DType::f16, "F16"}, {DType::bf16, "BF16"},
                                   {DType::i32, "I32"}, {DType::i64, "I64"}, {DType::u8, "U8"}};

const char* type_name(DType dtype) {
  for (const TypeName& type : kTypeNames) {
    if (type.dtype == dtype) return type.name;
  }
  return "?";
}

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(count, dimension, &count)) corrupt("a shape has more elements than can be counted");
  }
  return count;
}

/// Writes and adds up at once. After a failure it takes everything in silence, so that gathering can go on.
class SummingSink {
 public:
  explicit SummingSink(ByteSink* sink) : sink_(sink) {}
  void write(const void* data, std::size_t size) {
    if (sink_ == nullptr || failure_) return;
    try {
      checksum_.add(data, size);
      sink_->write(data, size);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void finish() {
    const std::uint64_t sum = checksum_.value();
    write(&sum, sizeof sum);
    if (failure_) std::rethrow_exception(failure_);
    if (sink_ != nullptr) sink_->commit();
  }

 private:
  ByteSink* sink_;
  Checksum checksum_;
  std::exception_ptr failure_;
};

nlohmann::json header_of(const std::string& kind, const std::map<std::string, SavedPart>& parts) {
  nlohmann::json header = nlohmann::json::object();
  auto& metadata = header[kMetadataKey];
  metadata[kFormat] = kVersion;
  metadata[kKind] = kind;
  std::int64_t offset = 0;
  const auto declare = [&](const std::string& key, const char* type, const std::vector<std::int64_t>& shape,
                           std::int64_t bytes) {
    header[key] = {{"dtype", type}, {"shape", shape}, {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  };
  for (const auto& [prefix, part] : parts) {
    for (const auto& [key, value] : part.metadata) metadata[prefix + key] = value;
    for (const SavedTensor& tensor : part.tensors) {
      declare(prefix + tensor.key, type_name(tensor.dtype), tensor.shape,
              elements_of(tensor.shape) * size_of(tensor.dtype));
    }
  }
  declare(kChecksum, "U64", {1}, kWord);
  return header;
}

std::vector<std::byte> read_all(ByteSource& source) {
  constexpr std::size_t kStep = std::size_t{1} << 20;
  std::vector<std::byte> bytes;
  std::size_t size = 0;
  for (;;) {
    if (bytes.size() < size + kStep) bytes.resize(std::max(size + kStep, bytes.size() * 2));
    const std::size_t got = source.read(bytes.data() + size, bytes.size() - size);
    if (got == 0) break;
    if (got > bytes.size() - size) fail(GRADSTEP_ERR_CALLBACK, "stream.read: says {} bytes, asked for fewer", got);
    size += got;
  }
  bytes.resize(size);
  return bytes;
}

std::int64_t item_size(const std::string& key, const std::string& type) {
  if (type == "U64") return kWord;
  for (const TypeName& known : kTypeNames) {
    if (type == known.name) return size_of(known.dtype);
  }
  corrupt("'{}' has the dtype '{}'", key, type);
}

/// True if no element has all the exponent's bits set.
template <class Word>
bool exponents_below(const StateFile::Tensor& tensor, Word exponent) {
  for (std::int64_t at = 0; at < tensor.bytes; at += static_cast<std::int64_t>(sizeof(Word))) {
    Word word = 0;
    std::memcpy(&word, tensor.data + at, sizeof word);
    if ((word & exponent) == exponent) return false;
  }
  return true;
}

bool all_finite(const StateFile::Tensor& tensor) {
  switch (tensor.dtype) {
    case DType::f32:
      return exponents_below<std::uint32_t>(tensor, 0x7f800000U);
    case DType::f64:
      return exponents_below<std::uint64_t>(tensor, 0x7ff0000000000000U);
    case DType::f16:
      return exponents_below<std::uint16_t>(tensor, 0x7c00U);
    case DType::bf16:
      return exponents_below<std::uint16_t>(tensor, 0x7f80U);
    default:
      return true;
  }
}

}  // namespace

void SavedPart::set(const std::string& key, double value) { metadata[key] = fmt::format("{}", value); }

void write_state_file(ByteSink* sink, const std::string& kind, const std::map<std::string, SavedPart>& parts) {
  std::string header = json_text(header_of(kind, parts));
  header.append((kWord - header.size() % kWord) % kWord, ' ');
  if (header.size() > kLongestHeader) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "the names and shapes of what is saved take {} bytes, a file has room for {}",
         header.size(), kLongestHeader);
  }
  const std::uint64_t length = header.size();
  SummingSink out(sink);
  out.write(&length, sizeof length);
  out.write(header.data(), header.size());
  for (const auto& [prefix, part] : parts) {
    for (const SavedTensor& tensor : part.tensors) {
      const auto bytes = static_cast<std::size_t>(elements_of(tensor.shape) * size_of(tensor.dtype));
      if (tensor.gather) {
        const Buffer whole = tensor.gather();
        out.write(whole.data(), bytes);
      } else {
        out.write(tensor.data, bytes);
      }
    }
  }
  out.finish();
}

StateFile::StateFile(ByteSource& source, bool allow_unchecked) : bytes_(read_all(source)) {
  std::uint64_t length = 0;
  if (bytes_.size() < kWord) corrupt("it has {} bytes", bytes_.size());
  std::memcpy(&length, bytes_.data(), kWord);
  if (length > kLongestHeader || length > bytes_.size() - kWord) {
    corrupt("its header should have {} bytes, {} are there", length, bytes_.size() - kWord);
  }
  StateHeader header = read_state_header({reinterpret_cast<const char*>(bytes_.data()) + kWord, length});
  metadata_ = std::move(header.metadata);

  const std::byte* data = bytes_.data() + kWord + length;
  const auto data_size = static_cast<std::int64_t>(bytes_.size() - kWord - length);
  if (const auto found = header.entries.find(kChecksum); found != header.entries.end()) {
    const StateHeader::Entry& entry = found->second;
    if (entry.type != "U64" || entry.shape != std::vector<std::int64_t>{1} || entry.end != data_size ||
        entry.begin != data_size - static_cast<std::int64_t>(kWord) || entry.begin < 0) {
      corrupt("its checksum is not at its end");
    }
    std::uint64_t stored = 0;
    std::memcpy(&stored, data + entry.begin, kWord);
    Checksum checksum;
    checksum.add(bytes_.data(), bytes_.size() - kWord);
    if (checksum.value() != stored)
      corrupt("its checksum is {:016x}, its bytes have {:016x}", stored, checksum.value());
  } else if (!allow_unchecked) {
    corrupt("it has no '{}'; options.allow_unchecked takes such files", kChecksum);
  }

  std::map<std::int64_t, std::pair<std::int64_t, const std::string*>> ranges;  // begin -> end, key
  for (auto& [key, entry] : header.entries) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements_of(entry.shape), item_size(key, entry.type), &bytes) ||
        entry.end < entry.begin || entry.end > data_size || entry.end - entry.begin != bytes) {
      corrupt("'{}' lies at {} to {} of {} bytes, which is not its size", key, entry.begin, entry.end, data_size);
    }
    if (bytes > 0 && !ranges.try_emplace(entry.begin, entry.end, &key).second) corrupt("'{}' overlaps another", key);
    if (key == kChecksum) continue;
    Tensor tensor;
    for (const TypeName& known : kTypeNames) {
      if (entry.type == known.name) tensor.dtype = known.dtype;
    }
    if (entry.type == "U64") corrupt("'{}' has the dtype U64", key);
    tensor.shape = std::move(entry.shape);
    tensor.data = data + entry.begin;
    tensor.bytes = bytes;
    tensors_.emplace(key, std::move(tensor));
  }
  std::int64_t end = 0;
  for (const auto& [first, range] : ranges) {
    if (first != end) corrupt("'{}' begins at {}, the tensor before it ends at {}", *range.second, first, end);
    end = range.first;
  }
  if (end != data_size) corrupt("{} bytes follow its last tensor", data_size - end);

  const auto version = metadata_.find(kFormat);
  if (version == metadata_.end()) corrupt("its metadata has no '{}'", kFormat);
  if (version->second != kVersion) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "the saved state has format {}, this library reads {}", version->second, kVersion);
  }
}

void StateFile::check_kind(const std::string& kind) const {
  const auto found = metadata_.find(kKind);
  if (found == metadata_.end()) corrupt("its metadata has no '{}'", kKind);
  if (found->second != kind)
    fail(GRADSTEP_ERR_MISMATCH, "the saved state is of kind '{}', expected '{}'", found->second, kind);
}

const std::string& LoadedPart::text(const std::string& key) const {
  const auto found = file_.metadata().find(prefix_ + key);
  if (found == file_.metadata().end()) corrupt("its metadata has no '{}'", prefix_ + key);
  return found->second;
}

std::int64_t LoadedPart::integer(const std::string& key, std::int64_t minimum) const {
  const std::string& value = text(key);
  std::int64_t result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size() || result < minimum) {
    corrupt("its metadata '{}' is '{}'", prefix_ + key, value);
  }
  return result;
}

double LoadedPart::number(const std::string& key) const {
  const std::string& value = text(key);
  double result = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
  if (error != std::errc() || end != value.data() + value.size())
    corrupt("its metadata '{}' is '{}'", prefix_ + key, value);
  return result;
}

const StateFile::Tensor& LoadedPart::tensor(const std::string& key, DType dtype,
                                            const std::vector<std::int64_t>& shape) {
  const auto found = file_.tensors().find(prefix_ + key);
  if (found == file_.tensors().end()) fail(GRADSTEP_ERR_MISMATCH, "the saved state has no '{}'", prefix_ + key);
  const StateFile::Tensor& tensor = found->second;
  if (tensor.dtype != dtype || tensor.shape != shape) {
    fail(GRADSTEP_ERR_MISMATCH, "'{}' is {} {} in the saved state, expected {} {}", prefix_ + key,
         type_name(tensor.dtype), shape_text(tensor.shape), type_name(dtype), shape_text(shape));
  }
  taken_.insert(prefix_ + key);
  return tensor;
}

const StateFile::Tensor& LoadedPart::finite_tensor(const std::string& key, DType dtype,
                                                   const std::vector<std::int64_t>& shape) {
  const StateFile::Tensor& found = tensor(key, dtype, shape);
  if (is_float(dtype) && !all_finite(found)) corrupt("'{}' holds NaN or infinity", prefix_ + key);
  return found;
}

void LoadedPart::check_all_taken() const {
  for (const auto& [key, tensor] : file_.tensors()) {
    if (key.compare(0, prefix_.size(), prefix_) == 0 && taken_.count(key) == 0) {
      fail(GRADSTEP_ERR_MISMATCH, "the saved state has '{}', which has no place here", key);
    }
  }
}

void save_parameters(SavedPart& part, const Schema& schema) {
  nlohmann::json shapes = nlohmann::json::object();
  for (const Parameter& parameter : schema) shapes[parameter.name] = parameter.shape;
  part.set(kParameters, json_text(shapes));
}

void check_parameters(const LoadedPart& part, const Schema& schema) {
  const auto saved = nlohmann::json::parse(part.text(kParameters), nullptr, /*allow_exceptions=*/false);
  if (!saved.is_object()) corrupt("its metadata '{}' is no JSON object", kParameters);
  for (const Parameter& parameter : schema) {
    const auto found = saved.find(parameter.name);
    if (found == saved.end()) {
      fail(GRADSTEP_ERR_MISMATCH, "the saved state has no parameter '{}'", parameter.name);
    }
    if (*found != nlohmann::json(parameter.shape)) {
      fail(GRADSTEP_ERR_MISMATCH, "parameter '{}' has shape {} in the saved state, expected {}", parameter.name,
           found->dump(), shape_text(parameter.shape));
    }
  }
  if (saved.size() == schema.size()) return;
  std::set<std::string> own;
  for (const Parameter& parameter : schema) own.insert(parameter.name);
  for (const auto& [name, shape] : saved.items()) {
    if (own.count(name) == 0)
      fail(GRADSTEP_ERR_MISMATCH, "the saved state has a parameter '{}', which is not here", name);
  }
}

}  // namespace gradstep
