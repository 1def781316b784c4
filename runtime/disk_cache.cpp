// runtime/disk_cache.cpp -- look-up, publication and pruning of cache entries. Anything doubtful is a miss.
#include "runtime/disk_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <vector>

#include "runtime/cache_entry.h"
#include "support/files.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

constexpr std::int64_t stale_temporary_ns = 3600ll * 1'000'000'000;
constexpr unsigned recount_interval = 64;  // publishes between looks at what other processes wrote
constexpr std::size_t shard_digits = 2;    // 256 directories

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool is_refusal(int error) {
  return error == EPERM || error == ELOOP || error == EACCES || error == EISDIR || error == EFBIG || error == ENXIO;
}

struct StoredFile {
  std::string path;
  std::uint64_t size;
  std::int64_t modified_ns;
};

/// All entries of the cache; unfinished files that their writers abandoned are removed on the way.
std::vector<StoredFile> stored_files(const std::string& root) {
  std::vector<StoredFile> found;
  std::vector<files::Entry> shards;
  files::list(root, shards);
  const std::int64_t stale = now_ns() - stale_temporary_ns;
  for (const files::Entry& shard : shards) {
    if (!shard.directory || shard.name.size() != shard_digits) continue;
    std::vector<files::Entry> entries;
    const std::string directory = root + "/" + shard.name;
    files::list(directory, entries);
    for (const files::Entry& entry : entries) {
      const std::string path = directory + "/" + entry.name;
      if (files::is_temporary_name(entry.name) && entry.modified_ns < stale) {
        files::remove(path);
      } else if (!entry.directory) {
        found.push_back({path, entry.size, entry.modified_ns});
      }
    }
  }
  return found;
}

}  // namespace

DiskCache::DiskCache(CacheSettings settings) : settings_(std::move(settings)) {}

std::string DiskCache::path_of(const CacheKey& key) const {
  const std::string name = to_hex(key.digest);
  return fmt::format("{}/{}/{}.kernel", settings_.directory, name.substr(0, shard_digits), name.substr(shard_digits));
}

/// Once per process: is the directory there and ours? A missing one is created in mode `on`.
bool DiskCache::open_for_reading() {
  const std::lock_guard lock(mutex_);
  if (checked_) return usable_;
  checked_ = true;
  if (settings_.mode == CacheMode::off) return false;
  if (settings_.directory.empty()) {
    warn_once(
        fmt::format("no place for the kernel cache: {}; kernels are kept in memory only (KILN_CACHE_DIR names a "
                    "directory, KILN_CACHE=off silences this)",
                    settings_.problem));
    return false;
  }
  const bool may_write = settings_.mode == CacheMode::on;
  const int error = may_write ? files::make_directories(settings_.directory) : 0;
  const std::string doubt = error ? files::error_text(error) : files::distrust(settings_.directory);
  if (!doubt.empty()) {
    warn_once(fmt::format(
        "the kernel cache {} is not used: {}; kernels are kept in memory only (KILN_CACHE_DIR names another "
        "directory, KILN_CACHE=off silences this)",
        settings_.directory, doubt));
    return false;
  }
  usable_ = true;
  writable_ = may_write && settings_.limit > 0;
  KILN_LOG(1, "kernel cache: {}{}", settings_.directory, may_write ? "" : " (read only)");
  return true;
}

DiskCache::Found DiskCache::find(const CacheKey& key, Binary& binary) {
  if (!key.persistent || !open_for_reading()) return Found::miss;
  const std::string path = path_of(key);
  std::string file;
  const int error = files::read_private(path, {.stamp = settings_.mode == CacheMode::on}, file);
  if (error == ENOENT || error == ENOTDIR) return Found::miss;
  if (error && !is_refusal(error)) {
    warn_once(fmt::format("the kernel cache {} cannot be read: {}; kernels are compiled instead", settings_.directory,
                          files::error_text(error)));
    return Found::error;
  }
  const std::string doubt = error ? files::error_text(error) : read_entry(file, key, binary);
  if (doubt.empty()) return Found::hit;
  KILN_LOG(1, "kernel cache: {} is replaced: {}", path, doubt);
  return Found::rejected;
}

void DiskCache::stop_writing(const std::string& what, int error) {
  writable_ = false;
  warn_once(fmt::format("the kernel cache {} cannot be written ({}: {}); new kernels are kept in memory only",
                        settings_.directory, what, files::error_text(error)));
}

bool DiskCache::publish(const CacheKey& key, const Binary& binary) {
  if (!key.persistent || !open_for_reading() || !writable_) return false;
  const std::string entry = write_entry(key, binary);
  if (entry.size() > settings_.limit) return false;
  const std::string path = path_of(key);
  int error = files::publish(path, entry);
  if (error == ENOENT) {  // first entry of this shard, or somebody cleared the cache
    error = files::make_directories(path.substr(0, path.rfind('/')));
    if (!error) error = files::publish(path, entry);
  }
  if (error) {
    stop_writing("writing " + path, error);
    return false;
  }
  account(entry.size());
  return true;
}

void DiskCache::remember_compiler(const std::string& identity) {
  if (!writable_ || compiler_noted_.exchange(true) || remembered_compiler(settings_) == identity) return;
  files::publish(compiler_note_path(settings_),
                 identity);  // without it, only machines that lost their NVRTC miss something
}

void DiskCache::account(std::uint64_t bytes) {
  bool recount;
  {
    const std::lock_guard lock(mutex_);
    known_bytes_ += bytes;
    recount = publishes_++ % recount_interval == 0 || known_bytes_ > settings_.limit;
  }
  if (recount) prune(settings_.limit);
}

std::uint64_t DiskCache::prune(std::uint64_t limit) {
  const std::lock_guard lock(mutex_);
  std::vector<StoredFile> found = stored_files(settings_.directory);
  std::uint64_t total = 0;
  for (const StoredFile& file : found) total += file.size;
  if (total > limit) {
    std::sort(found.begin(), found.end(),
              [](const StoredFile& a, const StoredFile& b) { return a.modified_ns < b.modified_ns; });
    const std::uint64_t goal = limit - limit / 8;  // some room, so that not every publish prunes
    for (const StoredFile& file : found) {
      if (total <= goal) break;
      if (files::remove(file.path) == 0) total -= file.size;
    }
    KILN_LOG(1, "kernel cache: pruned to {} bytes", total);
  }
  known_bytes_ = total;
  return total;
}

}  // namespace kiln::runtime
