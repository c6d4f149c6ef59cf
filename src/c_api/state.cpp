// SPDX-FileCopyrightText: 2026 The gradstep authors
// SPDX-License-Identifier: Apache-2.0
#include "gradstep/state.h"

#include <map>

#include "c_api/guard.h"
#include "c_api/handles.h"
#include "comm/all_or_none.h"
#include "core/file.h"
#include "core/host_callback.h"
#include "core/options.h"
#include "core/state_part.h"
#include "optim/saved_optimizer.h"
#include "updater/updater.h"

using namespace gradstep;

namespace {

/// The host's stream during one call.
class HostStream final : public ByteSink, public ByteSource {
 public:
  explicit HostStream(const gradstep_stream& stream) : stream_(stream) {}

  void write(const void* data, std::size_t size) override {
    call("stream.write", [&] { return stream_.write(stream_.user, data, size); });
  }
  std::size_t read(void* data, std::size_t size) override {
    std::size_t got = 0;
    call("stream.read", [&] { return stream_.read(stream_.user, data, size, &got); });
    return got;
  }

 private:
  template <class Function>
  static void call(const char* name, Function&& function) {
    set_last_error("");
    const gradstep_status status = call_host(name, function);
    if (status == GRADSTEP_OK) return;
    const std::string text = last_error();
    fail(GRADSTEP_ERR_CALLBACK, "{}: the host's function returned {}{}{}", name, status_name(status),
         text.empty() ? "" : ": ", text);
  }

  gradstep_stream stream_;
};

/// Calls the stream's release once, at the end of the call.
CallbackOwner release_of(const gradstep_stream* stream) noexcept {
  if (stream == nullptr || !has_version1<gradstep_stream>(stream->struct_size)) return {};
  return {stream->release, stream->user};
}

/// Where a call reads or writes: a path or a stream; both NULL on a rank that only takes part.
struct Place {
  const gradstep_stream* stream = nullptr;
  const char* path = nullptr;
  bool is_file = false;

  bool given() const { return is_file ? path != nullptr : stream != nullptr; }
  const char* argument() const { return is_file ? "path" : "stream"; }

  std::unique_ptr<ByteSink> sink() const {
    check();
    if (is_file) return std::make_unique<AtomicFile>(path);
    const auto host = read_struct("stream", stream);
    if (host.write == nullptr) fail_argument("stream.write: is NULL");
    return std::make_unique<HostStream>(host);
  }
  std::unique_ptr<ByteSource> source() const {
    check();
    if (is_file) return std::make_unique<FileSource>(path);
    const auto host = read_struct("stream", stream);
    if (host.read == nullptr) fail_argument("stream.read: is NULL");
    return std::make_unique<HostStream>(host);
  }

 private:
  void check() const {
    if (!given()) fail_argument("{}: is NULL", argument());
    if (is_file && path[0] == '\0') fail_argument("path: is empty");
  }
};

/// `parts()` is collective: it fails on all ranks or on none.
template <class Parts>
void save(const char* kind, Communicator* comm, const Place& place, Parts&& parts) {
  const bool writes = comm == nullptr || comm->rank() == 0;
  std::unique_ptr<ByteSink> sink;
  all_or_none(comm, "open what is written to", [&] {
    if (writes) sink = place.sink();
  });
  const std::map<std::string, SavedPart> all = parts();
  std::unique_ptr<StateWriter> writer;
  all_or_none(comm, "save", [&] { writer = std::make_unique<StateWriter>(kind, all); });
  all_or_none(comm, "write", [&] { writer->write(sink.get()); });
}

/// `check(file)` returns what takes the state over. It has use for `parts()` of the file's tensors.
template <class Parts, class Check>
void load(const char* kind, Communicator* comm, const Place& place, const gradstep_load_options* options, Parts&& parts,
          Check&& check) {
  const auto read = read_struct_or({}, "options", options);
  std::unique_ptr<StateFile> file;
  std::function<void()> take_over;
  all_or_none(comm, "read or take what was saved", [&] {
    file = std::make_unique<StateFile>(*place.source(), read.allow_unchecked != 0, parts());
    file->check_kind(kind);
    take_over = check(*file);
  });
  take_over();
}

/// The body of every function here: one handle and the place.
template <class Handle, class Body>
gradstep_status with_place(Handle* handle, const Place& place, Body&& body) noexcept {
  const CallbackOwner release = release_of(place.stream);
  return with(handle, body);
}

Place stream_place(const gradstep_stream* stream) { return {stream, nullptr, false}; }
Place file_place(const char* path) { return {nullptr, path, true}; }

Communicator* peers_of(const Optimizer& optimizer) {
  return optimizer.is_sharded() ? &optimizer.sharding()->comm() : nullptr;
}

gradstep_status save_optimizer_to(gradstep_optimizer* optimizer, const Place& place) noexcept {
  return with_place(optimizer, place, [&](Optimizer& impl) {
    impl.check_state_is_whole();  // before its channel is asked, which is broken then
    Communicator* comm = peers_of(impl);
    save("optimizer", comm, place, [&] {
      std::map<std::string, SavedPart> parts;
      all_or_none(comm, "save", [&] { parts[""] = save_optimizer(impl); });
      return parts;
    });
  });
}

gradstep_status load_optimizer_from(gradstep_optimizer* optimizer, const Place& place,
                                    const gradstep_load_options* options) noexcept {
  return with_place(optimizer, place, [&](Optimizer& impl) {
    const auto parts = [&] { return own_parts(impl, ""); };
    load("optimizer", peers_of(impl), place, options, parts, [&](const StateFile& file) {
      LoadedPart part(file, "");
      return load_optimizer(part, impl);
    });
  });
}

/// What is saved of a handle.
Accumulator& saved(Accumulator& accumulator) { return accumulator; }
SavedReducer saved(Reducer& reducer) { return reducer.saved(); }

/// Accumulators and reducers are each rank's own.
template <class Handle>
gradstep_status save_to(Handle* handle, const Place& place) noexcept {
  return with_place(handle, place, [&](auto& impl) {
    save(Handle::kName, nullptr, place, [&] { return std::map<std::string, SavedPart>{{"", saved(impl).save()}}; });
  });
}

template <class Handle>
gradstep_status load_from(Handle* handle, const Place& place, const gradstep_load_options* options) noexcept {
  return with_place(handle, place, [&](auto& impl) {
    const auto all = [] { return TensorParts{}; };
    load(Handle::kName, nullptr, place, options, all, [&](const StateFile& file) {
      LoadedPart part(file, "");
      return saved(impl).load(part);
    });
  });
}

gradstep_status save_updater_to(gradstep_updater* updater, const Place& place) noexcept {
  return with_place(updater, place, [&](Updater& impl) {
    const HeldChain held(impl.chain());
    const SavedUpdater saved = impl.saved();
    save("updater", saved.peers(), place, [&] { return saved.save(); });
  });
}

gradstep_status load_updater_from(gradstep_updater* updater, const Place& place,
                                  const gradstep_load_options* options) noexcept {
  return with_place(updater, place, [&](Updater& impl) {
    const HeldChain held(impl.chain());
    const SavedUpdater saved = impl.saved();
    const auto parts = [&] { return saved.own_parts(); };
    load("updater", saved.peers(), place, options, parts, [&](const StateFile& file) { return saved.load(file); });
  });
}

}  // namespace

