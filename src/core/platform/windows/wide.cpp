// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/platform/windows/wide.h"

#include <windows.h>

#include <system_error>

namespace gradstep::platform {

std::wstring wide(std::string_view text) {
  const int size = static_cast<int>(text.size());
  const int length = MultiByteToWideChar(CP_UTF8, 0, text.data(), size, nullptr, 0);
  std::wstring converted(static_cast<std::size_t>(length), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, text.data(), size, converted.data(), length);
  return converted;
}

std::string narrow(std::wstring_view text) {
  const int size = static_cast<int>(text.size());
  const int length = WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr);
  std::string converted(static_cast<std::size_t>(length), '\0');
  WideCharToMultiByte(CP_UTF8, 0, text.data(), size, converted.data(), length, nullptr, nullptr);
  return converted;
}

std::string last_error_text() {
  return std::error_code(static_cast<int>(GetLastError()), std::system_category()).message();
}

}  // namespace gradstep::platform
