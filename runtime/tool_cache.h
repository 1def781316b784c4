// runtime/tool_cache.h -- what `kiln cache` asks of the library: look at, verify, prune and clear the cache directory.
//
// Exported from libkiln.so for the kiln command alone. Nothing here disturbs running processes: entries are whole files
// that are replaced and removed by name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <kiln/dtype.h>

namespace kiln::tool {

struct CacheState {
  std::string directory;  ///< empty: there is no place for one
  std::string mode;       ///< "on", "ro" or "off"
  std::string problem;    ///< why it is not used, or cannot be written; empty if all is well
  bool exists = false;
  bool usable = false;    ///< for reading: it is there, and nobody else could have put kernels into it
  bool writable = false;  ///< a file was made and removed a moment ago
  std::string owner;      ///< name or number of the user
  std::uint64_t limit = 0;
  std::uint64_t entries = 0, bytes = 0;
  std::uint64_t unfinished = 0, unfinished_bytes = 0;
};
KILN_API CacheState cache_state();

struct CacheEntry {
  std::string path, kernel, language, arch, compiler;
  std::string damage;          ///< what is wrong with it; empty if nothing was found
  bool other_version = false;  ///< in the format of another kiln, which alone can read it
  std::uint64_t bytes = 0;
  std::int64_t created_s = 0, used_s = 0;  ///< since the epoch; created 0 if unknown
};
/// All entries, the most recently used first. Without `verify` only their beginnings are read; with it every byte of
/// each is compared with its checksum.
KILN_API std::vector<CacheEntry> cache_entries(bool verify);

/// "500M" and the like in bytes; false if it is no size.
KILN_API bool parse_cache_size(const std::string& text, std::uint64_t& bytes);

struct CacheRemoval {
  std::uint64_t entries = 0, bytes = 0;  ///< removed
  std::uint64_t left = 0;                ///< bytes
  std::string problem;                   ///< why nothing, or not everything, was removed
};
/// Least recently used entries until at most `limit` bytes are left, and files that killed processes left unfinished.
KILN_API CacheRemoval prune_cache(std::uint64_t limit);
/// Every entry, unfinished file and note about compilers, and the directories that are then empty.
KILN_API CacheRemoval clear_cache();

}  // namespace kiln::tool
