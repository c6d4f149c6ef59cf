// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "rank.hpp"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace languages {

using gradstep::ConstTensorList;
using gradstep::Optimizer;
using gradstep::Tensor;
using gradstep::TensorList;

namespace {

constexpr const char* kGradientKeys = "missing,nan,data,from";

data_type type_of(const script_line* line, const char* key, data_type otherwise) {
  const char* word = value_of(line, key);
  const int place = word != nullptr ? place_in(DATA_TYPES, word) : otherwise;
  if (place < 0) die(line, "%s: '%s' is none of %s", key, word, DATA_TYPES);
  return static_cast<data_type>(place);
}

gradstep::Dtype dtype_of(data_type type) {
  constexpr gradstep::Dtype kDtypes[] = {gradstep::kDtypeF32, gradstep::kDtypeF64, gradstep::kDtypeF16,
                                         gradstep::kDtypeBf16};
  return kDtypes[type];
}

Array array_of(data_type type, const gradstep::Shape& shape) {
  std::size_t elements = 1;
  for (const std::int64_t extent : shape) elements *= static_cast<std::size_t>(extent);
  return {std::vector<std::byte>(elements * size_of_type(type)), shape, type};
}

std::vector<std::int64_t> integers(const script_line* line, const char* key) {
  std::int64_t list[kMaxList];
  const int n = integers_of(line, key, list);
  return {list, list + (n > 0 ? n : 0)};
}

void make_nan(const script_line* line, std::deque<Array>& gradients) {
  constexpr std::uint16_t kHalf = 0x7E00;
  constexpr std::uint16_t kBfloat = 0x7FC0;
  constexpr float kFloat = NAN;
  constexpr double kDouble = NAN;
  const void* const nans[] = {&kFloat, &kDouble, &kHalf, &kBfloat};
  const auto place = integers(line, "nan");
  if (place.size() != 2) die(line, "nan: expected parameter and element");
  Array& array = gradients.at(static_cast<std::size_t>(place[0]));
  const std::size_t size = size_of_type(array.type);
  if (static_cast<std::size_t>(place[1]) >= array.elements()) die(line, "nan: no such element");
  std::memcpy(array.bytes.data() + static_cast<std::size_t>(place[1]) * size, nans[array.type], size);
}

double weight_of(const script_line* line) { return number_of(line, "weight", 1); }

}  // namespace

Tensor Array::tensor() { return {bytes.data(), dtype_of(type), shape}; }

void Rank::add_parameter(const script_line* line) {
  const data_type type = type_of(line, "dtype", kF32);
  const std::size_t i = values_.size();
  if (value_of(line, "shape") == nullptr) die(line, "no shape");
  Array& value = values_.emplace_back(array_of(type, integers(line, "shape")));
  gradients_.push_back(array_of(type_of(line, "gradient", type), value.shape));
  generate(kDataParameter, 0, 0, i, type, value.elements(), value.bytes.data());
  parameters_.push_back({.shape = value.shape,
                         .dtype = dtype_of(type),
                         .group = static_cast<std::int32_t>(integer_of(line, "group", 0))});
}

void Rank::read_data(const script_line* line, std::deque<Array>& arrays) const {
  std::size_t size = 0;
  const std::string path = directory_ + "/" + value_of(line, "data");
  const std::unique_ptr<char, decltype(&std::free)> bytes(read_file(path.c_str(), &size), std::free);
  std::size_t offset = 0;
  for (Array& array : arrays) {
    if (offset + array.bytes.size() > size) die(line, "%s is shorter than its tensors", path.c_str());
    std::memcpy(array.bytes.data(), bytes.get() + offset, array.bytes.size());
    offset += array.bytes.size();
  }
  if (offset != size) die(line, "%s is longer than its tensors", path.c_str());
}

ConstTensorList Rank::new_gradients(const script_line* line) {
  if (value_of(line, "data") != nullptr) {
    read_data(line, gradients_);
  } else {
    ++generated_;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      Array& own = gradients_[i];
      generate(kDataGradient, generated_, static_cast<std::uint64_t>(index_), i, own.type, own.elements(),
               own.bytes.data());
    }
  }
  if (value_of(line, "nan") != nullptr) make_nan(line, gradients_);
  ConstTensorList list;
  for (Array& own : gradients_) list.push_back(own.tensor());
  for (const std::int64_t i : integers(line, "missing")) list.set_data(static_cast<std::size_t>(i), nullptr);
  return list;
}

template <class F>
void Rank::with_gradients(const script_line* line, F&& function) {
  const char* from = value_of(line, "from");
  if (from == nullptr) {
    function(new_gradients(line));
  } else if (std::strcmp(from, "accumulator") == 0) {
    function(accumulator_.value().gradients());
  } else {
    function(reducer_.value().gradients());
  }
}

TensorList Rank::values() {
  TensorList list;
  for (Array& value : values_) list.push_back(value.tensor());
  return list;
}

