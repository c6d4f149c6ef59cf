// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The compiled part of {fmt}, versions 9 to 11. Debian ships it only as a shared library, which gradstep must not need;
// header-only, every file would compile all of it anew, which took more than two thirds of a build.
#include <fmt/format-inl.h>

template std::locale fmt::detail::locale_ref::get<std::locale>() const;
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref);
template void fmt::detail::buffer<char>::append(const char*, const char*);
#if FMT_VERSION >= 100000 && FMT_VERSION < 110000
template void fmt::detail::vformat_to<char>(fmt::detail::buffer<char>&, fmt::string_view,
                                            fmt::detail::vformat_args<char>::type, fmt::detail::locale_ref);
#endif
