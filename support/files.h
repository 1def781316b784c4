// support/files.h -- the few file operations that the caches need: whole reads, atomic publication, directory checks.
//
// Nothing here throws for an I/O error: functions return 0 or an errno value, and callers decide what a failure means.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/file_faults.h"

namespace kiln::files {

/// Reads a regular file that this user or root owns and nobody else may write. Symbolic links, other kinds of file,
/// foreign files (EPERM) and files above `limit` bytes (EFBIG) are refused. `stamp` sets the modification time to now,
/// best effort, unless it is that already to within `stamp_interval_ns`. A file that another machine replaces at that
/// moment is looked up once more (ESTALE).
struct ReadOptions {
  std::uint64_t limit = std::uint64_t{1} << 31;
  bool stamp = false;
  std::uint64_t at_most = ~std::uint64_t{0};  ///< bytes to read from the start
};
inline constexpr std::int64_t stamp_interval_ns = 60ll * 1'000'000'000;
int read_private(const std::string& path, const ReadOptions& options, std::string& contents);

/// Writes `contents` under a unique name (process id and random bits) in the directory of `path` and renames it over
/// `path`: readers see the old file, or the whole new one. An empty directory in the place of `path` is removed. A
/// failure leaves no file behind, as far as the file system still obeys. Nothing is synced: after a power failure the
/// file may be empty or wrong, and contents need a checksum.
int publish(const std::string& path, std::string_view contents);
/// The same for a file made of `parts`, with `mode` less what the process's mask takes.
int publish(const std::string& path, std::span<const std::string_view> parts, unsigned mode);

/// Why publish() fails for `path` although files beside its directory can be written: "" if neither a directory in the
/// place of the file nor what stands in the place of its directory is to blame.
std::string obstacle_to(const std::string& path);

/// A whole regular file, mapped for reading; whoever may have written it. `memory` is null and `bytes` 0 for an empty
/// one. What is no regular file is refused: EISDIR, EINVAL. Whoever shortens the file in place makes readers crash.
int map_file(const std::string& path, const void*& memory, std::size_t& bytes);

/// Creates `path` and its missing parents with mode 0700. Existing directories are left as they are.
int make_directories(const std::string& path);

/// Why a directory must not hold code that this process will run: "" if it is owned by this user and writable by nobody
/// else.
std::string distrust(const std::string& directory);

struct Entry {
  std::string name;
  std::uint64_t size = 0;        ///< bytes on disk
  std::int64_t modified_ns = 0;  ///< since the epoch
  bool directory = false;
};
/// Files and directories in `directory`, without "." and ".."; links are not followed.
int list(const std::string& directory, std::vector<Entry>& entries);
int remove(const std::string& path);
/// Now, as modification times count.
std::int64_t now_ns();

/// True for the names that publish() gives to files it has not finished.
bool is_temporary_name(std::string_view name);

/// What a file is, cheaply: its GNU build id if it is an ELF file that has one, else name, size and modification time.
/// Empty if the file cannot be read.
std::string identity(const std::string& path);

/// Text of an errno value, independent of the locale.
std::string error_text(int error);

}  // namespace kiln::files
