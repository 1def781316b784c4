// tests/unit/runtime/cache_children.h -- child processes that use one cache together.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "tests/unit/runtime/cache_test_support.h"

namespace kiln::runtime::test_support {

/// Forks `count` children that start together; returns how many succeeded.
template <class Body>
int run_children(int count, Body body) {
  int gate[2];
  EXPECT_EQ(pipe(gate), 0);
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      close(gate[1]);
      char byte;
      if (read(gate[0], &byte, 1) < 0) _exit(2);  // returns at end of file, when the parent opens the gate
      alarm(100);
      _exit(body(i) ? 0 : 1);
    }
    children.push_back(child);
  }
  close(gate[0]);
  close(gate[1]);
  int succeeded = 0;
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    succeeded += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return succeeded;
}

inline bool right_kernels(int kernels, int first = 0) {
  for (int k = 0; k < kernels; ++k) {
    const KernelSource source = make_source(std::string(5000, 'k') + std::to_string((k + first) % kernels));
    if (image_of(*cached_binary(source, make_options())) != expected_image(source, make_options())) return false;
  }
  return true;
}

}  // namespace kiln::runtime::test_support
