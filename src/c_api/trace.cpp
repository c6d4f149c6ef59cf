// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "c_api/counters_text.h"
#include "c_api/guard.h"
#include "c_api/handles.h"
#include "core/trace.h"
#include "gradstep/trace.h"

using namespace gradstep;

namespace {

void add_channel(CountersText& text, const gradstep_comm_statistics& stats) {
  const std::pair<const char*, std::int64_t> kCalls[] = {
      {"all_reduce", stats.all_reduces},
      {"all_gather", stats.all_gathers},
      {"reduce_scatter", stats.reduce_scatters},
      {"broadcast", stats.broadcasts},
      {"send", stats.sends},
      {"recv", stats.receives},
      {"barrier", stats.barriers},
      {"exchange", stats.exchanges},
  };
  text.count("calls", "Completed calls of the communicator, by kind.");
  for (const auto& [kind, calls] : kCalls) text.add(calls, fmt::format("call=\"{}\"", kind));
  text.count("sent_bytes", "Bytes that this rank has sent.");
  text.add(stats.bytes_sent);
  text.count("seconds", "Time inside calls.");
  text.add_seconds(stats.nanoseconds);
  text.count("rounds", "Rounds in which ranks sent to each other or met.");
  text.add(stats.rounds);
}

/// value(statistics, labels) for every bucket.
template <class Value>
void for_each_bucket(const std::vector<gradstep_bucket_statistics>& buckets, Value value) {
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    value(buckets[b], fmt::format("bucket=\"{}\",mode=\"{}\"", b, mode_name(buckets[b].mode)));
  }
}

}  // namespace

gradstep_status gradstep_trace_start(const char* path) noexcept {
  return guarded([&] {
    if (path != nullptr && *path == '\0') fail_argument("path: is empty");
    trace::start(path == nullptr ? "" : path);
  });
}

gradstep_status gradstep_trace_stop() noexcept {
  return guarded([] { trace::stop(); });
}

gradstep_status gradstep_comm_counters(gradstep_comm* comm, const char* labels, char* buf, size_t cap,
                                       size_t* len) noexcept {
  return with(comm, [&](Communicator& impl) {
    CountersText text("comm", labels);
    add_channel(text, impl.stats());
    write_text(text.text(), buf, cap, len);
  });
}

gradstep_status gradstep_reducer_counters(gradstep_reducer* reducer, const char* labels, char* buf, size_t cap,
                                          size_t* len) noexcept {
  return with(reducer, [&](Reducer& impl) {
    using Stats = gradstep_bucket_statistics;
    CountersText text("reducer", labels);
    const std::vector<Stats> buckets = impl.bucket_stats();
    const auto counts = [&](const char* name, const char* help, std::int64_t Stats::* field) {
      text.count(name, help);
      for_each_bucket(buckets, [&](const Stats& of, const std::string& own) { text.add(of.*field, own); });
    };
    const auto seconds = [&](const char* name, const char* help, std::int64_t Stats::* field) {
      text.count(name, help);
      for_each_bucket(buckets, [&](const Stats& of, const std::string& own) { text.add_seconds(of.*field, own); });
    };
    counts("exchanges", "Exchanges of the bucket.", &Stats::exchanges);
    counts("sent_bytes", "Bytes of the bucket that this rank has sent.", &Stats::bytes_sent);
    counts("selected", "Elements that sparse modes of this rank have sent.", &Stats::selected);
    counts("nonfinite", "Elements that were not finite.", &Stats::nonfinite);
    seconds("pack_seconds", "Time that packing took.", &Stats::pack_nanoseconds);
    seconds("exchange_seconds", "Time that exchanges took.", &Stats::exchange_nanoseconds);
    seconds("wait_seconds", "Time that the host's thread waited for exchanges.", &Stats::wait_nanoseconds);
    write_text(text.text(), buf, cap, len);
  });
}

gradstep_status gradstep_updater_counters(gradstep_updater* updater, const char* labels, char* buf, size_t cap,
                                          size_t* len) noexcept {
  return with(updater, [&](Updater& impl) {
    CountersText text("updater", labels);
    const gradstep_updater_statistics stats = impl.stats();
    const auto add = [&](const char* name, const char* help, std::int64_t value) {
      text.count(name, help);
      text.add(value);
    };
    add("pushes", "Micro-batches.", stats.pushes);
    add("windows", "Windows that were complete.", stats.windows);
    add("steps", "Windows that were applied.", stats.steps);
    add("skipped_steps", "Windows that were skipped.", stats.skipped_steps);
    add("dropped_windows", "Windows that a recovery has dropped.", stats.dropped_windows);
    text.count("seconds", "Time by phase.");
    text.add_seconds(stats.accumulate_nanoseconds, "phase=\"accumulate\"");
    text.add_seconds(stats.reduce_nanoseconds, "phase=\"reduce\"");
    text.add_seconds(stats.step_nanoseconds, "phase=\"step\"");
    write_text(text.text(), buf, cap, len);
  });
}
