// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "kth/failing_system.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>

// glibc's own, under the names that are left when a program has a malloc.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace gradstep::test {

namespace {

constexpr int kNothing = -1;
std::atomic<int> armed{kNothing};
std::atomic<long> counted{0};
std::atomic<long> target{0};
std::atomic<long> live{0};
thread_local int spared = 0;

bool fails(Failing kind) {
  if (armed.load(std::memory_order_relaxed) != static_cast<int>(kind) || spared > 0) return false;
  return counted.fetch_add(1) + 1 == target.load();
}

void* taken(void* memory) {
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

template <class Take>
void* take(Take take_it) {
  if (!fails(Failing::memory)) return taken(take_it());
  errno = ENOMEM;
  return nullptr;
}

template <class Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool file_fails() {
  if (!fails(Failing::files)) return false;
  errno = EIO;
  return true;
}

/// One that has a descriptor, a connection or a mapping: -1 by `error`, or what `call` gives.
template <class Call>
auto socket_call(int error, Call call) -> decltype(call()) {
  if (!fails(Failing::sockets)) return call();
  errno = error;
  return static_cast<decltype(call())>(-1);
}

}  // namespace

void arm(Failing kind, long k) {
  counted = 0;
  target = k;
  armed = static_cast<int>(kind);
}

long disarm() {
  armed = kNothing;
  return counted;
}

Spared::Spared() { ++spared; }
Spared::~Spared() { --spared; }

long live_blocks() { return live; }

}  // namespace gradstep::test

using namespace gradstep::test;

