// tests/deploy/embedded/program.cpp -- takes the place of the library's kiln_register_bundle() and looks at what it
// gets.
//
// program FILE...: each file is embedded once, byte for byte, and was known before this file's static objects were
// made.
#include <kiln/embed.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace {

const kiln_embedded_bundle* bundles = nullptr;
int count = 0;

}  // namespace

extern "C" void kiln_register_bundle(kiln_embedded_bundle* bundle) noexcept {
  bundle->next = bundles;
  bundles = bundle;
  ++count;
}

namespace {

const int count_at_start = [] { return count; }();

std::string contents(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int in_library();

int main(int argc, char** argv) {
  int wrong = in_library() - 1;
  for (int i = 1; i < argc; ++i) {
    const std::string expected = contents(argv[i]);
    int found = 0;
    for (const kiln_embedded_bundle* bundle = bundles; bundle; bundle = bundle->next)
      found += std::string(static_cast<const char*>(bundle->data), bundle->bytes) == expected;
    std::printf("%s: %zu bytes, embedded %d times\n", argv[i], expected.size(), found);
    wrong += found == 0 || expected.empty();
  }
  for (const kiln_embedded_bundle* bundle = bundles; bundle; bundle = bundle->next) {
    std::printf("%s\n", bundle->name);
    wrong += reinterpret_cast<std::uintptr_t>(bundle->data) % 64 != 0;
  }
  std::printf("%d bundles, %d before the static objects; %d wrong\n", count, count_at_start, wrong);
  return wrong || count != 4 || count_at_start != 4;
}