gradstep_status gradstep_load_options_init(gradstep_load_options* o, size_t struct_size) noexcept {
  return guarded([&] { init_struct("o", o, struct_size, gradstep_load_options{}); });
}

gradstep_status gradstep_optimizer_save(gradstep_optimizer* optimizer, const gradstep_stream* stream) noexcept {
  return save_optimizer_to(optimizer, stream_place(stream));
}
gradstep_status gradstep_optimizer_load(gradstep_optimizer* optimizer, const gradstep_stream* stream,
                                        const gradstep_load_options* options) noexcept {
  return load_optimizer_from(optimizer, stream_place(stream), options);
}
gradstep_status gradstep_optimizer_save_file(gradstep_optimizer* optimizer, const char* path) noexcept {
  return save_optimizer_to(optimizer, file_place(path));
}
gradstep_status gradstep_optimizer_load_file(gradstep_optimizer* optimizer, const char* path,
                                             const gradstep_load_options* options) noexcept {
  return load_optimizer_from(optimizer, file_place(path), options);
}

gradstep_status gradstep_accumulator_save(gradstep_accumulator* accumulator, const gradstep_stream* stream) noexcept {
  return save_to(accumulator, stream_place(stream));
}
gradstep_status gradstep_accumulator_load(gradstep_accumulator* accumulator, const gradstep_stream* stream,
                                          const gradstep_load_options* options) noexcept {
  return load_from(accumulator, stream_place(stream), options);
}
gradstep_status gradstep_accumulator_save_file(gradstep_accumulator* accumulator, const char* path) noexcept {
  return save_to(accumulator, file_place(path));
}
gradstep_status gradstep_accumulator_load_file(gradstep_accumulator* accumulator, const char* path,
                                               const gradstep_load_options* options) noexcept {
  return load_from(accumulator, file_place(path), options);
}

gradstep_status gradstep_reducer_save(gradstep_reducer* reducer, const gradstep_stream* stream) noexcept {
  return save_to(reducer, stream_place(stream));
}
gradstep_status gradstep_reducer_load(gradstep_reducer* reducer, const gradstep_stream* stream,
                                      const gradstep_load_options* options) noexcept {
  return load_from(reducer, stream_place(stream), options);
}
gradstep_status gradstep_reducer_save_file(gradstep_reducer* reducer, const char* path) noexcept {
  return save_to(reducer, file_place(path));
}
gradstep_status gradstep_reducer_load_file(gradstep_reducer* reducer, const char* path,
                                           const gradstep_load_options* options) noexcept {
  return load_from(reducer, file_place(path), options);
}

gradstep_status gradstep_updater_save(gradstep_updater* updater, const gradstep_stream* stream) noexcept {
  return save_updater_to(updater, stream_place(stream));
}
gradstep_status gradstep_updater_load(gradstep_updater* updater, const gradstep_stream* stream,
                                      const gradstep_load_options* options) noexcept {
  return load_updater_from(updater, stream_place(stream), options);
}
gradstep_status gradstep_updater_save_file(gradstep_updater* updater, const char* path) noexcept {
  return save_updater_to(updater, file_place(path));
}
gradstep_status gradstep_updater_load_file(gradstep_updater* updater, const char* path,
                                           const gradstep_load_options* options) noexcept {
  return load_updater_from(updater, file_place(path), options);
}
