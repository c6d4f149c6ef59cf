// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Texts of gradstep are UTF-8, those of Windows UTF-16.
#pragma once

#include <string>
#include <string_view>

namespace gradstep::platform {

/// Throws IO for a text that is not UTF-8.
std::wstring wide(std::string_view text);
std::string narrow(std::wstring_view text);

/// What GetLastError() says of this thread, in words and on one line.
std::string last_error_text();

}  // namespace gradstep::platform
