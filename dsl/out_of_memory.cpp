// dsl/out_of_memory.cpp -- the message of a function that found no host memory.
#include "dsl/out_of_memory.h"

#include <cstdio>
#include <cstring>

#include <kiln/error.h>

namespace kiln::dsl {

void fail_without_memory(const char* task, detail::Where where) {
  char place[256] = "", text[512];
  if (where.file) {
    const char* const slash = std::strrchr(where.file, '/');
    std::snprintf(place, sizeof place, " (%.200s:%u)", slash ? slash + 1 : where.file, where.line);
  }
  std::snprintf(text, sizeof text,
                "there is no host memory left to %s%s; the device's memory and kiln's caches are as before", task,
                place);
  throw OutOfMemory(text);
}

}  // namespace kiln::dsl
