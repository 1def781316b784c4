// runtime/tool_report.cpp -- gathers the report of `kiln info`, and names a cure for each problem.
#include "runtime/tool_report.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "runtime/cache_key.h"
#include "runtime/cpu/compiler_library.h"
#include "runtime/cpu/cpu.h"
#include "runtime/cuda_interface.h"
#include "runtime/loaded_bundles.h"
#include "runtime/runtime.h"
#include "support/check.h"
#include "support/env.h"
#include "support/files.h"
#include "support/log.h"

namespace kiln::tool {
namespace {

/// Of a warning of the library, which says what is wrong with a setting or with what it names.
std::string cure_of(std::string_view warning) {
  if (warning.starts_with("environment variable")) return "spell the name as in the list above, or unset it";
  if (warning.starts_with("a bundle"))
    return "copy the bundle again or build it with this kiln, or take it out of KILN_BUNDLE";
  if (warning.starts_with("KILN_"))
    return fmt::format("correct {} or unset it", warning.substr(0, warning.find_first_of("=: ")));
  return "see above";
}

/// Collects what the library would warn about: values that it cannot understand, names that it does not know.
class CollectedWarnings {
 public:
  explicit CollectedWarnings(std::vector<Problem>& problems) {
    set_log_sink(
        [](int level, std::string_view message, void* context) {
          if (level == 0)
            static_cast<std::vector<Problem>*>(context)->push_back({true, std::string(message), cure_of(message)});
        },
        &problems);
    log_level();  // reports the names of unknown variables
  }
  CollectedWarnings(const CollectedWarnings&) = delete;
  CollectedWarnings& operator=(const CollectedWarnings&) = delete;
  ~CollectedWarnings() { set_log_sink(nullptr, nullptr); }
};

/// Without "bin/../lib" and links.
std::string real_path(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  const std::string result = real ? real : path;
  std::free(real);
  return result;
}

std::string library_path() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&library_path), &info) && info.dli_fname ? real_path(info.dli_fname) : "";
}

/// The package's version as the kernel module tells it, "580.65.06"; empty where it is not loaded.
std::string kernel_module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word)
    if (word.find_first_not_of("0123456789.") == std::string::npos && word.find('.') != std::string::npos) return word;
  return "";
}

DeviceReport device_report(const runtime::DeviceInfo& info) {
  const bool is_cpu = info.id.kind == runtime::DeviceKind::cpu;
  return {is_cpu ? "cpu" : fmt::format("cuda:{}", info.id.index), info.name, info.arch, info.multiprocessors,
          info.memory_bytes};
}

void report_cpu(SystemReport& report) {
  const runtime::DeviceInfo& cpu = runtime::devices().front();
  report.cpu = device_report(cpu);
  report.cpu_vector_bits = cpu.cpu_vector_bits;
  try {
    report.cpu_compiler_version = runtime::compiler_library().version();
    report.cpu_compiler_path = real_path(runtime::compiler_library_path());
  } catch (const DeviceError& error) {
#ifdef KILN_WITHOUT_CPU_COMPILER
    report.problems.push_back({false, "this kiln was built without the CPU compiler",
                               "build it with -DKILN_CPU_JIT=ON; kernels in the cache still run on the CPU"});
#else
    report.problems.push_back({true, error.what(), "install libkiln_cpu.so of the same build beside libkiln.so"});
#endif
  }
}

/// A driver that is there and a compiler that is there may still not go together (case C10).
void compare_versions(const runtime::cuda::CompilerReport& nvrtc, int driver_version, SystemReport& report) {
  if (!nvrtc.version || !driver_version) return;
  if (nvrtc.version / 1000 > driver_version / 1000) {
    report.problems.push_back({true,
                               fmt::format("NVRTC is of CUDA {} and the driver supports {}: it may refuse the kernels",
                                           nvrtc.version / 1000, report.driver_version),
                               "install a newer driver, or name an older NVRTC by KILN_NVRTC"});
  }
  for (const DeviceReport& gpu : report.gpus) {
    if (std::find(report.nvrtc_archs.begin(), report.nvrtc_archs.end(), gpu.arch) != report.nvrtc_archs.end()) continue;
    report.problems.push_back(
        {false,
         fmt::format("{} ({}) is newer than NVRTC: kernels become PTX, which the driver compiles", gpu.id, gpu.arch),
         "a newer NVRTC makes first calls faster"});
  }
}

