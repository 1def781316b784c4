// tests/exit/exit_modes.cpp -- leaves the process in every way with live arrays, handles and caches (case D01).
//
// usage: exit_modes return|exit|quick_exit|thread|error; the caller expects status 0 and no output on stderr.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <kiln/kiln.h>

namespace kl = kiln;

namespace {
kl::Array<float> global_array;  // destroyed after main, when the driver may be gone
auto global_function = kl::jit([](auto x) { return x * 2.0f; });
}  // namespace

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "return";
  global_array = kl::from_host(std::vector<float>{1, 2, 3});
  kl::Array<float> local = global_function(global_array);
  if (local.to_host() != std::vector<float>{2, 4, 6}) return 3;
  static kl::Array<float> function_static = kl::eval(local + 1.0f);
  if (std::strcmp(mode, "error") == 0) {
    try {
      kl::eval(local + kl::from_host(std::vector<float>{1, 2}));
      return 4;
    } catch (const kl::ShapeError&) {
    }
  }
  if (std::strcmp(mode, "exit") == 0) std::exit(0);
  if (std::strcmp(mode, "quick_exit") == 0) std::quick_exit(0);
  if (std::strcmp(mode, "thread") == 0) std::thread([] { std::exit(0); }).join();
  return 0;
}
