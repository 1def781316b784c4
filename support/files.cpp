// support/files.cpp -- whole reads and atomic publication, on the system calls of file_system.h.
#include "support/files.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "support/file_system.h"

namespace kiln::files {
namespace {

constexpr std::string_view temporary_prefix = ".tmp-";
constexpr std::size_t random_digits = 16;

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Unique in time and among processes and machines. The bits come from the kernel at each call: a forked child must not
/// repeat its parent's names.
std::string temporary_path(const std::string& path) {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) != sizeof bits)
    bits = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  return fmt::format("{}/{}{}-{:016x}", parent_of(path), temporary_prefix, getpid(), bits);
}

int write_new(const std::string& temporary, std::span<const std::string_view> parts, unsigned mode) {
  OpenFile file;
  if (const int error = file.create(temporary, mode)) return error;
  for (std::string_view contents : parts) {
    while (!contents.empty()) {
      std::size_t moved = 0;
      if (const int error = file.write(contents, moved)) return error;
      if (moved == 0) return EIO;
      contents.remove_prefix(moved);
    }
  }
  return file.close();  // network file systems report here that the disk is full
}

/// Root can do anything anyway: a cache that it installed for all users is no danger.
bool is_trusted_owner(uid_t owner) { return owner == geteuid() || owner == 0; }

/// EPERM for anything but a regular file of this user that nobody else may write.
int check_private(const OpenFile& file, struct stat& status) {
  if (const int error = file.status(status)) return error;
  const bool acceptable =
      S_ISREG(status.st_mode) && is_trusted_owner(status.st_uid) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return acceptable ? 0 : EPERM;
}

int read_once(const std::string& path, const ReadOptions& options, std::string& contents) {
  OpenFile file;
  if (const int error = file.open(path)) return error;
  struct stat status{};
  if (const int error = check_private(file, status)) return error;
  if (static_cast<std::uint64_t>(status.st_size) > options.limit) return EFBIG;
  contents.resize(static_cast<std::size_t>(std::min(static_cast<std::uint64_t>(status.st_size), options.at_most)));
  std::size_t done = 0;
  while (done < contents.size()) {
    std::size_t moved = 0;
    if (const int error = file.read(contents.data() + done, contents.size() - done, moved)) return error;
    if (moved == 0) break;  // shorter than it said: the caller's checksum decides
    done += moved;
  }
  contents.resize(done);
  // A time in the future is wrong, too: the clock has been set back since.
  const std::int64_t age = options.stamp ? now_ns() - nanoseconds(status.st_mtim) : 0;
  if (age > stamp_interval_ns || age < -stamp_interval_ns) file.set_time_to_now();
  return 0;
}

/// rename(), with an empty directory in the way removed.
int move_into_place(const std::string& temporary, const std::string& path) {
  const int error = rename_file(temporary, path);
  if (error != EISDIR || remove_directory(path) != 0) return error;
  return rename_file(temporary, path);
}

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

int read_private(const std::string& path, const ReadOptions& options, std::string& contents) {
  const int error = read_once(path, options, contents);
  return error == ESTALE ? read_once(path, options, contents) : error;
}

int publish(const std::string& path, std::string_view contents) { return publish(path, {&contents, 1}, 0600); }

int publish(const std::string& path, std::span<const std::string_view> parts, unsigned mode) {
  const std::string temporary = temporary_path(path);
  int error = write_new(temporary, parts, mode);
  if (!error) error = move_into_place(temporary, path);
  if (error) remove(temporary);
  return error;
}

std::string obstacle_to(const std::string& path) {
  struct stat status{};
  if (link_status_of(path, status) == 0 && S_ISDIR(status.st_mode)) return "a directory is in its place";
  const std::string directory = parent_of(path);
  if (link_status_of(directory, status) != 0) return "";
  if (S_ISLNK(status.st_mode) && status_of(directory, status) != 0)
    return fmt::format("{} is a link to nothing", directory);
  if (!S_ISDIR(status.st_mode)) return fmt::format("{} is not a directory", directory);
  constexpr mode_t needed = S_IWUSR | S_IXUSR;
  if (geteuid() == 0 || (status.st_uid == geteuid() && (status.st_mode & needed) == needed)) return "";
  return fmt::format("{} belongs to user {} and has mode {:04o}", directory, status.st_uid, status.st_mode & 07777u);
}

int map_file(const std::string& path, const void*& memory, std::size_t& bytes) {
  memory = nullptr;
  bytes = 0;
  OpenFile file;
  if (const int error = file.open(path, OpenFile::Links::follow)) return error;
  struct stat status{};
  if (const int error = file.status(status)) return error;
  if (!S_ISREG(status.st_mode)) return S_ISDIR(status.st_mode) ? EISDIR : EINVAL;
  bytes = static_cast<std::size_t>(status.st_size);
  return bytes == 0 ? 0 : file.map(bytes, memory);
}

int make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    struct stat status{};
    if (status_of(part, status) != 0) {
      const int error = make_directory(part);
      if (error && error != EEXIST) return error;
    } else if (!S_ISDIR(status.st_mode)) {
      return ENOTDIR;
    }
    if (end == std::string::npos) return 0;
  }
}

std::string distrust(const std::string& directory) {
  struct stat status{};
  if (const int error = status_of(directory, status)) return error_text(error);
  if (!S_ISDIR(status.st_mode)) return "it is not a directory";
  if (!is_trusted_owner(status.st_uid))
    return fmt::format("it belongs to user {} and this process runs as user {}", status.st_uid, geteuid());
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return fmt::format("its mode is {:04o}: others may write it, and kiln would run what they put there",
                       status.st_mode & 07777u);
  return "";
}

int list(const std::string& directory, std::vector<Entry>& entries) {
  return for_each_name(directory, [&](const char* name, const struct stat* status) {
    if (!status) return;
    Entry entry;
    entry.name = name;
    entry.size = static_cast<std::uint64_t>(status->st_blocks) * 512;
    entry.modified_ns = nanoseconds(status->st_mtim);
    entry.directory = S_ISDIR(status->st_mode);
    entries.push_back(std::move(entry));
  });
}

int remove(const std::string& path) { return remove_file(path); }

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(temporary_prefix)) return false;
  name.remove_prefix(temporary_prefix.size());
  const std::size_t dash = name.find('-');
  return dash != 0 && dash != std::string_view::npos && name.find_first_not_of("0123456789") == dash &&
         name.size() == dash + 1 + random_digits &&
         name.find_first_not_of("0123456789abcdef", dash + 1) == std::string_view::npos;
}

std::string error_text(int error) {
  const char* const text = strerrordesc_np(error);
  return text ? text : fmt::format("error {}", error);
}

}  // namespace kiln::files
