// support/file_system.cpp -- system calls, with a place before each where a test can inject a fault.
#include "support/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>

namespace kiln::files {
namespace {

constexpr int most_interruptions = 100;  // in a row: something other than a signal is wrong then

std::atomic<FaultHook> fault_hook{nullptr};

/// What a test wants of this step: 0, an errno value, or short_transfer.
int fault(Step step, const std::string& path) {
  const FaultHook hook = fault_hook.load(std::memory_order_relaxed);
  return hook ? hook(step, path.c_str()) : 0;
}

/// Makes one system call, again while signals interrupt it; `result` is what it returned.
template <class Call, class Result>
int make(Step step, const std::string& path, Call call, Result& result) {
  int error = 0;
  for (int tries = 0; tries < most_interruptions; ++tries) {
    error = fault(step, path);
    if (error <= 0) {
      result = call(error == short_transfer);
      error = result < 0 ? errno : 0;
    }
    if (error != EINTR) break;
  }
  return error;
}

template <class Call>
int make(Step step, const std::string& path, Call call) {
  int result = 0;
  return make(step, path, [&](bool) { return call(); }, result);
}

std::size_t part_of(std::size_t bytes, bool is_short) { return is_short ? std::max<std::size_t>(bytes / 2, 1) : bytes; }

}  // namespace

void set_fault_hook(FaultHook hook) { fault_hook.store(hook, std::memory_order_relaxed); }

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int OpenFile::open(const std::string& path, Links links) {
  path_ = path;
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (links == Links::refuse ? O_NOFOLLOW : 0);
  return make(Step::open_read, path_, [&](bool) { return ::open(path_.c_str(), flags); }, descriptor_);
}

int OpenFile::create(const std::string& path, mode_t mode) {
  path_ = path;
  return make(
      Step::open_write, path_,
      [&](bool) { return ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode); },
      descriptor_);
}

int OpenFile::status(struct stat& result) const {
  return make(Step::status, path_, [&] { return ::fstat(descriptor_, &result); });
}

int OpenFile::read(char* to, std::size_t bytes, std::size_t& moved) const {
  ssize_t count = 0;
  const int error =
      make(Step::read, path_, [&](bool is_short) { return ::read(descriptor_, to, part_of(bytes, is_short)); }, count);
  moved = error ? 0 : static_cast<std::size_t>(count);
  return error;
}

int OpenFile::write(std::string_view contents, std::size_t& moved) const {
  ssize_t count = 0;
  const int error = make(
      Step::write, path_,
      [&](bool is_short) { return ::write(descriptor_, contents.data(), part_of(contents.size(), is_short)); }, count);
  moved = error ? 0 : static_cast<std::size_t>(count);
  return error;
}

int OpenFile::map(std::size_t bytes, const void*& memory) const {
  void* mapped = MAP_FAILED;
  const int error = make(Step::map, path_, [&] {
    mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    return mapped == MAP_FAILED ? -1 : 0;
  });
  memory = error ? nullptr : mapped;
  return error;
}

int OpenFile::set_time_to_now() const {
  return make(Step::stamp, path_, [&] { return ::futimens(descriptor_, nullptr); });
}

int OpenFile::close() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (descriptor < 0) return 0;
  const int wanted = fault(Step::close, path_);
  const int error = ::close(descriptor) != 0 ? errno : 0;  // never again: the number may belong to another file by now
  const int seen = wanted > 0 ? wanted : error;
  return seen == EINTR ? 0 : seen;
}

void unmap_memory(const void* memory, std::size_t bytes) { ::munmap(const_cast<void*>(memory), bytes); }

int status_of(const std::string& path, struct stat& result) {
  return make(Step::status, path, [&] { return ::stat(path.c_str(), &result); });
}

int link_status_of(const std::string& path, struct stat& result) {
  return make(Step::status, path, [&] { return ::lstat(path.c_str(), &result); });
}

int make_directory(const std::string& path) {
  return make(Step::make_directory, path, [&] { return ::mkdir(path.c_str(), 0700); });
}

int rename_file(const std::string& from, const std::string& to) {
  return make(Step::rename, to, [&] { return ::rename(from.c_str(), to.c_str()); });
}

int remove_file(const std::string& path) {
  return make(Step::remove, path, [&] { return ::unlink(path.c_str()); });
}

int remove_directory(const std::string& path) {
  return make(Step::remove, path, [&] { return ::rmdir(path.c_str()); });
}

int for_each_name(const std::string& directory,
                  const std::function<void(const char* name, const struct stat* status)>& take) {
  DIR* stream = nullptr;
  const int error = make(Step::list, directory, [&] {
    stream = ::opendir(directory.c_str());
    return stream ? 0 : -1;
  });
  if (error) return error;
  errno = 0;
  while (const dirent* const item = ::readdir(stream)) {
    const std::string_view name = item->d_name;
    if (name == "." || name == "..") continue;
    struct stat status{};
    const bool is_there = ::fstatat(::dirfd(stream), item->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0;
    take(item->d_name, is_there ? &status : nullptr);
    errno = 0;
  }
  const int end = errno;
  ::closedir(stream);
  return end;
}

}  // namespace kiln::files
