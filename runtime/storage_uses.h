// runtime/storage_uses.h -- the streams that used a storage, and the points of their work that its release waits for.
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

/// A stream other than the home stream that used the memory. Nodes are pushed without locks; the list is short.
struct Storage::Uses {
  NativeStream stream = nullptr;
  void* context = nullptr;  ///< of the device, in which the stream's events are recorded
  Uses* next = nullptr;
  void* fence = nullptr;  ///< an event after the last use; null until it could be recorded
};

/// The stream in whose order it is safe to wait for `stream` from any thread. The per-thread default stream is another
/// one on each thread; the legacy stream comes after all of them.
inline NativeStream ordering_stream(NativeStream stream) {
  return stream == per_thread_stream || stream == legacy_stream ? nullptr : stream;
}

}  // namespace kiln::runtime