void Rank::create_by_name(const script_line* line) {
  gradstep::RuleOptions options;
  for (int k = 0; k < line->n_keys; ++k) {
    const char* key = line->keys[k];
    if (place_in("rule,times,only,fails", key) >= 0) continue;
    char* end = nullptr;
    const double number = std::strtod(line->values[k], &end);
    if (*end == '\0') {
      options.emplace_back(key, number);
    } else {
      options.emplace_back(key, line->values[k]);
    }
  }
  optimizer_ = Optimizer::by_name(context_, value_of(line, "rule"), options, parameters_);
}

void Rank::create_accumulator(const script_line* line) {
  auto options = options_of<gradstep::AccumulatorOptions>(line);
  if (options.trigger == gradstep::AccumulationTrigger::kSchedule) options.schedule = schedule_of(line, "schedule.");
  accumulator_ = gradstep::Accumulator(context_, options, parameters_);
}

void Rank::create_reducer(const script_line* line) {
  reducer_ = gradstep::Reducer(context_, comm_, options_of<gradstep::ReducerOptions>(line), parameters_);
}

void Rank::create_updater(const script_line* line) {
  updater_ = gradstep::Updater(context_, optimizer_.value(), accumulator_ ? &*accumulator_ : nullptr,
                               reducer_ ? &*reducer_ : nullptr, options_of<gradstep::UpdaterOptions>(line));
}

void Rank::set(const script_line* line) {
  optimizer_.value().set_value(value_of(line, "name"), number_of(line, "value", NAN),
                               static_cast<std::int32_t>(integer_of(line, "group", -1)));
}

void Rank::schedule(const script_line* line) {
  optimizer_.value().set_value(value_of(line, "name"), schedule_of(line, ""),
                               static_cast<std::int32_t>(integer_of(line, "group", -1)));
}

void Rank::step(const script_line* line) {
  int count = 0;
  const auto options = options_of<gradstep::StepOptions>(line, kGradientKeys, &count);
  with_gradients(line, [&](const auto& gradients) {
    if (count == 0) return optimizer_.value().step(values(), gradients);
    const gradstep::StepResult result = optimizer_.value().step(values(), gradients, options);
    feed_int32(result.applied);
    feed_number(result.grad_norm);
    feed_number(result.clip_coefficient);
  });
}

void Rank::add(const script_line* line) {
  with_gradients(line, [&](const auto& gradients) {
    if (value_of(line, "rows") == nullptr) return feed_int32(accumulator_.value().add(gradients, weight_of(line)));
    const auto parameter = static_cast<std::size_t>(integer_of(line, "rows", 0));
    auto indices = integers(line, "indices");
    gradstep::Shape shape = values_.at(parameter).shape;
    shape[0] = static_cast<std::int64_t>(indices.size());
    Array rows = array_of(kF32, shape);
    generate(kDataRows, generated_, static_cast<std::uint64_t>(index_), parameter, kF32, rows.elements(),
             rows.bytes.data());
    const std::vector<gradstep::Rows> all = {{static_cast<std::int64_t>(parameter), indices, rows.tensor()}};
    feed_int32(accumulator_.value().add(gradients, all, weight_of(line)));
  });
}

void Rank::flush(const script_line*) { feed_int32(accumulator_.value().flush()); }
void Rank::reset(const script_line*) { accumulator_.value().reset(); }

void Rank::reduce(const script_line* line) {
  with_gradients(line, [&](const auto& gradients) { reducer_.value().reduce(gradients, weight_of(line)); });
}

void Rank::exchange(const script_line* line) {
  const ConstTensorList gradients = new_gradients(line);
  reducer_.value().begin(weight_of(line));
  for (std::size_t i = gradients.size(); i-- > 0;) {
    if (gradients.c()[i].data != nullptr) reducer_->push(i, gradients[i]);
  }
  reducer_->wait();
}

void Rank::push(const script_line* line) {
  with_gradients(
      line, [&](const auto& gradients) { feed_int32(updater_.value().push(values(), gradients, weight_of(line))); });
}

void Rank::finish(const script_line*) { feed_int32(updater_.value().flush(values())); }

void Rank::save(const script_line* line) {
  std::ostringstream stream;
  const std::string handle = value_of(line, "handle");
  if (handle == "optimizer") optimizer_.value().save(stream);
  if (handle == "accumulator") accumulator_.value().save(stream);
  if (handle == "reducer") reducer_.value().save(stream);
  if (handle == "updater") updater_.value().save(stream);
  saved_ = stream.str();
}

void Rank::load(const script_line* line) {
  std::istringstream stream(saved_);
  const std::string handle = value_of(line, "handle");
  if (handle == "optimizer") optimizer_.value().load(stream);
  if (handle == "accumulator") accumulator_.value().load(stream);
  if (handle == "reducer") reducer_.value().load(stream);
  if (handle == "updater") updater_.value().load(stream);
}

void Rank::read_parameters(const script_line* line) { read_data(line, values_); }

void Rank::feed_number(double number) {
  constexpr std::uint64_t kNan = 0x7FF8000000000000U;
  if (std::isnan(number)) return feed(&kNan, sizeof kNan);
  feed(&number, sizeof number);
}

