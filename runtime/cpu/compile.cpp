// runtime/cpu/compile.cpp -- LLVM IR text to an image through libkiln_cpu.so; faults carry the numbered text.
#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <memory>
#include <new>

#include "runtime/cpu/compiler_library.h"
#include "runtime/cpu/cpu.h"
#include "runtime/exit_order.h"
#include "support/check.h"
#include "support/files.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

/// The line that "<entry>:<line>:<column>: error" names, 0 if the message names none.
int line_of(const std::string& message, const std::string& entry) {
  const std::size_t at = message.find(entry + ":");
  int line = 0;
  if (at != message.npos) {
    const char* begin = message.data() + at + entry.size() + 1;
    std::from_chars(begin, message.data() + message.size(), line);
  }
  return line;
}

/// Lines around `line` with their numbers; the first lines when it is 0.
std::string excerpt(const std::string& text, int line) {
  const int first = std::max(1, line - 3), last = line ? line + 3 : 12;
  std::string out;
  std::size_t at = 0;
  for (int number = 1; at < text.size() && number <= last; ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (number >= first)
      out += fmt::format("{:>5} {} {}\n", number, number == line ? '>' : '|', text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

}  // namespace

Binary compile_cpu(const KernelSource& source, const CompileOptions& options, bool want_assembly) {
  refuse_after_exit();
  const HoldsExit hold;
  const CompilerLibrary& library = compiler_library();
  const auto start = std::chrono::steady_clock::now();
  const std::string arch = options.arch.empty() ? cpu_arch() : options.arch;
  kiln_cpu_request request = {};
  request.text = source.text.c_str();
  request.text_size = source.text.size();
  request.entry = source.entry.c_str();
  request.arch = arch.c_str();
  request.want_assembly = want_assembly;
  const NotForked inside;  // LLVM's own locks
  const std::unique_ptr<kiln_cpu_result, decltype(library.release)> result(library.compile(&request), library.release);
  if (!result) throw std::bad_alloc();
  if (const char* error = library.error(result.get())) {
    const std::string message = error;
    if (library.out_of_memory(result.get()))
      fail<OutOfMemory>("there is no host memory left to compile the kernel {} for the CPU: {}", source.entry, message);
    fail<CompileError>("LLVM rejected the kernel {} for {}:\n{}\n{}", source.entry, arch,
                       excerpt(source.text, line_of(message, source.entry)), message);
  }
  Binary binary;
  std::size_t size = 0;
  const char* image = static_cast<const char*>(library.image(result.get(), &size));
  binary.image.assign(image, image + size);
  binary.entry = source.entry;
  binary.compiler = library.version();
  if (want_assembly) binary.ptx = library.assembly(result.get());
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  KILN_LOG(2, "kernel {} for the CPU: compiled in {:.1f} ms, {} bytes", source.entry, elapsed.count(),
           binary.image.size());
  KILN_LOG(6, "compiler log of kernel {}: {} for {}, no messages", source.entry, library.version(), arch);
  return binary;
}

std::string cpu_compiler_identity() {
  // Once found it stays: a file that is replaced later is not the library that this process has loaded or will load.
  static std::atomic<const std::string*> known{nullptr};
  if (const std::string* const identity = known.load(std::memory_order_acquire)) return *identity;
  const std::string path = compiler_library_path();
  std::string identity;
  if (!path.empty()) {
    identity = files::identity(path);
  } else {
    try {
      identity = compiler_library().version();  // somewhere on the loader's path
    } catch (const DeviceError&) {
      return "none";
    }
  }
  identity += fmt::format(" interface {}", KILN_CPU_INTERFACE);
  const auto* const made = new std::string(std::move(identity));
  known.store(made, std::memory_order_release);  // a race leaks a line of text
  return *made;
}

}  // namespace kiln::runtime
