// runtime/cuda/driver_api.cpp -- opens libcuda.so.1 and fills the table of entry points.
#include "runtime/cuda/driver_api.h"

#include <dlfcn.h>

#include <memory>
#include <vector>

#include "runtime/cuda/testing.h"
#include "support/check.h"
#include "support/env.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime::cuda {
namespace {

constexpr int oldest_version = 12000;

struct Opened {
  ForkSafeMutex mutex;
  bool tried = false;
  std::string reason;
  std::string path_for_tests;
  std::vector<std::unique_ptr<Driver>> tables;  // one, but for tests that open several drivers
  const Driver* driver = nullptr;
};

// Nor is the library ever closed: arrays may be released after every static destructor has run.
constinit Leaked<Opened> the_opened;
Opened& opened() { return the_opened.get(); }

// A forked child shares the parent's device state only in appearance; the driver forbids its use.
const InForkedChild forbid([] {
  if (driver_table.load(std::memory_order_relaxed)) process_epoch.store(forked_epoch, std::memory_order_relaxed);
});

void* open_library(const std::string& override_path, std::string& reason) {
  std::vector<std::string> names = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
  if (!override_path.empty()) names = {override_path};
  for (const std::string& name : names) {
    if (void* const handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    const char* const message = dlerror();
    reason += fmt::format("{}{}", reason.empty() ? "" : "; ", message ? message : name);
  }
  reason = fmt::format(
      "the NVIDIA driver's library cannot be opened ({}). Is a driver installed, and visible in this container?",
      reason);
  return nullptr;
}

/// "" or the first entry point that the library lacks.
std::string fill_table(void* handle, Driver& table) {
#define KILN_DRIVER_SYMBOL(member, symbol, declaration)                           \
  table.member = reinterpret_cast<decltype(table.member)>(dlsym(handle, symbol)); \
  if (!table.member) return symbol;
  KILN_DRIVER_FUNCTIONS(KILN_DRIVER_SYMBOL)
#undef KILN_DRIVER_SYMBOL
  return "";
}

const Driver* open_once(Opened& state) {
  void* const handle = open_library(state.path_for_tests, state.reason);
  if (!handle) return nullptr;
  Driver* const table = state.tables.emplace_back(std::make_unique<Driver>()).get();
  const std::string missing = fill_table(handle, *table);
  if (table->driver_version) table->driver_version(&table->version);
  if (!missing.empty() || table->version < oldest_version) {
    state.reason =
        fmt::format("the NVIDIA driver is too old: it supports {}{}, and kiln needs CUDA 12.0 (driver 525) or later",
                    version_text(table->version), missing.empty() ? "" : " and has no " + missing);
    return nullptr;
  }
  if (const CUresult result = table->init(0); result != CUDA_SUCCESS) {
    const std::string visible = foreign_variable("CUDA_VISIBLE_DEVICES");
    const char* name = "an unknown error";
    const char* text = "";
    table->error_name(result, &name);
    table->error_string(result, &text);
    state.reason =
        fmt::format("the NVIDIA driver cannot start: cuInit gave {} ({}, {}){}", name, static_cast<int>(result), text,
                    visible.empty() ? "" : "; CUDA_VISIBLE_DEVICES=" + visible);
    return nullptr;
  }
  KILN_LOG(1, "NVIDIA driver: {}", version_text(table->version));
  return table;
}

}  // namespace

const Driver* open_driver(std::string& reason) {
  Opened& state = opened();
  const std::lock_guard lock(state.mutex);
  if (!state.tried) {
    state.tried = true;
    state.driver = open_once(state);
    if (state.driver) driver_table.store(state.driver, std::memory_order_release);
  }
  reason = state.reason;
  return state.driver;
}

std::string version_text(int version) { return fmt::format("CUDA {}.{}", version / 1000, version % 1000 / 10); }

std::string error_text(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  driver().error_name(result, &name);
  driver().error_string(result, &text);
  return fmt::format("{} ({}, {})", name ? name : "CUDA error", static_cast<int>(result),
                     text ? text : "no description");
}

void use_driver_for_tests(const char* path) {
  Opened& state = opened();
  const std::lock_guard lock(state.mutex);
  state.tried = false;
  state.reason.clear();
  state.path_for_tests = path ? path : "";
}

}  // namespace kiln::runtime::cuda
