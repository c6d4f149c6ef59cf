// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/stored_matrix.h"

#include "device/chunk.h"
#include "device/places.h"
#include "operations.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

using kernels::Coding;

constexpr int kMeasureThreads = 256;
constexpr int kMeasureRows = 16;  ///< that a thread has

GRADSTEP_DEVICE bool has(const MatrixCopy& matrix, Coding coding) {
  return matrix.coding == static_cast<std::int64_t>(coding);
}

/// body(0 of the type that the matrix has its numbers in).
template <class Body>
GRADSTEP_DEVICE void with_code_type(const MatrixCopy& matrix, Body body) {
  if (matrix.is_wide != 0) return body(double{});
  if (has(matrix, Coding::none)) return body(float{});
  if (has(matrix, Coding::int8)) return body(std::int8_t{});
  body(std::int16_t{});
}

/// What a matrix has in the place of a code, or of a number.
template <class Code>
using NumberOf = std::conditional_t<std::is_same_v<Code, double>, double, float>;

/// A block has a chunk.
struct ReadMatrices {
  static constexpr const char* kName = "read_matrices";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const MatrixCopy* items;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const MatrixCopy& matrix = *block.checked(items + chunk.item);
    const Places places(chunk, matrix.columns);
    with_code_type(matrix, [&](auto type) {
      for_each_element(block, chunk, [&](std::int64_t i) {
        const auto code = block.load(static_cast<const decltype(type)*>(matrix.codes) + i);
        block.store(static_cast<NumberOf<decltype(type)>*>(matrix.numbers) + i,
                    number_of(block, matrix, places.at(i), code));
      });
    });
  }

  GRADSTEP_DEVICE static float number_of(const Block& /*block*/, const MatrixCopy& /*matrix*/, const Place& /*at*/,
                                         float number) {
    return number;
  }
  GRADSTEP_DEVICE static double number_of(const Block& /*block*/, const MatrixCopy& /*matrix*/, const Place& /*at*/,
                                          double number) {
    return number;
  }
  template <class Code>
  GRADSTEP_DEVICE static float number_of(const Block& block, const MatrixCopy& matrix, const Place& at, Code code) {
    if (kernels::kKeepsDiagonal<Code> && at.row == at.column) return block.load(matrix.diagonal + at.column);
    return kernels::column_number(code, block.load(matrix.buckets + at.column));
  }
};

/// Numbers of a list.
struct Listed {
  template <class T>
  GRADSTEP_DEVICE T at(const Block& block, const MatrixCopy& matrix, const Place& place) const {
    return block.load(static_cast<const T*>(matrix.numbers) + place.row * matrix.columns + place.column);
  }
};

/// `value` on the diagonal.
struct Identity {
  double value;

  template <class T>
  GRADSTEP_DEVICE T at(const Block& /*block*/, const MatrixCopy& /*matrix*/, const Place& place) const {
    return place.row == place.column ? static_cast<T>(value) : T{0};
  }
};

/// The largest finite magnitudes of columns, as their bits: of these, as integers, the larger number has the larger. A
/// block has some rows of some columns; lanes whose column is the same are `width` apart.
template <class Source>
struct MeasureColumns {
  static constexpr const char* kName = "measure_columns";
  static constexpr int kThreads = kMeasureThreads;
  static constexpr int kWarps = kThreads / kWarp;
  struct Shared {
    float largest[kWarps][kWarp];
  };

  const ColumnTile* tiles;
  const MatrixCopy* items;
  Source source;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    auto& shared = block.shared<Shared>();
    const ColumnTile tile = *block.checked(tiles + block.index());
    const MatrixCopy& matrix = *block.checked(items + tile.item);
    const auto width = static_cast<int>(tile.width);
    const std::int64_t column = tile.first_column + block.thread() % width;
    float largest = column < matrix.columns ? measure(block, matrix, tile.first_row, column, width) : 0;
    for (int mask = width; mask < kWarp; mask *= 2) kernels::take_magnitude(block.shuffle_xor(largest, mask), largest);
    shared.largest[block.thread() / kWarp][block.thread() % kWarp] = largest;
    block.sync();
    if (block.thread() >= width || column >= matrix.columns) return;
    for (int warp = 1; warp < kWarps; ++warp) kernels::take_magnitude(shared.largest[warp][block.thread()], largest);
    block.atomic_max(matrix.largest + column, kernels::bits_of(largest));
  }

  /// The largest magnitude in the thread's own rows.
  GRADSTEP_DEVICE float measure(const Block& block, const MatrixCopy& matrix, std::int64_t first_row,
                                std::int64_t column, int width) const {
    const std::int64_t step = kThreads / width;
    float largest = 0;
    GRADSTEP_UNROLL
    for (int k = 0; k < kMeasureRows; ++k) {
      const std::int64_t row = first_row + block.thread() / width + k * step;
      const bool is_kept = has(matrix, Coding::int16) && row == column;
      if (row < matrix.rows && !is_kept) {
        kernels::take_finite_magnitude(source.template at<float>(block, matrix, {row, column}), largest);
      }
    }
    return largest;
  }
};

