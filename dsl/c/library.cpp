// dsl/c/library.cpp -- versions, devices, bundles and caches of the C interface.
#include <kiln/bundle.h>

#include "dsl/c/fault.h"
#include "dsl/c/kernel.h"
#include "runtime/compile_mode.h"
#include "runtime/loaded_bundles.h"
#include "runtime/tool_cache.h"

using namespace kiln;
using namespace kiln::dsl::c;

namespace {

void check_removed(const tool::CacheRemoval& removal) {
  if (!removal.problem.empty()) fail<IoError>("{}", removal.problem);
}

}  // namespace

extern "C" {

int32_t kiln_abi_version(void) noexcept { return KILN_ABI_VERSION; }
const char* kiln_version(void) noexcept { return KILN_VERSION_TEXT; }

kiln_status kiln_device_count(std::size_t* count) noexcept {
  return guarded("kiln_device_count", [&] {
    require(count, "count");
    *count = runtime::devices().size();
  });
}

kiln_status kiln_device_at(std::size_t position, kiln_device_info* info) noexcept {
  return guarded("kiln_device_at", [&] {
    require_writable(info, "info");
    const std::vector<runtime::DeviceInfo>& devices = runtime::devices();
    if (position >= devices.size()) fail_argument("device {} of {}", position, devices.size());
    info->device = dl_device(devices[position].id);
    info->name = devices[position].name.c_str();
    info->arch = devices[position].arch.c_str();
  });
}

kiln_status kiln_stream_create(kiln_dl_device device, void** stream) noexcept {
  return guarded("kiln_stream_create", [&] {
    require(stream, "stream");
    const runtime::DeviceId where = device_named(device);
    *stream = detail::create_stream(static_cast<int>(where.kind), where.index);
  });
}

kiln_status kiln_stream_destroy(kiln_dl_device device, void* stream) noexcept {
  return guarded("kiln_stream_destroy", [&] {
    const runtime::DeviceId where = device_named(device);
    detail::destroy_stream(static_cast<int>(where.kind), where.index, stream);
  });
}

kiln_status kiln_synchronize(kiln_dl_device device, void* stream) noexcept {
  return guarded("kiln_synchronize", [&] { runtime::backend(device_named(device)).synchronize(stream); });
}

kiln_status kiln_bundle_load(const char* path) noexcept {
  return guarded("kiln_bundle_load", [&] {
    require(path, "path");
    if (!*path) fail<IoError>("the path is empty");
    runtime::load_bundle(path);
  });
}

kiln_status kiln_bundle_load_memory(const void* data, std::size_t bytes, const char* name) noexcept {
  return guarded("kiln_bundle_load_memory", [&] {
    require(data, "data");
    if (bytes > PTRDIFF_MAX) fail_argument("data has {} bytes, which no memory holds", bytes);
    if (reinterpret_cast<std::uintptr_t>(data) % 64 != 0) fail_argument("data is not aligned to 64 bytes");
    runtime::load_bundle_from_memory({static_cast<const char*>(data), bytes}, name ? name : "a bundle in memory");
  });
}

kiln_status kiln_set_compile_mode(int32_t mode) noexcept {
  return guarded("kiln_set_compile_mode", [&] {
    if (mode < KILN_COMPILE_automatic || mode > KILN_COMPILE_jit_only)
      fail_argument("{} is none of KILN_COMPILE_...", mode);
    runtime::set_compile_mode(static_cast<runtime::CompileMode>(mode));
  });
}

int32_t kiln_compile_mode(void) noexcept { return static_cast<std::int32_t>(runtime::compile_mode()); }

kiln_status kiln_cache_get_stats(kiln_cache_stats* stats) noexcept {
  return guarded("kiln_cache_get_stats", [&] {
    require_writable(stats, "stats");
    const runtime::CacheCounters counters = runtime::cache_counters();
    const tool::CacheState state = tool::cache_state();
    *stats = {.struct_size = stats->struct_size,
              .compiles = counters.compiles,
              .memory_hits = counters.memory_hits,
              .disk_hits = counters.disk_hits,
              .disk_misses = counters.disk_misses,
              .disk_rejects = counters.disk_rejects,
              .disk_errors = counters.disk_errors,
              .bundle_hits = counters.bundle_hits,
              .bundle_misses = counters.bundle_misses,
              .disk_entries = state.entries,
              .disk_bytes = state.bytes};
  });
}

kiln_status kiln_cache_prune(uint64_t bytes) noexcept {
  return guarded("kiln_cache_prune", [&] { check_removed(tool::prune_cache(bytes)); });
}

kiln_status kiln_cache_clear(void) noexcept {
  return guarded("kiln_cache_clear", [&] { check_removed(tool::clear_cache()); });
}

}  // extern "C"

static_assert(KILN_COMPILE_jit_only == static_cast<int>(runtime::CompileMode::jit_only) &&
              KILN_COMPILE_cache_only == static_cast<int>(runtime::CompileMode::cache_only) &&
              KILN_COMPILE_bundle_only == static_cast<int>(runtime::CompileMode::bundle_only));
