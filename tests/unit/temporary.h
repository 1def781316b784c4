// tests/unit/temporary.h -- environment variables and collected warnings for unit tests.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "support/env.h"
#include "support/log.h"
#include "tests/support/temporary_directory.h"

namespace kiln::test {

/// Memory where there is such a place: tests that write ten thousand files.
inline std::filesystem::path fast_place() {
  return ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

/// Sets (or, with null, unsets) a variable until the end of the scope, and lets kiln see it.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    const char* const old = getenv(name);
    had_ = old != nullptr;
    if (old) old_ = old;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(had_ ? old_.c_str() : nullptr); }

 private:
  void set(const char* value) {
    if (value) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
    reload_settings();
    reset_log();
  }
  const char* name_;
  bool had_ = false;
  std::string old_;
};

/// Collects warnings in place of stderr.
class Warnings {
 public:
  Warnings() {
    reset_log();
    set_log_sink(&Warnings::sink, this);
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  ~Warnings() { set_log_sink(nullptr, nullptr); }
  std::vector<std::string> texts() {
    const std::lock_guard lock(mutex_);
    return texts_;
  }
  void clear() {
    const std::lock_guard lock(mutex_);
    texts_.clear();
  }

 private:
  static void sink(int level, std::string_view message, void* context) {
    auto* const self = static_cast<Warnings*>(context);
    const std::lock_guard lock(self->mutex_);
    if (level == 0) self->texts_.emplace_back(message);
  }
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

inline std::string read_text(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// Regular files below `directory`, sorted.
inline std::vector<std::string> files_below(const std::string& directory) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file()) found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace kiln::test
