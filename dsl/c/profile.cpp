// dsl/c/profile.cpp -- kiln_profiler and kiln_profile: what ran, in the host's memory.
#include <kiln/profile.h>

#include <string>

#include "dsl/c/fault.h"
#include "dsl/c/host_memory.h"
#include "dsl/c/wording.h"

struct kiln_profiler {
  kiln_profiler(const kiln::dsl::c::HostMemory& from, bool all_threads)
      : memory(from), data(kiln::detail::start_profile(all_threads)) {}
  ~kiln_profiler() {
    if (data) kiln::detail::destroy(data);
  }
  kiln_profiler(const kiln_profiler&) = delete;
  kiln_profiler& operator=(const kiln_profiler&) = delete;
  kiln::dsl::c::HostMemory memory;
  kiln::detail::Profiler* data;
};

struct kiln_profile {
  explicit kiln_profile(const kiln::dsl::c::HostMemory& from) : memory(from) {}
  ~kiln_profile() {
    if (data) kiln::detail::destroy(data);
  }
  kiln_profile(const kiln_profile&) = delete;
  kiln_profile& operator=(const kiln_profile&) = delete;
  kiln::dsl::c::HostMemory memory;
  kiln::detail::Profile* data = nullptr;
  std::string table;
};

using namespace kiln;
using namespace kiln::dsl::c;

namespace {

template <class T>
struct Destroyed {
  T* object;
  ~Destroyed() { destroy_object(object); }
};

void fill(const ProfileRow& from, kiln_profile_row& to) {
  to.kind = KILN_PROFILE_kernel + static_cast<std::int32_t>(from.kind);
  to.reserved = 0;
  to.name = from.name.c_str();
  to.label = from.label.c_str();
  to.device = from.device.c_str();
  to.count = from.count;
  to.captured = from.captured;
  to.total_ms = from.total_ms;
  to.mean_ms = from.mean_ms;
  to.shortest_ms = from.shortest_ms;
  to.longest_ms = from.longest_ms;
  to.host_ms = from.host_ms;
  to.bytes = from.bytes;
  to.gigabytes_per_second = from.gigabytes_per_second;
  to.of_peak = from.of_peak;
}
static_assert(static_cast<int>(ProfileRow::Kind::copy) == KILN_PROFILE_copy - KILN_PROFILE_kernel);

}  // namespace

extern "C" {

kiln_status kiln_profile_start(int32_t all_threads, kiln_profiler** profiler) noexcept {
  return guarded("kiln_profile_start", [&] {
    require(static_cast<const void*>(profiler), "profiler");
    *profiler = make_object<kiln_profiler>(flag(all_threads, "all_threads"));
  });
}

kiln_status kiln_profile_stop(kiln_profiler* profiler, kiln_profile** profile) noexcept {
  return guarded("kiln_profile_stop", [&] {
    require(profiler, "profiler");
    const Destroyed<kiln_profiler> stopped{profiler};
    require(static_cast<const void*>(profile), "profile");
    Destroyed<kiln_profile> made{make_object<kiln_profile>()};
    made.object->data = detail::stop_profile(std::exchange(profiler->data, nullptr));
    made.object->table = neutral_wording(made.object->data->table.c_str());
    *profile = std::exchange(made.object, nullptr);
  });
}

void kiln_profiler_destroy(kiln_profiler* profiler) noexcept { destroy_object(profiler); }

kiln_status kiln_profile_get_info(const kiln_profile* profile, kiln_profile_info* info) noexcept {
  return guarded("kiln_profile_get_info", [&] {
    require(profile, "profile");
    require_writable(info, "info");
    const detail::Profile& from = *profile->data;
    info->rows = from.row_count;
    info->device_ms = from.device_ms;
    info->wall_ms = from.wall_ms;
    info->planning_ms = from.planning_ms;
    info->compiles = from.compiles;
    info->loaded_from_disk = from.loaded_from_disk;
  });
}

kiln_status kiln_profile_get_row(const kiln_profile* profile, std::size_t number, kiln_profile_row* row) noexcept {
  return guarded("kiln_profile_get_row", [&] {
    require(profile, "profile");
    require_writable(row, "row");
    if (number >= profile->data->row_count) fail_argument("row {} of {}", number, profile->data->row_count);
    fill(profile->data->rows[number], *row);
  });
}

kiln_status kiln_profile_table(const kiln_profile* profile, const char** table) noexcept {
  return guarded("kiln_profile_table", [&] {
    require(profile, "profile");
    require(static_cast<const void*>(table), "table");
    *table = profile->table.c_str();
  });
}

void kiln_profile_destroy(kiln_profile* profile) noexcept { destroy_object(profile); }

}  // extern "C"
