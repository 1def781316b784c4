// runtime/recorder.cpp -- one append under a lock of the file per new kernel.
#include "runtime/recorder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <unordered_set>

#include "runtime/kernel_identity.h"
#include "support/env.h"
#include "support/files.h"
#include "support/fork_safe.h"
#include "support/log.h"

namespace kiln::runtime {
namespace {

struct Recorder {
  ForkSafeMutex mutex;
  std::string path;
  std::unordered_set<std::string> known;  ///< identity and targets of what the file holds
  off_t read_until = 0;                   ///< the file is known up to here
  bool ends_in_line = true;               ///< as far as it is known; else after a record that was never finished
};

// Null: nothing is recorded. Leaked: kernels may be compiled by other threads while the process exits.
std::atomic<Recorder*> current{nullptr};
std::atomic<bool> is_ready{false};
ForkSafeMutex opening;

std::string name_of(std::string_view identity, std::string_view targets) {
  return std::string(identity).append(" ").append(targets);
}

/// The file, open and locked against other processes. Each append opens it anew: a lock belongs to an open file, which
/// a forked child would share.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path) {
    descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
    if (descriptor_ < 0) {
      error_ = errno;
      return;
    }
    if (struct stat status = {}; ::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      error_ = EINVAL;  // a pipe or a device cannot be read again
      return;
    }
    while (::flock(descriptor_, LOCK_EX) != 0) {
      if (errno == EINTR) continue;
      // A file system without locks: appends are still whole, for each is one write.
      break;
    }
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  ~LockedFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  int error() const { return error_; }
  off_t size() const {
    struct stat status = {};
    return ::fstat(descriptor_, &status) == 0 ? status.st_size : 0;
  }

  int read_from(off_t at, std::string& text) const {
    char buffer[1 << 16];
    for (;;) {
      const ssize_t count = ::pread(descriptor_, buffer, sizeof buffer, at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno;
      if (count == 0) return 0;
      text.append(buffer, static_cast<std::size_t>(count));
      at += count;
    }
  }

  /// All of it or nothing.
  int append(std::string_view text) const {
    const off_t before = size();
    while (!text.empty()) {
      const ssize_t count = ::write(descriptor_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        const int error = errno;
        [[maybe_unused]] const int cut = ::ftruncate(descriptor_, before);  // else readers skip it as unfinished
        return error;
      }
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    return 0;
  }
  int clear() const { return ::ftruncate(descriptor_, 0) == 0 ? 0 : errno; }

 private:
  int descriptor_ = -1, error_ = 0;
};

void give_up(const std::string& path, std::string_view why) {
  current.store(nullptr, std::memory_order_release);  // leaked: another thread may still use it
  warn_once(fmt::format("KILN_RECORD={}: {}; kernels are not recorded", path, why));
}

/// Reads what the file has gained, and writes the kernel if it is not among it. Returns what is wrong.
std::string append(Recorder& recorder, const std::string& name, const RecordedKernel& kernel) {
  const LockedFile file(recorder.path);
  if (file.error()) return files::error_text(file.error());
  if (file.size() < recorder.read_until) {  // somebody removed it
    recorder.read_until = 0;
    recorder.known.clear();
    recorder.ends_in_line = true;
  }
  std::string gained;
  if (const int error = file.read_from(recorder.read_until, gained)) return files::error_text(error);
  std::string text;
  if (recorder.read_until == 0) {
    if (record_header().starts_with(gained)) {  // new, or left by a process that was killed at once
      if (const int error = gained.empty() ? 0 : file.clear()) return files::error_text(error);
      gained.clear();
      text = record_header();
    } else if (!gained.starts_with(record_header())) {
      if (gained.substr(0, gained.find('\n') + 1).ends_with("\r\n")) return record_crlf_text(recorder.path);
      return "the file exists and is no record of kernels that this version of kiln reads; name another one";
    }
  }
  for_each_record_name(gained, [&](std::string_view identity, std::string_view targets) {
    recorder.known.insert(name_of(identity, targets));
  });
  recorder.read_until += static_cast<off_t>(gained.size());
  if (!gained.empty()) recorder.ends_in_line = gained.back() == '\n';
  if (recorder.known.contains(name)) return "";
  if (!recorder.ends_in_line) text += '\n';
  text += to_text(kernel);
  if (const int error = file.append(text)) return files::error_text(error);
  recorder.read_until += static_cast<off_t>(text.size());
  recorder.ends_in_line = true;
  recorder.known.insert(name);
  return "";
}

Recorder* recorder() {
  if (!is_ready.load(std::memory_order_acquire)) {
    const std::lock_guard lock(opening);
    if (!is_ready.load(std::memory_order_relaxed)) {
      if (const std::string path = setting("KILN_RECORD"); !path.empty()) {
        auto* const made = new Recorder;
        made->path = path;
        current.store(made, std::memory_order_release);
        KILN_LOG(1, "kernels are recorded in {}", path);
      }
      is_ready.store(true, std::memory_order_release);
    }
  }
  return current.load(std::memory_order_acquire);
}

}  // namespace

bool is_recording_kernels() { return recorder() != nullptr; }

void record_kernel(RecordedKernel kernel) {
  Recorder* const r = recorder();
  if (!r) return;
  kernel.identity = kernel_identity(kernel.source, kernel.options);
  const std::string name = name_of(to_hex(kernel.identity), fmt::format("{}", fmt::join(kernel.targets, " ")));
  const std::lock_guard lock(r->mutex);
  if (r->known.contains(name)) return;
  const std::string problem = append(*r, name, kernel);
  if (problem.empty())
    KILN_LOG(2, "kernel {}: recorded for {}", kernel.source.entry, fmt::join(kernel.targets, ", "));
  else
    give_up(r->path, problem);
}

void reset_recorder() {
  const std::lock_guard lock(opening);
  current.store(nullptr, std::memory_order_release);
  is_ready.store(false, std::memory_order_release);
}

}  // namespace kiln::runtime
