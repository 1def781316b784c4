// runtime/recording.h -- work that is recorded instead of run: launches with the places of their pointers, and the
// memory they use.
//
// On a CUDA device the driver records a stream, and this keeps what is needed to change pointers later and to keep
// memory alive; on the CPU the list of launches is the graph.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph_backend.h"
#include "runtime/runtime.h"

namespace kiln::runtime {

struct RecordedLaunch {
  /// A pointer among the parameters.
  struct Place {
    std::uint32_t parameter = 0;
    std::uint32_t at = 0;  ///< byte of the parameter
  };
  const LoadedKernel* kernel = nullptr;
  std::shared_ptr<const void> owner;  ///< keeps the kernel
  LaunchShape shape;
  std::vector<std::vector<unsigned char>> parameters;
  std::vector<Place> pointers;
  void* node = nullptr;  ///< of the CUDA graph

  char* pointer(const Place& place) const;
  void set_pointer(const Place& place, char* address);
  std::vector<void*> addresses() const;  ///< of the parameters, for Backend::launch
};

/// The launches of a graph and the memory that they use: one reference to each storage.
class RecordedWork {
 public:
  RecordedWork() = default;
  RecordedWork(RecordedWork&& other) noexcept { swap(other); }
  RecordedWork& operator=(RecordedWork&& other) noexcept {
    swap(other);
    return *this;
  }
  ~RecordedWork();

  void keep(Storage& storage);
  /// Whether launches use memory that was there before.
  bool keeps(const Storage& storage) const;
  /// Whether the memory was allocated while recording.
  bool owns(const Storage& storage) const;
  /// Gives up storages of others that no pointer refers to any more.
  void drop_unused();
  /// Everything that the graph reads or writes.
  template <class Function>
  void for_each_storage(Function function) const {
    for (Storage* const storage : kept_) function(*storage);
    for (Storage* const storage : own_) function(*storage);
  }

  std::vector<RecordedLaunch> launches;

 private:
  friend class Recording;
  void swap(RecordedWork& other) noexcept;
  std::vector<Storage*> kept_;
  std::vector<Storage*> own_;  ///< allocated while recording: the graph writes them whatever is patched
};

/// A capture that is going on, on one thread.
class Recording {
 public:
  /// Begins to record `stream` (CPU: everything of this thread). DeviceError when this thread records already.
  Recording(Backend& backend, NativeStream stream);
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  ~Recording();  ///< abandons what was not finished

  std::string place;  ///< of the capture in the user's code, for messages

  /// Ends it. `graph` is the driver's, null on the CPU.
  RecordedWork finish(void*& graph);

  /// True for work that is recorded: of the stream itself or of one that was joined to it by an event.
  bool takes(Backend& backend, NativeStream stream) const;
  void launch(Backend& backend, RecordedLaunch launch, NativeStream stream);
  void keep(Storage& storage) { work_.keep(storage); }
  const RecordedWork& work() const { return work_; }
  /// What could not be recorded where nothing may be thrown: finish() throws the first one.
  void fail_at_end(std::exception_ptr failure) {
    if (!failure_) failure_ = std::move(failure);
  }
  /// Memory that lives as long as the graph. Kernels recorded on `stream` may be given memory that earlier ones are
  /// done with.
  Storage* allocate(Backend& backend, DeviceId device, std::size_t bytes, NativeStream stream);
  /// Zeroed counters for kernels that leave them zero.
  void* counters(Backend& backend, std::uint32_t count, NativeStream stream);
  /// A storage that nobody refers to any more: its release would be recorded, so it waits for the end.
  void defer(Storage* storage) { deferred_.push_back(storage); }

 private:
  void end() noexcept;

  struct Own {
    Storage* storage;
    NativeStream stream;
  };
  struct Counters {
    NativeStream stream;
    void* memory;
    std::uint32_t count;
  };
  Backend& backend_;
  GraphBackend* const graphs_;
  const NativeStream stream_;
  bool active_ = false;
  RecordedWork work_;
  std::vector<Own> own_;
  std::vector<Counters> counters_;
  std::vector<Storage*> deferred_;
  std::exception_ptr failure_;
};

/// The recording of this thread; null while nothing is recorded. One load.
extern constinit thread_local Recording* recording __attribute__((tls_model("initial-exec")));

/// The recording that takes work of `stream`, or null.
inline Recording* recording_of(Backend& backend, NativeStream stream) {
  Recording* const current = recording;
  return current && current->takes(backend, stream) ? current : nullptr;
}

}  // namespace kiln::runtime
