// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "reduce/predicted_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/gather_stages.h"
#include "core/error.h"
#include "reduce/control_round.h"
#include "reduce/plan.h"
#include "reduce/reducer_options.h"

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

  /// The seconds of one stage of a gather in stages.
  double stage() const { return latency + (kStageRadix - 1) * message; }

  // By hosts: of the ranks of a host, and of the owners of a piece. All owners of a host use its link at once.
  double inside_round() const { return host_latency + (ranks_per_host - 1) * message; }
  double inside_byte() const { return 1 / host_bandwidth; }
  double between_round() const { return latency + (hosts - 1) * message; }
  double between_byte() const { return ranks_per_host / bandwidth; }

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
    const double inside = inside_round() + data * (ranks_per_host - 1) / ranks_per_host * inside_byte();
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
        buckets_(std::ceil(static_cast<double>(options.elements) / static_cast<double>(options.bucket_elements))),
        hidden_share_(1 - 1 / std::clamp(static_cast<double>(options.channels), 1.0, buckets_)) {
    prices_ = {.round = network_.round(),
               .stage = network_.stage(),
               .byte = network_.byte(),
               .inside_round = network_.inside_round(),
               .inside_byte = network_.inside_byte(),
               .between_round = network_.between_round(),
               .between_stage = network_.stage(),
               .between_byte = network_.between_byte(),
               .pack = options.pack_seconds,
               .convert = options.convert_seconds,
               .encode = options.encode_seconds > 0 ? options.encode_seconds : options.convert_seconds / 2,
               .decode = options.decode_seconds > 0 ? options.decode_seconds : options.convert_seconds / 2,
               .select = options.select_seconds,
               .entry = options.entry_seconds,
               .add = options.add_seconds,
               .merge = options.merge_seconds,
               .multiply = options.multiply_seconds};
    size_.ranks = network_.ranks;
    size_.elements = static_cast<double>(options.elements) / buckets_;
    size_.element_bytes = options.element_bytes;
    size_.can_exchange = options.no_exchange == 0;
    size_.is_over_network = options.no_stages == 0 && options.no_exchange == 0 && !network_.has_one_host();
    size_.hosts = network_.hosts;
    size_.ranks_inside = size_.owners = network_.ranks_per_host;
    by_hosts_ = size_;
    by_hosts_.by_hosts = true;
  }

  std::vector<gradstep_cost> all() {
    const auto rows = static_cast<double>(options_.rows);
    const auto columns = static_cast<double>(options_.columns);
    FactorSizes factors;
    factors.add(rows, columns, std::min({static_cast<double>(options_.rank), rows, columns}),
                size_.elements / rows / columns);
    const auto power_sgd = [&](const ExchangeSize& size) { return power_sgd_cost(size, factors); };
    const auto half = [](const ExchangeSize& size) { return half_cost(size); };
    add_sums(GRADSTEP_REDUCER_DENSE, dense_cost, size_.element_bytes, {size_.elements});
    add_sums(GRADSTEP_REDUCER_HALF, half, 2, {size_.elements});
    add_sums(GRADSTEP_REDUCER_BFLOAT16, half, 2, {size_.elements});
    if (size_.element_bytes == sizeof(float)) {
      for (const std::int32_t mode : kCodedModes) {
        const auto coded = [mode](const ExchangeSize& size) { return coded_cost(size, code_of(mode)); };
        add_own(mode, GRADSTEP_COST_OWN, coded(size_));
        add_hosts(mode, coded);
      }
    }
    add_power_sgd(power_sgd, factors);
    add_sparse(GRADSTEP_COST_SPARSE_GATHER, sparse_gather_cost(size_, options_.sparsity));
    if (size_.can_exchange) add_sparse(GRADSTEP_COST_SPARSE_SPLIT, sparse_split_cost(size_, options_.sparsity));
    add_own(GRADSTEP_REDUCER_ADASUM_TREE, GRADSTEP_COST_OWN, adasum_tree_cost(size_));
    add_hosts(GRADSTEP_REDUCER_ADASUM_TREE, adasum_tree_cost);
    add_own(GRADSTEP_REDUCER_ADASUM_NWAY, GRADSTEP_COST_OWN, adasum_nway_cost(size_));
    add_hosts(GRADSTEP_REDUCER_ADASUM_NWAY, adasum_nway_cost);
    return std::move(costs_);
  }

 private:
  bool has_hosts() const { return network_.ranks_per_host > 1 && !network_.has_one_host(); }

  /// A mode whose exchange is all-reduces: by gradstep's own, and by what engines have, of `elements` each that have
  /// `element_bytes` on the wire.
  template <class Cost>
  void add_sums(std::int32_t mode, const Cost& cost, double element_bytes, const std::vector<double>& elements) {
    add_own(mode, GRADSTEP_COST_OWN, cost(size_));
    if (network_.ranks > 1) add_engines(mode, cost(size_), element_bytes, elements);
    add_hosts(mode, cost);
  }

  // Modes by rounds: buckets share them, and the control numbers may join the first one.
  template <class Cost>
  void add_power_sgd(const Cost& cost, const FactorSizes& factors) {
    constexpr std::int32_t kMode = GRADSTEP_REDUCER_POWERSGD;
    const double bytes = power_sgd_message(size_, factors);
    ExchangeSize left = size_;
    left.elements = factors.left;
    const ExchangeCost control = sums_by_gather(left) ? joined_control() : control_round(size_);
    add_own(kMode, GRADSTEP_COST_OWN, shared(cost(size_), bytes), control);
    if (network_.ranks > 1) add_engines(kMode, cost(size_), size_.element_bytes, {factors.left, factors.right});
    if (has_hosts() && size_.can_exchange) {
      add_own(kMode, GRADSTEP_COST_HOSTS, shared(cost(by_hosts_), bytes), control_round(by_hosts_));
    }
  }
  void add_sparse(std::int32_t algorithm, const ExchangeCost& cost) {
    const double bytes = sparse_message(size_, options_.sparsity);
    add_own(GRADSTEP_REDUCER_SPARSE_TOPK, algorithm, shared(cost, bytes), joined_control());
  }
  /// The cost of one bucket where buckets share their rounds. `bytes`: what a rank gives in a round of one bucket.
  ExchangeCost shared(const ExchangeCost& amounts, double bytes) const {
    return in_common_rounds(amounts, size_, buckets_, static_cast<double>(options_.channels), bytes);
  }
  ExchangeCost joined_control() const {
    if (options_.control_parameters == 0) return {};
    return joined_control_cost(size_, static_cast<double>(options_.control_parameters));
  }
  template <class Cost>
  void add_hosts(std::int32_t mode, const Cost& cost) {
    if (has_hosts() && size_.can_exchange) add_own(mode, GRADSTEP_COST_HOSTS, cost(by_hosts_), /*by_hosts=*/true);
  }

  /// What a bucket's exchange and, once in a window, the control round take.
  void add_own(std::int32_t mode, std::int32_t algorithm, const ExchangeCost& amounts, bool by_hosts = false) {
    add_own(mode, algorithm, amounts, control_round(by_hosts ? by_hosts_ : size_));
  }
  void add_own(std::int32_t mode, std::int32_t algorithm, const ExchangeCost& amounts, const ExchangeCost& control) {
    const double hidden = hidden_share_ * priced(amounts, prices_, kRoundAmounts);
    add(mode, algorithm, amounts, priced(amounts, prices_) - hidden, network_price(amounts) - hidden, control,
        priced(control, prices_), network_price(control));
  }

  double network_price(const ExchangeCost& amounts) const {
    return priced(amounts, prices_, kRoundAmounts) + priced(amounts, prices_, kByteAmounts);
  }

  ExchangeCost control_round(const ExchangeSize& size) const {
    if (options_.control_parameters == 0) return {};
    return control_cost(size, static_cast<double>(options_.control_parameters));
  }

  /// All-reduces of one bucket; of `local` only what a rank does by itself counts.
  void add_engines(std::int32_t mode, ExchangeCost local, double element_bytes, const std::vector<double>& elements) {
    for (const ExchangeAmount amount : kRoundAmounts) local.*amount = 0;
    local.call = local.byte = local.add = 0;
    ExchangeCost control;
    if (options_.control_parameters > 0) {
      control = {.call = 1, .round = 1};
      control.byte = ring_bytes(control_bytes());
    }
    double ring = 0;
    double tree = 0;
    double hierarchical = 0;
    for (const double count : elements) {
      const double data = count * element_bytes;
      if (data == 0) continue;
      ++local.call;
      ++local.round;
      local.byte += ring_bytes(data);
      local.add += count;
      ring += network_.ring(data) - hidden_share_ * network_.ring(0);
      tree += network_.tree(data);
      hierarchical += network_.hierarchical(data);
    }
    const double own = priced(local, prices_, kOwnAmounts);
    const auto add_one = [&](std::int32_t algorithm, double network, double control_seconds) {
      const double steps = algorithm == GRADSTEP_COST_RING ? 2 * (network_.ranks - 1) : 1;
      ExchangeCost amounts = local;
      ExchangeCost control_amounts = control;
      amounts.round *= steps;
      control_amounts.round *= steps;
      add(mode, algorithm, amounts, network + own, network, control_amounts, control_seconds, control_seconds);
    };
    const bool has_control = options_.control_parameters > 0;
    add_one(GRADSTEP_COST_RING, ring, has_control ? network_.ring(control_bytes()) : 0);
    add_one(GRADSTEP_COST_TREE, tree, has_control ? network_.tree(control_bytes()) : 0);
    if (!has_hosts()) return;
    add_one(GRADSTEP_COST_HIERARCHICAL, hierarchical, has_control ? network_.hierarchical(control_bytes()) : 0);
  }

  double ring_bytes(double data) const { return 2 * data * (network_.ranks - 1) / network_.ranks; }
  double control_bytes() const {
    return static_cast<double>(ControlRound::numbers_of(0) * sizeof(double)) +
           static_cast<double>(options_.control_parameters) * sizeof(double);
  }

  /// Adds what one bucket takes, times the buckets, and the control round.
  void add(std::int32_t mode, std::int32_t algorithm, const ExchangeCost& amounts, double seconds,
           double network_seconds, const ExchangeCost& control, double control_seconds,
           double control_network_seconds) {
    const auto whole = [&](double of_bucket, double of_control) {
      return static_cast<std::int64_t>(std::min(std::round(of_bucket * buckets_ + of_control), kLargest));
    };
    gradstep_cost cost{};
    cost.mode = mode;
    cost.algorithm = algorithm;
    cost.bytes = whole(amounts.bytes(), control.bytes());
    cost.seconds = seconds * buckets_ + control_seconds;
    cost.network_seconds = network_seconds * buckets_ + control_network_seconds;
    cost.calls = whole(amounts.call, control.call);
    cost.rounds = whole(amounts.rounds(), control.rounds());
    costs_.push_back(cost);
  }

  static constexpr double kLargest = 9.2e18;

  const gradstep_cost_options& options_;
  const Network network_;
  const double buckets_;
  const double hidden_share_;  // of the delays of rounds and of a ring, where buckets are under way at once
  ExchangeCost prices_;
  ExchangeSize size_;      // of one bucket
  ExchangeSize by_hosts_;  // the same, with sums by hosts
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

