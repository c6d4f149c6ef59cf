// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/predicted_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace gradstep {

namespace {

constexpr std::int64_t kMaxRanks = 100000;

/// The ranks' network; times in seconds, data in bytes.
struct Network {
  double ranks, ranks_per_host, hosts;
  double latency, bandwidth;            // of a host's link
  double host_latency, host_bandwidth;  // of a rank, inside its host
  double message;

  explicit Network(const gradstep_cost_options& options)
      : ranks(static_cast<double>(options.ranks)),
        ranks_per_host(static_cast<double>(options.ranks_per_host)),
        hosts(ranks / ranks_per_host),
        latency(options.latency),
        bandwidth(options.bandwidth),
        host_latency(options.host_latency),
        host_bandwidth(options.host_bandwidth),
        message(options.message) {}

  bool has_one_host() const { return hosts <= 1; }

  // Where every rank sends to every other one at once.
  double round() const { return (has_one_host() ? host_latency : latency) + (ranks - 1) * message; }
  double byte() const {
    if (ranks <= 1) return 0;
    const double outside = (ranks - ranks_per_host) * ranks_per_host / bandwidth;
    return (outside + (ranks_per_host - 1) / host_bandwidth) / (ranks - 1);
  }

  double ring(double data) const {
    const double inside = host_latency + data / (ranks * host_bandwidth);
    const double outside = latency + data / (ranks * bandwidth);
    const double step = has_one_host() ? inside : ranks_per_host <= 1 ? outside : std::max(inside, outside);
    return 2 * (ranks - 1) * (step + message);
  }

  /// `sharing` ranks of each of `hosts` use its link, and halve `data` until every host has its share of it.
  double tree_between_hosts(double data, double sharing) const {
    const double levels = std::floor(std::log2(hosts));
    const double power = std::exp2(levels);
    double seconds = 2 * (levels * (latency + message) + data * sharing * (1 - 1 / power) / bandwidth);
    // Hosts beyond the power of two give their vectors away first, and get the sums last.
    if (power < hosts) seconds += 2 * (latency + message + data * sharing / bandwidth);
    return seconds;
  }
  double tree(double data) const {
    const double levels = std::ceil(std::log2(ranks_per_host));
    const double inside = data / hosts * (1 - 1 / ranks_per_host) / host_bandwidth;
    return tree_between_hosts(data, ranks_per_host) + 2 * (levels * (host_latency + message) + inside);
  }

  double hierarchical(double data) const {
    const double inside =
        host_latency + (ranks_per_host - 1) * message + data * (ranks_per_host - 1) / ranks_per_host / host_bandwidth;
    // Each rank has its share of the data, and all of a host together the whole.
    const double ring_between = 2 * (hosts - 1) * (latency + message + data / (hosts * bandwidth));
    return 2 * inside + std::min(ring_between, tree_between_hosts(data / ranks_per_host, ranks_per_host));
  }
};

class Predictor {
 public:
  explicit Predictor(const gradstep_cost_options& options)
      : options_(options),
        network_(options),
        buckets_(std::ceil(static_cast<double>(options.elements) / static_cast<double>(options.bucket_elements))) {
    prices_ = {network_.round(),        network_.byte(),        options.pack_seconds,
               options.convert_seconds, options.select_seconds, options.entry_seconds,
               options.add_seconds,     options.merge_seconds,  options.multiply_seconds};
    size_.ranks = network_.ranks;
    size_.elements = static_cast<double>(options.elements) / buckets_;
    size_.element_bytes = options.element_bytes;
    size_.can_exchange = options.no_exchange == 0;
  }

  std::vector<gradstep_cost> all() {
    ExchangeSize half = size_;
    half.element_bytes = 2;
    const FactorSize factors{
        static_cast<double>(options_.rows), static_cast<double>(options_.columns),
        static_cast<double>(std::min<std::int64_t>({options_.rank, options_.rows, options_.columns}))};
    const ExchangeCost dense = dense_cost(size_);
    add_own(GRADSTEP_REDUCER_DENSE, GRADSTEP_COST_OWN, dense);
    add_all_reduces(GRADSTEP_REDUCER_DENSE, {size_}, dense);
    for (const std::int32_t mode : {GRADSTEP_REDUCER_HALF, GRADSTEP_REDUCER_BFLOAT16}) {
      const ExchangeCost cost = half_cost(size_);
      add_own(mode, GRADSTEP_COST_OWN, cost);
      add_all_reduces(mode, {half}, cost);
    }
    if (size_.element_bytes == sizeof(float)) add_own(GRADSTEP_REDUCER_INT8, GRADSTEP_COST_OWN, int8_cost(size_));
    const ExchangeCost power_sgd = power_sgd_cost(size_, factors);
    add_own(GRADSTEP_REDUCER_POWERSGD, GRADSTEP_COST_OWN, power_sgd);
    add_all_reduces(GRADSTEP_REDUCER_POWERSGD, {left_factors(size_, factors), right_factors(size_, factors)},
                    power_sgd);
    add_own(GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_COST_SPARSE_GATHER, sparse_gather_cost(size_, options_.sparsity));
    if (size_.can_exchange) {
      add_own(GRADSTEP_REDUCER_SPARSE_TOPK, GRADSTEP_COST_SPARSE_SPLIT, sparse_split_cost(size_, options_.sparsity));
    }
    add_own(GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_COST_OWN, adasum_tree_cost(size_));
    add_own(GRADSTEP_REDUCER_ADASUM_NWAY, GRADSTEP_COST_OWN, adasum_nway_cost(size_));
    return std::move(costs_);
  }

 private:
  void add_own(std::int32_t mode, std::int32_t algorithm, const ExchangeCost& amounts) {
    const double network = amounts.round * prices_.round + amounts.byte * prices_.byte;
    add(mode, algorithm, amounts.byte, priced(amounts, prices_), network);
  }

