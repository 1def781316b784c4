// runtime/disk_cache.h -- compiled kernels on disk: private directory, atomic entries, bounded size; never fatal.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "runtime/cache_key.h"
#include "runtime/cache_settings.h"
#include "runtime/runtime.h"

namespace kiln::runtime {

class DiskCache {
 public:
  explicit DiskCache(CacheSettings settings);

  /// What a look-up found. `rejected`: a file that is not this key's valid entry; the next publish replaces it.
  enum class Found : std::uint8_t { hit, miss, rejected, error };
  Found find(const CacheKey& key, Binary& binary);
  /// True if the entry was written.
  bool publish(const CacheKey& key, const Binary& binary);

  /// Notes which NVRTC the entries come from, so that they are found again where there is no NVRTC any more.
  void remember_compiler(const std::string& identity);

  const CacheSettings& settings() const { return settings_; }
  std::string path_of(const CacheKey& key) const;
  /// Removes least recently used entries until the directory is within `limit` bytes, and files that killed processes
  /// left unfinished more than an hour ago. Returns the bytes that remain. A reader has an entry open while it reads,
  /// so removing the name does not disturb it.
  std::uint64_t prune(std::uint64_t limit);

 private:
  bool open_for_reading();
  void stop_writing(const std::string& what, int error);
  void account(std::uint64_t bytes);

  const CacheSettings settings_;
  std::mutex mutex_;  // guards the members below and pruning
  bool checked_ = false;
  bool usable_ = false;
  std::atomic<bool> writable_{false};
  std::atomic<bool> compiler_noted_{false};
  std::uint64_t known_bytes_ = 0;  // estimate: other processes write too
  unsigned publishes_ = 0;
};

}  // namespace kiln::runtime
