// support/file_system.h -- the system calls behind files.h, one function each, every one of which a test can make fail.
//
// Each returns 0 or an errno value. A call that a signal interrupts is made again.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "support/file_faults.h"

namespace kiln::files {

/// An open file; closed on every path out of a function.
class OpenFile {
 public:
  OpenFile() = default;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();

  enum class Links : bool { refuse, follow };
  /// For reading. Links are refused (ELOOP) unless they are to be followed; a pipe does not block.
  int open(const std::string& path, Links links = Links::refuse);
  /// For writing a file that must not exist; the process's mask takes bits from `mode`.
  int create(const std::string& path, mode_t mode = 0600);
  int status(struct stat& result) const;
  /// At most `bytes`; `moved` is 0 at the end of the file.
  int read(char* to, std::size_t bytes, std::size_t& moved) const;
  int write(std::string_view contents, std::size_t& moved) const;
  /// The first `bytes`, at least 1, mapped for reading until unmap_memory(). The file may be closed before.
  int map(std::size_t bytes, const void*& memory) const;
  int set_time_to_now() const;
  int close();

 private:
  int descriptor_ = -1;
  std::string path_;
};

void unmap_memory(const void* memory, std::size_t bytes);
int status_of(const std::string& path, struct stat& result);
int link_status_of(const std::string& path, struct stat& result);  ///< of a link itself
int make_directory(const std::string& path);
int rename_file(const std::string& from, const std::string& to);
int remove_file(const std::string& path);
int remove_directory(const std::string& path);
/// Calls `take` for each name in the directory but "." and ".."; `status` is null for what vanished meanwhile.
int for_each_name(const std::string& directory,
                  const std::function<void(const char* name, const struct stat* status)>& take);

}  // namespace kiln::files
