// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// Between a site and the host's memory. Where the site is the host's, nothing takes a way round.
#pragma once

#include "backend/context.h"
#include "core/state_file.h"

namespace gradstep {

/// A copy in the host's memory. `array` is contiguous.
inline Buffer download(const Context& context, const Site& site, const Array& array) {
  Buffer host = context.allocate(static_cast<std::size_t>(array.bytes()), /*zeroed=*/false);
  site.queue().download(host.data(), array.data, host.bytes());
  return host;
}

/// Moves a host's bytes to the site.
inline Buffer upload(const Site& site, Buffer host) {
  if (site.is_host()) return host;
  Buffer there = site.allocate(host.bytes(), /*zeroed=*/false);
  site.queue().upload(there.data(), host.data(), host.bytes());
  return there;
}

/// host = own, of one size; `own` is contiguous.
inline void copy_to_host(const Context& context, const Site& site, const Array& own, const Array& host) {
  if (site.is_host()) return site.copy(host, own);
  const Buffer staged = download(context, site, own);
  Site(context.cpu()).copy(host, compact_array(staged.data(), own.size, own.dtype));
}

/// own = host, likewise.
inline void copy_from_host(const Context& context, const Site& site, const Array& host, const Array& own) {
  if (site.is_host()) return site.copy(own, host);
  const Buffer staged = context.allocate(static_cast<std::size_t>(own.bytes()), /*zeroed=*/false);
  Site(context.cpu()).copy(compact_array(staged.data(), own.size, own.dtype), host);
  site.queue().upload(own.data, staged.data(), staged.bytes());
}

/// The tensor's numbers are those of `array`, contiguous, when it is written. The site stays until then.
inline void show(SavedTensor& tensor, const Site& site, const Array& array) {
  if (site.is_host()) {
    tensor.data = array.data;
  } else {
    tensor.gather = [&site, array](void* whole) {
      site.queue().download(whole, array.data, static_cast<std::size_t>(array.bytes()));
    };
  }
}

}  // namespace gradstep
