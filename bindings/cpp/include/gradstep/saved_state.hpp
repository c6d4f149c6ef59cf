// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// saved_state.hpp: what a handle holds, to a stream or a file and back.
#pragma once

#include <gradstep/state.h>

#include <gradstep/options.hpp>
#include <istream>
#include <ostream>

namespace gradstep::inline cpp_v0 {

namespace detail {

inline gradstep_stream writing(std::ostream& stream) {
  auto c = sized<gradstep_stream>();
  c.user = &stream;
  c.write = [](void* user, const void* data, std::size_t size) {
    return guarded([&] {
      auto& out = *static_cast<std::ostream*>(user);
      if (!out.write(static_cast<const char*>(data), static_cast<std::streamsize>(size))) {
        throw IoError("the stream did not take " + std::to_string(size) + " bytes");
      }
    });
  };
  return c;
}

inline gradstep_stream reading(std::istream& stream) {
  auto c = sized<gradstep_stream>();
  c.user = &stream;
  c.read = [](void* user, void* data, std::size_t size, std::size_t* got) {
    return guarded([&] {
      auto& in = *static_cast<std::istream*>(user);
      in.read(static_cast<char*>(data), static_cast<std::streamsize>(size));
      if (in.bad()) throw IoError("the stream cannot be read");
      *got = static_cast<std::size_t>(in.gcount());
    });
  };
  return c;
}

}  // namespace detail

/// The saving and loading of a handle (<gradstep/state.h>): everything is checked before anything is changed.
template <class Self, auto kSave, auto kLoad, auto kSaveFile, auto kLoadFile>
class SavedState {
 public:
  void save(std::ostream& stream) const {
    const gradstep_stream c = detail::writing(stream);
    check(kSave(handle(), &c));
  }
  /// For ranks other than 0 where saving is collective.
  void save(std::nullptr_t) const { check(kSave(handle(), nullptr)); }
  void save_file(const std::string& path) const { check(kSaveFile(handle(), path.c_str())); }

  void load(std::istream& stream, const LoadOptions& options = {}) {
    const gradstep_stream c = detail::reading(stream);
    const gradstep_load_options c_options = options.c();
    check(kLoad(handle(), &c, &c_options));
  }
  void load_file(const std::string& path, const LoadOptions& options = {}) {
    const gradstep_load_options c_options = options.c();
    check(kLoadFile(handle(), path.c_str(), &c_options));
  }

 private:
  friend Self;
  SavedState() = default;
  [[nodiscard]] auto* handle() const noexcept { return static_cast<const Self*>(this)->c(); }
};

}  // namespace gradstep::inline cpp_v0
