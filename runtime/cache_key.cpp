// runtime/cache_key.cpp -- the key's text: one labelled, length-prefixed field per thing that can change the binary.
#include "runtime/cache_key.h"

#include <dlfcn.h>

#include <atomic>

#include <fmt/format.h>

#include "runtime/cache_settings.h"
#include "runtime/cpu/cpu.h"
#include "runtime/cuda_interface.h"
#include "runtime/include_closure.h"
#include "runtime/key_fields.h"
#include "support/files.h"
#include "support/fork_safe.h"

namespace kiln::runtime {
namespace {

constexpr int digest_bits = 256;
std::atomic<int> kept_bits{digest_bits};

std::string file_that_holds(const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_fname) return "/proc/self/exe";
  const std::string name = info.dli_fname;
  // The main program is listed under argv[0], which may be relative to a directory that is no longer current.
  return name.find('/') == std::string::npos || name[0] != '/' ? "/proc/self/exe" : name;
}

std::string compiler_identity(Language language) {
  const std::string identity = language == Language::cuda ? cuda::compiler_identity() : cpu_compiler_identity();
  return identity == "none" ? remembered_compiler(cache_settings(), language) : identity;
}

}  // namespace

const std::string& kiln_build() {
  static constinit Leaked<const std::string> build;
  return build.get(
      [] { return new std::string(files::identity(file_that_holds(reinterpret_cast<const void*>(&kiln_build)))); });
}

CacheKey make_cache_key(const KernelSource& source, const CompileOptions& options) {
  CacheKey key;
  std::string& text = key.text;
  text.reserve(source.text.size() + 1024);
  append_field(text, "format", fmt::format("{}", cache_format_version));
  append_field(text, "kiln", kiln_build());
  key.compiler = compiler_identity(source.language);
  append_field(text, "compiler", key.compiler);
  append_field(text, "language", source.language == Language::cuda ? "cuda" : "llvm");
  // No architecture means this host, and a cache may be shared with others.
  const bool is_host = options.arch.empty() && source.language == Language::llvm_ir;
  append_field(text, "arch", is_host ? cpu_arch() : options.arch);
  append_options(text, source, options);
  if (!source.expression.empty()) append_field(text, "kernel", source.expression);
  std::string reached = source.text;
  for (const auto& [name, header] : source.headers) {
    append_field(text, "header " + name, header);
    reached += '\n' + header;
  }
  if (source.language == Language::cuda)
    if (const auto toolkit = cuda::toolkit_includes(source); !toolkit.empty())
      append_field(text, "toolkit", cuda::toolkit_identity(toolkit));
  const IncludeClosure includes = include_closure(reached, options.extra);
  for (const auto& [path, digest] : includes.files) append_field(text, "include " + path, digest);
  key.has_includes = !includes.files.empty();
  key.persistent = includes.complete;
  append_field(text, "source", source.text);
  key.digest = blake3(text);
  if (const int bits = kept_bits.load(std::memory_order_relaxed); bits < digest_bits)
    for (int bit = bits; bit < digest_bits; ++bit)
      key.digest[static_cast<std::size_t>(bit / 8)] &= static_cast<std::uint8_t>(~(0x80u >> (bit % 8)));
  return key;
}

void truncate_digests(int bits) { kept_bits.store(bits, std::memory_order_relaxed); }

}  // namespace kiln::runtime