#pragma GCC visibility push(default)  // for the library to find them
extern "C" {

void* malloc(std::size_t size) {
  return take([&] { return __libc_malloc(size); });
}
void* calloc(std::size_t count, std::size_t size) {
  return take([&] { return __libc_calloc(count, size); });
}
void* realloc(void* memory, std::size_t size) {
  if (fails(Failing::memory)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* moved = __libc_realloc(memory, size);
  return memory == nullptr ? taken(moved) : moved;
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return take([&] { return __libc_memalign(alignment, size); });
}
void* memalign(std::size_t alignment, std::size_t size) {
  return take([&] { return __libc_memalign(alignment, size); });
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  void* got = take([&] { return __libc_memalign(alignment, size); });
  if (got == nullptr) return ENOMEM;
  *memory = got;
  return 0;
}
void free(void* memory) {
  if (memory != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*entry)(void*), void* argument) {
  static const auto create = real<decltype(&pthread_create)>("pthread_create");
  return fails(Failing::threads) ? EAGAIN : create(thread, attributes, entry, argument);
}

int open(const char* path, int flags, ...) {
  static const auto open_it = real<int (*)(const char*, int, ...)>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return file_fails() ? -1 : open_it(path, flags, mode);
}
ssize_t write(int file, const void* data, std::size_t size) {
  static const auto write_it = real<decltype(&write)>("write");
  return file_fails() ? -1 : write_it(file, data, size);
}
ssize_t read(int file, void* data, std::size_t size) {
  static const auto read_it = real<decltype(&read)>("read");
  return file_fails() ? -1 : read_it(file, data, size);
}
int fsync(int file) {
  static const auto flush = real<decltype(&fsync)>("fsync");
  return file_fails() ? -1 : flush(file);
}
int rename(const char* from, const char* to) noexcept {
  static const auto move = real<int (*)(const char*, const char*)>("rename");
  return file_fails() ? -1 : move(from, to);
}

int socket(int domain, int type, int protocol) noexcept {
  static const auto make = real<int (*)(int, int, int)>("socket");
  return socket_call(EMFILE, [&] { return make(domain, type, protocol); });
}
int bind(int file, const sockaddr* address, socklen_t size) noexcept {
  static const auto bind_it = real<int (*)(int, const sockaddr*, socklen_t)>("bind");
  return socket_call(EADDRINUSE, [&] { return bind_it(file, address, size); });
}
int listen(int file, int waiting) noexcept {
  static const auto listen_it = real<int (*)(int, int)>("listen");
  return socket_call(EADDRINUSE, [&] { return listen_it(file, waiting); });
}
int accept(int file, sockaddr* address, socklen_t* size) {
  static const auto accept_it = real<int (*)(int, sockaddr*, socklen_t*)>("accept");
  return socket_call(EMFILE, [&] { return accept_it(file, address, size); });
}
int accept4(int file, sockaddr* address, socklen_t* size, int flags) {
  static const auto accept_it = real<int (*)(int, sockaddr*, socklen_t*, int)>("accept4");
  return socket_call(EMFILE, [&] { return accept_it(file, address, size, flags); });
}
int connect(int file, const sockaddr* address, socklen_t size) {
  static const auto connect_it = real<int (*)(int, const sockaddr*, socklen_t)>("connect");
  return socket_call(ENETUNREACH, [&] { return connect_it(file, address, size); });
}
int setsockopt(int file, int level, int name, const void* value, socklen_t size) noexcept {
  static const auto set = real<int (*)(int, int, int, const void*, socklen_t)>("setsockopt");
  return socket_call(ENOBUFS, [&] { return set(file, level, name, value, size); });
}
int getsockopt(int file, int level, int name, void* value, socklen_t* size) noexcept {
  static const auto get = real<int (*)(int, int, int, void*, socklen_t*)>("getsockopt");
  return socket_call(ENOBUFS, [&] { return get(file, level, name, value, size); });
}
ssize_t send(int file, const void* data, std::size_t size, int flags) {
  static const auto send_it = real<decltype(&send)>("send");
  return socket_call(ECONNRESET, [&] { return send_it(file, data, size, flags); });
}
ssize_t recv(int file, void* data, std::size_t size, int flags) {
  static const auto receive = real<decltype(&recv)>("recv");
  return socket_call(ECONNRESET, [&] { return receive(file, data, size, flags); });
}
ssize_t writev(int file, const iovec* parts, int count) {
  static const auto write_it = real<decltype(&writev)>("writev");
  return socket_call(ENOBUFS, [&] { return write_it(file, parts, count); });
}
int epoll_create(int size) noexcept {
  static const auto make = real<int (*)(int)>("epoll_create");
  return socket_call(EMFILE, [&] { return make(size); });
}
int epoll_create1(int flags) noexcept {
  static const auto make = real<int (*)(int)>("epoll_create1");
  return socket_call(EMFILE, [&] { return make(flags); });
}
int epoll_ctl(int epoll, int action, int file, epoll_event* event) noexcept {
  static const auto control = real<int (*)(int, int, int, epoll_event*)>("epoll_ctl");
  if (action == EPOLL_CTL_DEL) return control(epoll, action, file, event);  // does not fail for want of something
  return socket_call(ENOSPC, [&] { return control(epoll, action, file, event); });
}
int eventfd(unsigned int value, int flags) noexcept {
  static const auto make = real<int (*)(unsigned int, int)>("eventfd");
  return socket_call(EMFILE, [&] { return make(value, flags); });
}
int timerfd_create(int clock, int flags) noexcept {
  static const auto make = real<int (*)(int, int)>("timerfd_create");
  return socket_call(EMFILE, [&] { return make(clock, flags); });
}
int pipe2(int* files, int flags) noexcept {
  static const auto make = real<int (*)(int*, int)>("pipe2");
  return socket_call(EMFILE, [&] { return make(files, flags); });
}
int memfd_create(const char* name, unsigned int flags) noexcept {
  static const auto make = real<int (*)(const char*, unsigned int)>("memfd_create");
  return socket_call(EMFILE, [&] { return make(name, flags); });
}
int ftruncate(int file, off_t size) noexcept {
  static const auto resize = real<int (*)(int, off_t)>("ftruncate");
  return socket_call(ENOSPC, [&] { return resize(file, size); });
}
void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) noexcept {
  static const auto map = real<void* (*)(void*, std::size_t, int, int, int, off_t)>("mmap");
  if (!fails(Failing::sockets)) return map(at, size, protection, flags, file, offset);
  errno = ENOMEM;
  return MAP_FAILED;
}

}  // extern "C"
#pragma GCC visibility pop
