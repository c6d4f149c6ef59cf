// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Inverse p-th roots in f64 or f32, by batches of one extent and recipe: at once, or put into a queue in which nothing
// asks the host.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/preconditioning.h"
#include "kernels/roots.h"
#include "kernels/stored_matrix.h"
#include "roots/root_libraries.h"

namespace gradstep::cuda {

/// What is sent for a batch, which is sent again when it changes.
struct RootTables {
  MatrixCopies statistics;
  MatrixCopies outcomes;
  Table outcome_table;
  Table start;  ///< of power iteration

  std::size_t bytes() const { return held_bytes(statistics, outcomes, outcome_table, start); }
};

/// A first attempt at roots, as it was put into a queue. It keeps its memory for the next ones.
struct QueuedRoots {
  std::vector<std::unique_ptr<RootTables>> tables;  ///< by batch
  ScratchBuffer states;                             ///< of all batches
};

class Roots {
 public:
  explicit Roots(RootLibraries& libraries) : libraries_(libraries) {}
  std::size_t bytes() const { return held_bytes(tables_); }

  /// Waits for the device, and returns when the records are written. Roots that are accepted go to the jobs' results,
  /// or, if not `into_results`, into their preconditioners.
  void compute(std::span<const RootJob> jobs, std::span<RootRecord> records, bool into_results, CudaQueue& queue);

  /// The first attempt at roots that go to the jobs' results, where their statistics may be until then. Coupled Newton
  /// makes as many iterations as most matrices need.
  void put(std::span<const RootJob> jobs, QueuedRoots& queued, CudaQueue& queue);
  /// Waits for what was put there for the same jobs, and makes the attempts that are left to be made.
  void take(std::span<const RootJob> jobs, std::span<RootRecord> records, QueuedRoots& queued, CudaQueue& queue);

 private:
  /// Jobs of one extent and recipe, as many as fit into the scratch.
  struct Batch {
    std::span<const RootJob> jobs;
    std::span<RootRecord> records;
    std::vector<std::size_t> own;
    RootTables* tables = nullptr;
    double ridge_factor = 1;
    bool into_results = false;

    const RootJob& front() const { return jobs[own.front()]; }
    std::int64_t n() const { return front().n; }
  };
  /// An attempt in the arithmetic of T, as far as it has been put into a queue.
  template <class T>
  struct Attempt;

  void run_group(std::span<Batch> group, CudaQueue& queue);
  template <class T>
  void try_batches(std::span<Batch* const> batches, CudaQueue& queue);
  // Kept: the type of statistics and of what their roots become.
  template <class T, class Kept>
  Attempt<T> begin(std::span<const RootJob> jobs, std::span<const std::size_t> own, double ridge_factor,
                   RootState* states, RootTables& tables, std::int32_t iterations, CudaQueue& queue);
  template <class T, class Kept>
  void put_batch(std::span<const RootJob> jobs, std::span<const std::size_t> own, RootState* states, RootTables& tables,
                 CudaQueue& queue);
  template <class T>
  const T* eigh(const RootBatch& batch, T* statistics, T* scratch, RootTables& tables, CudaQueue& queue);
  template <class T>
  void measure_residuals(const RootBatch& batch, const T* statistics, const T* roots, T* scratch, CudaQueue& queue);
  template <class T>
  void iterate(Attempt<T>& attempt, CudaQueue& queue);
  template <class T>
  static void find_eigenvalues(const RootBatch& batch, const T* statistics, bool and_smallest, RootTables& tables,
                               CudaQueue& queue);
  template <class T, class Kept>
  static void keep(const Batch& batch, const T* roots, CudaQueue& queue);
  template <class T>
  void multiply(const RootBatch& batch, const T* a, const T* b, T* c, CudaQueue& queue);

  RootLibraries& libraries_;
  std::vector<std::unique_ptr<RootTables>> tables_;  // by batch of compute()
};

}  // namespace gradstep::cuda
