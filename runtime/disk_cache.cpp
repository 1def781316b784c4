// runtime/disk_cache.cpp -- look-up, publication and pruning of cache entries. Anything doubtful is a miss.
#include "runtime/disk_cache.h"

#include <algorithm>
#include <cerrno>

#include "runtime/cache_directory.h"
#include "runtime/cache_entry.h"
#include "support/files.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

constexpr unsigned recount_interval = 64;  // publishes between looks at what other processes wrote
constexpr std::uint64_t largest_entry = std::uint64_t{1} << 28;  // what a planted file may make this process read

/// What counts as full: the estimate may be a little low.
std::uint64_t fullness(std::uint64_t limit) { return limit - limit / 16; }

bool is_absence(int error) { return error == ENOENT || error == ENOTDIR || error == ESTALE; }

bool is_refusal(int error) {
  return error == EPERM || error == ELOOP || error == EACCES || error == EISDIR || error == EFBIG || error == ENXIO;
}

}  // namespace

DiskCache::DiskCache(CacheSettings settings) : settings_(std::move(settings)) {}

std::string DiskCache::path_of(const CacheKey& key) const { return entry_path(settings_.directory, key.digest); }

/// The first trouble is a warning; what follows from it only interests who looks for it.
void DiskCache::warn(const std::string& text) {
  if (!warned_.exchange(true)) {
    warn_once(text);
  } else {
    KILN_LOG(1, "{}", text);
  }
}

/// Once per process: is the directory there and ours? A missing one is created in mode `on`.
bool DiskCache::open() {
  const std::lock_guard lock(mutex_);
  if (checked_) return usable_;
  checked_ = true;
  if (settings_.mode == CacheMode::off) return false;
  if (settings_.directory.empty()) {
    warn(
        fmt::format("no place for the kernel cache: {}; kernels are kept in memory only (KILN_CACHE_DIR names a "
                    "directory, KILN_CACHE=off silences this)",
                    settings_.problem));
    return false;
  }
  const bool may_write = settings_.mode == CacheMode::on;
  const int error = may_write ? files::make_directories(settings_.directory) : 0;
  const std::string doubt = error ? files::error_text(error) : files::distrust(settings_.directory);
  if (!doubt.empty()) {
    warn(fmt::format(
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
  if (!key.persistent || !open()) return Found::miss;
  const std::string path = path_of(key);
  std::string file;
  const int error = files::read_private(path, {.limit = largest_entry, .stamp = settings_.mode == CacheMode::on}, file);
  if (is_absence(error)) return Found::miss;
  if (error && !is_refusal(error)) {
    warn(fmt::format("the kernel cache {} cannot be read: {}; kernels are compiled instead", settings_.directory,
                     files::error_text(error)));
    return Found::error;
  }
  const std::string doubt = error ? files::error_text(error) : read_entry(file, key, binary);
  if (doubt.empty()) return Found::hit;
  KILN_LOG(1, "kernel cache: {} is replaced: {}", path, doubt);
  return Found::rejected;
}

/// What stands in the way of one entry costs that entry; any other trouble would meet the next ones, too.
void DiskCache::note_failure(const std::string& path, int error) {
  if (const std::string obstacle = files::obstacle_to(path); !obstacle.empty()) {
    warn(fmt::format(
        "the kernel cache entry {} cannot be written: {}; its kernel is compiled by every process until that "
        "is removed",
        path, obstacle));
    return;
  }
  writable_ = false;
  warn(fmt::format("the kernel cache {} cannot be written (writing {}: {}); new kernels are kept in memory only",
                   settings_.directory, path, files::error_text(error)));
}

bool DiskCache::publish(const CacheKey& key, const Binary& binary) {
  if (!key.persistent || !open() || !writable_) return false;
  const std::string entry = write_entry(key, binary);
  if (entry.size() > std::min(settings_.limit, largest_entry)) return false;
  const std::string path = path_of(key);
  int error = files::publish(path, entry);
  // The first entry of this shard, or somebody clears the cache, perhaps again and again.
  for (int attempt = 0; is_absence(error) && attempt < 32; ++attempt) {
    error = files::make_directories(shard_of(path));
    if (!error || is_absence(error)) error = files::publish(path, entry);
  }
  if (error) {
    note_failure(path, error);
    return false;
  }
  account(path, entry.size());
  return true;
}

void DiskCache::remember_compiler(Language language, const std::string& identity) {
  std::atomic<bool>& noted = compiler_noted_[language == Language::cuda ? 0 : 1];
  if (!writable_ || noted.exchange(true) || remembered_compiler(settings_, language) == identity) return;
  // Without it only machines that lost their compiler miss something.
  files::publish(compiler_note_path(settings_, language), identity);
}

/// The size of the whole cache is estimated from the shard that was written to. In a small cache, where that one is
/// not typical, the estimate is too high, and counting is cheap.
void DiskCache::account(const std::string& path, std::uint64_t bytes) {
  std::uint64_t total = known_bytes_.fetch_add(bytes) + bytes;
  if (publishes_++ % recount_interval == 0) {
    CacheListing shard;
    list_shard(shard_of(path), shard);
    remove_abandoned(shard);
    total = std::max(total, shard.bytes * shard_count);
  }
  if (total > fullness(settings_.limit)) prune(settings_.limit);
}

std::uint64_t DiskCache::prune(std::uint64_t limit) {
  if (pruning_.exchange(true)) return known_bytes_;
  CacheListing listing = list_cache(settings_.directory);
  remove_abandoned(listing);
  if (listing.bytes > fullness(limit)) {
    remove_oldest(listing, limit - limit / 8);  // some room, so that not every publish prunes
    KILN_LOG(1, "kernel cache: pruned to {} bytes", listing.bytes);
  }
  known_bytes_ = listing.bytes;
  pruning_ = false;
  return listing.bytes;
}

}  // namespace kiln::runtime