void Rank::feed_view(const gradstep::View& view) {
  if (view.has_data()) feed(view.c().data, view.element_count() * view.dtype().bytes());
}

void Rank::feed_state(const std::string& name) {
  for (std::size_t i = 0; i < values_.size(); ++i) {
    Array copy = array_of(values_[i].type == kF64 ? kF64 : kF32, values_[i].shape);
    try {
      optimizer_.value().get_state(i, name, copy.tensor());
    } catch (const gradstep::InvalidState&) {
      continue;  // this parameter has none
    }
    feed(copy.bytes.data(), copy.bytes.size());
  }
}

void Rank::feed_hash(const script_line* line) {
  const std::string what = value_of(line, "what");
  const char* from = value_of(line, "from");
  const bool of_reducer = from != nullptr && std::strcmp(from, "reducer") == 0;
  if (what == "parameters") {
    for (const Array& value : values_) feed(value.bytes.data(), value.bytes.size());
  } else if (what == "gradients") {
    const auto feed_all = [&](const auto& views) {
      for (std::size_t i = 0; i < views.size(); ++i) feed_view(views[i]);
    };
    if (of_reducer) {
      feed_all(reducer_.value().gradients());
    } else {
      feed_all(accumulator_.value().gradients());
    }
  } else if (what == "norm") {
    const gradstep::View norm = of_reducer ? reducer_.value().norm() : accumulator_.value().norm();
    feed_number(norm.as<const double>()[0]);
  } else if (what == "state") {
    feed_state(value_of(line, "name"));
  } else if (what == "value") {
    const auto group = static_cast<std::int32_t>(integer_of(line, "group", 0));
    feed_number(optimizer_.value().get_value(value_of(line, "name"), group));
  } else if (what == "step_count") {
    feed_int64(optimizer_.value().step_count());
  } else if (what == "window") {
    feed_int64(accumulator_.value().count());
    feed_number(accumulator_->weight());
    feed_int64(accumulator_->skipped());
  } else if (what == "residual") {
    for (std::size_t i = 0; i < values_.size(); ++i) feed_view(reducer_.value().residual(i));
  } else {
    die(line, "what: '%s' is unknown", what.c_str());
  }
}

Rank::Call Rank::call_of(const script_line* line) {
  static const std::map<std::string, Call> calls = {
      {"sgd", &Rank::create_optimizer<gradstep::SgdOptions, Optimizer::sgd>},
      {"rmsprop", &Rank::create_optimizer<gradstep::RmsPropOptions, Optimizer::rmsprop>},
      {"adagrad", &Rank::create_optimizer<gradstep::AdaGradOptions, Optimizer::adagrad>},
      {"adam", &Rank::create_optimizer<gradstep::AdamOptions, Optimizer::adam>},
      {"shampoo", &Rank::create_optimizer<gradstep::ShampooOptions, Optimizer::shampoo>},
      {"optimizer", &Rank::create_by_name},
      {"accumulator", &Rank::create_accumulator},
      {"reducer", &Rank::create_reducer},
      {"updater", &Rank::create_updater},
      {"set", &Rank::set},
      {"schedule", &Rank::schedule},
      {"step", &Rank::step},
      {"add", &Rank::add},
      {"flush", &Rank::flush},
      {"reset", &Rank::reset},
      {"reduce", &Rank::reduce},
      {"exchange", &Rank::exchange},
      {"push", &Rank::push},
      {"finish", &Rank::finish},
      {"save", &Rank::save},
      {"load", &Rank::load},
      {"hash", &Rank::feed_hash},
      {"parameters", &Rank::read_parameters}};
  const auto found = calls.find(line->call);
  if (found == calls.end()) die(line, "there is no such call");
  return found->second;
}

void Rank::run_line(const script_line* line) {
  const Call call = call_of(line);
  const char* fails = value_of(line, "fails");
  const std::string expected = fails != nullptr ? std::string("GRADSTEP_ERR_") + fails : "GRADSTEP_OK";
  if (integer_of(line, "only", index_) != index_) return;
  for (std::int64_t k = integer_of(line, "times", 1); k > 0; --k) {
    gradstep_status status = GRADSTEP_OK;
    std::string text;
    try {
      (this->*call)(line);
    } catch (const gradstep::Error& error) {
      status = error.status();
      text = error.what();
    } catch (const std::exception& error) {
      die(line, "%s", error.what());
    }
    const std::string found = gradstep_status_name(status);
    if (found != expected) die(line, "returned %s, expected %s: %s", found.c_str(), expected.c_str(), text.c_str());
    feed_int32(status);
    if (trace_) {
      std::fprintf(stderr, "%s %d %d %s %016" PRIx64 "\n", line->script, index_, line->number, line->call, hash_);
    }
  }
}

void Rank::run() {
  for (std::size_t k = 0; k < script_.n_lines; ++k) {
    const script_line* line = &script_.lines[k];
    const std::string call = line->call;
    if (call == "ranks") continue;
    if (call == "parameter") {
      add_parameter(line);
    } else {
      run_line(line);
    }
  }
}

}  // namespace languages
