// runtime/include_closure.h -- the user's headers that a kernel includes, so that editing one makes a new cache key.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kiln::runtime {

struct IncludeClosure {
  std::map<std::string, std::string> files;  ///< path as found -> BLAKE3 of its contents
  bool complete = true;                      ///< false if an #include names a macro, or too many files are reached
};

/// Follows `#include "..."` and `<...>` from `source` through the directories of `options` (-I DIR, -IDIR,
/// --include-path=DIR, and files of --pre-include). Conditions are not evaluated: a header that is not used in the end
/// only makes the key stricter. Headers found nowhere are the compiler's own and belong to its identity.
IncludeClosure include_closure(std::string_view source, const std::vector<std::string>& options);

}  // namespace kiln::runtime