  /// The all-reduces `parts` of one bucket by what engines have; of `local` only what a rank does by itself counts.
  void add_all_reduces(std::int32_t mode, const std::vector<ExchangeSize>& parts, ExchangeCost local) {
    if (network_.ranks <= 1) return;
    local.round = local.byte = local.add = 0;
    double bytes = 0;
    double ring = 0;
    double tree = 0;
    double hierarchical = 0;
    for (const ExchangeSize& part : parts) {
      const double data = part.elements * part.element_bytes;
      if (data == 0) continue;
      bytes += 2 * data * (network_.ranks - 1) / network_.ranks;
      ring += network_.ring(data);
      tree += network_.tree(data);
      hierarchical += network_.hierarchical(data);
      local.add += part.elements;
    }
    const double own = priced(local, prices_);
    add(mode, GRADSTEP_COST_RING, bytes, ring + own, ring);
    add(mode, GRADSTEP_COST_TREE, bytes, tree + own, tree);
    if (network_.ranks_per_host > 1 && !network_.has_one_host()) {
      add(mode, GRADSTEP_COST_HIERARCHICAL, bytes, hierarchical + own, hierarchical);
    }
  }

  void add(std::int32_t mode, std::int32_t algorithm, double bytes, double seconds, double network_seconds) {
    gradstep_cost cost{};
    cost.mode = mode;
    cost.algorithm = algorithm;
    cost.bytes = static_cast<std::int64_t>(std::min(bytes * buckets_, kLargestBytes));
    cost.seconds = seconds * buckets_;
    cost.network_seconds = network_seconds * buckets_;
    costs_.push_back(cost);
  }

  static constexpr double kLargestBytes = 9.2e18;

  const gradstep_cost_options& options_;
  const Network network_;
  const double buckets_;
  ExchangeCost prices_;
  ExchangeSize size_;  // of one bucket
  std::vector<gradstep_cost> costs_;
};

void check_at_least(const char* field, double value, double least) {
  if (!(value >= least) || !std::isfinite(value)) {
    fail_argument("options.{}: is {}, expected a finite number of at least {}", field, value, least);
  }
}

void check_count(const char* field, std::int64_t value, std::int64_t least = 1) {
  if (value < least) fail_argument("options.{}: is {}, expected at least {}", field, value, least);
}

void check_bandwidth(const char* field, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    fail_argument("options.{}: is {}, expected a finite number of bytes a second above 0", field, value);
  }
}

}  // namespace

// Prices: gradstep_cost_options_measure with one thread on one core of an AMD EPYC with AVX-512.
gradstep_cost_options default_cost_options() {
  gradstep_cost_options options{};
  options.element_bytes = 4;
  options.ranks_per_host = 1;
  options.bucket_elements = 2097152;
  options.bandwidth = std::numeric_limits<double>::quiet_NaN();
  options.latency = std::numeric_limits<double>::quiet_NaN();
  options.host_bandwidth = 5e9;
  options.host_latency = 5e-6;
  options.message = 2e-6;
  options.sparsity = 0.01;
  options.rank = 2;
  options.rows = 1024;
  options.columns = 1024;
  options.pack_seconds = 0.2e-9;
  options.convert_seconds = 0.4e-9;
  options.select_seconds = 1.2e-9;
  options.entry_seconds = 3.5e-9;
  options.add_seconds = 0.1e-9;
  options.merge_seconds = 0.4e-9;
  options.multiply_seconds = 0.9e-9;
  return options;
}

void check_cost_options(const gradstep_cost_options& options) {
  if (options.element_bytes != 4 && options.element_bytes != 8) {
    fail_argument("options.element_bytes: is {}, expected 4 or 8", options.element_bytes);
  }
  check_count("elements", options.elements);
  if (options.ranks < 1 || options.ranks > kMaxRanks) {
    fail_argument("options.ranks: is {}, expected 1 to {}", options.ranks, kMaxRanks);
  }
  check_count("ranks_per_host", options.ranks_per_host);
  if (options.ranks % options.ranks_per_host != 0) {
    fail_argument("options.ranks_per_host: is {}, expected a divisor of options.ranks ({})", options.ranks_per_host,
                  options.ranks);
  }
  check_count("bucket_elements", options.bucket_elements);
  check_bandwidth("bandwidth", options.bandwidth);
  check_at_least("latency", options.latency, 0);
  check_bandwidth("host_bandwidth", options.host_bandwidth);
  check_at_least("host_latency", options.host_latency, 0);
  check_at_least("message", options.message, 0);
  if (!(options.sparsity > 0 && options.sparsity <= 1)) {
    fail_argument("options.sparsity: is {}, expected the fraction that is sent, above 0 and at most 1",
                  options.sparsity);
  }
  check_count("rank", options.rank);
  if (options.no_exchange != 0 && options.no_exchange != 1) {
    fail_argument("options.no_exchange: is {}, expected 0 or 1", options.no_exchange);
  }
  check_count("rows", options.rows);
  check_count("columns", options.columns);
  check_at_least("pack_seconds", options.pack_seconds, 0);
  check_at_least("convert_seconds", options.convert_seconds, 0);
  check_at_least("select_seconds", options.select_seconds, 0);
  check_at_least("entry_seconds", options.entry_seconds, 0);
  check_at_least("add_seconds", options.add_seconds, 0);
  check_at_least("merge_seconds", options.merge_seconds, 0);
  check_at_least("multiply_seconds", options.multiply_seconds, 0);
}

std::vector<gradstep_cost> predict_costs(const gradstep_cost_options& options) { return Predictor(options).all(); }

}  // namespace gradstep
