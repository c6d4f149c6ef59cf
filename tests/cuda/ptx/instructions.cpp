// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// What instructions do, by their whole opcode. Results are the PTX ISA's to the bit, but for the payload of a NaN.
#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>
#include <unordered_map>

#include "cuda/ptx/machine.h"

namespace gradstep::ptx {

namespace {

using Table = std::unordered_map<std::string, Execute>;

template <class T>
struct BitsOf {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct BitsOf<float> {
  using Type = std::uint32_t;
};
template <>
struct BitsOf<double> {
  using Type = std::uint64_t;
};
template <>
struct BitsOf<bool> {
  using Type = std::uint8_t;
};

/// A register's low bits.
template <class T>
T get(const Thread& thread, const Operand& operand) {
  if constexpr (std::is_same_v<T, bool>) {
    return (thread.read(operand) & 1) != 0;
  } else {
    return std::bit_cast<T>(static_cast<typename BitsOf<T>::Type>(thread.read(operand)));
  }
}

/// Signed numbers fill the register, as loads and conversions into a wider one do.
template <class T>
void set(Thread& thread, const Operand& to, T value) {
  if constexpr (std::is_floating_point_v<T>) {
    thread.write(to, std::bit_cast<typename BitsOf<T>::Type>(value));
  } else if constexpr (std::is_signed_v<T>) {
    thread.write(to, static_cast<std::uint64_t>(static_cast<std::int64_t>(value)));
  } else {
    thread.write(to, value);
  }
}

template <class T, auto operation>
void one(Thread& t, const Instruction& i) {
  set<T>(t, i.to[0], static_cast<T>(operation(get<T>(t, i.from[0]))));
}

template <class T, auto operation>
void two(Thread& t, const Instruction& i) {
  set<T>(t, i.to[0], static_cast<T>(operation(get<T>(t, i.from[0]), get<T>(t, i.from[1]))));
}

template <class T, auto operation>
void three(Thread& t, const Instruction& i) {
  set<T>(t, i.to[0], static_cast<T>(operation(get<T>(t, i.from[0]), get<T>(t, i.from[1]), get<T>(t, i.from[2]))));
}

template <class T, auto operation>
void compare(Thread& t, const Instruction& i) {
  set<bool>(t, i.to[0], operation(get<T>(t, i.from[0]), get<T>(t, i.from[1])));
}

template <class T>
void select(Thread& t, const Instruction& i) {
  set<T>(t, i.to[0], get<bool>(t, i.from[2]) ? get<T>(t, i.from[0]) : get<T>(t, i.from[1]));
}

template <class T>
void move(Thread& t, const Instruction& i) {
  set<T>(t, i.to[0], get<T>(t, i.from[0]));
}

// Two halves of a register, the lower one first.
template <class Half>
void pack(Thread& t, const Instruction& i) {
  constexpr int kBits = 8 * sizeof(Half);
  std::uint64_t bits = 0;
  for (int k = 0; k < i.from_count; ++k) bits |= std::uint64_t{get<Half>(t, i.from[k])} << (k * kBits);
  t.write(i.to[0], bits);
}
template <class Half>
void unpack(Thread& t, const Instruction& i) {
  constexpr int kBits = 8 * sizeof(Half);
  const std::uint64_t bits = t.read(i.from[0]);
  for (int k = 0; k < i.to_count; ++k) set<Half>(t, i.to[k], static_cast<Half>(bits >> (k * kBits)));
}

// The low bits of the first number, in the second one's place from a position on.
template <class T>
void insert_bits(Thread& t, const Instruction& i) {
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  const std::uint32_t position = get<std::uint32_t>(t, i.from[2]) & 0xffU;
  const std::uint32_t length = get<std::uint32_t>(t, i.from[3]) & 0xffU;
  T value = get<T>(t, i.from[1]);
  for (std::uint32_t k = 0; k < length && position + k < kBits; ++k) {
    const T bit = T{1} << (position + k);
    value = ((get<T>(t, i.from[0]) >> k) & T{1}) != 0 ? value | bit : value & ~bit;
  }
  set<T>(t, i.to[0], value);
}

// Memory.
template <class T>
void load(Thread& t, const Instruction& i) {
  const std::byte* data = t.access(i, sizeof(T) * i.to_count, Access::read);
  T values[Instruction::kMaxTo];
  std::memcpy(values, data, sizeof(T) * i.to_count);
  for (int k = 0; k < i.to_count; ++k) set<T>(t, i.to[k], values[k]);
}

template <class T>
void store(Thread& t, const Instruction& i) {
  const int count = i.from_count - 1;
  const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(count);
  T values[Instruction::kMaxFrom];
  for (int k = 0; k < count; ++k) values[k] = get<T>(t, i.from[k + 1]);
  std::memcpy(t.access(i, bytes, Access::write, values), values, bytes);
}

template <class T>
T sum_of(T a, T b) {
  return a + b;
}
template <class T>
T larger_of(T a, T b) {
  return a < b ? b : a;
}

template <class T, T (*combine)(T, T)>
void atomic(Thread& t, const Instruction& i) {
  std::byte* data = t.access(i, sizeof(T), Access::atomic);
  T before;
  std::memcpy(&before, data, sizeof before);
  const T after = combine(before, get<T>(t, i.from[1]));
  std::memcpy(data, &after, sizeof after);
  set<T>(t, i.to[0], before);
}

// Integers.
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UnsignedInt128;
template <class T>
using Wide = std::conditional_t<std::is_signed_v<T>, Int128, UnsignedInt128>;

template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T, bool is_remainder>
void divide(Thread& t, const Instruction& i) {
  const Wide<T> a = get<T>(t, i.from[0]);
  const Wide<T> b = get<T>(t, i.from[1]);
  if (b == 0) t.fail(i, "a division by zero");
  set<T>(t, i.to[0], static_cast<T>(is_remainder ? a % b : a / b));
}

template <class T>
T high(T a, T b) {
  return static_cast<T>((static_cast<Wide<T>>(a) * b) >> (8 * sizeof(T)));
}

/// The product in a register of twice the width.
template <class T, class Product>
void multiply_wide(Thread& t, const Instruction& i) {
  set<Product>(t, i.to[0], static_cast<Product>(static_cast<Product>(get<T>(t, i.from[0])) * get<T>(t, i.from[1])));
}

/// a + b + carry, or a - b - borrow, where a is a product's half, or the first operand.
enum class Part : std::uint8_t { none, low, high };
template <class T, bool subtracts, Part part, bool takes_carry, bool gives_carry>
void chain(Thread& t, const Instruction& i) {
  T a = get<T>(t, i.from[0]);
  T b = get<T>(t, i.from[1]);
  if (part != Part::none) {
    a = part == Part::low ? static_cast<T>(a * b) : high<T>(a, b);
    b = get<T>(t, i.from[2]);
  }
  const unsigned carry = takes_carry && t.carry ? 1 : 0;
  const Wide<T> sum = subtracts ? static_cast<Wide<T>>(a) - b - carry : static_cast<Wide<T>>(a) + b + carry;
  if (gives_carry) t.carry = static_cast<T>(sum >> (8 * sizeof(T))) != 0;
  set<T>(t, i.to[0], static_cast<T>(sum));
}

// Shifts by more than the width leave nothing but the sign.
template <class T>
void shift_left(Thread& t, const Instruction& i) {
  const auto by = get<std::uint32_t>(t, i.from[1]);
  set<T>(t, i.to[0], by < 8 * sizeof(T) ? static_cast<T>(get<T>(t, i.from[0]) << by) : T{0});
}
template <class T>
void shift_right(Thread& t, const Instruction& i) {
  const auto by = std::min<std::uint32_t>(get<std::uint32_t>(t, i.from[1]), 8 * sizeof(T) - 1);
  const bool is_over = std::is_unsigned_v<T> && get<std::uint32_t>(t, i.from[1]) >= 8 * sizeof(T);
  set<T>(t, i.to[0], is_over ? T{0} : static_cast<T>(get<T>(t, i.from[0]) >> by));
}

template <class T>
void count_bits(Thread& t, const Instruction& i) {
  set<std::uint32_t>(t, i.to[0], static_cast<std::uint32_t>(std::popcount(get<T>(t, i.from[0]))));
}
template <class T>
void count_leading_zeros(Thread& t, const Instruction& i) {
  set<std::uint32_t>(t, i.to[0], static_cast<std::uint32_t>(std::countl_zero(get<T>(t, i.from[0]))));
}

// Conversions.
template <class To, class From>
void convert(Thread& t, const Instruction& i) {
  set<To>(t, i.to[0], static_cast<To>(get<From>(t, i.from[0])));
}

/// What does not fit becomes the nearest that does; NaN zero, or the most negative number of 64 bits.
template <class To, class From, auto round>
void convert_to_integer(Thread& t, const Instruction& i) {
  const From value = round(get<From>(t, i.from[0]));
  using Limits = std::numeric_limits<To>;
  // The first number that is too large: a power of two, which the type has.
  const From over = std::ldexp(From{1}, Limits::digits);
  To result{};
  if (std::isnan(value)) {
    constexpr bool kIsLong = sizeof(To) == 8 || sizeof(From) == 8;
    result = kIsLong ? static_cast<To>(Unsigned<To>{1} << (8 * sizeof(To) - 1)) : To{0};
  } else if (value >= over) {
    result = Limits::max();
  } else if (value < static_cast<From>(Limits::min())) {
    result = Limits::min();
  } else {
    result = static_cast<To>(value);
  }
  set<To>(t, i.to[0], result);
}

/// A first guess of 1 / a for Newton's iteration: of the upper half of a, in the upper half of the result.
void approximate_reciprocal(Thread& t, const Instruction& i) {
  constexpr std::uint64_t kUpper = 0xffffffff00000000U;
  const double a = std::bit_cast<double>(t.read(i.from[0]) & kUpper);
  double guess = 1.0 / a;
  if (std::fpclassify(a) == FP_SUBNORMAL) guess = std::copysign(std::numeric_limits<double>::infinity(), a);
  if (std::fpclassify(guess) == FP_SUBNORMAL) guess = std::copysign(0.0, guess);
  set<double>(t, i.to[0], std::bit_cast<double>(std::bit_cast<std::uint64_t>(guess) & kUpper));
}

// Control.
void branch(Thread& t, const Instruction& i) { t.frame->next = i.target; }
void call(Thread& t, const Instruction& i) { t.call(*i.call); }
void end_call(Thread& t, const Instruction& /*unused*/) { t.end_call(); }
void run_over(Thread& t, const Instruction& i) { t.fail(i, "runs over the end of its function"); }
void trap(Thread& t, const Instruction& i) { t.fail(i, "gets where the compiler knew that it would not"); }
void fence(Thread& t, const Instruction& /*unused*/) { t.fence(); }
void wait_for_block(Thread& t, const Instruction& i) {
  if (t.read(i.from[0]) != 0 || i.from_count != 1) t.fail(i, "a barrier of some threads");
  t.state = State::at_barrier;
}
void wait_for_warp(Thread& t, const Instruction& /*unused*/) { t.state = State::at_exchange; }

template <class T>
void add_integer(Table& table, const std::string& type) {
  using U = Unsigned<T>;
  using W = Wide<T>;
  table["add." + type] = two<T, [](T a, T b) { return static_cast<U>(static_cast<U>(a) + static_cast<U>(b)); }>;
  table["sub." + type] = two<T, [](T a, T b) { return static_cast<U>(static_cast<U>(a) - static_cast<U>(b)); }>;
  table["mul.lo." + type] = two<T, [](T a, T b) { return static_cast<T>(static_cast<W>(a) * b); }>;
  table["mul.hi." + type] = two<T, [](T a, T b) { return high<T>(a, b); }>;
  table["mad.lo." + type] = three<T, [](T a, T b, T c) { return static_cast<T>(static_cast<W>(a) * b + c); }>;
  table["div." + type] = divide<T, /*is_remainder=*/false>;
  table["rem." + type] = divide<T, /*is_remainder=*/true>;
  table["min." + type] = two<T, [](T a, T b) { return std::min(a, b); }>;
  table["max." + type] = two<T, [](T a, T b) { return std::max(a, b); }>;
  table["shr." + type] = shift_right<T>;
  table["setp.eq." + type] = compare<T, [](T a, T b) { return a == b; }>;
  table["setp.ne." + type] = compare<T, [](T a, T b) { return a != b; }>;
  table["setp.lt." + type] = compare<T, [](T a, T b) { return a < b; }>;
  table["setp.le." + type] = compare<T, [](T a, T b) { return a <= b; }>;
  table["setp.gt." + type] = compare<T, std::greater<T>{}>;
  table["setp.ge." + type] = compare<T, [](T a, T b) { return a >= b; }>;
  if constexpr (std::is_signed_v<T>) {
    table["abs." + type] =
        one<T, [](T a) { return static_cast<U>(a < 0 ? U{0} - static_cast<U>(a) : static_cast<U>(a)); }>;
    table["neg." + type] = one<T, [](T a) { return static_cast<U>(U{0} - static_cast<U>(a)); }>;
  }
  for (const auto& [name, operation] :
       {std::pair<const char*, Execute>{"add.cc.", chain<U, false, Part::none, false, true>},
        {"addc.", chain<U, false, Part::none, true, false>},
        {"addc.cc.", chain<U, false, Part::none, true, true>},
        {"sub.cc.", chain<U, true, Part::none, false, true>},
        {"subc.", chain<U, true, Part::none, true, false>},
        {"subc.cc.", chain<U, true, Part::none, true, true>}}) {
    table[name + type] = operation;
  }
}

/// Products with a carry: of unsigned numbers.
template <class T>
void add_product_chains(Table& table, const std::string& type) {
  table["mad.lo.cc." + type] = chain<T, false, Part::low, false, true>;
  table["mad.hi.cc." + type] = chain<T, false, Part::high, false, true>;
  table["madc.lo." + type] = chain<T, false, Part::low, true, false>;
  table["madc.lo.cc." + type] = chain<T, false, Part::low, true, true>;
  table["madc.hi." + type] = chain<T, false, Part::high, true, false>;
  table["madc.hi.cc." + type] = chain<T, false, Part::high, true, true>;
}

template <class T>
void add_bits(Table& table, const std::string& type) {
  table["and." + type] = two<T, [](T a, T b) { return static_cast<T>(a & b); }>;
  table["or." + type] = two<T, [](T a, T b) { return static_cast<T>(a | b); }>;
  table["xor." + type] = two<T, [](T a, T b) { return static_cast<T>(a ^ b); }>;
  table["not." + type] = one<T, [](T a) { return static_cast<T>(~a); }>;
  table["shl." + type] = shift_left<T>;
  table["shr." + type] = shift_right<T>;
  table["setp.eq." + type] = compare<T, [](T a, T b) { return a == b; }>;
  table["setp.ne." + type] = compare<T, [](T a, T b) { return a != b; }>;
  table["popc." + type] = count_bits<T>;
  table["clz." + type] = count_leading_zeros<T>;
  if constexpr (sizeof(T) >= 4) table["bfi." + type] = insert_bits<T>;
}

template <class T>
void add_float(Table& table, const std::string& type) {
  table["add.rn." + type] = two<T, [](T a, T b) { return a + b; }>;
  table["sub.rn." + type] = two<T, [](T a, T b) { return a - b; }>;
  table["mul.rn." + type] = two<T, [](T a, T b) { return a * b; }>;
  table["div.rn." + type] = two<T, [](T a, T b) { return a / b; }>;
  table["fma.rn." + type] = three<T, [](T a, T b, T c) { return std::fma(a, b, c); }>;
  table["sqrt.rn." + type] = one<T, [](T a) { return std::sqrt(a); }>;
  table["rcp.rn." + type] = one<T, [](T a) { return T{1} / a; }>;
  table["abs." + type] = one<T, [](T a) { return std::fabs(a); }>;
  table["neg." + type] = one<T, [](T a) { return -a; }>;
  // NaN only if both are; -0 is less than 0.
  table["min." + type] = two<T, [](T a, T b) {
    if (a == b) return std::signbit(a) ? a : b;
    return std::fmin(a, b);
  }>;
  table["max." + type] = two<T, [](T a, T b) {
    if (a == b) return std::signbit(a) ? b : a;
    return std::fmax(a, b);
  }>;
  table["setp.eq." + type] = compare<T, [](T a, T b) { return a == b; }>;
  table["setp.ne." + type] = compare<T, [](T a, T b) { return a < b || b < a; }>;
  table["setp.lt." + type] = compare<T, [](T a, T b) { return a < b; }>;
  table["setp.le." + type] = compare<T, [](T a, T b) { return a <= b; }>;
  table["setp.gt." + type] = compare<T, std::greater<T>{}>;
  table["setp.ge." + type] = compare<T, [](T a, T b) { return a >= b; }>;
  // These are true where one is a NaN, too.
  table["setp.equ." + type] = compare<T, [](T a, T b) { return !(a < b || b < a); }>;
  table["setp.neu." + type] = compare<T, [](T a, T b) { return a != b; }>;
  table["setp.ltu." + type] = compare<T, [](T a, T b) { return !(a >= b); }>;
  table["setp.leu." + type] = compare<T, [](T a, T b) { return !(b < a); }>;
  table["setp.gtu." + type] = compare<T, [](T a, T b) { return !(a <= b); }>;
  table["setp.geu." + type] = compare<T, [](T a, T b) { return !(a < b); }>;
  table["setp.nan." + type] = compare<T, [](T a, T b) { return std::isnan(a) || std::isnan(b); }>;
  table["setp.num." + type] = compare<T, [](T a, T b) { return !std::isnan(a) && !std::isnan(b); }>;
}

/// What every type can do.
template <class T>
void add_common(Table& table, const std::string& type) {
  table["mov." + type] = move<T>;
  table["selp." + type] = select<T>;
  table["ld." + type] = load<T>;
  table["st." + type] = store<T>;
}

template <class To, class From>
void add_conversion(Table& table, const std::string& to, const std::string& from) {
  constexpr bool kToFloat = std::is_floating_point_v<To>;
  constexpr bool kFromFloat = std::is_floating_point_v<From>;
  const std::string types = to + "." + from;
  if constexpr (!kToFloat && !kFromFloat) {
    table["cvt." + types] = convert<To, From>;
  } else if constexpr (!kFromFloat) {
    table["cvt.rn." + types] = convert<To, From>;
  } else if constexpr (kToFloat) {
    // Exact ones are written without a rounding.
    table[(sizeof(To) < sizeof(From) ? "cvt.rn." : "cvt.") + types] = convert<To, From>;
  } else {
    table["cvt.rzi." + types] = convert_to_integer<To, From, [](From a) { return std::trunc(a); }>;
    table["cvt.rni." + types] = convert_to_integer<To, From, [](From a) { return std::nearbyint(a); }>;
    table["cvt.rmi." + types] = convert_to_integer<To, From, [](From a) { return std::floor(a); }>;
    table["cvt.rpi." + types] = convert_to_integer<To, From, [](From a) { return std::ceil(a); }>;
  }
  if constexpr (kToFloat && std::is_same_v<To, From>) {
    table["cvt.rzi." + types] = one<To, [](To a) { return std::trunc(a); }>;
    table["cvt.rni." + types] = one<To, [](To a) { return std::nearbyint(a); }>;
    table["cvt.rmi." + types] = one<To, [](To a) { return std::floor(a); }>;
    table["cvt.rpi." + types] = one<To, [](To a) { return std::ceil(a); }>;
  }
}

template <class From>
void add_conversions_of(Table& table, const std::string& from) {
  add_conversion<std::uint8_t, From>(table, "u8", from);
  add_conversion<std::int8_t, From>(table, "s8", from);
  add_conversion<std::uint16_t, From>(table, "u16", from);
  add_conversion<std::int16_t, From>(table, "s16", from);
  add_conversion<std::uint32_t, From>(table, "u32", from);
  add_conversion<std::int32_t, From>(table, "s32", from);
  add_conversion<std::uint64_t, From>(table, "u64", from);
  add_conversion<std::int64_t, From>(table, "s64", from);
  add_conversion<float, From>(table, "f32", from);
  add_conversion<double, From>(table, "f64", from);
}

template <class T>
void add_number(Table& table, const std::string& type) {
  add_common<T>(table, type);
  add_conversions_of<T>(table, type);
}

Table make_table() {
  Table table;
  const auto of_bits = [&]<class T>(T /*width*/, const std::string& width) {
    using S = std::make_signed_t<T>;
    add_number<T>(table, "u" + width);
    add_number<S>(table, "s" + width);
    add_integer<T>(table, "u" + width);
    add_integer<S>(table, "s" + width);
    add_common<T>(table, "b" + width);
    add_bits<T>(table, "b" + width);
  };
  of_bits(std::uint16_t{}, "16");
  of_bits(std::uint32_t{}, "32");
  of_bits(std::uint64_t{}, "64");
  add_number<std::uint8_t>(table, "u8");
  add_number<std::int8_t>(table, "s8");
  add_common<std::uint8_t>(table, "b8");
  add_number<float>(table, "f32");
  add_number<double>(table, "f64");
  add_float<float>(table, "f32");
  add_float<double>(table, "f64");
  add_product_chains<std::uint32_t>(table, "u32");
  add_product_chains<std::uint64_t>(table, "u64");
  table["mul.wide.u16"] = multiply_wide<std::uint16_t, std::uint32_t>;
  table["mul.wide.s16"] = multiply_wide<std::int16_t, std::int32_t>;
  table["mul.wide.u32"] = multiply_wide<std::uint32_t, std::uint64_t>;
  table["mul.wide.s32"] = multiply_wide<std::int32_t, std::int64_t>;
  table["rcp.approx.ftz.f64"] = approximate_reciprocal;
  table["mov.b64.pack"] = pack<std::uint32_t>;
  table["mov.b64.unpack"] = unpack<std::uint32_t>;
  table["mov.b32.pack"] = pack<std::uint16_t>;
  table["mov.b32.unpack"] = unpack<std::uint16_t>;

  table["mov.pred"] = move<bool>;
  table["and.pred"] = two<bool, [](bool a, bool b) { return a && b; }>;
  table["or.pred"] = two<bool, [](bool a, bool b) { return a || b; }>;
  table["xor.pred"] = two<bool, [](bool a, bool b) { return a != b; }>;
  table["not.pred"] = one<bool, [](bool a) { return !a; }>;

  table["atom.add.u32"] = atomic<std::uint32_t, sum_of>;
  table["atom.add.u64"] = atomic<std::uint64_t, sum_of>;
  table["atom.max.u32"] = atomic<std::uint32_t, larger_of>;
  // Generic addresses are the host's, as global ones are.
  table["cvta.to.global.u64"] = move<std::uint64_t>;
  table["cvta.global.u64"] = move<std::uint64_t>;
  table["cvta.local.u64"] = [](Thread& t, const Instruction& i) {
    t.write(i.to[0], reinterpret_cast<std::uintptr_t>(t.local.data()) + t.read(i.from[0]));
  };
  table["cvta.to.local.u64"] = [](Thread& t, const Instruction& i) {
    t.write(i.to[0], t.read(i.from[0]) - reinterpret_cast<std::uintptr_t>(t.local.data()));
  };

  table["bra"] = branch;
  table["bra.uni"] = branch;
  table["call.uni"] = call;
  table["ret"] = end_call;
  table["end"] = run_over;
  table["trap"] = trap;
  table["bar.sync"] = wait_for_block;
  table["membar.gl"] = fence;
  for (const char* exchange : {"shfl.sync.bfly.b32", "shfl.sync.idx.b32", "vote.sync.ballot.b32"}) {
    table[exchange] = wait_for_warp;
  }
  return table;
}

}  // namespace

Execute find_instruction(const std::string& opcode) {
  static const Table table = make_table();
  const auto found = table.find(opcode);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace gradstep::ptx
