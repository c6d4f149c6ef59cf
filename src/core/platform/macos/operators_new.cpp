// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
//
// The C++ runtime that is linked in shows its operators new and delete to the whole process. These take their place,
// and are the library's alone (-fvisibility-global-new-delete).
#include <cstdlib>
#include <new>

namespace {

void* allocate(std::size_t bytes) noexcept { return std::malloc(bytes > 0 ? bytes : 1); }

void* allocate(std::size_t bytes, std::align_val_t alignment) noexcept {
  const auto unit =
      static_cast<std::size_t>(alignment) < sizeof(void*) ? sizeof(void*) : static_cast<std::size_t>(alignment);
  return std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
}

void* checked(void* data) {
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

void* operator new(std::size_t bytes) { return checked(allocate(bytes)); }
void* operator new[](std::size_t bytes) { return checked(allocate(bytes)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes); }
void* operator new(std::size_t bytes, std::align_val_t unit) { return checked(allocate(bytes, unit)); }
void* operator new[](std::size_t bytes, std::align_val_t unit) { return checked(allocate(bytes, unit)); }
void* operator new(std::size_t bytes, std::align_val_t unit, const std::nothrow_t&) noexcept {
  return allocate(bytes, unit);
}
void* operator new[](std::size_t bytes, std::align_val_t unit, const std::nothrow_t&) noexcept {
  return allocate(bytes, unit);
}

void operator delete(void* data) noexcept { std::free(data); }
void operator delete[](void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t) noexcept { std::free(data); }
void operator delete(void* data, const std::nothrow_t&) noexcept { std::free(data); }
void operator delete[](void* data, const std::nothrow_t&) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void* data, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }
void operator delete[](void* data, std::size_t, std::align_val_t) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t, const std::nothrow_t&) noexcept { std::free(data); }
void operator delete[](void* data, std::align_val_t, const std::nothrow_t&) noexcept { std::free(data); }
