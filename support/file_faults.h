// support/file_faults.h -- lets a test make any system call on files fail.
#pragma once

#include <cstdint>

namespace kiln::files {

enum class Step : std::uint8_t {
  open_read,
  read,
  make_directory,
  open_write,
  write,
  close,
  rename,
  remove,
  status,
  list,
  stamp,
  map
};
/// What a hook returns to let a read or a write move only half of what it was asked to.
inline constexpr int short_transfer = -1;
/// Called before each system call; a positive result makes the call fail with that errno. Null in production.
using FaultHook = int (*)(Step step, const char* path);
void set_fault_hook(FaultHook hook);

}  // namespace kiln::files
