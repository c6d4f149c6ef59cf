// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// A basis is made by an eigendecomposition, and refined by a step of orthogonal iteration: the statistic times its
// vectors, by the order of their Rayleigh quotients, made orthonormal.
#include "roots/bases.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "roots/orthonormal_basis.h"

namespace gradstep::cuda {

namespace {

/// Numbers in f64 that a job needs: the statistic, its vectors, their products or other scratch, a row.
std::int64_t numbers_of_basis(std::int64_t n) { return 2 * n * n + OrthonormalBases::scratch_of(n) + n; }

}  // namespace

void Bases::compute(std::span<const RootJob> jobs, std::span<RootRecord> records, CudaQueue& queue) {
  std::map<std::tuple<std::int64_t, RootAction, bool>, std::vector<std::size_t>> groups;
  std::size_t count = 0;
  for (std::size_t at = 0; at < jobs.size(); ++at) {
    if (jobs[at].action != RootAction::eigenvectors && jobs[at].action != RootAction::refine) continue;
    groups[{jobs[at].n, jobs[at].action, jobs[at].is_wide()}].push_back(at);
    ++count;
  }
  if (count == 0) return;
  queue.check_not_capturing("bases are due, of which the host is told");
  const Buffer memory(queue.scratch(), count * sizeof(RootState));
  auto* const states = memory.as<RootState>();
  queue.zero(states, memory.bytes());
  std::vector<std::size_t> order;
  for (const auto& [key, all] : groups) {
    const auto [n, action, is_wide] = key;
    const auto most = root_batch_limit(numbers_of_basis(n) * static_cast<std::int64_t>(sizeof(double)));
    for (std::size_t first = 0; first < all.size(); first += most) {
      const std::span own = std::span(all).subspan(first, std::min(most, all.size() - first));
      with_arithmetic(is_wide, [&, begin = states + order.size()](auto type) {
        run_batch<decltype(type)>(jobs, own, begin, queue);
      });
      order.insert(order.end(), own.begin(), own.end());
    }
  }
  std::vector<RootState> found(count);
  queue.download(found.data(), states, count * sizeof(RootState));
  for (std::size_t k = 0; k < count; ++k) {
    records[order[k]] = {};
    records[order[k]].computed = true;
    records[order[k]].accepted = found[k].finite != 0;
  }
}

template <class Kept>
void Bases::run_batch(std::span<const RootJob> jobs, std::span<const std::size_t> own, RootState* states,
                      CudaQueue& queue) {
  const std::int64_t n = jobs[own.front()].n;
  const auto count = static_cast<std::int64_t>(own.size());
  const bool is_refined = jobs[own.front()].action == RootAction::refine;
  const Buffer memory(queue.scratch(), static_cast<std::size_t>(count * numbers_of_basis(n)) * sizeof(double));
  auto* const statistics = memory.as<double>();
  double* const vectors = statistics + count * n * n;
  double* const products = vectors + count * n * n;
  double* const values = products + count * OrthonormalBases::scratch_of(n);
  RootBatch batch;
  batch.n = n;
  batch.count = count;
  batch.states = states;

  auto* const stored = reinterpret_cast<Kept*>(products);
  std::vector<BasisItem<Kept>> items;
  statistics_.begin();
  for (std::size_t k = 0; k < own.size(); ++k) {
    const RootJob& job = jobs[own[k]];
    items.push_back({job.preconditioner.as<Kept>(), static_cast<Kept*>(job.result)});
    statistics_.add(job.statistic, stored + static_cast<std::int64_t>(k) * n * n);
  }
  items_.begin(queue);
  const auto section = items_.add(items);
  items_.send();
  const BasisItem<Kept>* const shown = items_.at(section);
  statistics_.read(queue);
  if (!is_refined) {
    load_statistics<Kept>(batch, stored, vectors, queue);
    const Buffer info(queue.scratch(), own.size() * sizeof(int));
    libraries_.cusolver().decompose(vectors, n, count, values, info.as<int>(), queue);
    mark_unconverged(batch, info.as<int>(), queue);
    return write_bases(shown, vectors, count, n, /*ascending=*/true, queue);
  }
  load_statistics<Kept>(batch, stored, statistics, queue);
  load_bases(shown, count, n, vectors, queue);
  const MatrixBatch<const double> rows{vectors, n, n, n * n};
  libraries_.cublas().multiply<double>(rows, {statistics, n, n, n * n}, {products, n, n, n * n}, count, queue);
  find_quotients(vectors, products, count, n, values, queue);
  sort_products(shown, products, values, count, n, statistics, queue);
  make_orthonormal({n, count, statistics, vectors, products}, libraries_.cublas(), queue);
  write_bases(shown, vectors, count, n, /*ascending=*/false, queue);
}

}  // namespace gradstep::cuda