void check_bool(const char* field, std::int32_t value) {
  if (value != 0 && value != 1) fail_argument("options.{}: is {}, expected 0 or 1", field, value);
}

void check_bandwidth(const char* field, double value) {
  if (!(value > 0) || !std::isfinite(value)) {
    fail_argument("options.{}: is {}, expected a finite number of bytes a second above 0", field, value);
  }
}

}  // namespace

// Prices: gradstep_cost_options_measure with one thread on one core of an AMD EPYC, with AVX-512; those of codes with
// AVX2.
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
  options.encode_seconds = 0.3e-9;
  options.decode_seconds = 0.18e-9;
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
  if (options.channels < 0 || options.channels > kMostChannels) {
    fail_argument("options.channels: is {}, expected 0 to {}", options.channels, kMostChannels);
  }
  check_bool("no_exchange", options.no_exchange);
  check_bool("no_stages", options.no_stages);
  check_count("rows", options.rows);
  check_count("columns", options.columns);
  check_at_least("pack_seconds", options.pack_seconds, 0);
  check_at_least("convert_seconds", options.convert_seconds, 0);
  check_at_least("encode_seconds", options.encode_seconds, 0);
  check_at_least("decode_seconds", options.decode_seconds, 0);
  check_at_least("select_seconds", options.select_seconds, 0);
  check_at_least("entry_seconds", options.entry_seconds, 0);
  check_at_least("add_seconds", options.add_seconds, 0);
  check_at_least("merge_seconds", options.merge_seconds, 0);
  check_at_least("multiply_seconds", options.multiply_seconds, 0);
  check_count("control_parameters", options.control_parameters, 0);
}

std::vector<gradstep_cost> predict_costs(const gradstep_cost_options& options) { return Predictor(options).all(); }

}  // namespace gradstep
