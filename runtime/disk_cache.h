// runtime/disk_cache.h -- compiled kernels on disk: private directory, atomic entries, bounded size; never fatal.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "runtime/cache_key.h"
#include "runtime/cache_settings.h"
#include "runtime/runtime.h"
#include "support/fork_safe.h"

namespace kiln::runtime {

/// Nothing here throws for what a file system does. Whatever goes wrong, the user reads one warning per cache.
class DiskCache {
 public:
  explicit DiskCache(CacheSettings settings);

  /// What a look-up found. `rejected`: a file that is not this key's valid entry; the next publish replaces it.
  enum class Found : std::uint8_t { hit, miss, rejected, error };
  Found find(const CacheKey& key, Binary& binary);
  /// True if the entry was written.
  bool publish(const CacheKey& key, const Binary& binary);

  /// Notes which compiler the entries of a language come from, so that they are found again where it is gone.
  void remember_compiler(Language language, const std::string& identity);

  const CacheSettings& settings() const { return settings_; }
  std::string path_of(const CacheKey& key) const;
  /// Removes least recently used entries until the directory is within `limit` bytes, and files that killed processes
  /// left unfinished. Returns the bytes that remain.
  std::uint64_t prune(std::uint64_t limit);

 private:
  bool open();
  void warn(const std::string& text);
  void note_failure(const std::string& path, int error);
  void account(const std::string& path, std::uint64_t bytes);

  const CacheSettings settings_;
  ForkSafeMutex mutex_;  // guards checked_ and usable_
  bool checked_ = false;
  bool usable_ = false;
  std::atomic<bool> writable_{false};
  std::atomic<bool> warned_{false};
  std::atomic<bool> compiler_noted_[2] = {};
  std::atomic<bool> pruning_{false};           // by one thread; the others go on
  std::atomic<std::uint64_t> known_bytes_{0};  // estimate: other processes write too
  std::atomic<unsigned> publishes_{0};
};

}  // namespace kiln::runtime
