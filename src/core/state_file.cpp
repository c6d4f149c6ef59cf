// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/state_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <span>

#include "core/checksum.h"
#include "core/error.h"
#include "core/state_header.h"

namespace gradstep {

namespace {

static_assert(std::endian::native == std::endian::little, "the file's numbers are written as they lie in memory");

constexpr const char* kFormat = "gradstep.format";
constexpr const char* kKind = "gradstep.kind";
constexpr const char* kChecksum = "gradstep.checksum";
constexpr const char* kPackedHeader = "gradstep.header";
constexpr const char* kPackedTensors = "gradstep.tensors";
constexpr const char* kVersion = "1";
constexpr const char* kPackedVersion = "2";
constexpr std::size_t kWord = sizeof(std::uint64_t);

struct TypeName {
  DType dtype;
  const char* name;
};
constexpr TypeName kTypeNames[] = {{DType::f32, "F32"}, {DType::f64, "F64"}, {DType::f16, "F16"}, {DType::bf16, "BF16"},
                                   {DType::i32, "I32"}, {DType::i64, "I64"}, {DType::u8, "U8"}};

std::int64_t elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) {
    if (__builtin_mul_overflow(count, dimension, &count)) corrupt("a shape has more elements than can be counted");
  }
  return count;
}

/// True if no element has all the exponent's bits set.
template <class Word>
bool exponents_below(const std::byte* data, std::int64_t bytes, Word exponent) {
  for (std::int64_t at = 0; at < bytes; at += static_cast<std::int64_t>(sizeof(Word))) {
    Word word = 0;
    std::memcpy(&word, data + at, sizeof word);
    if ((word & exponent) == exponent) return false;
  }
  return true;
}

std::size_t bytes_of(const SavedTensor& tensor) {
  return static_cast<std::size_t>(elements_of(tensor.shape) * size_of(tensor.dtype));
}