void report_cuda(SystemReport& report) {
  std::string reason;
  const int driver_version = runtime::cuda::driver_version(reason);
  const std::string module = kernel_module_version();
  if (driver_version) {
    report.driver_version = fmt::format("CUDA {}.{}{}", driver_version / 1000, driver_version % 1000 / 10,
                                        module.empty() ? "" : fmt::format(" ({})", module));
  }
  for (const runtime::DeviceInfo& info : runtime::devices())
    if (info.id.kind == runtime::DeviceKind::cuda) report.gpus.push_back(device_report(info));
  if (report.gpus.empty()) {
    // The kernel module shows that there is a driver: then its library should be here, too.
    report.problems.push_back({!module.empty(), runtime::unavailable_reason(runtime::DeviceKind::cuda),
                               module.empty() ? "without a GPU everything runs on the CPU device"
                                              : "start the container with its GPUs (docker run --gpus all)"});
  }
  const runtime::cuda::CompilerReport nvrtc = runtime::cuda::report_compiler();
  if (nvrtc.version) report.nvrtc_version = fmt::format("{}.{}", nvrtc.version / 1000, nvrtc.version % 1000 / 10);
  report.nvrtc_path = nvrtc.path;
  for (const int arch : nvrtc.archs) report.nvrtc_archs.push_back(fmt::format("sm_{}", arch));
  report.nvrtc_tried = nvrtc.tried;
  if (!nvrtc.problem.empty()) report.problems.push_back({!report.gpus.empty(), nvrtc.problem, nvrtc.cure});
  compare_versions(nvrtc, driver_version, report);
}

void report_cache(SystemReport& report) {
  report.cache = cache_state();
  if (report.cache.problem.empty() || report.cache.mode == "off") return;
  report.problems.push_back(
      {true, fmt::format("the kernel cache {} cannot serve: {}", report.cache.directory, report.cache.problem),
       "name a directory that is yours by KILN_CACHE_DIR (mode 0700), or set KILN_CACHE=off; "
       "until then every process compiles its kernels again"});
}

void report_settings(SystemReport& report) {
  for (const Setting& s : settings())
    report.settings.push_back({s.name, setting(s.name), is_set(s.name) ? "environment" : "default", s.meaning});
  try {
    const runtime::DeviceId device = runtime::default_device();
    report.default_device = device.kind == runtime::DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
  } catch (const DeviceError& error) {
    report.problems.push_back({true, error.what(), "set KILN_DEVICE to a device that is listed above, or unset it"});
  }
  const std::string tune = setting("KILN_TUNE");
  if (tune != "on" && tune != "off" && tune != "full")
    warn_once(fmt::format("KILN_TUNE={} is none of off, on and full; taking on", tune));
  if (const std::string record = setting("KILN_RECORD"); !record.empty()) {
    const std::string directory = record.substr(0, std::max<std::size_t>(record.rfind('/'), 1));
    const bool is_there = ::access(record.c_str(), F_OK) == 0;
    if (::access(is_there ? record.c_str() : directory.c_str(), W_OK) != 0)
      warn_once(fmt::format("KILN_RECORD={} cannot be written: {}", record, files::error_text(errno)));
  }
  runtime::looks_in_bundles();  // opens those of KILN_BUNDLE; a warning about one is a problem
}

}  // namespace

const char* version() { return KILN_VERSION; }

SystemReport system_report() {
  SystemReport report;
  const CollectedWarnings collecting(report.problems);
  report.version = version();
  report.build = runtime::kiln_build();
  report.library = library_path();
  report_cuda(report);
  report_cpu(report);
  report_cache(report);
  report_settings(report);
  std::stable_sort(report.problems.begin(), report.problems.end(),
                   [](const Problem& a, const Problem& b) { return a.serious > b.serious; });
  return report;
}

}  // namespace kiln::tool
