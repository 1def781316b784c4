// runtime/cache_directory.h -- the layout of the cache on disk: 256 shards of entry files, and what may be removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"

namespace kiln::runtime {

inline constexpr unsigned shard_count = 256;  // digests are uniform, so one shard is as large as any other

/// The file of the entry with this digest.
std::string entry_path(const std::string& root, const Digest& digest);
/// Directory of an entry, and its digest as its name says it.
std::string shard_of(const std::string& path);
std::string digest_of(const std::string& path);

struct StoredFile {
  std::string path;
  std::uint64_t bytes = 0;  ///< on disk
  std::int64_t modified_ns = 0;
};

/// What a cache directory holds. Files that are not kiln's are nobody's business: they are neither counted nor removed.
struct CacheListing {
  std::vector<StoredFile> entries;
  std::vector<StoredFile> unfinished;  ///< of publications under way, or of killed processes
  std::uint64_t bytes = 0;             ///< of the entries
};
void list_shard(const std::string& shard, CacheListing& listing);
CacheListing list_cache(const std::string& root);

/// Removes unfinished files that no living process can still be writing: an hour old, or from a future that a wrong
/// clock made up. Their number is returned.
std::size_t remove_abandoned(const CacheListing& listing);

/// Removes the least recently used entries of `listing` until at most `goal` bytes remain; returns what remains. Times
/// of the future count as oldest: a clock that ran ahead must not protect its entries for ever. An entry that another
/// process removed first counts as removed. A reader has its entry open, so losing the name does not disturb it.
std::uint64_t remove_oldest(CacheListing& listing, std::uint64_t goal);

/// Shards are made again when they are needed.
void remove_empty_shards(const std::string& root);

}  // namespace kiln::runtime
