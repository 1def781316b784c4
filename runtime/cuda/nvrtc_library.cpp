// runtime/cuda/nvrtc_library.cpp -- opens NVRTC and its builtins library.
#include "runtime/cuda/nvrtc_library.h"

#include <dlfcn.h>

#include "runtime/cuda/nvrtc_search.h"
#include "runtime/cuda/testing.h"
#include "runtime/cuda/without_exit_handlers.h"
#include "runtime/cuda_interface.h"
#include "runtime/exit_order.h"
#include "support/check.h"
#include "support/files.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

constexpr int oldest_major = 12;

struct State {
  ForkSafeMutex mutex;
  bool searched = false;    // everywhere
  bool identified = false;  // by the first place that has one
  bool hidden = false;      // by a test
  NvrtcSearch search;
  std::string identity;
  std::vector<std::unique_ptr<Nvrtc>> retired;
  std::unique_ptr<Nvrtc> library;  // never closed: compiles may run while the process exits
};

constinit Leaked<State> the_state;
State& state() { return the_state.get(); }

void search_once(State& s) {
  if (s.searched) return;
  s.searched = true;
  s.search = search_nvrtc(s.hidden ? NvrtcPlaces{} : nvrtc_places());
}

void identify_once(State& s) {
  if (s.identified) return;
  s.identified = true;
  const std::string path = s.hidden ? "" : first_nvrtc();
  s.identity = path.empty() ? "none" : files::identity(path);
}

/// NVRTC opens its builtins library by bare name and ignores its own directory, so a copy outside the loader's path (a
/// Python package) fails to compile. Opening the copy beside it first makes the loader answer that name with it.
std::string open_builtins(const std::string& nvrtc_path, int major, int minor) {
  const std::string directory = nvrtc_path.substr(0, nvrtc_path.rfind('/') + 1);
  const std::string path = fmt::format("{}libnvrtc-builtins.so.{}.{}", directory, major, minor);
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) ? path : "";
}

std::string load_error(const char* what) {
  const char* const message = dlerror();
  return message ? message : what;
}

/// "" and a filled table, or why this file cannot be used.
std::string open_candidate(const std::string& path, Nvrtc& library) {
  void* handle = nullptr;
  {
    const WithoutExitHandlers loading;
    handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  if (!handle) return load_error("it cannot be opened");
#define KILN_NVRTC_SYMBOL(member, symbol, declaration)                                \
  library.member = reinterpret_cast<decltype(library.member)>(dlsym(handle, symbol)); \
  if (!library.member) return fmt::format("{}: it has no {}; NVRTC 12.0 or later is needed", path, symbol);
  KILN_NVRTC_FUNCTIONS(KILN_NVRTC_SYMBOL)
#undef KILN_NVRTC_SYMBOL
  library.path = path;
  if (library.version(&library.major, &library.minor) != NVRTC_SUCCESS || library.major < oldest_major)
    return fmt::format("{}: it is NVRTC {}.{}; 12.0 or later is needed", path, library.major, library.minor);
  int count = 0;
  if (library.arch_count(&count) != NVRTC_SUCCESS || count <= 0) return path + ": it does not say which GPUs it knows";
  library.known_archs.resize(static_cast<std::size_t>(count));
  if (library.archs(library.known_archs.data()) != NVRTC_SUCCESS) return path + ": it does not say which GPUs it knows";
  library.builtins = open_builtins(path, library.major, library.minor);
  return "";
}

std::string joined(const std::vector<std::string>& items, const char* before) {
  std::string text;
  for (const std::string& item : items) text += before + item;
  return text;
}

/// A named NVRTC that cannot be used must not go unnoticed because another one was found.
void warn_if_not_named(const State& s) {
  const std::string named = s.hidden ? "" : nvrtc_places().named;
  if (named.empty() || s.library->path.starts_with(named)) return;
  warn_once(fmt::format("KILN_NVRTC={} is not a usable NVRTC 12.0 or later; taking {}", named, s.library->path));
}

}  // namespace

std::string Nvrtc::description() const { return fmt::format("NVRTC {}.{} ({})", major, minor, path); }

const Nvrtc& nvrtc() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.library) return *s.library;
  search_once(s);
  const HoldsExit hold;
  std::vector<std::string> refused;
  for (const std::string& path : s.search.found) {
    auto library = std::make_unique<Nvrtc>();
    const std::string problem = open_candidate(path, *library);
    if (!problem.empty()) {
      refused.push_back(problem);
      continue;
    }
    s.identity = files::identity(path);
    s.identified = true;
    KILN_LOG(1, "{}", library->description());
    s.library = std::move(library);
    put_exit_handler_last();
    refuse_while_exiting();
    warn_if_not_named(s);
    return *s.library;
  }
  fail<CompileError>(
      "NVRTC, the CUDA compiler, was not found, so no kernel can be compiled for a GPU. Install the CUDA toolkit (12.0 "
      "or later), "
      "or the Python package with `pip install nvidia-cuda-nvrtc`, or set KILN_NVRTC to libnvrtc.so.\n{}  looked in:{}",
      refused.empty() ? "" : "  found, but not usable:" + joined(refused, "\n    ") + "\n",
      joined(s.search.tried, "\n    "));
}

std::string compiler_identity() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  identify_once(s);
  return s.identity;
}

void load_compiler() { nvrtc(); }

std::string compiler_description() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  if (s.library) return s.library->description();
  search_once(s);
  return s.search.found.empty() ? "an NVRTC that is no longer there" : "NVRTC at " + s.search.found.front();
}

void hide_nvrtc_for_tests(bool hidden) {
  search_nvrtc_again_for_tests();
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.hidden = hidden;
}

void search_nvrtc_again_for_tests() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  s.searched = s.identified = false;
  if (s.library) s.retired.push_back(std::move(s.library));  // references to it may be held
}

}  // namespace kiln::runtime::cuda
