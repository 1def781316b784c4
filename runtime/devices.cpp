// runtime/devices.cpp -- which devices exist, which one is the default, and why one is missing.
#include <charconv>
#include <memory>

#include "runtime/cpu/cpu.h"
#include "runtime/cuda_interface.h"
#include "runtime/runtime.h"
#include "support/check.h"
#include "support/env.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

// Backends are never destroyed: arrays with static storage may outlive every registry, and the driver may be gone by
// then.
Backend& cpu_backend() {
  static constinit Leaked<Backend> made;
  return made.get([] {
    Backend* const backend = make_cpu_backend().release();
    KILN_INTERNAL_CHECK(backend, "the CPU backend cannot be missing");
    const DeviceInfo& info = backend->info();
    KILN_LOG(1, "cpu: {}, {} thread{}, {}", info.name, info.multiprocessors, info.multiprocessors == 1 ? "" : "s",
             info.arch);
    return backend;
  });
}

struct CudaDevices {
  std::vector<std::unique_ptr<Backend>> backends;
  std::string reason;
};

/// Opens the driver at first use. A program that asks only for the CPU never gets here.
CudaDevices& cuda_devices() {
  static constinit Leaked<CudaDevices> found;
  return found.get([] {
    auto* const devices = new CudaDevices;
    devices->backends = cuda::make_backends(devices->reason);
    if (!devices->backends.empty()) devices->reason.clear();
    KILN_LOG(1, "CUDA: {}",
             devices->reason.empty() ? fmt::format("{} device(s)", devices->backends.size()) : devices->reason);
    return devices;
  });
}

/// The N of "cuda:N", or -1.
int parse_index(std::string_view text) {
  int index = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  return error == std::errc() && end == text.data() + text.size() ? index : -1;
}

}  // namespace

const std::vector<DeviceInfo>& devices() {
  static constinit Leaked<const std::vector<DeviceInfo>> list;
  return list.get([] {
    auto* const infos = new std::vector<DeviceInfo>{cpu_backend().info()};
    for (const auto& backend : cuda_devices().backends) infos->push_back(backend->info());
    return infos;
  });
}

std::string unavailable_reason(DeviceKind kind) { return kind == DeviceKind::cpu ? "" : cuda_devices().reason; }

Backend& backend(DeviceId device) {
  if (device.kind == DeviceKind::cpu) {
    if (device.index != 0) fail<DeviceError>("there is one CPU device, cpu:0, and cpu:{} was asked for", device.index);
    return cpu_backend();
  }
  const CudaDevices& cuda = cuda_devices();
  if (cuda.backends.empty()) {
    fail<DeviceError>(
        "cuda:{} cannot be used: {}\nWithout a GPU use the CPU device: KILN_DEVICE=cpu, or kl::Device::cpu()",
        device.index, cuda.reason);
  }
  if (device.index < 0 || static_cast<std::size_t>(device.index) >= cuda.backends.size()) {
    fail<DeviceError>("cuda:{} does not exist: there {} {} CUDA device{} here (the first is cuda:0)", device.index,
                      cuda.backends.size() == 1 ? "is" : "are", cuda.backends.size(),
                      cuda.backends.size() == 1 ? "" : "s");
  }
  return *cuda.backends[static_cast<std::size_t>(device.index)];
}

DeviceId default_device() {
  const std::string text = setting("KILN_DEVICE");
  if (text.empty()) return {cuda_devices().backends.empty() ? DeviceKind::cpu : DeviceKind::cuda, 0};
  if (text == "cpu") return {DeviceKind::cpu, 0};
  DeviceId device{DeviceKind::cuda, 0};
  if (text.starts_with("cuda:")) device.index = parse_index(std::string_view(text).substr(5));
  if ((text != "cuda" && !text.starts_with("cuda:")) || device.index < 0)
    fail<DeviceError>("KILN_DEVICE={} is not a device; use cpu, cuda or cuda:N", text);
  try {
    backend(device);
  } catch (const DeviceError& error) {
    fail<DeviceError>("KILN_DEVICE={}: {}", text, error.what());
  }
  return device;
}

}  // namespace kiln::runtime
