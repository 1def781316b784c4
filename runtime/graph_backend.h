// runtime/graph_backend.h -- graphs of captured work, where a device has them.
#pragma once

#include "runtime/runtime.h"

namespace kiln::runtime {

/// Handles are the driver's. Errors are DeviceError; a stream that could not be captured is left as it was.
class GraphBackend {
 public:
  virtual ~GraphBackend() = default;
  /// From here on work of `stream` is recorded. The default stream cannot be captured.
  virtual void begin(NativeStream stream) = 0;
  /// The graph of everything recorded. Throws where the recorded work cannot be a graph.
  virtual void* end(NativeStream stream) = 0;
  /// Ends a capture whose graph nobody wants.
  virtual void abandon(NativeStream stream) noexcept = 0;
  /// The node of what was recorded last on `stream`.
  virtual void* last_node(NativeStream stream) = 0;
  virtual void* instantiate(void* graph) = 0;
  /// Makes an instance run what `graph` records; false where their structures differ.
  virtual bool update(void* instance, void* graph) = 0;
  /// Other arguments for a kernel of an instance.
  virtual void set_kernel(void* instance, void* node, const LoadedKernel& kernel, const LaunchShape& shape,
                          void** parameters) = 0;
  virtual void launch(void* instance, NativeStream stream) = 0;
  virtual void destroy_graph(void* graph) noexcept = 0;
  virtual void destroy_instance(void* instance) noexcept = 0;
  /// Memory that no stream has to wait for: it may be used by graphs launched anywhere. It is released in the order of
  /// memory_stream().
  virtual void* allocate(std::size_t bytes) = 0;
  /// Memory that is zero, likewise.
  virtual void* zeros(std::size_t bytes) = 0;
  virtual NativeStream memory_stream() = 0;
};

}  // namespace kiln::runtime
