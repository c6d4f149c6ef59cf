// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace gradstep {

/// Whether held_bytes() knows what a part holds beside itself: it has bytes(), or it is a vector or a unique_ptr whose
/// element is known, too. Views have bytes() and hold none, so they are no parts.
template <class Part>
constexpr bool is_known_to_hold();

template <class Part>
concept SaysBytes = is_known_to_hold<Part>();

template <SaysBytes Part>
constexpr std::size_t held_bytes_of(const Part& part);

/// Holds nothing beside itself.
template <class Element>
concept Plain = std::is_trivially_destructible_v<Element>;

template <class Part>
constexpr bool is_known_to_hold() {
  if constexpr (requires(const Part& part) {
                  { part.bytes() } -> std::integral;
                }) {
    return !Plain<Part>;
  } else if constexpr (requires(const Part& part) { part.capacity(); }) {
    return Plain<typename Part::value_type> || is_known_to_hold<typename Part::value_type>();
  } else if constexpr (requires { typename Part::element_type; }) {
    using Element = typename Part::element_type;
    return std::same_as<Part, std::unique_ptr<Element>> && (Plain<Element> || is_known_to_hold<Element>());
  } else {
    return false;
  }
}

template <SaysBytes Part>
constexpr std::size_t held_bytes_of(const Part& part) {
  if constexpr (requires { part.taken_bytes(); }) {
    return part.taken_bytes();
  } else if constexpr (requires { part.bytes(); }) {
    return static_cast<std::size_t>(part.bytes());
  } else if constexpr (requires { part.capacity(); }) {
    using Element = typename Part::value_type;
    std::size_t bytes = part.capacity() * sizeof(Element);  // NOLINT(bugprone-sizeof-expression): some are pointers
    if constexpr (!Plain<Element>) {
      for (const Element& element : part) bytes += held_bytes_of(element);
    }
    return bytes;
  } else {
    using Element = typename Part::element_type;
    if (part == nullptr) return 0;
    if constexpr (Plain<Element>) {
      return sizeof(Element);
    } else {
      return sizeof(Element) + held_bytes_of(*part);
    }
  }
}

/// Bytes that the parts hold beside themselves.
template <SaysBytes... Parts>
constexpr std::size_t held_bytes(const Parts&... parts) {
  return (std::size_t{0} + ... + held_bytes_of(parts));
}

}  // namespace gradstep
