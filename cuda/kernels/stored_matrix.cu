// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/stored_matrix.h"

#include "device/chunk.h"
#include "runtime/launch.h"

namespace gradstep::cuda {

namespace {

using kernels::Coding;

GRADSTEP_DEVICE bool has(const MatrixCopy& matrix, Coding coding) {
  return matrix.coding == static_cast<std::int64_t>(coding);
}

/// A block has a chunk.
struct ReadMatrices {
  static constexpr const char* kName = "read_matrices";
  static constexpr int kThreads = 256;

  const Chunk* chunks;
  const MatrixCopy* items;

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const Chunk chunk = block.load(chunks + block.index());
    const MatrixCopy& matrix = *block.checked(items + chunk.item);
    for_each_element(block, chunk, [&](std::int64_t i) { block.store(matrix.numbers + i, number(block, matrix, i)); });
  }

  GRADSTEP_DEVICE static float number(const Block& block, const MatrixCopy& matrix, std::int64_t i) {
    if (has(matrix, Coding::none)) return block.load(static_cast<const float*>(matrix.codes) + i);
    const std::int64_t column = i % matrix.columns;
    const float bucket = block.load(matrix.buckets + column);
    if (has(matrix, Coding::int8)) {
      return kernels::column_number(block.load(static_cast<const std::int8_t*>(matrix.codes) + i), bucket);
    }
    if (i / matrix.columns == column) return block.load(matrix.diagonal + column);
    return kernels::column_number(block.load(static_cast<const std::int16_t*>(matrix.codes) + i), bucket);
  }
};

/// Numbers of a list.
struct Listed {
  GRADSTEP_DEVICE float at(const Block& block, const MatrixCopy& matrix, std::int64_t row, std::int64_t column) const {
    return block.load(matrix.numbers + row * matrix.columns + column);
  }
};

/// `value` on the diagonal.
struct Identity {
  float value;

  GRADSTEP_DEVICE float at(const Block& /*block*/, const MatrixCopy& /*matrix*/, std::int64_t row,
                           std::int64_t column) const {
    return row == column ? value : 0.0F;
  }
};

/// A block has some columns. Its threads stand side by side over them, and have rows that follow one another: so the
/// magnitudes of a column are folded from the first row to the last.
template <class Source>
struct WriteMatrices {
  static constexpr const char* kName = "write_matrices";
  static constexpr int kThreads = 256;
  struct Shared {
    float largest[kThreads];
  };

  const ColumnTile* tiles;
  const MatrixCopy* items;
  Source source;

  /// A thread's part of a tile.
  struct Part {
    std::int64_t column;
    std::int64_t begin;
    std::int64_t end;
  };

  GRADSTEP_DEVICE void operator()(Block& block) const {
    const ColumnTile tile = *block.checked(tiles + block.index());
    const MatrixCopy& matrix = *block.checked(items + tile.item);
    const std::int64_t teams = kThreads / tile.width;
    const std::int64_t rows = parts_of(matrix.rows, teams);
    const std::int64_t team = block.thread() / tile.width;
    Part part{tile.first + block.thread() % tile.width, team * rows, (team + 1) * rows};
    if (part.end > matrix.rows) part.end = matrix.rows;
    if (part.column >= matrix.columns) part.end = part.begin;
    if (has(matrix, Coding::none)) {
      for (std::int64_t i = part.begin; i < part.end; ++i) {
        block.store(static_cast<float*>(matrix.codes) + i * matrix.columns + part.column,
                    source.at(block, matrix, i, part.column));
      }
    } else if (has(matrix, Coding::int8)) {
      encode<std::int8_t>(block, matrix, part, tile.width);
    } else {
      encode<std::int16_t>(block, matrix, part, tile.width);
    }
  }

  template <class Code>
  GRADSTEP_DEVICE void encode(Block& block, const MatrixCopy& matrix, const Part& part, std::int64_t width) const {
    constexpr bool kKeepsDiagonal = kernels::kKeepsDiagonal<Code>;
    auto& shared = block.shared<Shared>();
    float largest = 0;
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      if (kKeepsDiagonal && i == part.column) continue;
      kernels::take_magnitude(source.at(block, matrix, i, part.column), largest);
    }
    shared.largest[block.thread()] = largest;
    block.sync();
    float bucket = 0;
    for (std::int64_t t = block.thread() % width; t < kThreads; t += width) {
      kernels::take_magnitude(shared.largest[t], bucket);
    }
    bucket = kernels::column_bucket<Code>(bucket);
    if (block.thread() < width && part.column < matrix.columns) block.store(matrix.buckets + part.column, bucket);
    for (std::int64_t i = part.begin; i < part.end; ++i) {
      const float number = source.at(block, matrix, i, part.column);
      Code* code = static_cast<Code*>(matrix.codes) + i * matrix.columns + part.column;
      if (kKeepsDiagonal && i == part.column) {
        block.store(matrix.diagonal + i, number);
        block.store(code, Code{0});
      } else {
        block.store(code, kernels::column_code<Code>(number, bucket));
      }
    }
  }
};

MatrixCopy copy_of(const StoredMatrix& matrix, float* numbers) {
  return {matrix.numbers,
          matrix.buckets,
          matrix.diagonal,
          numbers,
          matrix.rows,
          matrix.columns,
          static_cast<std::int64_t>(matrix.coding)};
}

void append_tiles(const StoredMatrix& matrix, std::int64_t item, std::vector<ColumnTile>& tiles) {
  if (matrix.size() == 0) return;
  std::int64_t width = 1;
  while (width < kWarp && width < matrix.columns) width *= 2;
  for (std::int64_t first = 0; first < matrix.columns; first += width) tiles.push_back({item, first, width});
}

}  // namespace

void MatrixCopies::begin() {
  items_.clear();
  tiles_.clear();
  work_.clear();
}

void MatrixCopies::add(const StoredMatrix& matrix, float* numbers) {
  append_tiles(matrix, static_cast<std::int64_t>(items_.size()), tiles_);
  work_.append(matrix.size());
  items_.push_back(copy_of(matrix, numbers));
}

void MatrixCopies::send(CudaQueue& queue) {
  table_.begin(queue);
  const auto items = table_.add(items_);
  const auto tiles = table_.add(tiles_);
  const auto chunks = table_.add(work_.chunks().data(), work_.chunks().size());
  table_.send();
  device_items_ = table_.at(items);
  device_tiles_ = table_.at(tiles);
  device_chunks_ = {table_.at(chunks), static_cast<std::int64_t>(work_.chunks().size())};
}

void MatrixCopies::read(CudaQueue& queue) {
  if (empty()) return;
  send(queue);
  launch(queue, device_chunks_.count, ReadMatrices{device_chunks_.chunks, device_items_});
}

void MatrixCopies::write(CudaQueue& queue) {
  if (empty()) return;
  send(queue);
  launch(queue, static_cast<std::int64_t>(tiles_.size()), WriteMatrices<Listed>{device_tiles_, device_items_, {}});
}

void write_identity(const StoredMatrix& to, float value, CudaQueue& queue) {
  Table table;
  table.begin(queue);
  std::vector<ColumnTile> tiles;
  append_tiles(to, 0, tiles);
  const MatrixCopy item = copy_of(to, nullptr);
  const auto items = table.add(&item, 1);
  const auto sent_tiles = table.add(tiles);
  table.send();
  launch(queue, static_cast<std::int64_t>(tiles.size()),
         WriteMatrices<Identity>{table.at(sent_tiles), table.at(items), {value}});
}

}  // namespace gradstep::cuda
