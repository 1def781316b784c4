// runtime/cache_directory.cpp -- lists and empties the shards of a cache.
#include "runtime/cache_directory.h"

#include <algorithm>
#include <cerrno>

#include "support/file_system.h"
#include "support/files.h"

namespace kiln::runtime {
namespace {

constexpr std::size_t shard_digits = 2;
constexpr std::size_t digest_digits = 64;
constexpr std::string_view extension = ".kernel";
constexpr std::int64_t hour_ns = 3600ll * 1'000'000'000;

bool is_hexadecimal(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_entry_name(std::string_view name) {
  constexpr std::size_t digits = digest_digits - shard_digits;
  return name.size() == digits + extension.size() && name.ends_with(extension) &&
         is_hexadecimal(name.substr(0, digits));
}

bool is_shard_name(std::string_view name) { return name.size() == shard_digits && is_hexadecimal(name); }

void take(const std::string& directory, const files::Entry& file, CacheListing& listing) {
  if (file.directory) return;
  if (files::is_temporary_name(file.name)) {
    listing.unfinished.push_back({directory + "/" + file.name, file.size, file.modified_ns});
  } else if (is_entry_name(file.name)) {
    listing.entries.push_back({directory + "/" + file.name, file.size, file.modified_ns});
    listing.bytes += file.size;
  }
}

}  // namespace

std::string entry_path(const std::string& root, const Digest& digest) {
  std::string path = root + "/" + to_hex(digest);
  path.insert(root.size() + 1 + shard_digits, 1, '/');
  return path.append(extension);
}

std::string shard_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string digest_of(const std::string& path) {
  constexpr std::size_t length = digest_digits + 1 + extension.size();  // "ab/cdef....kernel"
  std::string name = path.substr(path.size() - std::min(path.size(), length));
  name.resize(name.size() - std::min(name.size(), extension.size()));
  std::erase(name, '/');
  return name;
}

void list_shard(const std::string& shard, CacheListing& listing) {
  std::vector<files::Entry> found;
  files::list(shard, found);
  for (const files::Entry& file : found) take(shard, file, listing);
}

CacheListing list_cache(const std::string& root) {
  CacheListing listing;
  std::vector<files::Entry> found;
  files::list(root, found);
  for (const files::Entry& file : found) {
    if (file.directory && is_shard_name(file.name)) {
      list_shard(root + "/" + file.name, listing);
    } else if (!file.directory && files::is_temporary_name(file.name)) {
      listing.unfinished.push_back({root + "/" + file.name, file.size, file.modified_ns});
    }
  }
  return listing;
}

std::size_t remove_abandoned(const CacheListing& listing) {
  const std::int64_t now = files::now_ns();
  std::size_t removed = 0;
  for (const StoredFile& file : listing.unfinished) {
    const std::int64_t age = now - file.modified_ns;
    if (age > hour_ns || age < -hour_ns) removed += files::remove(file.path) == 0;
  }
  return removed;
}

std::uint64_t remove_oldest(CacheListing& listing, std::uint64_t goal) {
  if (listing.bytes <= goal) return listing.bytes;
  const std::int64_t latest = files::now_ns() + hour_ns;  // clocks of other machines may be a little ahead
  std::sort(listing.entries.begin(), listing.entries.end(), [latest](const StoredFile& a, const StoredFile& b) {
    const bool a_is_real = a.modified_ns <= latest, b_is_real = b.modified_ns <= latest;
    return a_is_real != b_is_real ? b_is_real : a.modified_ns < b.modified_ns;
  });
  std::size_t gone = 0;
  for (const StoredFile& file : listing.entries) {
    if (listing.bytes <= goal) break;
    const int error = files::remove(file.path);
    if (error && error != ENOENT) break;  // what cannot be removed now cannot be removed a thousand times either
    listing.bytes -= file.bytes;
    ++gone;
  }
  listing.entries.erase(listing.entries.begin(), listing.entries.begin() + static_cast<std::ptrdiff_t>(gone));
  return listing.bytes;
}

void remove_empty_shards(const std::string& root) {
  std::vector<files::Entry> found;
  files::list(root, found);
  for (const files::Entry& file : found)
    if (file.directory && is_shard_name(file.name)) files::remove_directory(root + "/" + file.name);
}

}  // namespace kiln::runtime
