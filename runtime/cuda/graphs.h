// runtime/cuda/graphs.h -- CUDA graphs of one device.
#pragma once

#include <mutex>

#include "runtime/cuda/driver_api.h"
#include "runtime/graph_backend.h"

namespace kiln::runtime::cuda {

class CudaBackend;

class CudaGraphs final : public GraphBackend {
 public:
  explicit CudaGraphs(CudaBackend& backend) : backend_(backend) {}
  void begin(NativeStream stream) override;
  void* end(NativeStream stream) override;
  void abandon(NativeStream stream) noexcept override;
  void* last_node(NativeStream stream) override;
  void* instantiate(void* graph) override;
  bool update(void* instance, void* graph) override;
  void set_kernel(void* instance, void* node, const LoadedKernel& kernel, const LaunchShape& shape,
                  void** parameters) override;
  void launch(void* instance, NativeStream stream) override;
  void destroy_graph(void* graph) noexcept override;
  void destroy_instance(void* instance) noexcept override;
  void* allocate(std::size_t bytes) override;
  void* zeros(std::size_t bytes) override;
  NativeStream memory_stream() override;

 private:
  CudaBackend& backend_;
  std::mutex mutex_;
  NativeStream memory_stream_ = nullptr;  ///< made at the first use, never destroyed
};

}  // namespace kiln::runtime::cuda
