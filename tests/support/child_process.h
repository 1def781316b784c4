// tests/support/child_process.h -- a test of this program, run as a program of its own.
#pragma once

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

namespace kiln::test {

using Environment = std::vector<std::pair<const char*, std::string>>;

/// The exit status of the disabled test `name` in a new process whose environment has `variables` too; -1 where a
/// signal ended it. Shards do not apply to it.
inline int run_alone(const std::string& name, const Environment& variables = {}) {
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [variable, value] : variables) setenv(variable, value.c_str(), 1);
    for (const char* const shard : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(shard);
    const std::string filter = "--gtest_filter=" + name;
    execl("/proc/self/exe", "tests", "--gtest_also_run_disabled_tests", "--gtest_brief=1", filter.c_str(), nullptr);
    _exit(127);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace kiln::test
