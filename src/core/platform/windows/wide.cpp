// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "core/platform/windows/wide.h"

#include <windows.h>

#include <array>

#include "core/error.h"

namespace gradstep::platform {

std::wstring wide(std::string_view text) {
  const int size = static_cast<int>(text.size());
  const int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, nullptr, 0);
  if (length == 0 && size > 0) fail(GRADSTEP_ERR_IO, "'{}' is not UTF-8", text);
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
  constexpr DWORD kOneLine = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
  const DWORD error = GetLastError();
  std::array<wchar_t, 1024> words{};
  const DWORD length = FormatMessageW(kOneLine, nullptr, error, 0, words.data(), words.size(), nullptr);
  std::string text = narrow({words.data(), length});
  text.resize(text.find_last_not_of(" \r\n") + 1);
  return text.empty() ? "error " + std::to_string(error) : text;
}

}  // namespace gradstep::platform
