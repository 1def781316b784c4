// support/files.cpp -- POSIX file operations that return errno values and can be made to fail by tests.
#include "support/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

namespace kiln::files {
namespace {

constexpr std::string_view temporary_prefix = ".tmp-";

std::atomic<FaultHook> fault_hook{nullptr};

/// 0, or the errno that a test wants this step to fail with.
int fault(Step step, const std::string& path) {
  const FaultHook hook = fault_hook.load(std::memory_order_relaxed);
  return hook ? hook(step, path.c_str()) : 0;
}

/// Closes a descriptor on every path out of a function.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  int get() const { return value_; }
  int close() {
    const int value = value_;
    value_ = -1;
    return value >= 0 && ::close(value) != 0 ? errno : 0;
  }

 private:
  int value_;
};

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

int write_all(int descriptor, std::string_view contents, const std::string& path) {
  while (!contents.empty()) {
    if (const int error = fault(Step::write, path)) return error;
    const ssize_t written = ::write(descriptor, contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

int write_and_sync(const std::string& temporary, std::string_view contents) {
  if (const int error = fault(Step::open_write, temporary)) return error;
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return errno;
  if (const int error = write_all(file.get(), contents, temporary)) return error;
  if (const int error = fault(Step::sync, temporary)) return error;
  if (::fdatasync(file.get()) != 0) return errno;
  return file.close();
}

/// Root can do anything anyway: a cache that it installed for all users is no danger.
bool is_trusted_owner(uid_t owner) { return owner == geteuid() || owner == 0; }

/// EPERM for anything but a regular file of this user that nobody else may write.
int check_private(int descriptor, struct stat& status) {
  if (::fstat(descriptor, &status) != 0) return errno;
  const bool acceptable =
      S_ISREG(status.st_mode) && is_trusted_owner(status.st_uid) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return acceptable ? 0 : EPERM;
}

}  // namespace

int read_private(const std::string& path, const ReadOptions& options, std::string& contents) {
  if (const int error = fault(Step::open_read, path)) return error;
  // O_NONBLOCK: a pipe planted in the place of an entry must not block the program.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0) return errno;
  struct stat status{};
  if (const int error = check_private(file.get(), status)) return error;
  if (static_cast<std::uint64_t>(status.st_size) > options.limit) return EFBIG;
  contents.resize(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < contents.size()) {
    if (const int error = fault(Step::read, path)) return error;
    const ssize_t count = ::read(file.get(), contents.data() + done, contents.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;  // shorter than it said: the caller's checksum decides
    done += static_cast<std::size_t>(count);
  }
  contents.resize(done);
  if (options.stamp) ::futimens(file.get(), nullptr);
  return 0;
}

int publish(const std::string& path, std::string_view contents) {
  const std::string temporary = temporary_path(path);
  int error = write_and_sync(temporary, contents);
  if (!error) error = fault(Step::rename, path);
  if (!error && ::rename(temporary.c_str(), path.c_str()) != 0) {
    error = errno;
    if (error == EISDIR && ::rmdir(path.c_str()) == 0)
      error = ::rename(temporary.c_str(), path.c_str()) == 0 ? 0 : errno;
  }
  if (error) ::unlink(temporary.c_str());
  return error;
}

int make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    struct stat status{};
    if (::stat(part.c_str(), &status) != 0) {
      if (const int error = fault(Step::make_directory, part)) return error;
      if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) return errno;
    } else if (!S_ISDIR(status.st_mode)) {
      return ENOTDIR;
    }
    if (end == std::string::npos) return 0;
  }
}

std::string distrust(const std::string& directory) {
  struct stat status{};
  if (::stat(directory.c_str(), &status) != 0) return error_text(errno);
  if (!S_ISDIR(status.st_mode)) return "it is not a directory";
  if (!is_trusted_owner(status.st_uid))
    return fmt::format("it belongs to user {} and this process runs as user {}", status.st_uid, geteuid());
  if (status.st_mode & (S_IWGRP | S_IWOTH))
    return fmt::format("its mode is {:04o}: others may write it, and kiln would run what they put there",
                       status.st_mode & 07777u);
  return "";
}

int list(const std::string& directory, std::vector<Entry>& entries) {
  DIR* const stream = ::opendir(directory.c_str());
  if (!stream) return errno;
  while (const dirent* const item = ::readdir(stream)) {
    const std::string_view name = item->d_name;
    if (name == "." || name == "..") continue;
    struct stat status{};
    if (::fstatat(dirfd(stream), item->d_name, &status, AT_SYMLINK_NOFOLLOW) != 0) continue;  // removed meanwhile
    Entry entry;
    entry.name = name;
    entry.size = static_cast<std::uint64_t>(status.st_blocks) * 512;
    entry.modified_ns = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    entry.directory = S_ISDIR(status.st_mode);
    entries.push_back(std::move(entry));
  }
  ::closedir(stream);
  return 0;
}

int remove(const std::string& path) {
  if (const int error = fault(Step::remove, path)) return error;
  return ::unlink(path.c_str()) == 0 ? 0 : errno;
}

bool is_temporary_name(std::string_view name) { return name.starts_with(temporary_prefix); }

std::string error_text(int error) {
  const char* const text = strerrordesc_np(error);
  return text ? text : fmt::format("error {}", error);
}

void set_fault_hook(FaultHook hook) { fault_hook.store(hook, std::memory_order_relaxed); }

}  // namespace kiln::files