/// A block has a chunk.
template <class Source>
struct WriteMatrices {
  static constexpr const char* kName = "write_matrices";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const MatrixCopy* items;
  Source source;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const MatrixCopy& matrix = *block.checked(items + chunk.item);
    const Places places(chunk, matrix.columns);
    with_code_type(matrix, [&](auto type) {
      for_each_element(block, chunk, [&](std::int64_t i) {
        const Place at = places.at(i);
        const auto number = source.template at<NumberOf<decltype(type)>>(block, matrix, at);
        const auto code = code_of(block, matrix, at, number, type);
        block.store(static_cast<decltype(type)*>(matrix.codes) + i, code);
      });
    });
  }

  GRADSTEP_DEVICE static float code_of(const Block& /*block*/, const MatrixCopy& /*matrix*/, const Place& /*at*/,
                                       float number, float /*type*/) {
    return number;
  }
  GRADSTEP_DEVICE static double code_of(const Block& /*block*/, const MatrixCopy& /*matrix*/, const Place& /*at*/,
                                        double number, double /*type*/) {
    return number;
  }
  /// Writes what is kept beside the codes, too.
  template <class Code>
  GRADSTEP_DEVICE static Code code_of(const Block& block, const MatrixCopy& matrix, const Place& at, float number,
                                      Code /*type*/) {
    const float bucket = kernels::column_bucket<Code>(kernels::float_of(block.load(matrix.largest + at.column)));
    if (at.row == 0) block.store(matrix.buckets + at.column, bucket);
    if (kernels::kKeepsDiagonal<Code> && at.row == at.column) {
      block.store(matrix.diagonal + at.row, number);
      return Code{0};
    }
    return kernels::column_code<Code>(number, bucket);
  }
};

}  // namespace

void MatrixCopies::begin() {
  items_.clear();
  tiles_.clear();
  work_.clear();
  measured_columns_ = 0;
}

void MatrixCopies::add(const StoredMatrix& matrix, void* numbers) {
  const auto item = static_cast<std::int64_t>(items_.size());
  work_.append(matrix.size());
  items_.push_back({matrix.numbers, matrix.buckets, matrix.diagonal, numbers, nullptr, matrix.rows, matrix.columns,
                    static_cast<std::int64_t>(matrix.coding), matrix.dtype == DType::f64 ? 1 : 0});
  if (!matrix.is_coded()) return;
  measured_columns_ += matrix.columns;
  std::int64_t width = 1;
  while (width < kWarp && width < matrix.columns) width *= 2;
  const std::int64_t height = kMeasureThreads / width * kMeasureRows;
  for (std::int64_t row = 0; row < matrix.rows; row += height) {
    for (std::int64_t column = 0; column < matrix.columns; column += width) {
      tiles_.push_back({item, row, column, width});
    }
  }
}

MatrixCopies::OnDevice MatrixCopies::send(CudaQueue& queue) {
  OnDevice sent;
  if (measured_columns_ > 0) sent.largest = largest_.of<std::uint32_t>(queue, measured_columns_);
  std::uint32_t* next = sent.largest;
  for (MatrixCopy& item : items_) {
    if (item.coding == static_cast<std::int64_t>(Coding::none)) continue;
    item.largest = next;
    next += item.columns;
  }
  table_.begin(queue);
  const auto items = table_.add(items_);
  const auto tiles = table_.add(tiles_);
  const auto chunks = table_.add(work_.chunks().data(), work_.chunks().size());
  table_.send();
  sent.items = table_.at(items);
  sent.tiles = table_.at(tiles);
  sent.chunks = {table_.at(chunks), static_cast<std::int64_t>(work_.chunks().size())};
  return sent;
}

void MatrixCopies::read(CudaQueue& queue) {
  if (empty()) return;
  const OnDevice sent = send(queue);
  launch(queue, sent.chunks.count, ReadMatrices{sent.chunks.chunks, sent.items});
}

void MatrixCopies::write(CudaQueue& queue) { write_from(Listed{}, queue); }

void MatrixCopies::write_identity(double value, CudaQueue& queue) { write_from(Identity{value}, queue); }

template <class Source>
void MatrixCopies::write_from(const Source& source, CudaQueue& queue) {
  if (empty()) return;
  const OnDevice sent = send(queue);
  if (measured_columns_ > 0) {
    queue.zero(sent.largest, static_cast<std::size_t>(measured_columns_) * sizeof *sent.largest);
    launch(queue, static_cast<std::int64_t>(tiles_.size()), MeasureColumns<Source>{sent.tiles, sent.items, source});
  }
  launch(queue, sent.chunks.count, WriteMatrices<Source>{sent.chunks.chunks, sent.items, source});
}

void encode(const float* from, const StoredMatrix& to, CudaQueue& queue) {
  MatrixCopies copies;
  copies.begin();
  copies.add(to, const_cast<float*>(from));  // is read
  copies.write(queue);
}

void decode(const StoredMatrix& from, float* to, CudaQueue& queue) {
  MatrixCopies copies;
  copies.begin();
  copies.add(from, to);
  copies.read(queue);
}

void write_identity(const StoredMatrix& to, double value, CudaQueue& queue) {
  MatrixCopies copies;
  copies.begin();
  copies.add(to, nullptr);
  copies.write_identity(value, queue);
}

}  // namespace gradstep::cuda
