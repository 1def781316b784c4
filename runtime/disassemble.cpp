// runtime/disassemble.cpp -- machine code as text, by the toolkit's own programs: the format is NVIDIA's secret.
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "runtime/runtime.h"
#include "support/env.h"
#include "support/files.h"
#include "support/log.h"

extern "C" char** environ;

namespace kiln::runtime {
namespace {

std::vector<std::string> program_directories() {
  std::vector<std::string> directories;
  const std::string path = foreign_variable("PATH");
  for (std::size_t start = 0; start < path.size();) {
    const std::size_t end = std::min(path.find(':', start), path.size());
    if (end > start) directories.push_back(path.substr(start, end - start));
    start = end + 1;
  }
  for (const char* const name : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string root = foreign_variable(name); !root.empty()) directories.push_back(root + "/bin");
  directories.emplace_back("/usr/local/cuda/bin");
  glob_t result{};
  if (glob("/usr/local/cuda-*/bin", 0, nullptr, &result) == 0)
    for (std::size_t i = result.gl_pathc; i-- > 0;) directories.emplace_back(result.gl_pathv[i]);
  globfree(&result);
  return directories;
}

/// A file that lives as long as this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::vector<char>& contents) {
    const std::string directory = foreign_variable("TMPDIR");
    path_ = (directory.empty() ? "/tmp" : directory) + "/kiln-XXXXXX";
    const int file = mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0) {
      path_.clear();
      return;
    }
    std::size_t written = 0;
    while (written < contents.size()) {
      const ssize_t count = write(file, contents.data() + written, contents.size() - written);
      if (count < 0 && errno != EINTR) break;
      if (count > 0) written += static_cast<std::size_t>(count);
    }
    close(file);
    complete_ = written == contents.size();
  }
  ~TemporaryFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  bool is_complete() const { return complete_; }
  std::string& path() { return path_; }

 private:
  std::string path_;
  bool complete_ = false;
};

std::string read_all(int pipe) {
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t count = read(pipe, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

/// What the program writes to its output; empty when it fails.
std::string output_of(std::vector<std::string>& words) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  std::string text = error == 0 ? read_all(pipe_ends[0]) : "";
  close(pipe_ends[0]);
  int status = 0;
  while (error == 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? text : "";
}

}  // namespace

std::string disassembler() {
  for (const std::string& directory : program_directories()) {
    for (const char* const name : {"/nvdisasm", "/cuobjdump"})
      if (access((directory + name).c_str(), X_OK) == 0) return directory + name;
  }
  return "";
}

std::string disassemble(const Binary& binary) {
  const std::string program = disassembler();
  if (program.empty() || binary.is_ptx) return "";
  TemporaryFile file(binary.image);
  if (!file.is_complete()) {
    KILN_LOG(1, "disassembling {}: no temporary file: {}", binary.entry, files::error_text(errno));
    return "";
  }
  std::vector<std::string> words = {program, program.ends_with("cuobjdump") ? "-sass" : "-c", file.path()};
  const std::string text = output_of(words);
  if (text.empty()) KILN_LOG(1, "disassembling {}: {} failed", binary.entry, program);
  return text;
}

}  // namespace kiln::runtime
