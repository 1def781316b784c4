// dsl/profile.cpp -- kl::profile behind the public header: rows and the printed table.
#include <kiln/profile.h>

#include <cstdio>
#include <deque>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "dsl/out_of_memory.h"
#include "runtime/profiler.h"
#include "support/check.h"

namespace kiln::detail {

struct Profiler {
  runtime::Profiler profiler;
  explicit Profiler(bool all_threads) : profiler(all_threads) {}
};

}  // namespace kiln::detail

namespace kiln::dsl {
namespace {

/// Owns what the public struct points at.
struct OwningProfile : detail::Profile {
  std::deque<std::string> texts;  // addresses stay
  std::vector<ProfileRow> all;
  Text keep(std::string text) { return texts.emplace_back(std::move(text)).c_str(); }
};

std::string device_text(runtime::DeviceId device) {
  return device.kind == runtime::DeviceKind::cpu ? "cpu" : fmt::format("cuda:{}", device.index);
}

ProfileRow::Kind kind_of(runtime::Activity::Kind kind) {
  switch (kind) {
    case runtime::Activity::Kind::kernel:
      return ProfileRow::Kind::kernel;
    case runtime::Activity::Kind::raw_kernel:
      return ProfileRow::Kind::raw_kernel;
    case runtime::Activity::Kind::graph:
      return ProfileRow::Kind::graph;
    case runtime::Activity::Kind::copy:
      return ProfileRow::Kind::copy;
  }
  return ProfileRow::Kind::kernel;
}

ProfileRow row_of(OwningProfile& owner, const runtime::ProfileEntry& entry, double device_ms) {
  ProfileRow row;
  row.kind = kind_of(entry.kind);
  row.name = owner.keep(entry.name);
  row.label = owner.keep(entry.label);
  row.device = owner.keep(device_text(entry.device));
  row.count = entry.count;
  row.captured = entry.captured;
  row.total_ms = entry.device_ms;
  const std::int64_t timed = entry.count - entry.captured;
  if (timed > 0) row.mean_ms = entry.device_ms / static_cast<double>(timed);
  row.shortest_ms = entry.shortest_ms;
  row.longest_ms = entry.longest_ms;
  row.host_ms = entry.host_ms;
  if (device_ms > 0) row.share = entry.device_ms / device_ms;
  row.bytes = entry.bytes;
  if (entry.device_ms > 0) row.gigabytes_per_second = static_cast<double>(entry.bytes) / entry.device_ms / 1e6;
  // A copy between host and device moves over the bus, whose limit is another one.
  const bool in_device_memory = entry.kind != runtime::Activity::Kind::copy;
  if (entry.peak_bandwidth > 0 && in_device_memory && entry.device_ms > 0)
    row.of_peak = 1e9 * row.gigabytes_per_second / entry.peak_bandwidth;
  if (entry.bytes > 0)
    row.operations_per_byte = static_cast<double>(entry.operations) / static_cast<double>(entry.bytes);
  return row;
}

std::string line_of(const ProfileRow& row) {
  std::string line =
      fmt::format("{:>5.1f} % {:>7} {:>11.3f} {:>10.1f}", 100 * row.share, row.count, row.total_ms, 1e3 * row.mean_ms);
  line +=
      row.gigabytes_per_second > 0 ? fmt::format(" {:>8.1f}", row.gigabytes_per_second) : fmt::format(" {:>8}", "-");
  line += row.of_peak >= 0 ? fmt::format(" {:>5.0f} %", 100 * row.of_peak) : fmt::format(" {:>7}", "-");
  line += fmt::format(" {:>8.1f}  {:<6} {}", 1e3 * row.host_ms / static_cast<double>(row.count), row.device.c_str(),
                      row.name.c_str());
  if (!row.label.empty()) line += fmt::format("  {}", row.label.c_str());
  if (row.captured > 0) line += fmt::format("  ({} captured into a graph, not timed)", row.captured);
  return line + '\n';
}

std::string table_of(const OwningProfile& profile) {
  std::int64_t kernels = 0, copies = 0;
  for (const ProfileRow& row : profile.all) (row.kind == ProfileRow::Kind::copy ? copies : kernels) += row.count;
  if (profile.all.empty()) {
    return fmt::format("kl::profile: nothing was launched or copied by the profiled thread, {:.3f} ms\n",
                       profile.wall_ms);
  }
  std::string text =
      fmt::format("kl::profile: {} launch{}, {} cop{}: {:.3f} ms on devices, {:.3f} ms in all\n", kernels,
                  kernels == 1 ? "" : "es", copies, copies == 1 ? "y" : "ies", profile.device_ms, profile.wall_ms);
  if (profile.planning_ms > 0) {
    text += fmt::format("  {:.3f} ms of them planning first calls ({} compiled, {} from the disk cache)\n",
                        profile.planning_ms, profile.compiles, profile.loaded_from_disk);
  }
  text += fmt::format("{:>7} {:>7} {:>11} {:>10} {:>8} {:>7} {:>8}  {:<6} {}\n", "share", "count", "total ms",
                      "mean us", "GB/s", "of peak", "host us", "device", "kernel");
  for (const ProfileRow& row : profile.all) text += line_of(row);
  return text;
}

}  // namespace
}  // namespace kiln::dsl

namespace kiln::detail {

Profiler* start_profile(bool all_threads) try { return new Profiler(all_threads); } catch (const std::bad_alloc&) {
  dsl::fail_without_memory("start a profile");
}

Profile* stop_profile(Profiler* profiler) try {
  const std::unique_ptr<Profiler> owner(profiler);
  if (!owner) fail<Error>("kl::Profiler::stop: this profile was stopped before; make another kl::Profiler");
  const runtime::ProfileResult result = owner->profiler.stop();
  auto profile = std::make_unique<dsl::OwningProfile>();
  for (const runtime::ProfileEntry& entry : result.entries) profile->device_ms += entry.device_ms;
  for (const runtime::ProfileEntry& entry : result.entries)
    profile->all.push_back(dsl::row_of(*profile, entry, profile->device_ms));
  profile->rows = profile->all.data();
  profile->row_count = static_cast<unsigned>(profile->all.size());
  profile->wall_ms = result.wall_ms;
  profile->planning_ms = result.planning_ms;
  profile->compiles = result.compiles;
  profile->loaded_from_disk = result.disk_hits;
  profile->table = profile->keep(dsl::table_of(*profile));
  return profile.release();
} catch (const std::bad_alloc&) {
  dsl::fail_without_memory("end a profile");
}

void destroy(Profiler* profiler) noexcept { delete profiler; }
void destroy(Profile* profile) noexcept { delete static_cast<dsl::OwningProfile*>(profile); }

void print_to_stdout(const char* text) {
  std::fputs(text, stdout);
  std::fflush(stdout);
}

}  // namespace kiln::detail
