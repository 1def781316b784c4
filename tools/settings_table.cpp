// tools/settings_table.cpp -- prints the rows of the README's table of environment variables.
#include <cstdio>

#include "support/env.h"

int main() {
  for (const kiln::Setting& s : kiln::settings()) {
    if (*s.default_value) {
      std::printf("| `%s` | `%s` | %s |\n", s.name, s.default_value, s.meaning);
    } else {
      std::printf("| `%s` | | %s |\n", s.name, s.meaning);
    }
  }
  return 0;
}
