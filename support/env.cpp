// support/env.cpp -- the table of KILN_* variables and a snapshot of their values.
#include "support/env.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <map>
#include <numeric>

#include "support/check.h"
#include "support/fork_safe.h"

extern char** environ;

namespace kiln {
namespace {

constexpr std::string_view prefix = "KILN_";

struct Snapshot {
  ForkSafeMutex mutex;
  bool loaded = false;
  std::map<std::string, std::string, std::less<>> values;  // listed variables that are set
  std::vector<std::string> unknown;
};

constinit Leaked<Snapshot> the_snapshot;
Snapshot& snapshot() { return the_snapshot.get(); }

constinit Leaked<const std::vector<Setting>> the_table;

const Setting* find_setting(std::string_view name) {
  for (const Setting& s : settings())
    if (name == s.name) return &s;
  return nullptr;
}

/// Levenshtein distance, row by row.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

const char* nearest_setting(std::string_view name) {
  const auto nearer = [&](const Setting& a, const Setting& b) {
    return edit_distance(name, a.name) < edit_distance(name, b.name);
  };
  return std::min_element(settings().begin(), settings().end(), nearer)->name;
}

std::string working_directory() {
  char directory[PATH_MAX];
  return ::getcwd(directory, sizeof directory) ? directory : "";
}

/// Where the process began: what a path meant to whoever set the variable.
struct Start {
  std::string directory = working_directory();
  std::map<std::string, std::string, std::less<>> values;
};
constinit Leaked<const Start> the_start;

const Start& start() {
  return the_start.get([] {
    auto* const made = new Start;
    for (const Setting& s : settings())
      if (const char* const value = s.kind == SettingKind::text ? nullptr : std::getenv(s.name))
        made->values.emplace(s.name, value);
    return made;
  });
}

[[maybe_unused]] const bool started = (start(), true);  // when the library is loaded

/// A relative path is that of the directory in which the library was loaded, or, where the program has set the variable
/// since, of the one it is in now. A list of paths is separated by colons.
std::string absolute(std::string_view paths, const Setting& setting) {
  const SettingKind kind = setting.kind;
  if (kind == SettingKind::text) return std::string(paths);
  const auto before = start().values.find(std::string_view(setting.name));
  const bool is_from_start = before != start().values.end() && before->second == paths;
  const std::string directory = is_from_start ? start().directory : working_directory();
  if (directory.empty()) return std::string(paths);
  std::string result;
  for (std::size_t at = 0; at <= paths.size();) {
    const std::size_t end = kind == SettingKind::path ? paths.size() : std::min(paths.find(':', at), paths.size());
    const std::string_view path = paths.substr(at, end - at);
    if (at > 0) result += ':';
    if (!path.empty() && path.front() != '/') result.append(directory).append("/");
    result += path;
    at = end + 1;
  }
  return result;
}

void load(Snapshot& s) {
  s.loaded = true;
  s.values.clear();
  s.unknown.clear();
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with(prefix) || equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    const std::string_view value = text.substr(equals + 1);
    if (const Setting* const known = find_setting(name)) {
      s.values.emplace(name, absolute(value, *known));
    } else {
      s.unknown.push_back(
          fmt::format("environment variable {} is not known to kiln and has no effect; did you mean {}?", name,
                      nearest_setting(name)));
    }
  }
}

}  // namespace

const std::vector<Setting>& settings() {
  return the_table.get([] {
    return new std::vector<Setting>{
        {"KILN_DEVICE", "", "default device: cpu, cuda or cuda:N; unset takes the first GPU, else the CPU"},
        {"KILN_CACHE_DIR", "", "directory of compiled kernels; unset takes $XDG_CACHE_HOME/kiln, else ~/.cache/kiln",
         SettingKind::path},
        {"KILN_CACHE", "on", "disk cache: on, ro (read only) or off"},
        {"KILN_CACHE_LIMIT", "1G",
         "size above which the least recently used entries are removed; bytes, or with K, M or G"},
        {"KILN_TUNE", "on", "tuning: off, on, or full (may also vary the order of reductions)"},
        {"KILN_DEBUG", "0",
         "messages on stderr: 0 warnings only, 1 devices and cache, 2 compiles and launches, 3 decisions, "
         "4 generated source, 5 passes, 6 compiler logs"},
        {"KILN_NVRTC", "", "path of libnvrtc.so, or a directory that holds it; searched before all other places",
         SettingKind::path},
        {"KILN_BUNDLE", "", "bundles of precompiled kernels, separated by colons; looked into before the disk cache",
         SettingKind::paths},
        {"KILN_RECORD", "", "file to which every kernel that the application uses is added, for `kiln bundle build`",
         SettingKind::path},
        {"KILN_THREADS", "", "threads of the CPU device; unset takes the cores this process may use"},
    };
  });
}

std::string setting(std::string_view name) {
  const Setting* const known = find_setting(name);
  KILN_INTERNAL_CHECK(known, "{} is not in the table of settings", name);
  Snapshot& s = snapshot();
  const std::lock_guard lock(s.mutex);
  if (!s.loaded) load(s);
  const auto found = s.values.find(name);
  return found == s.values.end() || found->second.empty() ? known->default_value : found->second;
}

bool is_set(std::string_view name) {
  Snapshot& s = snapshot();
  const std::lock_guard lock(s.mutex);
  if (!s.loaded) load(s);
  const auto found = s.values.find(name);
  return found != s.values.end() && !found->second.empty();
}

std::vector<std::string> unknown_settings() {
  Snapshot& s = snapshot();
  const std::lock_guard lock(s.mutex);
  if (!s.loaded) load(s);
  return s.unknown;
}

void reload_settings() {
  Snapshot& s = snapshot();
  const std::lock_guard lock(s.mutex);
  load(s);
}

std::string foreign_variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace kiln
