// runtime/cuda/compile.cpp -- CUDA C++ to a cubin or PTX through NVRTC.
#include "runtime/cuda/compile.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "runtime/compile_report.h"
#include "runtime/cuda/nvrtc_library.h"
#include "runtime/cuda_interface.h"
#include "runtime/exit_order.h"
#include "support/check.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

constinit FirstUses compiles;

/// Threads inside of NVRTC. A fork does not wait for them, for a compile may take seconds: their child does without.
constinit std::atomic<int> threads_inside{0};
constinit std::atomic<bool> cut_by_fork{false};
const InForkedChild note_cut([] {
  if (threads_inside.load() > 0) cut_by_fork.store(true);
});

class InsideNvrtc {
 public:
  InsideNvrtc() {
    if (cut_by_fork.load()) {
      fail<CompileError>(
          "no kernel can be compiled for a GPU in this process: it was forked while another thread compiled one. Fork "
          "before the first use of a GPU, or start the worker with exec; the CPU device can be used");
    }
    ++threads_inside;
  }
  InsideNvrtc(const InsideNvrtc&) = delete;
  InsideNvrtc& operator=(const InsideNvrtc&) = delete;
  ~InsideNvrtc() { --threads_inside; }
};

/// Destroys the program on every path.
class Program {
 public:
  Program(const Nvrtc& library, const KernelSource& source, const std::string& name) : library_(library) {
    std::vector<const char*> names, texts;
    for (const auto& [header, text] : source.headers) {
      names.push_back(header.c_str());
      texts.push_back(text.c_str());
    }
    check(library.create(&program_, source.text.c_str(), name.c_str(), static_cast<int>(names.size()), texts.data(),
                         names.data()),
          "nvrtcCreateProgram");
    if (!source.expression.empty())
      check(library.add_name(program_, source.expression.c_str()), "nvrtcAddNameExpression");
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { library_.destroy(&program_); }

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> texts;
    for (const std::string& option : options) texts.push_back(option.c_str());
    return library_.compile(program_, static_cast<int>(texts.size()), texts.data());
  }
  std::string log() const {
    std::size_t size = 0;
    if (library_.log_size(program_, &size) != NVRTC_SUCCESS || size == 0) return "";
    std::string text(size, '\0');
    check(library_.log(program_, text.data()), "nvrtcGetProgramLog");
    return text;
  }
  /// The symbol of the kernel that the name expression names.
  std::string lowered_name(const std::string& expression) const {
    const char* name = nullptr;
    check(library_.lowered_name(program_, expression.c_str(), &name), "nvrtcGetLoweredName");
    return name;
  }
  std::vector<char> cubin() const {
    std::size_t size = 0;
    check(library_.cubin_size(program_, &size), "nvrtcGetCUBINSize");
    std::vector<char> image(size);
    check(library_.cubin(program_, image.data()), "nvrtcGetCUBIN");
    return image;
  }
  std::vector<char> ptx() const {  // with the NUL that the driver expects
    std::size_t size = 0;
    check(library_.ptx_size(program_, &size), "nvrtcGetPTXSize");
    std::vector<char> text(size);
    check(library_.ptx(program_, text.data()), "nvrtcGetPTX");
    return text;
  }

 private:
  void check(nvrtcResult result, const char* function) const {
    if (result != NVRTC_SUCCESS)
      fail<CompileError>("{} of {} failed: {}", function, library_.description(), library_.error_string(result));
  }
  const Nvrtc& library_;
  nvrtcProgram program_ = nullptr;
};

bool names_standard(const std::string& option) { return option.starts_with("--std") || option.starts_with("-std"); }

std::vector<std::string> option_list(const Nvrtc& library, const GpuTarget& target, const KernelSource& source,
                                     const CompileOptions& options) {
  std::vector<std::string> list = {"--gpu-architecture=" + target.arch,
                                   options.contract ? "--fmad=true" : "--fmad=false"};
  if (std::none_of(options.extra.begin(), options.extra.end(), names_standard)) list.emplace_back("--std=c++17");
  if (options.lineinfo) list.emplace_back("-lineinfo");
  if (options.fast_math) list.emplace_back("--use_fast_math");
  if (!target.is_ptx) list.emplace_back("--ptxas-options=-v");  // registers and spills in the log, at no cost
  // kiln has its own cache; NVRTC's would open the driver and fill the user's disk a second time.
  if (library.major > 12 || (library.major == 12 && library.minor >= 9)) list.emplace_back("--no-cache");
  list.insert(list.end(), options.extra.begin(), options.extra.end());
  for (const std::string& directory : toolkit_includes(source)) list.push_back("--include-path=" + directory);
  return list;
}

