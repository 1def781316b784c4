// runtime/tool_cache.cpp -- the cache directory as `kiln cache` shows and cleans it.
#include "runtime/tool_cache.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include <fmt/format.h>

#include "runtime/cache_directory.h"
#include "runtime/cache_entry.h"
#include "runtime/cache_settings.h"
#include "support/files.h"

namespace kiln::tool {
namespace {

using runtime::CacheListing;
using runtime::CacheMode;
using runtime::CacheSettings;
using runtime::StoredFile;

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  char text[4096];
  if (::getpwuid_r(user, &entry, text, sizeof text, &found) == 0 && found) return found->pw_name;
  return fmt::format("user {}", user);
}

/// 0, or why no file can be made in the directory.
int try_to_write(const std::string& directory) {
  const std::string probe = fmt::format("{}/.probe-{}", directory, ::getpid());
  const int error = files::publish(probe, "");
  if (!error) files::remove(probe);
  return error;
}

const char* mode_name(CacheMode mode) {
  return mode == CacheMode::on ? "on" : mode == CacheMode::read_only ? "ro" : "off";
}

std::uint64_t total_of(const std::vector<StoredFile>& stored) {
  std::uint64_t bytes = 0;
  for (const StoredFile& file : stored) bytes += file.bytes;
  return bytes;
}

/// The nearest directory that exists: where the missing ones would be made.
std::string nearest_existing(std::string path) {
  while (path.size() > 1 && ::access(path.c_str(), F_OK) != 0) {
    const std::size_t slash = path.rfind('/');
    path = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  }
  return path;
}

void examine_missing(CacheState& state) {
  const std::string parent = nearest_existing(state.directory);
  struct stat status{};
  if (::stat(parent.c_str(), &status) == 0 && !S_ISDIR(status.st_mode)) {
    state.problem = fmt::format("{} is not a directory", parent);
  } else if (::access(parent.c_str(), W_OK) != 0) {
    state.problem = fmt::format("it does not exist, and {} cannot be written", parent);
  }
}

void examine(const CacheSettings& settings, CacheState& state) {
  struct stat status{};
  if (::stat(state.directory.c_str(), &status) != 0) return examine_missing(state);
  state.exists = true;
  state.owner = user_name(status.st_uid);
  state.problem = files::distrust(state.directory);
  if (!state.problem.empty()) return;
  if (::access(state.directory.c_str(), R_OK | X_OK) != 0) {
    state.problem = "it cannot be read";
    return;
  }
  state.usable = true;
  const CacheListing listing = runtime::list_cache(state.directory);
  state.entries = listing.entries.size();
  state.bytes = listing.bytes;
  state.unfinished = listing.unfinished.size();
  state.unfinished_bytes = total_of(listing.unfinished);
  if (settings.mode != CacheMode::on) return;
  const int error = try_to_write(state.directory);
  state.writable = error == 0;
  if (error) state.problem = "it cannot be written: " + files::error_text(error);
}

/// Why the directory must be left alone; empty if it may be cleaned.
std::string obstacle(const CacheSettings& settings) {
  if (settings.directory.empty()) return settings.problem;
  if (::access(settings.directory.c_str(), F_OK) != 0) return "";
  return files::distrust(settings.directory);
}

CacheEntry describe(const StoredFile& file, bool verify) {
  CacheEntry entry;
  entry.path = file.path;
  entry.bytes = file.bytes;
  entry.used_s = file.modified_ns / 1'000'000'000;
  std::string contents;
  const std::uint64_t wanted = verify ? ~std::uint64_t{0} : runtime::summary_bytes;
  if (const int error = files::read_private(file.path, {.at_most = wanted}, contents)) {
    entry.damage = files::error_text(error);
    return entry;
  }
  runtime::EntrySummary summary;
  entry.damage = runtime::describe_entry(contents, summary);
  entry.other_version = entry.damage.empty() && summary.version != runtime::cache_format_version;
  if (verify && entry.damage.empty() && !entry.other_version)
    entry.damage = runtime::verify_entry(contents, runtime::digest_of(file.path));
  entry.kernel = summary.kernel;
  entry.language = summary.language;
  entry.arch = summary.arch;
  entry.compiler = summary.compiler;
  entry.created_s = summary.created_s;
  return entry;
}

CacheRemoval difference(const CacheListing& before, const std::string& directory) {
  const CacheListing after = runtime::list_cache(directory);
  CacheRemoval removal;
  removal.entries = before.entries.size() - std::min(before.entries.size(), after.entries.size());
  removal.bytes = before.bytes - std::min(before.bytes, after.bytes);
  removal.left = after.bytes;
  return removal;
}

}  // namespace

CacheState cache_state() {
  const CacheSettings settings = runtime::cache_settings();
  CacheState state;
  state.directory = settings.directory;
  state.mode = mode_name(settings.mode);
  state.limit = settings.limit;
  if (settings.directory.empty()) {
    state.problem = settings.problem;
  } else {
    examine(settings, state);
  }
  return state;
}

std::vector<CacheEntry> cache_entries(bool verify) {
  const CacheSettings settings = runtime::cache_settings();
  std::vector<CacheEntry> entries;
  if (settings.directory.empty()) return entries;
  CacheListing listing = runtime::list_cache(settings.directory);
  std::sort(listing.entries.begin(), listing.entries.end(), [](const StoredFile& a, const StoredFile& b) {
    return a.modified_ns != b.modified_ns ? a.modified_ns > b.modified_ns : a.path < b.path;
  });
  for (const StoredFile& file : listing.entries) {
    CacheEntry entry = describe(file, verify);
    const bool vanished = entry.damage == files::error_text(ENOENT);  // removed by somebody meanwhile
    if (!vanished) entries.push_back(std::move(entry));
  }
  return entries;
}

bool parse_cache_size(const std::string& text, std::uint64_t& bytes) {
  const std::optional<std::uint64_t> size = runtime::parse_size(text);
  bytes = size.value_or(0);
  return size.has_value();
}

CacheRemoval prune_cache(std::uint64_t limit) {
  const CacheSettings settings = runtime::cache_settings();
  if (std::string problem = obstacle(settings); !problem.empty()) return {.problem = std::move(problem)};
  const CacheListing before = runtime::list_cache(settings.directory);
  CacheListing listing = before;
  runtime::remove_abandoned(listing);
  runtime::remove_oldest(listing, limit);
  CacheRemoval removal = difference(before, settings.directory);
  if (removal.left > limit) removal.problem = "some entries cannot be removed";
  return removal;
}

CacheRemoval clear_cache() {
  const CacheSettings settings = runtime::cache_settings();
  if (std::string problem = obstacle(settings); !problem.empty()) return {.problem = std::move(problem)};
  const CacheListing before = runtime::list_cache(settings.directory);
  for (const auto* const list : {&before.entries, &before.unfinished})
    for (const StoredFile& file : *list) files::remove(file.path);
  for (const Language language : {Language::cuda, Language::llvm_ir})
    files::remove(runtime::compiler_note_path(settings, language));
  runtime::remove_empty_shards(settings.directory);
  CacheRemoval removal = difference(before, settings.directory);
  if (removal.left) removal.problem = "some entries cannot be removed";
  return removal;
}

}  // namespace kiln::tool