/// Writes and adds up at once. After a failure it takes everything in silence, so that gathering can go on.
class SummingSink {
 public:
  SummingSink(ByteSink* sink, Checksum& checksum) : sink_(sink), checksum_(checksum) {}
  void write(const void* data, std::size_t size) {
    if (sink_ == nullptr || failure_) return;
    try {
      checksum_.add(data, size);
      sink_->write(data, size);
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  /// Work that comes before the next write, whatever has failed.
  template <class Work>
  void prepare(Work&& work) {
    try {
      work();
    } catch (...) {
      if (!failure_) failure_ = std::current_exception();
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
  Checksum& checksum_;
  std::exception_ptr failure_;
};

void check_finite(const std::string& prefix, const SavedTensor& tensor, const void* data) {
  if (!tensor.is_finite ||
      all_finite(tensor.dtype, static_cast<const std::byte*>(data), static_cast<std::int64_t>(bytes_of(tensor)))) {
    return;
  }
  fail(GRADSTEP_ERR_NUMERIC, "'{}{}' holds NaN or infinity, which no load takes: nothing is saved", prefix, tensor.key);
}

/// Tensors are declared in the order in which they lie in the file.
class HeaderDraft {
 public:
  HeaderDraft(const std::string& kind, const char* version) { header_.metadata = {{kFormat, version}, {kKind, kind}}; }
  void declare(const std::string& key, const char* type, const std::vector<std::int64_t>& shape, std::int64_t bytes) {
    header_.entries[key] = {type, shape, size_, size_ + bytes};
    size_ += bytes;
  }
  void declare(const std::map<std::string, SavedPart>& parts) {
    for (const auto& [prefix, part] : parts) {
      for (const auto& [key, value] : part.metadata) header_.metadata[prefix + key] = value;
      for (const SavedTensor& tensor : part.tensors) {
        declare(prefix + tensor.key, stored_name(tensor.dtype), tensor.shape,
                elements_of(tensor.shape) * size_of(tensor.dtype));
      }
    }
  }
  void declare_checksum() { declare(kChecksum, "U64", {1}, kWord); }
  std::int64_t size() const { return size_; }
  std::string text() const {
    std::string text = state_header_text(header_);
    text.append((kWord - text.size() % kWord) % kWord, ' ');
    return text;
  }

 private:
  StateHeader header_;
  std::int64_t size_ = 0;
};

}  // namespace

/// Bytes come to memory as they arrive: what a damaged length promises, and does not arrive, takes none.
class StateReader {
 public:
  StateReader(ByteSource& source, std::vector<std::byte>& kept) : source_(source), kept_(kept) {}

  /// The next `size` bytes, or what is left of the source, behind those that are kept.
  void keep(std::uint64_t size) {
    const std::uint64_t end = there_ + size;
    std::size_t at = kept_.size();
    while (there_ < end && !has_ended_) {
      const std::uint64_t more = std::max<std::uint64_t>(kept_.size(), kStep);
      if (kept_.size() == at) kept_.resize(at + std::min(end - there_, more));
      at += read(kept_.data() + at, kept_.size() - at);
    }
    kept_.resize(at);
  }
  /// Up to byte `end` of the source, of which nothing is kept.
  void skip_to(std::uint64_t end) {
    while (there_ < end && !has_ended_) {
      if (skipped_.empty()) skipped_.resize(kStep);
      read(skipped_.data(), std::min<std::uint64_t>(skipped_.size(), end - there_));
    }
  }
  /// How many bytes were read, and what they add up to.
  std::uint64_t there() const { return there_; }
  std::uint64_t sum() const { return checksum_.value(); }
  bool is_at_end() {
    std::byte next{};
    return has_ended_ || read(&next, 1) == 0;
  }

 private:
  static constexpr std::uint64_t kStep = std::uint64_t{1} << 20;

  std::size_t read(std::byte* to, std::size_t size) {
    const std::size_t got = source_.read(to, size);
    if (got > size) fail(GRADSTEP_ERR_CALLBACK, "stream.read: says {} bytes, asked for fewer", got);
    has_ended_ = got == 0;
    checksum_.add(to, got);
    there_ += got;
    return got;
  }

  ByteSource& source_;
  std::vector<std::byte>& kept_;
  std::vector<std::byte> skipped_;
  Checksum checksum_;
  std::uint64_t there_ = 0;
  bool has_ended_ = false;
};

namespace {

std::int64_t item_size(const std::string& key, const std::string& type) {
  if (type == "U64") return kWord;
  return size_of(stored_dtype(key, type));
}

/// Is there a checksum, and is it the last of `data_size` bytes of tensors?
bool has_checksum(const StateHeader& header, std::int64_t data_size, bool allow_unchecked) {
  const auto found = header.entries.find(kChecksum);
  if (found == header.entries.end()) {
    if (!allow_unchecked) corrupt("it has no '{}'; options.allow_unchecked takes such files", kChecksum);
    return false;
  }
  const StateHeader::Entry& entry = found->second;
  if (entry.type != "U64" || entry.shape != std::vector<std::int64_t>{1} || entry.end != data_size ||
      entry.begin != data_size - static_cast<std::int64_t>(kWord) || entry.begin < 0) {
    corrupt("its checksum is not at its end");
  }
  return true;
}

using Ranges = std::map<std::int64_t, std::pair<std::int64_t, const std::string*>>;  // begin -> end, key

/// How many bytes of tensors there are: one lies after the other. Nothing but the header has been read so far.
std::int64_t checked_size(const StateHeader& header) {
  Ranges ranges;
  for (const auto& [key, entry] : header.entries) {
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(elements_of(entry.shape), item_size(key, entry.type), &bytes) ||
        entry.end < entry.begin || entry.end - entry.begin != bytes) {
      corrupt("'{}' lies at {} to {}, which is not its size", key, entry.begin, entry.end);
    }
    if (entry.type == "U64" && key != kChecksum) corrupt("'{}' has the dtype U64", key);
    if (bytes > 0 && !ranges.try_emplace(entry.begin, entry.end, &key).second) corrupt("'{}' overlaps another", key);
  }
  std::int64_t end = 0;
  for (const auto& [first, range] : ranges) {
    if (first != end) corrupt("'{}' begins at {}, the tensor before it ends at {}", *range.second, first, end);
    end = range.first;
  }
  for (const auto& [key, entry] : header.entries) {
    if (entry.end > end) corrupt("'{}' lies at {}, the last tensor ends at {}", key, entry.end, end);
  }
  return end;
}

}  // namespace

const char* stored_name(DType dtype) {
  for (const TypeName& type : kTypeNames) {
    if (type.dtype == dtype) return type.name;
  }
  return "?";
}

DType stored_dtype(const std::string& key, const std::string& name) {
  for (const TypeName& type : kTypeNames) {
    if (name == type.name) return type.dtype;
  }
  corrupt("'{}' has the dtype '{}'", key, name);
}

bool all_finite(DType dtype, const std::byte* data, std::int64_t bytes) {
  switch (dtype) {
    case DType::f32:
      return exponents_below<std::uint32_t>(data, bytes, 0x7f800000U);
    case DType::f64:
      return exponents_below<std::uint64_t>(data, bytes, 0x7ff0000000000000U);
    case DType::f16:
      return exponents_below<std::uint16_t>(data, bytes, 0x7c00U);
    case DType::bf16:
      return exponents_below<std::uint16_t>(data, bytes, 0x7f80U);
    default:
      return true;
  }
}

void SavedPart::set(const std::string& key, double value) { metadata[key] = fmt::format("{}", value); }

StateWriter::StateWriter(const std::string& kind, const std::map<std::string, SavedPart>& parts,
                         std::size_t longest_header)
    : parts_(parts) {
  HeaderDraft plain(kind, kVersion);
  plain.declare(parts);
  plain.declare_checksum();
  header_ = plain.text();
  if (header_.size() > longest_header) {
    HeaderDraft listed(kind, kPackedVersion);
    listed.declare(parts);
    packed_ = listed.text();
    HeaderDraft outer(kind, kPackedVersion);
    const auto length = static_cast<std::int64_t>(packed_.size());
    outer.declare(kPackedHeader, "U8", {length}, length);
    outer.declare(kPackedTensors, "U8", {listed.size()}, listed.size());
    outer.declare_checksum();
    header_ = outer.text();
  }
  std::size_t largest = 0;
  for (const auto& [prefix, part] : parts) {
    for (const SavedTensor& tensor : part.tensors) {
      if (tensor.gather) {
        largest = std::max(largest, bytes_of(tensor));
      } else {
        check_finite(prefix, tensor, tensor.data);
      }
    }
  }
  whole_.resize(largest);
}

void StateWriter::write(ByteSink* sink) {
  const std::uint64_t length = header_.size();
  SummingSink out(sink, checksum_);
  out.write(&length, sizeof length);
  out.write(header_.data(), header_.size());
  out.write(packed_.data(), packed_.size());
  for (const auto& [prefix, part] : parts_) {
    for (const SavedTensor& tensor : part.tensors) {
      if (tensor.gather) {
        out.prepare([&] {
          tensor.gather(whole_.data());
          check_finite(prefix, tensor, whole_.data());
        });
      }
      out.write(tensor.gather ? whole_.data() : tensor.data, bytes_of(tensor));
    }
  }
  out.finish();
}

void write_state_file(ByteSink* sink, const std::string& kind, const std::map<std::string, SavedPart>& parts) {
  StateWriter(kind, parts).write(sink);
}

StateFile::StateFile(ByteSource& source, bool allow_unchecked, const TensorParts& parts) {
  StateReader reader(source, bytes_);
  reader.keep(kWord);
  std::uint64_t length = 0;
  if (bytes_.size() < kWord) corrupt("it has {} bytes", bytes_.size());
  std::memcpy(&length, bytes_.data(), kWord);
  if (length > kLongestHeader) corrupt("its header should have {} bytes, the longest have {}", length, kLongestHeader);
  StateHeader header = read_header(reader, length);
  const std::uint64_t data_begin = reader.there();
  const std::int64_t data_size = checked_size(header);
  const bool is_checked = has_checksum(header, data_size, allow_unchecked);
  header.entries.erase(kChecksum);
  if (const auto packed = header.entries.find(kPackedHeader); packed != header.entries.end()) {
    const StateHeader::Entry place = packed->second;
    header.entries.erase(packed);
    if (place.begin != 0 || header.entries.size() != 1 || !header.entries.contains(kPackedTensors)) {
      corrupt("its tensors are packed, and are not '{}' and '{}'", kPackedHeader, kPackedTensors);
    }
    const std::int64_t size = header.entries[kPackedTensors].end - place.end;
    header = read_header(reader, static_cast<std::uint64_t>(place.end));
    if (const std::int64_t listed = checked_size(header); listed != size) {
      corrupt("its packed tensors should have {} bytes, '{}' has {}", listed, kPackedTensors, size);
    }
  }
  metadata_ = std::move(header.metadata);
  const std::vector<Place> places = read_tensors(reader, header, parts);
  const std::uint64_t size = data_begin + static_cast<std::uint64_t>(data_size);
  reader.skip_to(is_checked ? size - kWord : size);
  const std::uint64_t sum = reader.sum();
  const std::size_t kept = bytes_.size();
  if (is_checked) reader.keep(kWord);
  if (reader.there() != size) {
    corrupt("its tensors should have {} bytes, {} are there", data_size, reader.there() - data_begin);
  }
  std::uint64_t stored = sum;
  if (is_checked) std::memcpy(&stored, bytes_.data() + kept, kWord);
  if (!reader.is_at_end()) corrupt("more bytes follow its last tensor");
  if (stored != sum) corrupt("its checksum is {:016x}, its bytes have {:016x}", stored, sum);
  for (const Place& place : places) place.tensor->data = bytes_.data() + place.offset;
  check_format();
}

/// The next `length` bytes.
StateHeader StateFile::read_header(StateReader& reader, std::uint64_t length) {
  const std::size_t begin = bytes_.size();
  reader.keep(length);
  const std::size_t got = bytes_.size() - begin;
  if (got != length) corrupt("its header should have {} bytes, {} are there", length, got);
  return read_state_header({reinterpret_cast<const char*>(bytes_.data()) + begin, got});
}

/// One after the other, as they lie in the file.
std::vector<StateFile::Place> StateFile::read_tensors(StateReader& reader, StateHeader& header,
                                                      const TensorParts& parts) {
  const std::uint64_t data_begin = reader.there();
  std::vector<std::map<std::string, StateHeader::Entry>::iterator> in_order;
  for (auto entry = header.entries.begin(); entry != header.entries.end(); ++entry) in_order.push_back(entry);
  std::ranges::sort(in_order, {}, [](const auto& entry) { return entry->second.begin; });
  std::vector<Place> places;
  for (const auto& named : in_order) {
    auto& [key, entry] = *named;
    Tensor& tensor = tensors_[key];
    tensor.dtype = stored_dtype(key, entry.type);
    tensor.shape = std::move(entry.shape);
    tensor.bytes = entry.end - entry.begin;
    if (const auto part = parts.find(key); part != parts.end()) {
      // A tensor may be smaller than the reader expects; tensor() then says so.
      tensor.first = std::min(part->second.first, tensor.bytes);
      tensor.bytes = std::min(part->second.bytes, tensor.bytes - tensor.first);
    }
    places.push_back({&tensor, bytes_.size()});
    if (tensor.bytes == 0) continue;
    reader.skip_to(data_begin + static_cast<std::uint64_t>(entry.begin + tensor.first));
    reader.keep(static_cast<std::uint64_t>(tensor.bytes));
  }
  return places;
}

void StateFile::check_format() const {
  const auto version = metadata_.find(kFormat);
  if (version == metadata_.end()) corrupt("its metadata has no '{}'", kFormat);
  if (version->second != kVersion && version->second != kPackedVersion) {
    fail(GRADSTEP_ERR_UNSUPPORTED, "the saved state has format {}, this library reads {} and {}", version->second,
         kVersion, kPackedVersion);
  }
}

void StateFile::check_kind(const std::string& kind) const {
  const auto found = metadata_.find(kKind);
  if (found == metadata_.end()) corrupt("its metadata has no '{}'", kKind);
  if (found->second != kind)
    fail(GRADSTEP_ERR_MISMATCH, "the saved state is of kind '{}', expected '{}'", found->second, kind);
}

}  // namespace gradstep