std::string known_archs_text(const Nvrtc& library) {
  std::string text;
  for (const int number : library.known_archs) text += fmt::format("{}sm_{}", text.empty() ? "" : ", ", number);
  return text;
}

GpuTarget target_for(const Nvrtc& library, const KernelSource& source, const CompileOptions& options, bool force_ptx) {
  const std::optional<GpuArch> wanted = parse_gpu_arch(options.arch);
  if (!wanted) {
    fail<CompileError>("cannot compile kernel {} for \"{}\": a GPU architecture is written sm_90, sm_90a or compute_80",
                       source.entry, options.arch);
  }
  const std::optional<GpuTarget> target =
      force_ptx ? choose_ptx_target(*wanted, library.known_archs) : choose_target(*wanted, library.known_archs);
  if (!target) {
    fail<CompileError>(
        "cannot compile kernel {} for {}: {} knows {}. Use an NVRTC that knows it (KILN_NVRTC), or another "
        "architecture",
        source.entry, options.arch, library.description(), known_archs_text(library));
  }
  return *target;
}

[[noreturn]] void fail_compile(const Nvrtc& library, const KernelSource& source, const GpuTarget& target,
                               nvrtcResult result, const std::string& source_name, const std::string& log) {
  std::string hint;
  if (log.find("builtins") != std::string::npos && library.builtins.empty()) {
    const std::size_t slash = library.path.rfind('/');
    hint = fmt::format(
        "libnvrtc-builtins.so.{}.{} must lie beside libnvrtc, in {}, or on the loader's path (LD_LIBRARY_PATH).\n",
        library.major, library.minor, library.path.substr(0, slash));
  }
  if (log.find("Error in parsing name expression") != std::string::npos) {
    const std::string declared = global_functions(source.text);
    hint += fmt::format("'{}' names no __global__ function of the source, which declares {}.\n", source.expression,
                        declared.empty() ? "none" : declared);
  }
  const std::string excerpt = source_excerpt(source.text, source_name, log);
  fail<CompileError>("kernel {} does not compile for {} with {}: {}\n{}{}{}", source.entry, target.arch,
                     library.description(), library.error_string(result), hint, excerpt, readable_log(log));
}

}  // namespace

Binary compile_for(const KernelSource& source, const CompileOptions& options, bool want_ptx, bool force_ptx) {
  refuse_after_exit();
  const HoldsExit hold;
  const Nvrtc& library = nvrtc();
  const InsideNvrtc inside;
  const GpuTarget target = target_for(library, source, options, force_ptx);
  const auto start = std::chrono::steady_clock::now();
  const std::string source_name = source.entry + ".cu";
  Program program(library, source, source_name);
  const std::vector<std::string> command = option_list(library, target, source, options);
  const nvrtcResult result = program.compile(command);
  if (compiles.is_first()) put_exit_handler_last();  // where NVRTC registers handlers after all
  const std::string log = program.log();
  if (result != NVRTC_SUCCESS) fail_compile(library, source, target, result, source_name, log);
  Binary binary;
  binary.is_ptx = target.is_ptx;
  binary.image = target.is_ptx ? program.ptx() : program.cubin();
  binary.entry = source.expression.empty() ? source.entry : program.lowered_name(source.expression);
  binary.compiler = fmt::format("NVRTC {}.{}", library.major, library.minor);
  read_resources(log, binary.entry, binary);
  binary.log = readable_log(log);
  binary.options = options;
  if (want_ptx) {
    const std::vector<char> text = program.ptx();
    binary.ptx.assign(text.begin(), text.empty() ? text.end() : text.end() - 1);
  }
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  KILN_LOG(2, "kernel {} for {}: compiled in {:.1f} ms, {} bytes, {} registers, {} bytes spilled", source.entry,
           target.arch, elapsed.count(), binary.image.size(), binary.registers, binary.spill_bytes);
  KILN_LOG(6, "compiler log of kernel {}: {} {}\n{}", source.entry, library.description(), fmt::join(command, " "),
           log.c_str());
  return binary;
}

Binary compile(const KernelSource& source, const CompileOptions& options, bool want_ptx) {
  return compile_for(source, options, want_ptx, false);
}

}  // namespace kiln::runtime::cuda
